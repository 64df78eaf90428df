//! Host names, internationalised ones included.
//!
//! The crate `idna` does what IDNA 2008 has in common with UTS 46: Punycode, normalisation, lengths, hyphens,
//! combining marks, joiners, writing directions. UTS 46 maps and accepts more, for the sake of browsers; what a
//! registry would refuse (RFC 5892) is refused here.

use std::sync::LazyLock;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use regex::Regex;

/// Categories that a label may be made of.
static ALLOWED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\-\x{B7}\x{375}\x{5F3}\x{5F4}\x{30FB}\x{200C}\x{200D}\x{6FD}\x{6FE}\x{F0B}\x{3007}]+$").ok()
});
static JAPANESE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]").ok());

/// Characters whose general category would let them in.
const DISALLOWED: [char; 10] = [
    '\u{640}', '\u{7FA}', '\u{302E}', '\u{302F}', '\u{3031}', '\u{3032}', '\u{3033}', '\u{3034}',
    '\u{3035}', '\u{303B}',
];

/// What separates labels: the full stop, and what input methods write in its place.
const DOTS: [char; 4] = ['.', '\u{3002}', '\u{FF0E}', '\u{FF61}'];

pub(super) fn is_hostname(text: &str) -> bool {
    text.is_ascii() && is_idn_hostname(text)
}

pub(super) fn is_idn_hostname(text: &str) -> bool {
    // `--` in the third and fourth place is for labels beyond ASCII to judge: names of real machines have it.
    let (deny, hyphens) = (AsciiDenyList::STD3, Hyphens::CheckFirstLast);
    let bytes = text.as_bytes();
    let uts46 = Uts46::new();
    let Ok(ascii) = uts46.to_ascii(bytes, deny, hyphens, DnsLength::Verify) else {
        return false;
    };
    if text.is_ascii() && !ascii.contains("xn--") {
        return true;
    }
    let (decoded, _) = uts46.to_unicode(bytes, deny, hyphens);
    text.split(DOTS)
        .zip(decoded.split('.'))
        .all(|(given, decoded)| {
            // A label that had to be mapped is not one that can be registered.
            (given.is_ascii() || given == decoded) && (decoded.is_ascii() || is_label(decoded))
        })
}

/// Whether a decoded label is one that may be registered.
fn is_label(label: &str) -> bool {
    let chars: Vec<char> = label.chars().collect();
    matches(&ALLOWED, label)
        && chars.get(2..4) != Some(&['-', '-'])
        && !label.contains(DISALLOWED)
        && (0..chars.len()).all(|position| fits(&chars, position, label))
}

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// The rules for characters that need company (RFC 5892, appendix A.3 to A.7).
fn fits(chars: &[char], position: usize, label: &str) -> bool {
    let before = position
        .checked_sub(1)
        .and_then(|before| chars.get(before))
        .copied();
    let after = chars.get(position + 1).copied();
    let is_in = |found: Option<char>, from: char, to: char| {
        found.is_some_and(|found| (from..=to).contains(&found))
    };
    match chars.get(position) {
        Some('\u{B7}') => before == Some('l') && after == Some('l'),
        Some('\u{375}') => is_in(after, '\u{370}', '\u{3FF}'),
        Some('\u{5F3}' | '\u{5F4}') => is_in(before, '\u{590}', '\u{5FF}'),
        Some('\u{30FB}') => matches(&JAPANESE, &label.replace('\u{30FB}', "")),
        _ => true,
    }
}

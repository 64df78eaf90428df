//! Labels of internationalised host names (RFC 5891 and 5892): decoding, and which characters may
//! stand where.

use std::sync::LazyLock;

use regex::Regex;

/// Categories that a label may be made of.
static ALLOWED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\-\x{B7}\x{375}\x{5F3}\x{5F4}\x{30FB}\x{200C}\x{200D}\x{6FD}\x{6FE}\x{F0B}\x{3007}]+$").ok()
});
static BEGINS_WITH_MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{M}").ok());
static JAPANESE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]").ok());

/// Characters whose general category would let them in.
const DISALLOWED: [char; 10] = [
    '\u{640}', '\u{7FA}', '\u{302E}', '\u{302F}', '\u{3031}', '\u{3032}', '\u{3033}', '\u{3034}',
    '\u{3035}', '\u{303B}',
];

/// Signs that join what follows to what precedes.
const VIRAMAS: [char; 24] = [
    '\u{94D}', '\u{9CD}', '\u{A4D}', '\u{ACD}', '\u{B4D}', '\u{BCD}', '\u{C4D}', '\u{CCD}',
    '\u{D4D}', '\u{DCA}', '\u{E3A}', '\u{F84}', '\u{1039}', '\u{1714}', '\u{1734}', '\u{17D2}',
    '\u{1A60}', '\u{1B44}', '\u{1BAA}', '\u{1BF2}', '\u{2D7F}', '\u{A806}', '\u{A8C4}', '\u{A953}',
];

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a decoded label is one that may be registered.
pub(super) fn is_unicode_label(label: &str) -> bool {
    let chars: Vec<char> = label.chars().collect();
    !matches(&BEGINS_WITH_MARK, label)
        && matches(&ALLOWED, label)
        && chars.get(2..4) != Some(&['-', '-'])
        && !label.starts_with('-')
        && !label.ends_with('-')
        && !label.contains(DISALLOWED)
        && !(label.contains(|found| ('\u{660}'..='\u{669}').contains(&found))
            && label.contains(|found| ('\u{6F0}'..='\u{6F9}').contains(&found)))
        && (!is_right_to_left(label) || has_one_direction(&chars))
        && (0..chars.len()).all(|position| fits(&chars, position, label))
}

/// Hebrew, Arabic, Syriac, Thaana, N'Ko and their neighbours.
pub(super) fn is_right_to_left(label: &str) -> bool {
    label.contains(is_right_to_left_letter)
}

fn is_right_to_left_letter(found: char) -> bool {
    ('\u{5D0}'..='\u{8FF}').contains(&found) && found.is_alphabetic()
}

/// RFC 5893 for a label with right-to-left letters: it begins with one, has none of the other
/// direction, and digits of one sort only.
fn has_one_direction(chars: &[char]) -> bool {
    let has = |test: fn(char) -> bool| chars.iter().copied().any(test);
    let european = |found: char| found.is_ascii_digit() || ('\u{6F0}'..='\u{6F9}').contains(&found);
    let left_to_right = |found: char| found.is_alphabetic() && u32::from(found) < 0x590;
    chars.first().copied().is_some_and(is_right_to_left_letter)
        && !has(left_to_right)
        && !(has(european) && has(|found| ('\u{660}'..='\u{669}').contains(&found)))
}

/// The rules for characters that need company.
fn fits(chars: &[char], position: usize, label: &str) -> bool {
    let before = position
        .checked_sub(1)
        .and_then(|before| chars.get(before))
        .copied();
    let after = chars.get(position + 1).copied();
    let is_in = |found: Option<char>, from: u32, to: u32| {
        found.is_some_and(|found| (from..=to).contains(&u32::from(found)))
    };
    match chars.get(position) {
        Some('\u{B7}') => before == Some('l') && after == Some('l'),
        Some('\u{375}') => is_in(after, 0x370, 0x3FF),
        Some('\u{5F3}' | '\u{5F4}') => is_in(before, 0x590, 0x5FF),
        Some('\u{30FB}') => matches(&JAPANESE, &label.replace('\u{30FB}', "")),
        Some('\u{200D}') => before.is_some_and(|before| VIRAMAS.contains(&before)),
        Some('\u{200C}') => {
            before.is_some_and(|before| VIRAMAS.contains(&before))
                || (is_in(before, 0x600, 0x7FF) && is_in(after, 0x600, 0x7FF))
        }
        _ => true,
    }
}

/// Decodes what follows `xn--`; none when it is not the encoding of something beyond ASCII.
pub(super) fn decode(text: &str) -> Option<String> {
    let (plain, encoded) = match text.rfind('-') {
        Some(end) => (text.get(..end)?, text.get(end + 1..)?),
        None => ("", text),
    };
    if encoded.is_empty() {
        return None;
    }
    let mut chars: Vec<char> = plain.chars().collect();
    let (mut code, mut position, mut bias) = (128_u64, 0_u64, 72_u64);
    let mut bytes = encoded.bytes();
    while bytes.len() > 0 {
        let (start, mut weight, mut base) = (position, 1_u64, 36_u64);
        loop {
            let digit = match bytes.next()? {
                byte @ b'a'..=b'z' => u64::from(byte - b'a'),
                byte @ b'A'..=b'Z' => u64::from(byte - b'A'),
                byte @ b'0'..=b'9' => u64::from(byte - b'0') + 26,
                _ => return None,
            };
            position = position.checked_add(digit.checked_mul(weight)?)?;
            let threshold = base.saturating_sub(bias).clamp(1, 26);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            base += 36;
        }
        let count = chars.len() as u64 + 1;
        bias = adapt(position - start, count, start == 0 && code == 128);
        code = code.checked_add(position / count)?;
        position %= count;
        let found = char::from_u32(u32::try_from(code).ok()?)?;
        chars.insert(usize::try_from(position).ok()?, found);
        position += 1;
    }
    Some(chars.into_iter().collect())
}

fn adapt(delta: u64, count: u64, first: bool) -> u64 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut bias = 0;
    while delta > 455 {
        delta /= 35;
        bias += 36;
    }
    bias + 36 * delta / (delta + 38)
}

/// How long the encoded form of a label is, `xn--` included.
pub(super) fn encoded_length(label: &str) -> usize {
    let plain = label.chars().filter(char::is_ascii).count();
    let mut length = 4 + plain + usize::from(plain > 0);
    let (mut code, mut delta, mut bias, mut done) = (128_u64, 0_u64, 72_u64, plain as u64);
    let total = label.chars().count() as u64;
    while done < total {
        let codes = label.chars().map(|found| u64::from(u32::from(found)));
        let Some(next) = codes.clone().filter(|found| *found >= code).min() else {
            break;
        };
        delta = delta.saturating_add((next - code).saturating_mul(done + 1));
        code = next;
        for found in codes {
            if found < code {
                delta += 1;
            }
            if found == code {
                let (mut rest, mut base) = (delta, 36_u64);
                loop {
                    length += 1;
                    let threshold = base.saturating_sub(bias).clamp(1, 26);
                    if rest < threshold {
                        break;
                    }
                    rest = (rest - threshold) / (36 - threshold);
                    base += 36;
                }
                bias = adapt(delta, done + 1, done == plain as u64);
                delta = 0;
                done += 1;
            }
        }
        delta += 1;
        code += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_decode_and_their_length_is_known() {
        for (encoded, decoded) in [
            ("ihqwcrb4cv8a8dqg056pqjye", "他们为什么不说中文"),
            ("bcher-kva", "bücher"),
        ] {
            assert_eq!(decode(encoded).as_deref(), Some(decoded));
            assert_eq!(encoded_length(decoded), encoded.len() + 4);
        }
        assert_eq!(decode("X"), None);
    }
}

//! JSON as `JSON.stringify` writes it.

use std::fmt::Write as _;

use super::document::{Json, Kind, inner};
use super::text::plain;
use crate::number::to_js_string;

/// A part of a string between its quotes.
enum Piece<'t> {
    Text(&'t str),
    Char(char),
    /// A lone surrogate.
    LoneSurrogate(u16),
}

/// What the escapes of a string mean; the text is JSON.
struct Pieces<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(escaped) = self.rest.strip_prefix('\\') else {
            let end = self.rest.find('\\').unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Some(Piece::Text(text));
        };
        let mut chars = escaped.chars();
        let letter = chars.next()?;
        self.rest = chars.as_str();
        Some(Piece::Char(match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return Some(self.code_unit()),
            other => other,
        }))
    }
}

impl Pieces<'_> {
    /// Four digits, and four more where two surrogates are one character.
    fn code_unit(&mut self) -> Piece<'static> {
        let (unit, rest) = hex(self.rest);
        self.rest = rest;
        if (0xd800..0xdc00).contains(&unit)
            && let Some(escaped) = rest.strip_prefix("\\u")
        {
            let (second, after) = hex(escaped);
            if let Some(Ok(whole)) = char::decode_utf16([unit, second]).next() {
                self.rest = after;
                return Piece::Char(whole);
            }
        }
        char::from_u32(unit.into()).map_or(Piece::LoneSurrogate(unit), Piece::Char)
    }
}

fn hex(text: &str) -> (u16, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u16::from_str_radix(digits, 16).unwrap_or(0xfffd), rest)
}

/// The value of a string, given what stands between its quotes. A lone surrogate is U+FFFD.
pub(crate) fn unescaped(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    for piece in (Pieces { rest: inner }) {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Char(char) => text.push(char),
            Piece::LoneSurrogate(_) => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text
}

/// Appends a text as a JSON string.
pub fn push_string(json: &mut String, text: &str) {
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

fn push_escaped(json: &mut String, text: &str) {
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(plain(rest.as_bytes()));
        json.push_str(plain);
        let mut chars = special.chars();
        match chars.next() {
            Some('"') => json.push_str("\\\""),
            Some('\\') => json.push_str("\\\\"),
            Some('\u{8}') => json.push_str("\\b"),
            Some('\u{c}') => json.push_str("\\f"),
            Some('\n') => json.push_str("\\n"),
            Some('\r') => json.push_str("\\r"),
            Some('\t') => json.push_str("\\t"),
            // Writing to a string cannot fail.
            Some(other) => drop(write!(json, "\\u{:04x}", u32::from(other))),
            None => return,
        }
        rest = chars.as_str();
    }
}

/// Appends a string that was JSON already.
fn push_rewritten(json: &mut String, quoted: &str) {
    let inner = inner(quoted);
    if !inner.contains('\\') {
        json.push_str(quoted);
        return;
    }
    json.push('"');
    for piece in (Pieces { rest: inner }) {
        match piece {
            Piece::Text(text) => json.push_str(text),
            Piece::Char(char) => push_escaped(json, char.encode_utf8(&mut [0; 4])),
            Piece::LoneSurrogate(unit) => drop(write!(json, "\\u{unit:04x}")),
        }
    }
    json.push('"');
}

/// Whether a string with escapes is written as `JSON.stringify` writes it.
pub(super) fn is_canonical_string(quoted: &str) -> bool {
    let mut written = String::with_capacity(quoted.len());
    push_rewritten(&mut written, quoted);
    written == quoted
}

/// Whether a number is written as `JSON.stringify` writes it.
pub(super) fn is_canonical_number(text: &str, number: f64) -> bool {
    /// So many digits are the shortest for their number.
    const SHORT: usize = 15;
    let is_short = text.len() <= SHORT
        && (number.abs() >= 1e-6 || text == "0")
        && !text.contains(['e', 'E'])
        && !(text.ends_with('0') && text.contains('.'));
    is_short || (number.is_finite() && to_js_string(number) == text)
}

/// Appends a number.
pub(crate) fn push_number(json: &mut String, number: f64) {
    if number.is_finite() {
        json.push_str(&to_js_string(number));
    } else {
        // The shortest JSON that reads as an infinite number: the code that sends it on can still refuse it.
        json.push_str(if number < 0.0 { "-1e999" } else { "1e999" });
    }
}

/// How numbers without a JSON form are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Infinite {
    /// `null`, as by `JSON.stringify`.
    Null,
    /// A number that is infinite when it is read again.
    Kept,
}

/// Appends a value of a document, however deep.
pub(super) fn stringify(value: Json<'_>, json: &mut String, infinite: Infinite) {
    let mut open: Vec<(Json<'_>, usize)> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next {
            match value.kind() {
                Kind::Null => json.push_str("null"),
                Kind::Bool(true) => json.push_str("true"),
                Kind::Bool(false) => json.push_str("false"),
                Kind::Number(number) if infinite == Infinite::Null && !number.is_finite() => {
                    json.push_str("null");
                }
                Kind::Number(number) => push_number(json, number),
                Kind::String(_) => push_rewritten(json, value.text()),
                Kind::Array(_) => {
                    json.push('[');
                    open.push((value, 0));
                }
                Kind::Object(_) => {
                    json.push('{');
                    open.push((value, 0));
                }
            }
        }
        let Some((container, index)) = open.last_mut() else {
            return;
        };
        let at = *index;
        *index += 1;
        let is_array = matches!(container.kind(), Kind::Array(_));
        next = if is_array {
            container.element(at)
        } else {
            container.member(at).map(|(key, value)| {
                if at > 0 {
                    json.push(',');
                }
                push_rewritten(json, key.text());
                json.push(':');
                value
            })
        };
        match next {
            Some(_) if is_array && at > 0 => json.push(','),
            Some(_) => {}
            None => {
                json.push(if is_array { ']' } else { '}' });
                open.pop();
            }
        }
    }
}

//! Writes constants as JavaScript literals that cannot become anything else.
//!
//! Everything that comes from a schema passes through this file on its way into emitted text. A
//! character is copied only when it is on a short list of harmless ones; all others, whatever they
//! mean to JavaScript today or tomorrow, are written as numeric escapes.

use std::fmt::Write as _;

/// Appends `text` as a double-quoted JavaScript string literal.
pub(crate) fn push_string(out: &mut String, text: &str) {
    push_code_units(out, text.encode_utf16());
}

/// Appends a sequence of UTF-16 code units, lone surrogates included, as a string literal.
pub(crate) fn push_code_units(out: &mut String, units: impl IntoIterator<Item = u16>) {
    out.push('"');
    for unit in units {
        match u8::try_from(unit) {
            Ok(byte) if is_harmless(byte) => out.push(char::from(byte)),
            // Writing to a `String` cannot fail.
            _ => drop(write!(out, "\\u{unit:04x}")),
        }
    }
    out.push('"');
}

/// The string literal for `text`.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// An expression whose value is exactly `number`, safe to put beside any operator.
pub(crate) fn number(number: f64) -> String {
    if number.is_nan() {
        return "(0/0)".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "(1/0)" } else { "(-1/0)" }.to_owned();
    }
    // Rust prints the shortest decimal that reads back as the same double, in a notation that
    // JavaScript reads the same way (`1e21`, `-0.0`, `5e-324`).
    let mut text = format!("{number:?}");
    if let Some(whole) = text.strip_suffix(".0") {
        text.truncate(whole.len());
    }
    if number.is_sign_negative() {
        text.insert(0, '(');
        text.push(')');
    }
    text
}

/// Characters that are written as themselves: no quote, no backslash, nothing that begins or ends
/// a comment, a template, a tag or a line.
fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.' | b',' | b':')
}

#[cfg(test)]
mod tests {
    use super::{number, push_code_units, string};

    #[test]
    fn ordinary_names_stay_readable() {
        assert_eq!(string("first_name-2.x"), "\"first_name-2.x\"");
    }

    #[test]
    fn every_other_character_is_a_numeric_escape() {
        assert_eq!(string("\"\\"), r#""\u0022\u005c""#);
        assert_eq!(
            string("`${x}*/\n\u{2028}\u{2029}"),
            r#""\u0060\u0024\u007bx\u007d\u002a\u002f\u000a\u2028\u2029""#
        );
        assert_eq!(string("é😀"), r#""\u00e9\ud83d\ude00""#);
        assert_eq!(string("</script>"), r#""\u003c\u002fscript\u003e""#);
    }

    #[test]
    fn lone_surrogates_survive() {
        let mut out = String::new();
        push_code_units(&mut out, [0xd800, 0x61]);
        assert_eq!(out, r#""\ud800a""#);
    }

    #[test]
    fn numbers_read_back_as_the_same_double() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-0.0), "(-0)");
        assert_eq!(number(1e21), "1e21");
        assert_eq!(number(-1.5), "(-1.5)");
        assert_eq!(number(5e-324), "5e-324");
        assert_eq!(number(f64::NAN), "(0/0)");
        assert_eq!(number(f64::NEG_INFINITY), "(-1/0)");
        assert_eq!(number(9_007_199_254_740_993.0), "9007199254740992");
        for value in [0.1, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 123_456_789.125] {
            assert_eq!(number(value).parse::<f64>().ok(), Some(value));
        }
    }
}

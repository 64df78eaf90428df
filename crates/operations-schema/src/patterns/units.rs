//! UTF-16 units as characters: without the `u` flag a pattern of JavaScript sees units, and Rust's
//! text has no lone surrogates, so private characters stand for them.

/// The UTF-16 units of a code point.
pub(super) fn units(code: u32) -> (u32, Option<u32>) {
    match code.checked_sub(0x1_0000) {
        None => (code, None),
        Some(above) => (0xD800 + (above >> 10), Some(0xDC00 + (above & 0x3FF))),
    }
}

/// A code point, or a lone surrogate, as a character.
pub(super) fn stand_in(code: u32) -> char {
    char::from_u32(code)
        .or_else(|| char::from_u32(0x10_F000 + code.wrapping_sub(0xD800)))
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A text in which each UTF-16 unit is one character.
pub(super) fn split_astral(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    out.extend(text.encode_utf16().map(|unit| stand_in(u32::from(unit))));
    out
}

/// The UTF-16 unit that a character stands for.
pub(super) fn unit_of(found: char) -> Option<u16> {
    let code = u32::from(found);
    let unit = code
        .checked_sub(0x10_F000)
        .map_or(code, |half| 0xD800 + half);
    u16::try_from(unit).ok()
}

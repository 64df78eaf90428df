//! Text in the encodings that servers still use.

/// Bytes as text. An encoding that is not known is read as UTF-8, as nearly everything is; what does
/// not fit becomes U+FFFD. A byte order mark goes before the label and is not part of the text.
#[must_use]
pub fn decode(bytes: &[u8], charset: Option<&str>) -> String {
    if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return String::from_utf8_lossy(rest).into_owned();
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return utf16(rest, u16::from_be_bytes);
    }
    let label = charset.unwrap_or_default().trim().to_ascii_lowercase();
    match label.as_str() {
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "l1" | "us-ascii" | "ascii"
        | "windows-1252" | "cp1252" | "x-cp1252" => {
            bytes.iter().map(|byte| windows_1252(*byte)).collect()
        }
        "utf-16" | "utf-16le" => utf16(bytes, u16::from_le_bytes),
        "utf-16be" => utf16(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2);
    let cut_short = !units.remainder().is_empty();
    let units = units.filter_map(|pair| <[u8; 2]>::try_from(pair).ok().map(read));
    let mut text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if cut_short {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

/// The web reads Latin-1 as this superset of it, and so do we.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let high = byte
        .checked_sub(0x80)
        .and_then(|index| HIGH.get(usize::from(index)));
    high.copied().unwrap_or(char::from(byte))
}

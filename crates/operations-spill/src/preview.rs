//! What stands in the place of a result that is in a file.

/// Bytes of a large result that are shown.
const SHOWN: usize = 4_000;

/// The beginning of a text, and a sign that there is more.
#[must_use]
pub fn preview(start: &[u8]) -> String {
    let start = start.get(..SHOWN.min(start.len())).unwrap_or(start);
    // A letter that was cut in two is left out.
    let text = String::from_utf8_lossy(start);
    format!("{}…", text.trim_end_matches('\u{fffd}'))
}

/// A few words about a result that is no text.
#[must_use]
pub fn described(content_type: &str, bytes: u64) -> String {
    format!("[{content_type}, {bytes} bytes, in a file]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_ends_with_a_whole_letter() {
        let text = "ä".repeat(SHOWN);
        let shown = preview(&text.as_bytes()[1..]);
        assert!(shown.len() < SHOWN + 10 && shown.ends_with("ä…"), "{shown}");
        assert_eq!(preview(b"abc"), "abc…");
        assert_eq!(described("image/png", 7), "[image/png, 7 bytes, in a file]");
    }
}

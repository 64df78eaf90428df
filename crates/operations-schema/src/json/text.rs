//! Whether a text is JSON, and how deeply it is nested.
//!
//! The text is scanned once, and its parts are reported to [`Events`]. Nesting is bounded, and kept on the heap instead of
//! the stack.

/// The deepest nesting that is let through. JavaScript's own parser and writer go further, but what walks the
/// value afterwards may not.
pub const MAX_DEPTH: usize = 512;

/// Why a text is not passed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    Encoding,
    /// Not JSON.
    #[error("it is not JSON, at byte {0}")]
    Syntax(usize),
    /// Nested more deeply than [`MAX_DEPTH`].
    #[error("it is nested more than {MAX_DEPTH} levels deep")]
    Depth,
    /// JSON, but no object.
    #[error("it is no object")]
    NoObject,
    /// Longer than positions are counted.
    #[error("it is longer than 4 GiB")]
    Length,
}

/// Whether a text is one JSON value that may be put into a larger one.
///
/// # Errors
///
/// When it is not.
pub fn check(text: &str) -> Result<(), Malformed> {
    Scan::new(text).document(&mut ())
}

/// The same for a text that will stand so many levels down in another.
///
/// # Errors
///
/// When it is not one JSON value, or would be nested too deeply there.
pub fn check_below(levels: usize, text: &str) -> Result<(), Malformed> {
    let mut scan = Scan::new(text);
    scan.deepest = MAX_DEPTH.saturating_sub(levels);
    scan.document(&mut ())
}

/// The same for a text that was written on this side, which is JSON for certain. Counting its brackets shows that almost
/// every such text is not nested too deeply.
///
/// # Errors
///
/// When it would be nested too deeply there.
pub fn check_written(levels: usize, text: &str) -> Result<(), Malformed> {
    debug_assert!(
        !matches!(check(text), Err(Malformed::Syntax(_))),
        "what this side writes is JSON: {text}"
    );
    if openings(text) <= MAX_DEPTH.saturating_sub(levels) {
        return Ok(());
    }
    check_below(levels, text)
}

/// How deeply what a server sends may be nested. Parsing brackets costs JavaScript a hundred times
/// what it costs to send them, so that a limit on bytes alone would not keep it from standing still.
pub const MAX_ANSWER_DEPTH: usize = 10_000;

/// Whether a text, which is JSON, is nested more deeply than [`MAX_ANSWER_DEPTH`].
#[must_use]
pub fn is_too_deep(text: &str) -> bool {
    // Counting brackets takes a tenth of the time of following them, and almost no text has so many.
    if openings(text) <= MAX_ANSWER_DEPTH {
        return false;
    }
    let mut depth = 0_usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_ANSWER_DEPTH {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

/// How many brackets open in a text, those in strings included.
fn openings(text: &str) -> usize {
    // So short that one byte counts all of them: the compiler then compares many at a time.
    let counts = text.as_bytes().chunks(255).map(|chunk| {
        let are_openings = chunk.iter().map(|byte| matches!(byte, b'[' | b'{'));
        are_openings.map(u8::from).sum::<u8>()
    });
    counts.map(usize::from).sum()
}

/// Goes on after the end of a string whose first quote was read.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// How many bytes there are before one that means something in a string: its end, an escape, or what must be escaped.
pub(super) fn plain(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
    // Eight at a time. The first byte that is marked is the right one; those after it may be marked in error.
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special_bytes(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// The highest bit of each byte that is a quote, a backslash or a control character.
const fn special_bytes(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xff;
    const HIGHEST: u64 = EACH * 0x80;
    const fn is_zero(word: u64) -> u64 {
        word.wrapping_sub(EACH) & !word
    }
    let quote = is_zero(word ^ (EACH * b'"' as u64));
    let backslash = is_zero(word ^ (EACH * b'\\' as u64));
    let control = word.wrapping_sub(EACH * b' ' as u64) & !word;
    (quote | backslash | control) & HIGHEST
}

/// Called for each part of a text, in the order of the text. Positions are in bytes.
pub(super) trait Events {
    /// An array or an object begins.
    fn open(&mut self, _start: usize, _is_object: bool) {}
    /// The innermost of those that are open ends.
    fn close(&mut self, _end: usize) {}
    /// The name of a member.
    fn name(&mut self, _start: usize, _end: usize) {}
    /// A value without parts.
    fn scalar(&mut self, _start: usize, _end: usize) {}
}

/// Only checks that it is JSON.
impl Events for () {}

/// A place in a JSON text that moves forward.
pub(crate) struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub(crate) at: usize,
    pub(super) deepest: usize,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            deepest: MAX_DEPTH,
        }
    }

    fn syntax(&self) -> Malformed {
        Malformed::Syntax(self.at.min(self.bytes.len()))
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    pub(crate) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.space();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    /// Scans a whole text and reports its parts to `events`.
    pub(super) fn document(&mut self, events: &mut impl Events) -> Result<(), Malformed> {
        self.space();
        self.value(events)?;
        self.end()
    }

    /// The text that `scan` goes over.
    pub(crate) fn slice(
        &mut self,
        scan: impl FnOnce(&mut Self) -> Result<(), Malformed>,
    ) -> Result<&'a str, Malformed> {
        let start = self.at;
        scan(self)?;
        self.text.get(start..self.at).ok_or(Malformed::Encoding)
    }

    /// Goes over a value, however deep, without recursion: `open` holds what each open bracket will close with.
    fn value(&mut self, events: &mut impl Events) -> Result<(), Malformed> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            // A value begins here.
            let start = self.at;
            let closes = match self.peek() {
                Some(b'{') => Some(b'}'),
                Some(b'[') => Some(b']'),
                _ => None,
            };
            if let Some(bracket) = closes {
                self.at += 1;
                if open.len() >= self.deepest {
                    return Err(Malformed::Depth);
                }
                events.open(start, bracket == b'}');
                self.space();
                if self.peek() == Some(bracket) {
                    self.at += 1;
                    events.close(self.at);
                } else {
                    open.push(bracket);
                    if bracket == b'}' {
                        self.name(events)?;
                    }
                    continue;
                }
            } else {
                self.scalar()?;
                events.scalar(start, self.at);
            }
            // A value has ended; so may those around it.
            loop {
                let Some(bracket) = open.last().copied() else {
                    return Ok(());
                };
                self.space();
                match self.next() {
                    Some(b',') => {
                        self.space();
                        if bracket == b'}' {
                            self.name(events)?;
                        }
                        break;
                    }
                    Some(byte) if byte == bracket => {
                        open.pop();
                        events.close(self.at);
                    }
                    _ => return Err(self.syntax()),
                }
            }
        }
    }

    /// The name of a member, its colon, and the space before its value.
    fn name(&mut self, events: &mut impl Events) -> Result<(), Malformed> {
        let start = self.at;
        self.string()?;
        events.name(start, self.at);
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.syntax()),
        }
    }

    pub(crate) fn word(&mut self, word: &str) -> Result<(), Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    pub(crate) fn string(&mut self) -> Result<(), Malformed> {
        self.expect(b'"')?;
        loop {
            self.at += plain(self.bytes.get(self.at..).unwrap_or_default());
            match self.next() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => match self.next() {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                    Some(b'u') => {
                        for _ in 0..4 {
                            if !self.next().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                return Err(self.syntax());
                            }
                        }
                    }
                    _ => return Err(self.syntax()),
                },
                _ => return Err(self.syntax()),
            }
        }
    }

    pub(crate) fn digits(&mut self) -> Result<(), Malformed> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.syntax());
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    pub(crate) fn number(&mut self) -> Result<(), Malformed> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_parser_on_what_is_json() {
        let cases = [
            "1",
            "-0",
            "01",
            "1.",
            ".5",
            "1e",
            "1e5",
            "-",
            "\"a\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\uD83D\\uDE00\"",
            "\"\n\"",
            "[]",
            "[1,]",
            "[,]",
            "[1 2]",
            "{}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "true",
            "tru",
            "nul",
            "",
            " ",
            "[[[]]]",
            "[[[]]",
            "{\"a\":[{\"b\":{}}]}",
            "{} {}",
            "[1]x",
            "\"unclosed",
            "{\"a\":1]",
            "[1}",
            "1 ",
            "\u{feff}1",
        ];
        for text in cases {
            let expected = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(check(text).is_ok(), expected, "{text:?}");
        }
        // A surrogate without its partner is JSON, and JavaScript reads it.
        assert!(check("\"\\ud800\"").is_ok());
    }

    #[test]
    fn agrees_with_a_parser_on_texts_with_one_byte_changed() {
        let text = r#"{"a":[1,-2.5e3,"x\n\u00e9",true,false,null,{"b":{}}],"c":[[]]}"#;
        let replacements = b"{}[]\",:0-.eE+tfn \\ux\n";
        for at in 0..text.len() {
            for with in replacements {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = *with;
                let changed = String::from_utf8(bytes).unwrap();
                let expected = serde_json::from_str::<serde_json::Value>(&changed).is_ok();
                assert_eq!(check(&changed).is_ok(), expected, "{changed}");
            }
        }
    }

    #[test]
    fn what_means_something_in_a_string_is_found_wherever_it_is() {
        let one_by_one = |bytes: &[u8]| {
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
            bytes.iter().position(is_special).unwrap_or(bytes.len())
        };
        for filler in [b'a', b' ', b'!', b'#', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
            for byte in 0..=u8::MAX {
                for at in 0..20 {
                    let mut bytes = [filler; 20];
                    bytes[at] = byte;
                    assert_eq!(plain(&bytes), one_by_one(&bytes), "{byte} at {at}");
                }
            }
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(Malformed::Depth));
        assert!(check_below(2, &nested(MAX_DEPTH - 2)).is_ok());
        assert!(check_written(2, &nested(MAX_DEPTH - 2)).is_ok());
        assert_eq!(
            check_written(2, &nested(MAX_DEPTH - 1)),
            Err(Malformed::Depth)
        );
        let flat = format!("[{}[]]", "[],".repeat(MAX_DEPTH));
        assert!(check_written(2, &flat).is_ok());
        assert_eq!(
            check_below(2, &nested(MAX_DEPTH - 1)),
            Err(Malformed::Depth)
        );
        assert_eq!(check(&"[".repeat(1_000_000)), Err(Malformed::Depth));
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(!is_too_deep(&nested(MAX_ANSWER_DEPTH)));
        assert!(is_too_deep(&nested(MAX_ANSWER_DEPTH + 1)));
        let brackets = "[".repeat(3 * MAX_ANSWER_DEPTH);
        assert!(!is_too_deep(&format!(r#"["{brackets}", "\"{brackets}"]"#)));
        assert!(!is_too_deep(&format!(
            "[{}1]",
            "[],".repeat(2 * MAX_ANSWER_DEPTH)
        )));
    }
}

//! JSON that passes through as text.
//!
//! A transport looks at a few members of a message and hands the rest on. Parsing an input or an output into a
//! tree, only to write it out again, would cost more than all else it does, and would change it (numbers, order,
//! lone surrogates). So this walks over a text once, checks that it is JSON, and remembers where the members of
//! the outermost object are. It needs no stack of its own size: nesting is bounded and kept on the heap.

use super::document::inner;

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
    /// Longer than places in a text are counted.
    #[error("it is longer than 4 GiB")]
    Length,
}

/// The members of an object, each value as the text that it was.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    members: Vec<(&'a str, &'a str)>,
}

impl<'a> Object<'a> {
    /// Reads the outermost object of a text. Everything below it is checked too.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read(text: &'a str) -> Result<Self, Malformed> {
        Self::scan(Scan::new(text))
    }

    /// The same for a text that is nested more deeply than [`MAX_DEPTH`]: enough to find out whose it is.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_however_deep(text: &'a str) -> Result<Self, Malformed> {
        let mut scan = Scan::new(text);
        scan.deepest = usize::MAX;
        Self::scan(scan)
    }

    fn scan(mut scan: Scan<'a>) -> Result<Self, Malformed> {
        scan.space();
        if scan.peek() != Some(b'{') {
            scan.document(&mut ())?;
            return Err(Malformed::NoObject);
        }
        scan.at += 1;
        let mut members = Vec::with_capacity(8);
        scan.space();
        if scan.peek() == Some(b'}') {
            scan.at += 1;
        } else {
            loop {
                scan.space();
                let key = scan.slice(Scan::string)?;
                scan.space();
                scan.expect(b':')?;
                scan.space();
                members.push((key, scan.slice(|scan| scan.value(&mut ()))?));
                scan.space();
                match scan.next() {
                    Some(b',') => {}
                    Some(b'}') => break,
                    _ => return Err(scan.syntax()),
                }
            }
        }
        scan.end()?;
        Ok(Self { members })
    }

    /// The text of a member; of two with one name the last, as JavaScript has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.members
            .iter()
            .rev()
            .find(|(key, _)| is_text(key, name))
            .map(|(_, value)| *value)
    }

    /// A member that is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        Self::read(self.get(name)?).ok()
    }

    /// A member that is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<String> {
        let quoted = self.get(name)?;
        let plain = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .filter(|inner| !inner.contains('\\'));
        match plain {
            Some(text) => Some(text.to_owned()),
            None => serde_json::from_str(quoted).ok(),
        }
    }

    /// A member that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member that is a whole number which is not negative.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        serde_json::from_str(self.get(name)?).ok()
    }
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

/// Whether the text of a string (quotes included) says this.
fn is_text(quoted: &str, name: &str) -> bool {
    let inner = inner(quoted);
    inner == name
        || (inner.contains('\\')
            && serde_json::from_str::<String>(quoted).is_ok_and(|text| text == name))
}

/// Hears what a text is made of, in the order of the text. Places are in bytes.
pub(super) trait Parts {
    /// An array or an object begins.
    fn open(&mut self, _start: usize, _is_object: bool) {}
    /// The innermost of those that are open ends.
    fn close(&mut self, _end: usize) {}
    /// The name of a member.
    fn name(&mut self, _start: usize, _end: usize) {}
    /// A value without parts.
    fn scalar(&mut self, _start: usize, _end: usize) {}
}

/// For those who only want to know whether it is JSON.
impl Parts for () {}

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

    /// Goes over a whole text. `parts` hears what it is made of.
    pub(super) fn document(&mut self, parts: &mut impl Parts) -> Result<(), Malformed> {
        self.space();
        self.value(parts)?;
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
    fn value(&mut self, parts: &mut impl Parts) -> Result<(), Malformed> {
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
                parts.open(start, bracket == b'}');
                self.space();
                if self.peek() == Some(bracket) {
                    self.at += 1;
                    parts.close(self.at);
                } else {
                    open.push(bracket);
                    if bracket == b'}' {
                        self.name(parts)?;
                    }
                    continue;
                }
            } else {
                self.scalar()?;
                parts.scalar(start, self.at);
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
                            self.name(parts)?;
                        }
                        break;
                    }
                    Some(byte) if byte == bracket => {
                        open.pop();
                        parts.close(self.at);
                    }
                    _ => return Err(self.syntax()),
                }
            }
        }
    }

    /// The name of a member, its colon, and the space before its value.
    fn name(&mut self, parts: &mut impl Parts) -> Result<(), Malformed> {
        let start = self.at;
        self.string()?;
        parts.name(start, self.at);
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
            // Most of it is neither an escape nor the end.
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += rest
                .iter()
                .position(|&byte| matches!(byte, b'"' | b'\\' | 0..b' '))
                .unwrap_or(rest.len());
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
    fn members_are_the_text_that_they_were() {
        let object =
            Object::read(r#" { "a" : [1, {"b":"}"}] , "n":1.50e+3,"a":"last","\u0062":null } "#)
                .unwrap();
        assert_eq!(object.get("a"), Some("\"last\""));
        assert_eq!(object.get("n"), Some("1.50e+3"));
        assert_eq!(object.number("n"), Some(1500.0));
        assert_eq!(object.get("b"), Some("null"));
        assert_eq!(object.get("c"), None);
        assert!(Object::read("{}").unwrap().get("a").is_none());
    }

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
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(Malformed::Depth));
        assert!(check_below(2, &nested(MAX_DEPTH - 2)).is_ok());
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

//! JSON that passes through as text.
//!
//! A transport looks at a few members of a message and hands the rest on. Parsing an input or an output into a
//! tree, only to write it out again, would cost more than all else it does, and would change it (numbers, order,
//! lone surrogates). So this walks over a text once, checks that it is JSON, and remembers where the members of
//! the outermost object are. It needs no stack of its own size: nesting is bounded and kept on the heap.

use std::borrow::Cow;
use std::sync::Arc;

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
    /// Those of the whole text, as deep as was asked for.
    members: Arc<Vec<Member<'a>>>,
    /// Which of them this object is; nothing for the outermost.
    of: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    /// The member whose value it is in; nothing for the outermost object.
    of: Option<u32>,
    name: &'a str,
    value: &'a str,
    /// Its value is an object whose members are here too.
    is_read: bool,
}

impl<'a> Object<'a> {
    /// Reads the outermost object of a text. Everything below it is checked too.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read(text: &'a str) -> Result<Self, Malformed> {
        Self::read_levels(text, 1)
    }

    /// The same, remembering the members of so many levels of objects: those that [`Object::object`] gives need not be read
    /// again.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_levels(text: &'a str, levels: usize) -> Result<Self, Malformed> {
        Self::record(text, levels, MAX_DEPTH + 1)
    }

    /// The same for a text that will stand in another, so that all of it has one level less.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_inner(text: &'a str) -> Result<Self, Malformed> {
        Self::record(text, 1, MAX_DEPTH)
    }

    /// The same for a text that is nested more deeply than [`MAX_DEPTH`]: enough to find out whose it is.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_however_deep(text: &'a str) -> Result<Self, Malformed> {
        Self::record(text, 1, usize::MAX)
    }

    fn record(text: &'a str, levels: usize, deepest: usize) -> Result<Self, Malformed> {
        let mut scan = Scan::new(text);
        scan.deepest = deepest;
        scan.space();
        let is_object = scan.peek() == Some(b'{');
        let mut recorder = Recorder {
            text,
            levels,
            members: Vec::with_capacity(16),
            open: Vec::with_capacity(levels),
            name: "",
            passed: None,
            depth: 0,
        };
        scan.document(&mut recorder)?;
        if !is_object {
            return Err(Malformed::NoObject);
        }
        Ok(Self {
            members: Arc::new(recorder.members),
            of: None,
        })
    }

    /// Of two with one name the last, as JavaScript has it.
    fn find(&self, name: &str) -> Option<(usize, &Member<'a>)> {
        let mut members = self.members.iter().enumerate().rev();
        members.find(|(_, member)| member.of == self.of && is_text(member.name, name))
    }

    /// The text of a member; of two with one name the last, as JavaScript has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.find(name).map(|(_, member)| member.value)
    }

    /// A member that is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        let (at, member) = self.find(name)?;
        if member.is_read {
            return Some(Self {
                members: Arc::clone(&self.members),
                of: u32::try_from(at).ok(),
            });
        }
        Self::read(member.value).ok()
    }

    /// A member that is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// The same, borrowed where it is written without escapes.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let quoted = self.get(name)?;
        let plain = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .filter(|inner| !inner.contains('\\'));
        match plain {
            Some(text) => Some(Cow::Borrowed(text)),
            None => serde_json::from_str(quoted).ok().map(Cow::Owned),
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

/// Remembers the members of the outermost objects of a text.
struct Recorder<'a> {
    text: &'a str,
    levels: usize,
    members: Vec<Member<'a>>,
    /// The objects whose members are remembered, and where each begins.
    open: Vec<(Option<u32>, usize)>,
    /// The name that was read last.
    name: &'a str,
    /// A container that is passed over, and where it begins.
    passed: Option<(Option<u32>, usize)>,
    /// How many containers are open in there.
    depth: usize,
}

impl Recorder<'_> {
    /// Remembers a member of the innermost object. Its end may not be known yet.
    fn keep(&mut self, start: usize, end: usize) -> Option<u32> {
        let (of, _) = *self.open.last()?;
        let at = u32::try_from(self.members.len()).ok();
        self.members.push(Member {
            of,
            name: self.name,
            value: self.text.get(start..end).unwrap_or_default(),
            is_read: false,
        });
        at
    }

    fn end(&mut self, (member, start): (Option<u32>, usize), end: usize, is_read: bool) {
        if let Some(member) = member.and_then(|at| self.members.get_mut(at as usize)) {
            member.value = self.text.get(start..end).unwrap_or_default();
            member.is_read = is_read;
        }
    }
}

impl Parts for Recorder<'_> {
    fn open(&mut self, start: usize, is_object: bool) {
        if self.passed.is_some() {
            self.depth += 1;
            return;
        }
        let member = self.keep(start, start);
        if is_object && self.open.len() < self.levels {
            self.open.push((member, start));
        } else {
            self.passed = Some((member, start));
        }
    }

    fn close(&mut self, end: usize) {
        if self.depth > 0 {
            self.depth -= 1;
        } else if let Some(passed) = self.passed.take() {
            self.end(passed, end, false);
        } else if let Some(object) = self.open.pop() {
            self.end(object, end, true);
        }
    }

    fn name(&mut self, start: usize, end: usize) {
        if self.passed.is_none() {
            self.name = self.text.get(start..end).unwrap_or_default();
        }
    }

    fn scalar(&mut self, start: usize, end: usize) {
        if self.passed.is_none() {
            self.keep(start, end);
        }
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

/// Whether the text of a string (quotes included) says this.
fn is_text(quoted: &str, name: &str) -> bool {
    let inner = inner(quoted);
    // An escape is longer than what it stands for.
    inner == name
        || (inner.len() > name.len()
            && inner.contains('\\')
            && serde_json::from_str::<String>(quoted).is_ok_and(|text| text == name))
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

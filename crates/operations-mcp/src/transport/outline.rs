//! Where the parts of a large message are, found while it passes by. Nothing of it is kept.

use std::ops::Range;

/// What is kept of a small value.
const SMALL: usize = 64;
/// Levels that are told apart: the message, its result, the content, a block, and what is in it.
const LEVELS: usize = 5;
/// The longest key that matters is shorter.
const KEY: usize = 24;

/// Where a value is, and its first bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    pub(crate) start: Vec<u8>,
}

impl Part {
    fn is(&self, text: &str) -> bool {
        self.start == text.as_bytes()
    }
}

/// The parts of a message that decide what becomes of it.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
pub(crate) struct Outline {
    id: Option<Part>,
    has_method: bool,
    has_error: bool,
    is_error: bool,
    is_question: bool,
    content: Option<Part>,
    blocks: usize,
    /// Of the first block.
    is_text: bool,
    text: Option<Part>,
    structured: Option<Part>,
    pub(crate) meta: Option<Part>,
    scan: Scan,
}

/// Where in the text we are.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
struct Scan {
    at: u64,
    depth: usize,
    /// Whether a level is a list, for the first levels.
    is_list: [bool; LEVELS],
    /// The key whose value comes, or the number of the element.
    keys: [Vec<u8>; LEVELS],
    count: [usize; LEVELS],
    /// Within a text: whether the next letter is escaped.
    text: Option<bool>,
    /// Whether the text is a key.
    is_key: bool,
    expects_key: bool,
    /// The value that is being read, if it is one that matters: where it began, at which depth, and its first bytes.
    open: Vec<(Place, usize, Part)>,
    /// Within a number or a word.
    is_bare: bool,
    is_over: bool,
    is_odd: bool,
}

/// What data there is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data<'o> {
    /// JSON.
    Json(&'o Part),
    /// A text, as JSON writes it.
    Text(&'o Part),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Id,
    Method,
    Error,
    IsError,
    ResultType,
    Content,
    Structured,
    Meta,
    BlockType,
    BlockText,
}

impl Outline {
    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.take(*byte);
            self.scan.at += 1;
        }
    }

    /// The number of the request that is answered.
    pub(crate) fn number(&self) -> Option<u64> {
        let id = std::str::from_utf8(&self.id.as_ref()?.start).ok()?;
        id.trim_matches('"').parse().ok()
    }

    /// The data of a result that says of itself that it is complete and no error; nothing otherwise.
    pub(crate) fn data(&self) -> Option<Data<'_>> {
        let is_plain = self.scan.is_over
            && !self.scan.is_odd
            && !(self.has_method || self.has_error || self.is_error || self.is_question);
        if !is_plain {
            return None;
        }
        let structured = self.structured.as_ref().filter(|part| !part.is("null"));
        if let Some(part) = structured {
            return Some(Data::Json(part));
        }
        match &self.text {
            Some(text) if self.blocks == 1 && self.is_text => Some(Data::Text(text)),
            _ => self.content.as_ref().map(Data::Json),
        }
    }

    fn take(&mut self, byte: u8) {
        for (_, _, part) in &mut self.scan.open {
            if part.start.len() < SMALL {
                part.start.push(byte);
            }
        }
        if let Some(is_escaped) = self.scan.text {
            self.in_text(byte, is_escaped);
            return;
        }
        let is_end = matches!(
            byte,
            b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b':'
        );
        if self.scan.is_bare && is_end {
            self.scan.is_bare = false;
            self.close(self.scan.at);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if self.scan.is_over => self.scan.is_odd = true,
            b'{' | b'[' => {
                self.begin(byte);
                let depth = self.scan.depth;
                if let Some(is_list) = self.scan.is_list.get_mut(depth) {
                    *is_list = byte == b'[';
                }
                if let Some(count) = self.scan.count.get_mut(depth) {
                    *count = 0;
                }
                if let Some(key) = self.scan.keys.get_mut(depth) {
                    key.clear();
                }
                self.scan.depth += 1;
                self.scan.expects_key = byte == b'{';
            }
            b'}' | b']' => {
                let Some(depth) = self.scan.depth.checked_sub(1) else {
                    self.scan.is_odd = true;
                    return;
                };
                self.scan.depth = depth;
                self.scan.expects_key = false;
                self.close(self.scan.at + 1);
                self.scan.is_over = depth == 0;
            }
            b',' => {
                let level = self.scan.depth.wrapping_sub(1);
                let is_list = self.scan.is_list.get(level).copied();
                // Below the levels that matter, keys and values need not be told apart.
                self.scan.expects_key = is_list == Some(false);
                if let Some(count) = self.scan.count.get_mut(level) {
                    *count += 1;
                }
            }
            b':' => self.scan.expects_key = false,
            b'"' => {
                self.scan.is_key = self.scan.expects_key && self.scan.depth <= LEVELS;
                if self.scan.is_key {
                    let level = self.scan.depth.wrapping_sub(1);
                    if let Some(key) = self.scan.keys.get_mut(level) {
                        key.clear();
                    }
                } else {
                    self.begin(byte);
                }
                self.scan.text = Some(false);
            }
            _ if !self.scan.is_bare => {
                self.scan.is_bare = true;
                self.begin(byte);
            }
            _ => {}
        }
    }

    fn in_text(&mut self, byte: u8, is_escaped: bool) {
        if byte == b'"' && !is_escaped {
            self.scan.text = None;
            if !self.scan.is_key {
                self.close(self.scan.at + 1);
            }
            return;
        }
        self.scan.text = Some(byte == b'\\' && !is_escaped);
        let level = self.scan.depth.wrapping_sub(1);
        if self.scan.is_key
            && let Some(key) = self.scan.keys.get_mut(level)
            && key.len() < KEY
        {
            key.push(byte);
        }
    }

    /// A value begins.
    fn begin(&mut self, byte: u8) {
        if self.scan.depth == 3 && self.is_in_content() {
            let count = self.scan.count.get(2).copied().unwrap_or_default();
            self.blocks = count + 1;
        }
        if let Some(place) = self.place() {
            let part = Part {
                range: self.scan.at..self.scan.at,
                start: vec![byte],
            };
            self.scan.open.push((place, self.scan.depth, part));
        }
    }

    fn key(&self, level: usize) -> &[u8] {
        let is_list = self.scan.is_list.get(level).copied().unwrap_or(true);
        let key = self.scan.keys.get(level).filter(|_| !is_list);
        key.map_or(&[], Vec::as_slice)
    }

    fn is_in_content(&self) -> bool {
        self.key(0) == b"result"
            && self.key(1) == b"content"
            && self.scan.is_list.get(2) == Some(&true)
    }

    fn place(&self) -> Option<Place> {
        match self.scan.depth {
            1 => match self.key(0) {
                b"id" => Some(Place::Id),
                b"method" => Some(Place::Method),
                b"error" => Some(Place::Error),
                _ => None,
            },
            2 if self.key(0) == b"result" => match self.key(1) {
                b"isError" => Some(Place::IsError),
                b"resultType" => Some(Place::ResultType),
                b"content" => Some(Place::Content),
                b"structuredContent" => Some(Place::Structured),
                b"_meta" => Some(Place::Meta),
                _ => None,
            },
            4 if self.is_in_content() && self.scan.count.get(2) == Some(&0) => match self.key(3) {
                b"type" => Some(Place::BlockType),
                b"text" => Some(Place::BlockText),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value that began at this depth ends before `end`.
    fn close(&mut self, end: u64) {
        let is_here = self
            .scan
            .open
            .last()
            .is_some_and(|(_, depth, _)| *depth == self.scan.depth);
        let Some((place, _, mut part)) = self.scan.open.pop_if(|_| is_here) else {
            return;
        };
        part.range.end = end;
        let length = usize::try_from(end - part.range.start).unwrap_or(usize::MAX);
        part.start.truncate(length);
        match place {
            Place::Id => self.id = Some(part),
            Place::Method => self.has_method = true,
            Place::Error => self.has_error |= !part.is("null"),
            Place::IsError => self.is_error |= part.is("true"),
            Place::ResultType => self.is_question |= !part.is("\"complete\""),
            Place::Content => self.content = Some(part),
            Place::Structured => self.structured = Some(part),
            Place::Meta => self.meta = Some(part),
            Place::BlockType => self.is_text = part.is("\"text\""),
            Place::BlockText => self.text = Some(part),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_possible_truncation,
        clippy::indexing_slicing,
        reason = "tests: a failure should stop them"
    )]

    use super::*;

    /// What is found of a message, whatever pieces it comes in.
    fn found(text: &str) -> (Option<u64>, Option<String>) {
        let mut all = None;
        for size in [1, 2, 3, 7, text.len()] {
            let mut outline = Outline::default();
            for piece in text.as_bytes().chunks(size) {
                outline.push(piece);
            }
            let of = |part: &Part| {
                let range = part.range.start as usize..part.range.end as usize;
                text[range].to_owned()
            };
            let data = outline.data().map(|data| match data {
                Data::Json(part) => of(part),
                Data::Text(part) => format!("text {}", of(part)),
            });
            let this = (outline.number(), data);
            assert_eq!(
                *all.get_or_insert(this.clone()),
                this,
                "{text} in pieces of {size}"
            );
        }
        all.unwrap_or_default()
    }

    #[test]
    fn data_is_found_wherever_it_is() {
        for (text, number, data) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a \"b\" ] }"}]}}"#,
                7,
                r#"text "a \"b\" ] }""#,
            ),
            (
                r#"{"result":{"content":[{"text":"x","type":"text"}]},"jsonrpc":"2.0","id":"8"}"#,
                8,
                r#"text "x""#,
            ),
            (
                r#" { "result" : { "content" : [ ] , "structuredContent" : { "content" : [ 1 ] } } , "id" : 9 } "#,
                9,
                r#"{ "content" : [ 1 ] }"#,
            ),
            (
                r#"{"id":1,"result":{"structuredContent":null,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
                1,
                r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            ),
            (
                r#"{"id":1,"result":{"content":[{"type":"image","data":"AA","text":"x"}]}}"#,
                1,
                r#"[{"type":"image","data":"AA","text":"x"}]"#,
            ),
            (
                r#"{"id":1,"result":{"_meta":{"isError":true,"id":5},"isError":false,"content":[{"type":"text","text":"a","_meta":{"text":"no"}}]}}"#,
                1,
                r#"text "a""#,
            ),
            (
                r#"{"id":12,"result":{"structuredContent":[1,2]}}"#,
                12,
                "[1,2]",
            ),
        ] {
            assert_eq!(found(text), (Some(number), Some(data.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_result_has_none() {
        for text in [
            r#"{"id":1,"error":{"code":1,"message":"x"}}"#,
            r#"{"id":1,"result":{"isError":true,"content":[{"type":"text","text":"x"}]}}"#,
            r#"{"id":1,"result":{"resultType":"input_required","content":[]}}"#,
            r#"{"id":1,"method":"ping","result":{"content":[]}}"#,
            r#"{"id":1,"result":{"content":["#,
            r#"{"id":1,"result":{"content":[]}} {}"#,
            r#"{"id":1,"result":{}}"#,
            "}",
        ] {
            assert_eq!(found(text).1, None, "{text}");
        }
    }
}

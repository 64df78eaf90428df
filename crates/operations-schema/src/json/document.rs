//! A JSON text, taken apart once and understood as `JSON.parse` understands it.
//!
//! `serde_json::Value` is not that: it refuses what JavaScript reads (a lone surrogate, `1e400`, 129 brackets),
//! and it has another order of keys. Here the text stays, and each value knows its place in it, so that what is not
//! changed is passed on as it came. Values lie in one list, so neither reading nor dropping a deep one recurses.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::text::{Events, Malformed, Scan};
use super::write::{self, Infinite};
use crate::pointer::escape;
use serde_json::Value;

/// Up to this many members an object is searched one by one; a larger one has its names sorted beside it.
const SCANNED: usize = 16;

/// A JSON text and where everything in it is.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    /// Elements of arrays; names and values of objects in turn, then the members sorted by name where there are many.
    parts: Vec<u32>,
    /// Whether the text is what `JSON.stringify` makes of it, byte for byte.
    is_canonical: bool,
}

#[derive(Debug, Clone)]
struct Node {
    start: u32,
    end: u32,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Null,
    Bool(bool),
    Number(f64),
    /// A string without escapes: what stands between its quotes.
    Plain,
    /// A string with escapes, and what they mean. A lone surrogate is U+FFFD.
    Escaped(Box<str>),
    Array {
        first: u32,
        count: u32,
    },
    Object {
        first: u32,
        count: u32,
    },
}

/// A value of a document.
#[derive(Debug, Clone, Copy)]
pub struct Json<'d> {
    document: &'d Document,
    node: u32,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind<'d> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number as JavaScript has it, an infinite one included.
    Number(f64),
    /// A string. A lone surrogate reads as U+FFFD.
    String(&'d str),
    /// An array with so many elements.
    Array(usize),
    /// An object with so many members.
    Object(usize),
}

impl Document {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// When it is not JSON.
    pub fn parse(text: impl Into<String>) -> Result<Self, Malformed> {
        Self::parse_within(usize::MAX, text.into()).map_err(|(why, _)| why)
    }

    /// The same for a text that may be nested so deeply at most.
    ///
    /// # Errors
    ///
    /// When it is not JSON, or is nested more deeply. The text comes back.
    pub fn parse_within(deepest: usize, text: String) -> Result<Self, (Malformed, String)> {
        if u32::try_from(text.len()).is_err() {
            return Err((Malformed::Length, text));
        }
        let mut reader = Reader {
            text: &text,
            nodes: Vec::with_capacity(text.len() / 8),
            parts: Vec::new(),
            open: Vec::new(),
            waiting: Vec::new(),
            is_canonical: true,
            written: 0,
        };
        let mut scan = Scan::new(&text);
        scan.deepest = deepest;
        let scanned = scan.document(&mut reader);
        let Reader {
            nodes,
            parts,
            is_canonical,
            written,
            ..
        } = reader;
        if let Err(why) = scanned {
            return Err((why, text));
        }
        // Every byte is a part of a value, so there is no white space.
        let is_canonical = is_canonical && written == text.len();
        Ok(Self {
            text,
            nodes,
            parts,
            is_canonical,
        })
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Json<'_> {
        Json {
            document: self,
            // A value comes after its parts.
            node: position(self.nodes.len().saturating_sub(1)),
        }
    }

    /// The text as it came.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as it came.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// The JSON Pointer to the first value, in the order of the text, of which this is true, and the value. A container comes after
    /// its parts.
    pub fn find(&self, mut is_found: impl FnMut(Json<'_>) -> bool) -> Option<(String, Json<'_>)> {
        let all = (0..self.nodes.len()).map(|node| self.root().at(position(node)));
        let found = all.into_iter().find(|value| is_found(*value))?;
        Some((self.pointer_to(found), found))
    }

    /// A value that a later member of the same name has replaced has the pointer of what it stands in.
    fn pointer_to(&self, target: Json<'_>) -> String {
        let mut pointer = String::new();
        let mut value = self.root();
        let holds_target = |value: &Json<'_>| value.place().contains(&target.place().start);
        while !value.is(target) {
            let elements = value.elements().enumerate();
            let elements = elements.map(|(index, inner)| (index.to_string(), inner));
            let members = value.members();
            let members =
                members.map(|(name, inner)| (name.as_str().unwrap_or_default().to_owned(), inner));
            let inner = elements.chain(members);
            let Some((step, inner)) = inner.into_iter().find(|(_, inner)| holds_target(inner))
            else {
                break;
            };
            pointer.push('/');
            pointer.push_str(&escape(&step));
            value = inner;
        }
        pointer
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Document {}

impl From<&Value> for Document {
    /// A value of serde is always JSON, so this does not fail.
    fn from(value: &Value) -> Self {
        Self::parse(value.to_string()).unwrap_or_else(|_| Self {
            text: "null".to_owned(),
            nodes: vec![Node {
                start: 0,
                end: 4,
                content: Content::Null,
            }],
            parts: Vec::new(),
            is_canonical: true,
        })
    }
}

impl<'d> Json<'d> {
    fn at(self, node: u32) -> Self {
        Self { node, ..self }
    }

    fn content(self) -> &'d Content {
        const NOTHING: &Content = &Content::Null;
        let nodes = &self.document.nodes;
        nodes
            .get(self.node as usize)
            .map_or(NOTHING, |node| &node.content)
    }

    /// What it is.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind<'d> {
        match self.content() {
            Content::Null => Kind::Null,
            Content::Bool(value) => Kind::Bool(*value),
            Content::Number(number) => Kind::Number(*number),
            Content::Plain => Kind::String(inner(self.text())),
            Content::Escaped(text) => Kind::String(text),
            Content::Array { count, .. } => Kind::Array(*count as usize),
            Content::Object { count, .. } => Kind::Object(*count as usize),
        }
    }

    /// The text that it was.
    #[must_use]
    pub fn text(self) -> &'d str {
        self.document.text.get(self.place()).unwrap_or("null")
    }

    /// Where in the text of the document that is.
    #[must_use]
    pub fn place(self) -> Range<usize> {
        let place = self.document.nodes.get(self.node as usize);
        place.map_or(0..0, |node| node.start as usize..node.end as usize)
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(self) -> Option<&'d str> {
        match self.kind() {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// An element of an array.
    #[must_use]
    pub fn element(self, index: usize) -> Option<Self> {
        match self.content() {
            Content::Array { first, count } if index < *count as usize => {
                self.part(*first as usize + index)
            }
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn elements(self) -> impl Iterator<Item = Self> {
        (0..).map_while(move |index| self.element(index))
    }

    /// A member of an object by its place, name and value. Places are in the order of JavaScript: names that are
    /// indices first, by their number.
    #[must_use]
    pub fn member(self, index: usize) -> Option<(Self, Self)> {
        match self.content() {
            Content::Object { first, count } if index < *count as usize => {
                let at = *first as usize + 2 * index;
                Some((self.part(at)?, self.part(at + 1)?))
            }
            _ => None,
        }
    }

    /// The members of an object, in this order.
    pub fn members(self) -> impl Iterator<Item = (Self, Self)> {
        (0..).map_while(move |index| self.member(index))
    }

    /// A member of an object by its name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        let Content::Object { first, count } = self.content() else {
            return None;
        };
        let (first, count) = (*first as usize, *count as usize);
        if count <= SCANNED {
            let mut members = self.members();
            let found = members.find(|(key, _)| key.as_str() == Some(name));
            return found.map(|(_, value)| value);
        }
        let sorted = first + 2 * count;
        let sorted = self.document.parts.get(sorted..sorted + count)?;
        let name_at = |index: &u32| self.member(*index as usize)?.0.as_str();
        let found = sorted.binary_search_by(|index| name_at(index).cmp(&Some(name)));
        let index = sorted.get(found.ok()?)?;
        Some(self.member(*index as usize)?.1)
    }

    fn part(self, index: usize) -> Option<Self> {
        Some(self.at(*self.document.parts.get(index)?))
    }

    /// Whether both are the very same value, not merely equal ones.
    #[must_use]
    pub fn is(self, other: Json<'_>) -> bool {
        self.node == other.node && std::ptr::eq(self.document, other.document)
    }

    /// What `JSON.stringify` makes of it, except that infinite numbers stay infinite.
    #[must_use]
    pub fn canonical(self) -> Cow<'d, str> {
        if self.document.is_canonical {
            return self.text().into();
        }
        let mut json = String::with_capacity(self.text().len());
        write::stringify(self, &mut json, Infinite::Kept);
        json.into()
    }

    /// Appends [`Json::canonical`].
    pub fn push_to(self, json: &mut String) {
        json.push_str(&self.canonical());
    }

    /// The same for code that wants a `Value`, as far as that can hold it: a lone surrogate is U+FFFD in it, and
    /// an infinite number is `null`.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(value),
            Kind::Number(_) => serde_json::from_str(self.text()).unwrap_or_default(),
            Kind::String(text) => Value::String(text.to_owned()),
            Kind::Array(_) => self.elements().map(Self::to_value).collect(),
            Kind::Object(_) => self
                .members()
                .map(|(name, value)| (name.as_str().unwrap_or_default(), value.to_value()))
                .collect(),
        }
    }

    /// What `JSON.stringify` makes of it, byte for byte.
    #[must_use]
    pub fn stringify(self) -> String {
        let mut json = String::with_capacity(self.text().len());
        write::stringify(self, &mut json, Infinite::Null);
        json
    }
}

/// A string without its quotes.
pub(crate) fn inner(quoted: &str) -> &str {
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
}

struct Reader<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    parts: Vec<u32>,
    /// The containers that are not closed yet, and their parts.
    open: Vec<Open>,
    waiting: Vec<u32>,
    is_canonical: bool,
    /// How many bytes of the text belong to values: all but white space.
    written: usize,
}

/// A container that is not closed yet.
struct Open {
    is_object: bool,
    start: usize,
    /// Where its parts begin among those that wait.
    mark: usize,
}

impl Events for Reader<'_> {
    fn open(&mut self, start: usize, is_object: bool) {
        self.open.push(Open {
            is_object,
            start,
            mark: self.waiting.len(),
        });
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let first = position(self.parts.len());
        let content = if open.is_object {
            let count = self.close_object(open.mark);
            // Brackets, colons and commas.
            self.written += 2 + (2 * count as usize).saturating_sub(1);
            Content::Object { first, count }
        } else {
            let count = position(self.waiting.len() - open.mark);
            // Brackets and commas.
            self.written += 2 + (count as usize).saturating_sub(1);
            self.parts.extend(self.waiting.drain(open.mark..));
            Content::Array { first, count }
        };
        self.keep(open.start, end, content);
    }

    fn name(&mut self, start: usize, end: usize) {
        self.scalar(start, end);
    }

    fn scalar(&mut self, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or_default();
        self.written += text.len();
        let content = match text.as_bytes().first() {
            Some(b'"') if text.contains('\\') => {
                self.is_canonical &= write::is_canonical_string(text);
                Content::Escaped(write::unescaped(inner(text)).into())
            }
            Some(b'"') => Content::Plain,
            Some(b't') => Content::Bool(true),
            Some(b'f') => Content::Bool(false),
            Some(b'n') => Content::Null,
            _ => {
                // Its syntax is a part of what Rust reads.
                let number: f64 = text.parse().unwrap_or(f64::NAN);
                self.is_canonical &= write::is_canonical_number(text, number);
                Content::Number(number)
            }
        };
        self.keep(start, end, content);
    }
}

impl Reader<'_> {
    fn keep(&mut self, start: usize, end: usize, content: Content) {
        self.waiting.push(position(self.nodes.len()));
        self.nodes.push(Node {
            start: position(start),
            end: position(end),
            content,
        });
    }

    /// Takes over the members, as JavaScript has them: of two with one name the value of the last in the place of
    /// the first, and indices in front. Says how many there are.
    fn close_object(&mut self, mark: usize) -> u32 {
        let names = Names {
            text: self.text,
            nodes: &self.nodes,
        };
        let mut members: Vec<(u32, u32)> = Vec::with_capacity((self.waiting.len() - mark) / 2);
        let mut places: HashMap<&str, usize> = HashMap::new();
        let is_large = members.capacity() > SCANNED;
        let mut has_indices = false;
        let mut waiting = self.waiting.drain(mark..);
        while let (Some(key), Some(value)) = (waiting.next(), waiting.next()) {
            let name = names.of(key);
            let known = if is_large {
                places.get(name).copied()
            } else {
                members
                    .iter()
                    .position(|(other, _)| names.of(*other) == name)
            };
            if let Some(known) = known.and_then(|place| members.get_mut(place)) {
                known.1 = value;
                self.is_canonical = false;
                continue;
            }
            if is_large {
                places.insert(name, members.len());
            }
            has_indices |= array_index(name).is_some();
            members.push((key, value));
        }
        drop(waiting);
        if has_indices {
            let order = |(key, _): &(u32, u32)| array_index(names.of(*key)).unwrap_or(u32::MAX);
            self.is_canonical &= members.is_sorted_by_key(order);
            // A stable sort: the others keep their order.
            members.sort_by_key(order);
        }
        let mut sorted: Vec<u32> = Vec::new();
        if members.len() > SCANNED {
            sorted.extend(0..position(members.len()));
            let name = |index: &u32| members.get(*index as usize).map(|(key, _)| names.of(*key));
            sorted.sort_by(|one, two| name(one).cmp(&name(two)));
        }
        self.parts
            .extend(members.iter().flat_map(|(key, value)| [*key, *value]));
        self.parts.extend(sorted);
        position(members.len())
    }
}

/// The names of members while an object is closed.
struct Names<'r> {
    text: &'r str,
    nodes: &'r [Node],
}

impl<'r> Names<'r> {
    fn of(&self, key: u32) -> &'r str {
        match self.nodes.get(key as usize) {
            Some(Node {
                content: Content::Escaped(text),
                ..
            }) => text,
            Some(node) => {
                let place = node.start as usize..node.end as usize;
                inner(self.text.get(place).unwrap_or_default())
            }
            None => "",
        }
    }
}

/// The number of a name that JavaScript counts as the index of an array.
pub(crate) fn array_index(name: &str) -> Option<u32> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || (name.starts_with('0') && name.len() > 1) {
        return None;
    }
    // The largest number is no index.
    name.parse().ok().filter(|index| *index < u32::MAX)
}

/// A place in a text that is no longer than places are counted.
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stringified(text: &str) -> String {
        Document::parse(text).unwrap().root().stringify()
    }

    #[test]
    fn what_a_value_cannot_hold_is_replaced_and_the_rest_is_kept() {
        let text = r#"{"half":"a\ud800","big":-1e400,"n":9007199254740993,"list":[null,true,1.5]}"#;
        let value = Document::parse(text).unwrap().root().to_value();
        assert_eq!(
            value,
            serde_json::json!({
                "half": "a\u{fffd}", "big": null, "n": 9_007_199_254_740_993_u64, "list": [null, true, 1.5],
            })
        );
    }

    #[test]
    fn a_text_is_understood_as_javascript_understands_it() {
        // What `JSON.stringify(JSON.parse(text))` gives in V8.
        for (text, expected) in [
            (
                " [ 1.50 , 1E2, -0, 1e400, 0.1e-6 ] ",
                "[1.5,100,0,null,1e-7]",
            ),
            ("9007199254740993", "9007199254740992"),
            (
                r#"{"b":1,"10":2,"2":3,"a":4,"b":5,"01":6,"4294967295":7,"4294967294":8}"#,
                r#"{"2":3,"10":2,"4294967294":8,"b":5,"a":4,"01":6,"4294967295":7}"#,
            ),
            (
                r#"{"__proto__":{"a":1},"a":2}"#,
                r#"{"__proto__":{"a":1},"a":2}"#,
            ),
            (
                r#""\u0041\/\b\u001F\u007f\ud83d\ude00\uDC00\ud800x\ud800\u0041""#,
                "\"A/\\b\\u001f\u{7f}\u{1f600}\\udc00\\ud800x\\ud800A\"",
            ),
            (
                r#"{"":[[],{},null,true,false]}"#,
                r#"{"":[[],{},null,true,false]}"#,
            ),
        ] {
            assert_eq!(stringified(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_known_to_be_canonical_when_it_is() {
        let texts = [
            r#"{"a":[1,-1.5,0.000001,1e-7,1e+21,123456789012345680],"2":"\n\"é\u0001"}"#,
            r#"{"2":{},"a":[],"b":[[]],"":null}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"2":1,"1":1}"#,
            r#"{"a": 1}"#,
            " 1",
            "[1.0]",
            "[1e2]",
            "[-0]",
            "[-0.0]",
            "[0.0000001]",
            "[9007199254740993]",
            "[100000000000000000000000]",
            r#"["\u0041"]"#,
            r#"["\/"]"#,
            r#"["\ud800"]"#,
        ];
        for text in texts {
            let document = Document::parse(text).unwrap();
            let stringified = document.root().stringify();
            assert_eq!(document.is_canonical, stringified == text, "{text}");
            let mut pushed = String::new();
            document.root().push_to(&mut pushed);
            assert_eq!(pushed, stringified, "{text}");
        }
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = f64::from_bits(state);
            let short = (state >> 40) as f64 / 1000.0;
            for text in [
                format!("{number}"),
                format!("{number:e}"),
                format!("{short}"),
            ] {
                if let Ok(document) = Document::parse(text.as_str()) {
                    let is_same = document.root().stringify() == text;
                    assert_eq!(document.is_canonical, is_same, "{text}");
                }
            }
        }
    }

    #[test]
    fn members_are_found_in_small_and_in_large_objects() {
        for count in [3, 16, 17, 300] {
            let members: Vec<String> = (0..count)
                .map(|number| format!(r#""k\u00{:02x}{number}":{number}"#, 0x61 + number % 26))
                .collect();
            let text = format!("{{{},\"last\":0}}", members.join(","));
            let document = Document::parse(text).unwrap();
            for number in 0..count {
                let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
                let name = format!("k{letter}{number}");
                let found = document.root().get(&name).unwrap();
                assert_eq!(found.kind(), Kind::Number(f64::from(number)), "{name}");
            }
            assert!(document.root().get("nobody").is_none());
        }
    }

    #[test]
    fn deep_texts_cost_no_stack_and_other_texts_are_refused() {
        let levels = 200_000;
        let deep = "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(stringified(&deep), deep);
        for text in [
            "",
            "[",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "1 2",
            "[1}",
            "tru",
            "01",
        ] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
    }
}

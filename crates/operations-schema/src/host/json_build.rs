//! JSON in Rust, with room for new values beside the document.
//!
//! A document is only borrowed. What is made goes into an arena of the host, whose objects and
//! arrays refer to their parts, so that a change deep inside a document copies nothing but the way
//! down to it. [`JsonBuilder::push_to`] writes a result as text at the end.

mod make;

use std::collections::HashMap;

use super::json::{JsonHost, JsonKeys, JsonRef};
use super::{Class, Host, Interrupt, Name, OwnKeys, Prices, Result};
use crate::ir::PatternId;
use crate::json::{Document, Json, array_index, push_number, push_string};
use crate::patterns::Pattern;
use crate::pointer;
use crate::work::Budget;

/// A value of the document, or one that the host made.
#[derive(Clone, Copy, Debug)]
pub enum JsonPart<'a> {
    /// A value of the document, or one without parts.
    Document(JsonRef<'a>),
    /// A value that was made.
    Made(MadeId),
}

/// What is not there.
const UNDEFINED: JsonPart<'static> = JsonPart::Document(JsonRef::Undefined);

/// A value in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeId(u32);

#[derive(Debug)]
enum Made<'a> {
    Text(Box<str>),
    Array(Vec<JsonPart<'a>>),
    Object(MadeObject<'a>),
}

#[derive(Debug)]
struct MadeObject<'a> {
    entries: Vec<(Box<str>, JsonPart<'a>)>,
    /// Positions by name, for objects where a scan would be slow.
    index: Option<HashMap<Box<str>, u32>>,
}

/// Up to this many properties a scan is faster than hashing.
const SCAN_LIMIT: usize = 16;

impl<'a> MadeObject<'a> {
    /// In the order of JavaScript, which has indices in front.
    fn new(mut entries: Vec<(Box<str>, JsonPart<'a>)>) -> Self {
        if entries.iter().any(|(name, _)| array_index(name).is_some()) {
            entries.sort_by_key(|(name, _)| array_index(name).unwrap_or(u32::MAX));
        }
        let index = (entries.len() > SCAN_LIMIT).then(|| {
            (0..)
                .zip(&entries)
                .map(|(position, (name, _))| (name.clone(), position))
                .collect()
        });
        Self { entries, index }
    }

    fn find(&self, name: &str) -> Option<JsonPart<'a>> {
        let entry = match &self.index {
            Some(index) => self.entries.get(*index.get(name)? as usize),
            None => self.entries.iter().find(|(key, _)| &**key == name),
        };
        entry.map(|(_, part)| *part)
    }
}

/// A key of the document, or of an object that the host made.
#[derive(Clone, Copy, Debug)]
pub enum JsonPartKey<'a> {
    /// A key of the document.
    Document((Json<'a>, Json<'a>)),
    /// The key at this position of an object in the arena.
    Made(MadeId, u32),
}

/// The keys of an object while they are walked over.
#[derive(Debug)]
pub enum JsonPartKeys<'a> {
    /// Of an object of the document.
    Document(JsonKeys<'a>),
    /// Of an object in the arena: the next position.
    Made(MadeId, u32),
}

/// A host that can make JSON values beside the document that it reads.
#[derive(Debug, Default)]
pub struct JsonBuilder<'a> {
    document: JsonHost<'a>,
    arena: Vec<Made<'a>>,
}

impl<'a> From<&'a Document> for JsonPart<'a> {
    fn from(document: &'a Document) -> Self {
        Self::Document(document.into())
    }
}

impl JsonPart<'_> {
    /// Whether both are the very same value, not merely equal ones.
    #[must_use]
    pub fn is(self, other: JsonPart<'_>) -> bool {
        match (self, other) {
            (Self::Document(JsonRef::Value(one)), JsonPart::Document(JsonRef::Value(two))) => {
                one.is(two)
            }
            (Self::Document(JsonRef::Undefined), JsonPart::Document(JsonRef::Undefined)) => true,
            (Self::Made(one), JsonPart::Made(two)) => one == two,
            _ => false,
        }
    }
}

impl<'a> JsonBuilder<'a> {
    /// A host with an empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value as JSON, and says whether it did: there is no text for `undefined`. What comes from the document
    /// is the text that it was, see [`Json::push_to`].
    pub fn push_to(&self, part: JsonPart<'a>, json: &mut String) -> bool {
        match part {
            JsonPart::Document(value) => match value {
                JsonRef::Undefined => return false,
                JsonRef::Null => json.push_str("null"),
                JsonRef::Bool(value) => json.push_str(if value { "true" } else { "false" }),
                JsonRef::Number(number) => push_number(json, number),
                JsonRef::Text(text) => push_string(json, text),
                JsonRef::Value(value) => value.push_to(json),
            },
            // Parts are made before what contains them, so this ends; and a walk that builds is bounded in depth.
            JsonPart::Made(id) => match self.made(id) {
                None => return false,
                Some(Made::Text(text)) => push_string(json, text),
                Some(Made::Array(parts)) => {
                    json.push('[');
                    for (index, part) in parts.iter().enumerate() {
                        if index > 0 {
                            json.push(',');
                        }
                        if !self.push_to(*part, json) {
                            json.push_str("null");
                        }
                    }
                    json.push(']');
                }
                Some(Made::Object(object)) => self.push_object(object, json),
            },
        }
        true
    }

    /// Where `undefined` stands in a list, for which JSON has no word, as a JSON Pointer. It can only be in what was made.
    #[must_use]
    pub fn hole_in(&self, part: JsonPart<'a>) -> Option<String> {
        let JsonPart::Made(id) = part else {
            return None;
        };
        match self.made(id)? {
            Made::Text(_) => None,
            Made::Array(parts) => parts.iter().enumerate().find_map(|(index, part)| {
                let is_hole = matches!(part, JsonPart::Document(JsonRef::Undefined));
                let rest = if is_hole {
                    Some(String::new())
                } else {
                    self.hole_in(*part)
                };
                rest.map(|rest| format!("/{index}{rest}"))
            }),
            Made::Object(object) => object.entries.iter().find_map(|(key, part)| {
                let rest = self.hole_in(*part)?;
                Some(format!("/{}{rest}", pointer::escape(key)))
            }),
        }
    }

    fn push_object(&self, object: &MadeObject<'a>, json: &mut String) {
        json.push('{');
        let start = json.len();
        for (key, part) in &object.entries {
            let before = json.len();
            if before > start {
                json.push(',');
            }
            push_string(json, key);
            json.push(':');
            if !self.push_to(*part, json) {
                json.truncate(before);
            }
        }
        json.push('}');
    }

    fn made(&self, id: MadeId) -> Option<&Made<'a>> {
        self.arena.get(id.0 as usize)
    }

    /// The elements of an array that was made; empty for every other value.
    fn made_elements(&self, id: MadeId) -> &[JsonPart<'a>] {
        match self.made(id) {
            Some(Made::Array(parts)) => parts,
            _ => &[],
        }
    }

    /// The properties of an object that was made; empty for every other value.
    fn made_entries(&self, id: MadeId) -> &[(Box<str>, JsonPart<'a>)] {
        match self.made(id) {
            Some(Made::Object(object)) => &object.entries,
            _ => &[],
        }
    }

    fn keep(&mut self, made: Made<'a>) -> JsonPart<'a> {
        let id = MadeId(u32::try_from(self.arena.len()).unwrap_or(u32::MAX));
        self.arena.push(made);
        JsonPart::Made(id)
    }

    fn text(&mut self, text: &str) -> JsonPart<'a> {
        self.keep(Made::Text(text.into()))
    }

    /// Runs a question of the document's host on a value without parts.
    fn lend<R>(
        &self,
        part: JsonPart<'a>,
        ask: impl for<'x> FnOnce(&mut JsonHost<'x>, JsonRef<'x>) -> R,
    ) -> R {
        let value = match part {
            JsonPart::Document(value) => value,
            JsonPart::Made(id) => match self.made(id) {
                Some(Made::Text(text)) => JsonRef::Text(text),
                _ => JsonRef::Undefined,
            },
        };
        ask(&mut JsonHost::new(), value)
    }

    fn find(&self, id: MadeId, name: &str) -> JsonPart<'a> {
        self.found(id, name).unwrap_or(UNDEFINED)
    }

    fn found(&self, id: MadeId, name: &str) -> Option<JsonPart<'a>> {
        match self.made(id)? {
            Made::Object(object) => object.find(name),
            Made::Array(parts) if name == "length" => {
                Some(JsonPart::Document(JsonRef::Number(parts.len() as f64)))
            }
            Made::Array(parts) => name
                .parse::<usize>()
                .ok()
                .and_then(|index| parts.get(index).copied()),
            Made::Text(_) => None,
        }
    }

    fn key_text(&self, key: JsonPartKey<'a>) -> &str {
        match key {
            JsonPartKey::Document((name, _)) => name.as_str().unwrap_or_default(),
            JsonPartKey::Made(id, position) => {
                let entry = self.made_entries(id).get(position as usize);
                entry.map_or("", |(text, _)| text)
            }
        }
    }
}

impl<'a> Host for JsonBuilder<'a> {
    const PRICES: Prices = Prices {
        rule: 6,
        read: 8,
        ..JsonHost::PRICES
    };

    type Value = JsonPart<'a>;
    type Key = JsonPartKey<'a>;
    type Keys = JsonPartKeys<'a>;
    type Scope = ();

    fn classify(&mut self, value: JsonPart<'a>) -> Result<Class> {
        match value {
            JsonPart::Document(value) => self.document.classify(value),
            JsonPart::Made(id) => match self.made(id) {
                Some(Made::Array(_)) => Ok(Class::Array),
                Some(Made::Object(_)) => Ok(Class::Object),
                _ => self.lend(value, |host, value| host.classify(value)),
            },
        }
    }

    fn undefined(&mut self) -> JsonPart<'a> {
        UNDEFINED
    }

    fn utf16_length(&mut self, string: JsonPart<'a>) -> Result<usize> {
        self.lend(string, |host, string| host.utf16_length(string))
    }

    fn with_str<R>(&mut self, string: JsonPart<'a>, read: impl FnOnce(&str) -> R) -> Result<R> {
        self.lend(string, |host, string| host.with_str(string, read))
    }

    fn array_length(&mut self, array: JsonPart<'a>) -> Result<usize> {
        match array {
            JsonPart::Document(array) => self.document.array_length(array),
            JsonPart::Made(id) => Ok(self.made_elements(id).len()),
        }
    }

    fn element(&mut self, array: JsonPart<'a>, index: usize) -> Result<JsonPart<'a>> {
        match array {
            JsonPart::Document(array) => {
                self.document.element(array, index).map(JsonPart::Document)
            }
            JsonPart::Made(id) => {
                let element = self.made_elements(id).get(index);
                Ok(element.copied().unwrap_or(UNDEFINED))
            }
        }
    }

    fn get(&mut self, value: JsonPart<'a>, name: Name<'_>) -> Result<JsonPart<'a>> {
        match value {
            JsonPart::Document(value) => self.document.get(value, name).map(JsonPart::Document),
            JsonPart::Made(id) => Ok(self.find(id, &name.key.text)),
        }
    }

    fn has(&mut self, object: JsonPart<'a>, name: Name<'_>) -> Result<bool> {
        match object {
            JsonPart::Document(object) => self.document.has(object, name),
            // What holds `undefined` is there, as long as it is not written.
            JsonPart::Made(id) => Ok(self.found(id, &name.key.text).is_some()),
        }
    }

    fn own_keys(&mut self, object: JsonPart<'a>, which: OwnKeys) -> Result<JsonPartKeys<'a>> {
        Ok(match object {
            JsonPart::Document(object) => {
                JsonPartKeys::Document(self.document.own_keys(object, which)?)
            }
            JsonPart::Made(id) => JsonPartKeys::Made(id, 0),
        })
    }

    fn count_keys(&mut self, object: JsonPart<'a>, which: OwnKeys) -> Result<usize> {
        match object {
            JsonPart::Document(object) => self.document.count_keys(object, which),
            JsonPart::Made(id) => Ok(self.made_entries(id).len()),
        }
    }

    fn next_key(&mut self, keys: &mut JsonPartKeys<'a>) -> Result<Option<JsonPartKey<'a>>> {
        match keys {
            JsonPartKeys::Document(keys) => {
                Ok(self.document.next_key(keys)?.map(JsonPartKey::Document))
            }
            JsonPartKeys::Made(id, position) => {
                let key = JsonPartKey::Made(*id, *position);
                let is_there = (*position as usize) < self.made_entries(*id).len();
                *position += 1;
                Ok(is_there.then_some(key))
            }
        }
    }

    fn with_key<R>(&mut self, key: JsonPartKey<'a>, read: impl FnOnce(&str) -> R) -> Result<R> {
        Ok(read(self.key_text(key)))
    }

    fn key_value(&mut self, key: JsonPartKey<'a>) -> JsonPart<'a> {
        match key {
            JsonPartKey::Document(key) => JsonPart::Document(self.document.key_value(key)),
            JsonPartKey::Made(..) => {
                let text = self.key_text(key).to_owned();
                self.text(&text)
            }
        }
    }

    fn get_by_key(&mut self, object: JsonPart<'a>, key: JsonPartKey<'a>) -> Result<JsonPart<'a>> {
        match (object, key) {
            (JsonPart::Document(object), JsonPartKey::Document(key)) => self
                .document
                .get_by_key(object, key)
                .map(JsonPart::Document),
            (JsonPart::Made(id), JsonPartKey::Made(_, position)) => {
                let entry = self.made_entries(id).get(position as usize);
                Ok(entry.map_or(UNDEFINED, |(_, part)| *part))
            }
            _ => Ok(UNDEFINED),
        }
    }

    fn own_by_key(
        &mut self,
        other: JsonPart<'a>,
        key: JsonPartKey<'a>,
    ) -> Result<Option<JsonPart<'a>>> {
        let text = self.key_text(key);
        Ok(match other {
            JsonPart::Document(JsonRef::Value(value)) => value
                .get(text)
                .map(|value| JsonPart::Document(JsonRef::Value(value))),
            JsonPart::Made(id) => match self.made(id) {
                Some(Made::Object(object)) => object.find(text),
                _ => None,
            },
            JsonPart::Document(_) => None,
        })
    }

    fn matches(
        &mut self,
        value: JsonPart<'a>,
        id: PatternId,
        pattern: &Pattern,
        budget: &mut Budget,
    ) -> Result<bool> {
        if let JsonPart::Made(made) = value
            && matches!(self.made(made), Some(Made::Array(_) | Made::Object(_)))
        {
            // A `RegExp` kind meets a container: it is as text what it would be in a document.
            let mut json = String::new();
            self.push_to(value, &mut json);
            let document = Document::parse(json).map_err(|_| Interrupt::TypeBoxThrows)?;
            return JsonHost::new().matches((&document).into(), id, pattern, budget);
        }
        self.lend(value, |host, value| {
            host.matches(value, id, pattern, budget)
        })
    }

    fn count_nodes(&mut self, value: JsonPart<'a>, limit: u64) -> Result<u64> {
        let mut open = vec![value];
        let mut count: u64 = 0;
        while let Some(part) = open.pop() {
            if count >= limit {
                break;
            }
            match part {
                JsonPart::Document(value) => {
                    count += self.document.count_nodes(value, limit - count)?;
                }
                JsonPart::Made(id) => {
                    count += 1;
                    match self.made(id) {
                        Some(Made::Array(parts)) => open.extend(parts),
                        Some(Made::Object(object)) => {
                            open.extend(object.entries.iter().map(|(_, part)| *part));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(count)
    }

    fn enter(&mut self) -> Result<()> {
        Ok(())
    }

    fn leave(&mut self, (): ()) {}
}

//! The arena of values that were made, and their text.

use std::collections::HashMap;

use super::{JsonAccess, JsonRef};
use crate::json::{Kind, array_index, push_number, push_string};
use crate::pointer;

/// A value in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeId(u32);

#[derive(Debug)]
pub(super) enum Made<'a> {
    Text(Box<str>),
    Array(Vec<JsonRef<'a>>),
    Object(MadeObject<'a>),
}

#[derive(Debug)]
pub(super) struct MadeObject<'a> {
    entries: Vec<(Box<str>, JsonRef<'a>)>,
    /// Positions by name, for objects where a scan would be slow.
    index: Option<HashMap<Box<str>, u32>>,
}

/// Up to this many properties a scan is faster than hashing.
const SCAN_LIMIT: usize = 16;

impl<'a> MadeObject<'a> {
    /// In the order of JavaScript, which has indices in front.
    pub(super) fn new(mut entries: Vec<(Box<str>, JsonRef<'a>)>) -> Self {
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

    pub(super) fn find(&self, name: &str) -> Option<JsonRef<'a>> {
        let entry = match &self.index {
            Some(index) => self.entries.get(*index.get(name)? as usize),
            None => self.entries.iter().find(|(key, _)| &**key == name),
        };
        entry.map(|(_, part)| *part)
    }
}

impl<'a> JsonAccess<'a> {
    /// Appends a value as JSON, and says whether it did: there is no text for `undefined`. What comes from the document
    /// is the text that it was, see [`crate::json::Json::push_to`].
    pub fn push_to(&self, part: JsonRef<'a>, json: &mut String) -> bool {
        match part {
            JsonRef::Undefined => return false,
            JsonRef::Null => json.push_str("null"),
            JsonRef::Bool(value) => json.push_str(if value { "true" } else { "false" }),
            JsonRef::Number(number) => push_number(json, number),
            JsonRef::Value(value) => value.push_to(json),
            // Parts are made before what contains them, so this ends; and a walk that builds is bounded in depth.
            JsonRef::Made(id) => match self.made(id) {
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
    pub fn hole_in(&self, part: JsonRef<'a>) -> Option<String> {
        let JsonRef::Made(id) = part else {
            return None;
        };
        match self.made(id)? {
            Made::Text(_) => None,
            Made::Array(parts) => parts.iter().enumerate().find_map(|(index, part)| {
                let is_hole = matches!(part, JsonRef::Undefined);
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

    pub(super) fn made(&self, id: MadeId) -> Option<&Made<'a>> {
        self.arena.get(id.0 as usize)
    }

    #[inline(never)]
    pub(super) fn made_kind(&self, id: MadeId) -> Option<Kind<'_>> {
        Some(match self.made(id)? {
            Made::Text(text) => Kind::String(text),
            Made::Array(elements) => Kind::Array(elements.len()),
            Made::Object(object) => Kind::Object(object.entries.len()),
        })
    }

    /// The elements of an array that was made; empty for every other value.
    pub(super) fn made_elements(&self, id: MadeId) -> &[JsonRef<'a>] {
        match self.made(id) {
            Some(Made::Array(parts)) => parts,
            _ => &[],
        }
    }

    /// The properties of an object that was made; empty for every other value.
    pub(super) fn made_entries(&self, id: MadeId) -> &[(Box<str>, JsonRef<'a>)] {
        match self.made(id) {
            Some(Made::Object(object)) => &object.entries,
            _ => &[],
        }
    }

    pub(super) fn keep(&mut self, made: Made<'a>) -> JsonRef<'a> {
        let id = MadeId(u32::try_from(self.arena.len()).unwrap_or(u32::MAX));
        self.arena.push(made);
        JsonRef::Made(id)
    }
}

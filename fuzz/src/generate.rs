//! Schemas and values from choices.
//!
//! Most of what comes out is well formed, so that it compiles and the walks have something to do; now and
//! then a keyword gets a value that it does not take. When the choices run out, the simplest thing is made.

use std::fmt::Write as _;

use arbitrary::Unstructured;
use serde_json::{Map, Value};

use crate::input::Language;
use crate::pools::{FORMATS, NAMES, NUMBERS, PATTERNS, REFERENCES, TEXTS};
use crate::typebox::{BEYOND_JSON, CONTAINERS, Kind, LEAVES};
use crate::words::{JSON_SCHEMA, Part};
use crate::written::{Object, Written};

/// How deep schemas and values are nested.
const DEEPEST: u32 = 6;

/// The largest schema, in objects.
const MOST_OBJECTS: u32 = 120;

const TYPES: [&str; 8] = [
    "object", "string", "number", "integer", "boolean", "null", "array", "unheard",
];

const DIALECTS: [&str; 6] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
    "unheard:of",
];

/// Makes schemas and values.
#[derive(Debug)]
pub struct Generator<'a> {
    choices: Unstructured<'a>,
    language: Language,
    objects: u32,
}

impl<'a> Generator<'a> {
    /// A generator that makes schemas of one language.
    #[must_use]
    pub fn new(choices: Unstructured<'a>, language: Language) -> Self {
        Self {
            choices,
            language,
            objects: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        if limit < 2 || self.choices.is_empty() {
            return 0;
        }
        let byte: u8 = self.choices.arbitrary().unwrap_or_default();
        usize::from(byte) % limit
    }

    /// True in `percent` of all cases, and never when the choices have run out.
    fn chance(&mut self, percent: u8) -> bool {
        let byte: u8 = self.choices.arbitrary().unwrap_or_default();
        byte % 100 >= 100 - percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let position = self.below(from.len());
        from.get(position).copied()
    }

    fn name(&mut self) -> String {
        self.pick(&NAMES).unwrap_or_default().to_owned()
    }

    fn text(&mut self) -> String {
        if self.chance(8) {
            let bytes: [u8; 6] = self.choices.arbitrary().unwrap_or_default();
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        self.pick(&TEXTS).unwrap_or_default().to_owned()
    }

    fn number(&mut self) -> f64 {
        if self.chance(8) {
            let number: f64 = self.choices.arbitrary().unwrap_or_default();
            return if number.is_finite() { number } else { 0.5 };
        }
        self.pick(&NUMBERS).unwrap_or_default()
    }

    /// A value to check.
    pub fn value(&mut self) -> Value {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: u32) -> Value {
        let limit = if depth < DEEPEST { 10 } else { 5 };
        match self.below(limit) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2 => Value::from(self.number()),
            3 => Value::from(i64::from(
                self.choices.arbitrary::<i8>().unwrap_or_default(),
            )),
            4 => Value::from(self.text()),
            5 | 6 => {
                let length = self.below(5);
                (0..length).map(|_| self.value_at(depth + 1)).collect()
            }
            _ => {
                let length = self.below(6);
                let entries = (0..length).map(|_| (self.name(), self.value_at(depth + 1)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// A schema with definitions that references can find.
    pub(crate) fn schema(&mut self) -> Written {
        let mut root = self.schema_at(0);
        if let Written::Object(object) = &mut root
            && !object.entries.iter().any(|(name, _)| name == "$defs")
            && self.chance(70)
        {
            let definitions = ["a", "b", "c"].into_iter().map(|name| {
                let mut definition = self.schema_at(2);
                if let Written::Object(object) = &mut definition
                    && object.kind.is_some()
                {
                    object.entries.push(("$id".to_owned(), name.into()));
                }
                (name.to_owned(), definition)
            });
            let entries = definitions.collect();
            let definitions = Object {
                entries,
                ..Object::default()
            };
            object
                .entries
                .push(("$defs".to_owned(), definitions.into()));
        }
        root
    }

    fn schema_at(&mut self, depth: u32) -> Written {
        self.objects += 1;
        if self.language == Language::Encoded && !self.chance(15) {
            return self.typebox(depth);
        }
        self.json_schema(depth)
    }

    fn json_schema(&mut self, depth: u32) -> Written {
        if self.chance(6) {
            return Written::Bool(self.below(2) == 0);
        }
        let mut object = Object::default();
        if self.language == Language::Encoded && self.chance(30) {
            object.flags = 2;
            object.kind = Some("Unknown");
        }
        for _ in 0..=self.below(5) {
            let Some((word, part)) = self.pick(&JSON_SCHEMA) else {
                break;
            };
            self.keyword(&mut object, word, part, depth);
        }
        object.into()
    }

    fn typebox(&mut self, depth: u32) -> Written {
        let contains = !self.is_deep(depth) && self.below(100) >= 40;
        let kinds: &[Kind] = if contains { &CONTAINERS } else { &LEAVES };
        let position = self.below(kinds.len());
        let mut object = Object::default();
        let Some(kind) = kinds.get(position) else {
            return object.into();
        };
        object.kind = Some(kind.name);
        if self.chance(30) {
            object.flags = u32::from(self.choices.arbitrary::<u8>().unwrap_or_default()) & 0b11101;
        }
        for (word, part) in kind.always {
            if !self.chance(4) {
                self.keyword(&mut object, word, *part, depth);
            }
        }
        for (word, part) in kind.maybe {
            if self.chance(25) {
                self.keyword(&mut object, word, *part, depth);
            }
        }
        if self.chance(10) {
            self.keyword(&mut object, "default", Part::Any, depth);
        }
        if self.chance(8) {
            self.keyword(&mut object, "$id", Part::Anchor, depth);
        }
        object.into()
    }

    fn is_deep(&self, depth: u32) -> bool {
        depth >= DEEPEST || self.objects >= MOST_OBJECTS
    }

    fn keyword(&mut self, object: &mut Object, word: &str, part: Part, depth: u32) {
        if object.entries.iter().any(|(name, _)| name == word) {
            return;
        }
        let wrong = self.chance(3);
        let value = if wrong {
            self.any()
        } else {
            self.part(part, depth + 1)
        };
        object.entries.push((word.to_owned(), value));
    }

    fn any(&mut self) -> Written {
        if self.language == Language::Encoded && self.chance(15) {
            return Written::Beyond(self.pick(&BEYOND_JSON).unwrap_or("null"));
        }
        written(&self.value_at(4))
    }

    fn part(&mut self, part: Part, depth: u32) -> Written {
        let deep = self.is_deep(depth);
        match part {
            Part::Schema if deep => Written::Bool(true),
            Part::Schemas if deep => Written::List(Vec::new()),
            Part::Schemas => self.list(4, |it| it.schema_at(depth)),
            Part::SchemasByName if deep => Object::default().into(),
            Part::SchemasByName => self.map(4, Self::name, |it| it.schema_at(depth)),
            Part::SchemasByPattern => {
                let text = |it: &mut Self| it.pattern();
                self.map(2, text, |it| it.part(Part::Schema, depth))
            }
            Part::Additional if deep || self.chance(50) => Written::Bool(self.below(2) == 1),
            Part::Items if deep || self.chance(50) => self.part(Part::Schemas, depth),
            Part::Schema | Part::Additional | Part::Items => self.schema_at(depth),
            Part::Dependencies => self.map(3, Self::name, |it| match it.below(3) {
                0 => it.name().as_str().into(),
                1 => it.list(3, |it| it.name().as_str().into()),
                _ => it.part(Part::Schema, depth),
            }),
            Part::Number if self.language == Language::Encoded && self.chance(10) => self.any(),
            Part::Number => Written::Number(self.number()),
            Part::Count => Written::Number(
                self.pick(&[0.0, 1.0, 2.0, 3.0, 1.5, -1.0])
                    .unwrap_or_default(),
            ),
            Part::Bool => Written::Bool(self.below(4) != 0),
            Part::Text => Written::Text(self.text()),
            Part::Names => self.list(4, |it| it.name().as_str().into()),
            Part::NamesByName => self.map(3, Self::name, |it| it.part(Part::Names, depth)),
            Part::Pattern => Written::Text(self.pattern()),
            Part::Format => self.pick(&FORMATS).unwrap_or_default().into(),
            Part::Type if self.chance(20) => {
                self.list(3, |it| it.pick(&TYPES).unwrap_or_default().into())
            }
            Part::Type => self.pick(&TYPES).unwrap_or_default().into(),
            Part::Reference => self.pick(&REFERENCES).unwrap_or_default().into(),
            Part::Anchor => self.pick(&["a", "b", "T"]).unwrap_or_default().into(),
            Part::Dialect => self.pick(&DIALECTS).unwrap_or_default().into(),
            Part::Any => self.any(),
            Part::Anys => self.list(5, Self::any),
        }
    }

    fn pattern(&mut self) -> String {
        if self.chance(25) {
            // Pieces of patterns, joined.
            let pieces = 1 + self.below(4);
            let mut joined = String::new();
            for _ in 0..pieces {
                let piece = self.pick(&PATTERNS).unwrap_or_default();
                let suffix = self.pick(&["", "*", "+?", "{2}", "|"]).unwrap_or_default();
                // Writing to a `String` cannot fail.
                let _ = write!(joined, "({piece}){suffix}");
            }
            return joined;
        }
        self.pick(&PATTERNS).unwrap_or_default().to_owned()
    }

    fn list(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> Written) -> Written {
        let length = self.below(most + 1);
        Written::List((0..length).map(|_| make(self)).collect())
    }

    fn map(
        &mut self,
        most: usize,
        mut name: impl FnMut(&mut Self) -> String,
        mut make: impl FnMut(&mut Self) -> Written,
    ) -> Written {
        let mut entries: Vec<(String, Written)> = Vec::new();
        for _ in 0..self.below(most + 1) {
            let name = name(self);
            if !entries.iter().any(|(other, _)| *other == name) {
                let value = make(self);
                entries.push((name, value));
            }
        }
        let object = Object {
            entries,
            ..Object::default()
        };
        object.into()
    }
}

/// A value as a part of a schema.
fn written(value: &Value) -> Written {
    match value {
        Value::Null => Written::Null,
        Value::Bool(value) => Written::Bool(*value),
        Value::Number(number) => Written::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Written::List(items.iter().map(written).collect()),
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(name, value)| (name.clone(), written(value)));
            let object = Object {
                entries: entries.collect(),
                ..Object::default()
            };
            object.into()
        }
    }
}

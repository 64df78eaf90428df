//! JSON in Rust, with room for new values beside the document.
//!
//! A document is only borrowed. What is made goes into an arena beside it, whose objects and
//! arrays refer to their parts, so that a change deep inside a document copies nothing but the way
//! down to it. [`JsonAccess::push_to`] writes a result as text at the end.

mod build;
mod made;

use super::{Class, Interrupt, Name, OwnKeys, Prices, Result, ValueAccess};
use crate::ir::PatternId;
use crate::json::{Document, Json, Kind};
use crate::number;
use crate::patterns::{Dialect, Pattern, PatternFailure};
use crate::work::Budget;
use made::Made;
pub use made::MadeId;

/// How deep an array may be that is written as text (a `RegExp` kind meets an array).
const MAX_ARRAY_TEXT_DEPTH: u32 = 64;

/// A value of a JSON document, one that was made, or `undefined`.
#[derive(Clone, Copy, Debug)]
pub enum JsonRef<'a> {
    /// What is not there.
    Undefined,
    /// A value of the document.
    Value(Json<'a>),
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A value that was made.
    Made(MadeId),
}

impl<'a> From<&'a Document> for JsonRef<'a> {
    fn from(document: &'a Document) -> Self {
        Self::Value(document.root())
    }
}

impl<'a> From<Option<&'a Document>> for JsonRef<'a> {
    fn from(document: Option<&'a Document>) -> Self {
        document.map_or(Self::Undefined, Into::into)
    }
}

impl<'a> JsonRef<'a> {
    /// Whether both are the very same value, not merely equal ones.
    #[must_use]
    pub fn is(self, other: JsonRef<'_>) -> bool {
        match (self, other) {
            (Self::Value(one), JsonRef::Value(two)) => one.is(two),
            (Self::Undefined, JsonRef::Undefined) => true,
            (Self::Made(one), JsonRef::Made(two)) => one == two,
            _ => false,
        }
    }

    fn or_undefined(value: Option<Json<'a>>) -> Self {
        value.map_or(Self::Undefined, Self::Value)
    }
}

/// Access to JSON documents.
#[derive(Debug, Default)]
pub struct JsonAccess<'a> {
    arena: Vec<Made<'a>>,
}

/// A key of the document, or of an object that was made.
#[derive(Clone, Copy, Debug)]
pub enum JsonKey<'a> {
    /// Name and value of a member.
    Document(Json<'a>, Json<'a>),
    /// The key at this position of an object in the arena.
    Made(MadeId, usize),
}

/// The keys of an object while they are walked over.
#[derive(Debug)]
pub struct JsonKeys<'a> {
    object: JsonRef<'a>,
    next: usize,
}

impl<'a> JsonAccess<'a> {
    /// Access with an empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a value is; nothing for `undefined`.
    #[inline]
    fn kind(&self, value: JsonRef<'a>) -> Option<Kind<'_>> {
        Some(match value {
            JsonRef::Undefined => return None,
            JsonRef::Value(value) => value.kind(),
            JsonRef::Null => Kind::Null,
            JsonRef::Bool(value) => Kind::Bool(value),
            JsonRef::Number(number) => Kind::Number(number),
            JsonRef::Made(id) => return self.made_kind(id),
        })
    }

    fn text(&self, value: JsonRef<'a>) -> Option<&str> {
        match self.kind(value) {
            Some(Kind::String(text)) => Some(text),
            _ => None,
        }
    }

    fn key_text(&self, key: JsonKey<'a>) -> &str {
        match key {
            JsonKey::Document(name, _) => name.as_str().unwrap_or_default(),
            JsonKey::Made(id, position) => {
                let entry = self.made_entries(id).get(position);
                entry.map_or("", |(text, _)| text)
            }
        }
    }

    /// A property, if there is one. Arrays have some too, as JavaScript sees them.
    fn property(&self, value: JsonRef<'a>, name: &str) -> Option<JsonRef<'a>> {
        let count = match value {
            JsonRef::Value(value) => match value.kind() {
                Kind::Object(_) => return value.get(name).map(JsonRef::Value),
                Kind::Array(count) => count,
                _ => return None,
            },
            JsonRef::Made(id) => match self.made(id)? {
                Made::Object(object) => return object.find(name),
                Made::Array(elements) => elements.len(),
                Made::Text(_) => return None,
            },
            _ => return None,
        };
        if name == "length" {
            return Some(JsonRef::Number(count as f64));
        }
        let index = name.parse().ok().filter(|index: &usize| *index < count)?;
        (index.to_string() == name).then(|| self.element_at(value, index))
    }

    #[inline]
    fn element_at(&self, array: JsonRef<'a>, index: usize) -> JsonRef<'a> {
        match array {
            JsonRef::Value(value) => JsonRef::or_undefined(value.element(index)),
            JsonRef::Made(id) => {
                let element = self.made_elements(id).get(index);
                element.copied().unwrap_or(JsonRef::Undefined)
            }
            _ => JsonRef::Undefined,
        }
    }

    /// JavaScript's `String(value)`; none where it throws. Arrays deeper than any real one throw.
    fn to_js_string(&self, value: JsonRef<'a>, depth: u32) -> Option<String> {
        Some(match self.kind(value) {
            None => "undefined".into(),
            Some(Kind::Null) => "null".into(),
            Some(Kind::Bool(value)) => value.to_string(),
            Some(Kind::Number(number)) => number::to_js_string(number),
            Some(Kind::String(text)) => text.into(),
            // An own `toString` of JSON is not a function.
            Some(Kind::Object(_)) => match self.property(value, "toString") {
                None | Some(JsonRef::Undefined) => "[object Object]".into(),
                Some(_) => return None,
            },
            Some(Kind::Array(_)) if depth >= MAX_ARRAY_TEXT_DEPTH => return None,
            Some(Kind::Array(count)) => {
                let items = (0..count).map(|index| {
                    let item = self.element_at(value, index);
                    match self.kind(item) {
                        None | Some(Kind::Null) => Some(String::new()),
                        _ => self.to_js_string(item, depth + 1),
                    }
                });
                items.collect::<Option<Vec<_>>>()?.join(",")
            }
        })
    }
}

impl<'a> ValueAccess for JsonAccess<'a> {
    const PRICES: Prices = Prices {
        rule: 5,
        classify: 1,
        read: 6,
        list: 0,
        text: 0,
        ask: 0,
    };

    type Value = JsonRef<'a>;
    type Key = JsonKey<'a>;
    type Keys = JsonKeys<'a>;
    type Scope = ();

    fn classify(&mut self, value: JsonRef<'a>) -> Result<Class> {
        Ok(match self.kind(value) {
            None => Class::Undefined,
            Some(Kind::Null) => Class::Null,
            Some(Kind::Bool(value)) => Class::Bool(value),
            Some(Kind::Number(number)) => Class::Number(number),
            Some(Kind::String(_)) => Class::String,
            Some(Kind::Array(_)) => Class::Array,
            Some(Kind::Object(_)) => Class::Object,
        })
    }

    fn undefined(&mut self) -> JsonRef<'a> {
        JsonRef::Undefined
    }

    fn utf16_length(&mut self, string: JsonRef<'a>) -> Result<usize> {
        let text = self.text(string).unwrap_or_default();
        Ok(if text.is_ascii() {
            text.len()
        } else {
            text.encode_utf16().count()
        })
    }

    fn with_str<R>(&mut self, string: JsonRef<'a>, read: impl FnOnce(&str) -> R) -> Result<R> {
        Ok(read(self.text(string).unwrap_or_default()))
    }

    fn array_length(&mut self, array: JsonRef<'a>) -> Result<usize> {
        Ok(match self.kind(array) {
            Some(Kind::Array(count)) => count,
            _ => 0,
        })
    }

    fn element(&mut self, array: JsonRef<'a>, index: usize) -> Result<JsonRef<'a>> {
        Ok(self.element_at(array, index))
    }

    fn get(&mut self, value: JsonRef<'a>, name: Name<'_>) -> Result<JsonRef<'a>> {
        let found = self.property(value, &name.key.text);
        Ok(found.unwrap_or(JsonRef::Undefined))
    }

    fn has(&mut self, object: JsonRef<'a>, name: Name<'_>) -> Result<bool> {
        Ok(self.property(object, &name.key.text).is_some())
    }

    fn own_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<JsonKeys<'a>> {
        Ok(JsonKeys { object, next: 0 })
    }

    fn count_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<usize> {
        Ok(match self.kind(object) {
            Some(Kind::Object(count)) => count,
            _ => 0,
        })
    }

    fn next_key(&mut self, keys: &mut JsonKeys<'a>) -> Result<Option<JsonKey<'a>>> {
        let position = keys.next;
        keys.next += 1;
        Ok(match keys.object {
            JsonRef::Value(object) => object
                .member(position)
                .map(|(name, value)| JsonKey::Document(name, value)),
            JsonRef::Made(id) => {
                (position < self.made_entries(id).len()).then_some(JsonKey::Made(id, position))
            }
            _ => None,
        })
    }

    fn with_key<R>(&mut self, key: JsonKey<'a>, read: impl FnOnce(&str) -> R) -> Result<R> {
        Ok(read(self.key_text(key)))
    }

    fn key_value(&mut self, key: JsonKey<'a>) -> JsonRef<'a> {
        match key {
            JsonKey::Document(name, _) => JsonRef::Value(name),
            JsonKey::Made(..) => {
                let text = self.key_text(key).into();
                self.keep(Made::Text(text))
            }
        }
    }

    fn get_by_key(&mut self, _: JsonRef<'a>, key: JsonKey<'a>) -> Result<JsonRef<'a>> {
        Ok(match key {
            JsonKey::Document(_, value) => JsonRef::Value(value),
            JsonKey::Made(id, position) => {
                let entry = self.made_entries(id).get(position);
                entry.map_or(JsonRef::Undefined, |(_, value)| *value)
            }
        })
    }

    fn own_by_key(&mut self, other: JsonRef<'a>, key: JsonKey<'a>) -> Result<Option<JsonRef<'a>>> {
        Ok(self.property(other, self.key_text(key)))
    }

    fn matches(
        &mut self,
        value: JsonRef<'a>,
        _: PatternId,
        pattern: &Pattern,
        budget: &mut Budget,
    ) -> Result<bool> {
        if pattern.dialect() == Dialect::TypeBox
            && matches!(pattern.failure(), Some(PatternFailure::Syntax(_)))
        {
            return Err(Interrupt::TypeBoxThrows);
        }
        if let Some(text) = self.text(value) {
            return Ok(pattern.matches(text, budget)?);
        }
        let text = self.to_js_string(value, 0);
        Ok(pattern.matches(&text.ok_or(Interrupt::TypeBoxThrows)?, budget)?)
    }

    fn count_nodes(&mut self, value: JsonRef<'a>, limit: u64) -> Result<u64> {
        let mut open = vec![value];
        let mut count = 0;
        while let Some(value) = open.pop() {
            count += 1;
            if count >= limit {
                break;
            }
            match value {
                JsonRef::Value(value) => {
                    let members = value.members().map(|(_, value)| value);
                    open.extend(value.elements().chain(members).map(JsonRef::Value));
                }
                JsonRef::Made(id) => {
                    open.extend(self.made_elements(id));
                    open.extend(self.made_entries(id).iter().map(|(_, value)| *value));
                }
                _ => {}
            }
        }
        Ok(count)
    }

    fn enter(&mut self) -> Result<()> {
        Ok(())
    }

    fn leave(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn values_become_text_as_in_javascript() {
        let text =
            |value: Value| JsonAccess::new().to_js_string((&Document::from(&value)).into(), 0);
        assert_eq!(
            text(json!([1, [null, true], {}])).as_deref(),
            Some("1,,true,[object Object]")
        );
        assert_eq!(text(json!({"toString": 1})), None);
        assert_eq!(text(json!(1e21)).as_deref(), Some("1e+21"));
    }
}

//! JSON in Rust.

use super::{Class, Host, Interrupt, Name, OwnKeys, Prices, Result};
use crate::ir::PatternId;
use crate::json::{Document, Json, Kind};
use crate::number;
use crate::patterns::{Dialect, Pattern, PatternFailure};
use crate::work::Budget;

/// How deep an array may be that is written as text (a `RegExp` kind meets an array).
const MAX_ARRAY_TEXT_DEPTH: u32 = 64;

/// A value of a JSON document, a scalar beside it, or `undefined`.
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
    /// A string, or a key of the document as one.
    Text(&'a str),
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
    /// What it is; nothing for `undefined`.
    fn kind(self) -> Option<Kind<'a>> {
        Some(match self {
            Self::Undefined => return None,
            Self::Value(value) => value.kind(),
            Self::Null => Kind::Null,
            Self::Bool(value) => Kind::Bool(value),
            Self::Number(number) => Kind::Number(number),
            Self::Text(text) => Kind::String(text),
        })
    }

    fn text(self) -> Option<&'a str> {
        match self.kind() {
            Some(Kind::String(text)) => Some(text),
            _ => None,
        }
    }

    fn or_undefined(value: Option<Json<'a>>) -> Self {
        value.map_or(Self::Undefined, Self::Value)
    }
}

/// The host of JSON documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonHost<'a> {
    document: std::marker::PhantomData<&'a Document>,
}

impl JsonHost<'_> {
    /// A host; it has no state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The keys of an object while they are walked over.
#[derive(Debug)]
pub struct JsonKeys<'a> {
    object: Option<Json<'a>>,
    next: usize,
}

impl<'a> Host for JsonHost<'a> {
    const PRICES: Prices = Prices {
        rule: 5,
        look: 1,
        read: 6,
        list: 0,
        text: 0,
        ask: 0,
    };

    type Value = JsonRef<'a>;
    /// Name and value.
    type Key = (Json<'a>, Json<'a>);
    type Keys = JsonKeys<'a>;
    type Scope = ();

    fn classify(&mut self, value: JsonRef<'a>) -> Result<Class> {
        Ok(match value.kind() {
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
        let text = string.text().unwrap_or_default();
        Ok(if text.is_ascii() {
            text.len()
        } else {
            text.encode_utf16().count()
        })
    }

    fn with_str<R>(&mut self, string: JsonRef<'a>, read: impl FnOnce(&str) -> R) -> Result<R> {
        Ok(read(string.text().unwrap_or_default()))
    }

    fn array_length(&mut self, array: JsonRef<'a>) -> Result<usize> {
        Ok(match array.kind() {
            Some(Kind::Array(count)) => count,
            _ => 0,
        })
    }

    fn element(&mut self, array: JsonRef<'a>, index: usize) -> Result<JsonRef<'a>> {
        Ok(match array {
            JsonRef::Value(value) => JsonRef::or_undefined(value.element(index)),
            _ => JsonRef::Undefined,
        })
    }

    fn get(&mut self, value: JsonRef<'a>, name: Name<'_>) -> Result<JsonRef<'a>> {
        let JsonRef::Value(value) = value else {
            return Ok(JsonRef::Undefined);
        };
        let name = &*name.key.text;
        Ok(JsonRef::or_undefined(match value.kind() {
            Kind::Object(_) => value.get(name),
            // Arrays have properties too, as JavaScript sees them.
            Kind::Array(count) if name == "length" => return Ok(JsonRef::Number(count as f64)),
            Kind::Array(_) => name
                .parse()
                .ok()
                .filter(|index: &usize| index.to_string() == name)
                .and_then(|index| value.element(index)),
            _ => None,
        }))
    }

    fn has(&mut self, object: JsonRef<'a>, name: Name<'_>) -> Result<bool> {
        Ok(!matches!(self.get(object, name)?, JsonRef::Undefined))
    }

    fn own_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<JsonKeys<'a>> {
        let object = match object {
            JsonRef::Value(value) if matches!(value.kind(), Kind::Object(_)) => Some(value),
            _ => None,
        };
        Ok(JsonKeys { object, next: 0 })
    }

    fn count_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<usize> {
        Ok(match object.kind() {
            Some(Kind::Object(count)) => count,
            _ => 0,
        })
    }

    fn next_key(&mut self, keys: &mut JsonKeys<'a>) -> Result<Option<Self::Key>> {
        let member = keys.object.and_then(|object| object.member(keys.next));
        keys.next += 1;
        Ok(member)
    }

    fn with_key<R>(&mut self, key: Self::Key, read: impl FnOnce(&str) -> R) -> Result<R> {
        Ok(read(key.0.as_str().unwrap_or_default()))
    }

    fn key_value(&mut self, key: Self::Key) -> JsonRef<'a> {
        JsonRef::Value(key.0)
    }

    fn get_by_key(&mut self, _: JsonRef<'a>, key: Self::Key) -> Result<JsonRef<'a>> {
        Ok(JsonRef::Value(key.1))
    }

    fn own_by_key(&mut self, other: JsonRef<'a>, key: Self::Key) -> Result<Option<JsonRef<'a>>> {
        let name = key.0.as_str().unwrap_or_default();
        Ok(match other {
            JsonRef::Value(value) => value.get(name).map(JsonRef::Value),
            _ => None,
        })
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
        if let Some(text) = value.text() {
            return Ok(pattern.matches(text, budget)?);
        }
        let text = to_js_string(value, 0).ok_or(Interrupt::TypeBoxThrows)?;
        Ok(pattern.matches(&text, budget)?)
    }

    fn count_nodes(&mut self, value: JsonRef<'a>, limit: u64) -> Result<u64> {
        let JsonRef::Value(root) = value else {
            return Ok(1);
        };
        let mut open = vec![root];
        let mut count = 0;
        while let Some(value) = open.pop() {
            count += 1;
            if count >= limit {
                break;
            }
            match value.kind() {
                Kind::Array(_) => open.extend(value.elements()),
                Kind::Object(_) => open.extend(value.members().map(|(_, value)| value)),
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

/// JavaScript's `String(value)`; none where it throws. Arrays deeper than any real one throw.
fn to_js_string(value: JsonRef<'_>, depth: u32) -> Option<String> {
    Some(match value {
        JsonRef::Undefined => "undefined".into(),
        JsonRef::Null => "null".into(),
        JsonRef::Bool(value) => value.to_string(),
        JsonRef::Number(number) => number::to_js_string(number),
        JsonRef::Text(text) => text.into(),
        JsonRef::Value(value) => match value.kind() {
            Kind::Null => "null".into(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(number) => number::to_js_string(number),
            Kind::String(text) => text.into(),
            // An own `toString` of JSON is not a function.
            Kind::Object(_) if value.get("toString").is_some() => return None,
            Kind::Object(_) => "[object Object]".into(),
            Kind::Array(_) if depth >= MAX_ARRAY_TEXT_DEPTH => return None,
            Kind::Array(_) => {
                let items = value.elements().map(|item| match item.kind() {
                    Kind::Null => Some(String::new()),
                    _ => to_js_string(JsonRef::Value(item), depth + 1),
                });
                items.collect::<Option<Vec<_>>>()?.join(",")
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn values_become_text_as_in_javascript() {
        let text = |value: Value| to_js_string((&Document::from(&value)).into(), 0);
        assert_eq!(
            text(json!([1, [null, true], {}])).as_deref(),
            Some("1,,true,[object Object]")
        );
        assert_eq!(text(json!({"toString": 1})), None);
        assert_eq!(text(json!(1e21)).as_deref(), Some("1e+21"));
    }
}

//! JSON in Rust.

use num_bigint::BigInt;
use serde_json::Value;

use super::{Class, Host, Interrupt, Name, OwnKeys};
use crate::ir::{Format, FormatId, KindNode, PatternId};
use crate::number;
use crate::patterns::{Dialect, Pattern, PatternFailure};

/// How deep an array may be that is written as text (a `RegExp` kind meets an array).
const MAX_ARRAY_TEXT_DEPTH: u32 = 64;

/// A value of a JSON document, a key of one, or `undefined`.
#[derive(Clone, Copy, Debug)]
pub enum JsonRef<'a> {
    /// What is not there.
    Undefined,
    /// A value of the document.
    Value(&'a Value),
    /// A key of the document, as a string.
    Text(&'a str),
}

impl<'a> From<&'a Value> for JsonRef<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<Option<&'a Value>> for JsonRef<'a> {
    fn from(value: Option<&'a Value>) -> Self {
        value.map_or(Self::Undefined, Self::Value)
    }
}

impl<'a> JsonRef<'a> {
    fn text(self) -> Option<&'a str> {
        match self {
            Self::Value(Value::String(text)) => Some(text),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The host of JSON documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonHost<'a> {
    document: std::marker::PhantomData<&'a Value>,
}

impl JsonHost<'_> {
    /// A host; it has no state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The keys of an object, or the positions of an array, while they are walked over.
#[derive(Debug)]
pub enum JsonKeys<'a> {
    /// Of an object.
    Object(serde_json::map::Iter<'a>),
    /// Of anything else.
    None,
}

impl<'a> Host for JsonHost<'a> {
    type Value = JsonRef<'a>;
    type Key = (&'a str, &'a Value);
    type Keys = JsonKeys<'a>;
    type Scope = ();

    fn classify(&mut self, value: JsonRef<'a>) -> Result<Class, Interrupt> {
        Ok(match value {
            JsonRef::Undefined => Class::Undefined,
            JsonRef::Text(_) | JsonRef::Value(Value::String(_)) => Class::String,
            JsonRef::Value(Value::Null) => Class::Null,
            JsonRef::Value(Value::Bool(value)) => Class::Bool(*value),
            JsonRef::Value(Value::Number(number)) => {
                Class::Number(number.as_f64().unwrap_or(f64::NAN))
            }
            JsonRef::Value(Value::Array(_)) => Class::Array,
            JsonRef::Value(Value::Object(_)) => Class::Object,
        })
    }

    fn undefined(&mut self) -> JsonRef<'a> {
        JsonRef::Undefined
    }

    fn utf16_length(&mut self, string: JsonRef<'a>) -> Result<usize, Interrupt> {
        let text = string.text().unwrap_or_default();
        Ok(if text.is_ascii() {
            text.len()
        } else {
            text.encode_utf16().count()
        })
    }

    fn with_str<R>(
        &mut self,
        string: JsonRef<'a>,
        read: impl FnOnce(&str) -> R,
    ) -> Result<R, Interrupt> {
        Ok(read(string.text().unwrap_or_default()))
    }

    fn array_length(&mut self, array: JsonRef<'a>) -> Result<usize, Interrupt> {
        Ok(match array {
            JsonRef::Value(Value::Array(items)) => items.len(),
            _ => 0,
        })
    }

    fn element(&mut self, array: JsonRef<'a>, index: usize) -> Result<JsonRef<'a>, Interrupt> {
        Ok(match array {
            JsonRef::Value(Value::Array(items)) => {
                items.get(index).map_or(JsonRef::Undefined, JsonRef::Value)
            }
            _ => JsonRef::Undefined,
        })
    }

    fn get(&mut self, value: JsonRef<'a>, name: Name<'_>) -> Result<JsonRef<'a>, Interrupt> {
        Ok(match value {
            JsonRef::Value(Value::Object(map)) => map
                .get(&*name.key.text)
                .map_or(JsonRef::Undefined, JsonRef::Value),
            JsonRef::Value(Value::Array(items)) => name
                .key
                .text
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index))
                .map_or(JsonRef::Undefined, JsonRef::Value),
            _ => JsonRef::Undefined,
        })
    }

    fn has(&mut self, object: JsonRef<'a>, name: Name<'_>) -> Result<bool, Interrupt> {
        Ok(matches!(self.get(object, name)?, JsonRef::Value(_)))
    }

    fn own_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<JsonKeys<'a>, Interrupt> {
        Ok(match object {
            JsonRef::Value(Value::Object(map)) => JsonKeys::Object(map.iter()),
            _ => JsonKeys::None,
        })
    }

    fn count_keys(&mut self, object: JsonRef<'a>, _: OwnKeys) -> Result<usize, Interrupt> {
        Ok(match object {
            JsonRef::Value(Value::Object(map)) => map.len(),
            _ => 0,
        })
    }

    fn next_key(&mut self, keys: &mut JsonKeys<'a>) -> Result<Option<Self::Key>, Interrupt> {
        Ok(match keys {
            JsonKeys::Object(entries) => entries.next().map(|(key, value)| (key.as_str(), value)),
            JsonKeys::None => None,
        })
    }

    fn with_key<R>(
        &mut self,
        key: Self::Key,
        read: impl FnOnce(&str) -> R,
    ) -> Result<R, Interrupt> {
        Ok(read(key.0))
    }

    fn key_value(&mut self, key: Self::Key) -> JsonRef<'a> {
        JsonRef::Text(key.0)
    }

    fn get_by_key(&mut self, _: JsonRef<'a>, key: Self::Key) -> Result<JsonRef<'a>, Interrupt> {
        Ok(JsonRef::Value(key.1))
    }

    fn own_by_key(
        &mut self,
        other: JsonRef<'a>,
        key: Self::Key,
    ) -> Result<Option<JsonRef<'a>>, Interrupt> {
        Ok(match other {
            JsonRef::Value(Value::Object(map)) => map.get(key.0).map(JsonRef::Value),
            _ => None,
        })
    }

    fn date(&mut self, _: JsonRef<'a>) -> Result<Option<f64>, Interrupt> {
        Ok(None)
    }

    fn uint8_array(&mut self, _: JsonRef<'a>) -> Result<Option<usize>, Interrupt> {
        Ok(None)
    }

    fn is_promise(&mut self, _: JsonRef<'a>) -> Result<bool, Interrupt> {
        Ok(false)
    }

    fn is_iterable(&mut self, object: JsonRef<'a>, asynchronous: bool) -> Result<bool, Interrupt> {
        Ok(!asynchronous && matches!(object, JsonRef::Value(Value::Array(_))))
    }

    fn bigint(&mut self, _: JsonRef<'a>) -> Result<BigInt, Interrupt> {
        Ok(BigInt::default())
    }

    fn symbol_description(&mut self, _: JsonRef<'a>) -> Result<Option<String>, Interrupt> {
        Ok(None)
    }

    fn same_slot(&mut self, _: JsonRef<'a>, _: u32) -> Result<bool, Interrupt> {
        Ok(false)
    }

    fn matches(
        &mut self,
        value: JsonRef<'a>,
        _: PatternId,
        pattern: &Pattern,
    ) -> Result<bool, Interrupt> {
        if pattern.dialect() == Dialect::TypeBox
            && matches!(pattern.failure(), Some(PatternFailure::Syntax(_)))
        {
            return Err(Interrupt::TypeBoxThrows);
        }
        if let Some(text) = value.text() {
            return Ok(pattern.matches(text)?);
        }
        let text = to_js_string(value, 0).ok_or(Interrupt::TypeBoxThrows)?;
        Ok(pattern.matches(&text)?)
    }

    fn custom_format(
        &mut self,
        _: JsonRef<'a>,
        _: FormatId,
        _: &Format,
    ) -> Result<Option<bool>, Interrupt> {
        Ok(None)
    }

    fn custom_kind(&mut self, _: JsonRef<'a>, _: &KindNode) -> Result<Option<bool>, Interrupt> {
        Ok(None)
    }

    fn count_nodes(&mut self, value: JsonRef<'a>, limit: u64) -> Result<u64, Interrupt> {
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
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(map) => open.extend(map.values()),
                _ => {}
            }
        }
        Ok(count)
    }

    fn enter(&mut self) -> Result<(), Interrupt> {
        Ok(())
    }

    fn leave(&mut self, (): ()) {}
}

/// JavaScript's `String(value)`; none where it throws. Arrays deeper than any real one throw.
fn to_js_string(value: JsonRef<'_>, depth: u32) -> Option<String> {
    Some(match value {
        JsonRef::Undefined => "undefined".into(),
        JsonRef::Text(text) => text.into(),
        JsonRef::Value(Value::String(text)) => text.clone(),
        JsonRef::Value(Value::Null) => "null".into(),
        JsonRef::Value(Value::Bool(value)) => value.to_string(),
        JsonRef::Value(Value::Number(found)) => {
            number::to_js_string(found.as_f64().unwrap_or(f64::NAN))
        }
        // An own `toString` of JSON is not a function.
        JsonRef::Value(Value::Object(map)) if map.contains_key("toString") => return None,
        JsonRef::Value(Value::Object(_)) => "[object Object]".into(),
        JsonRef::Value(Value::Array(items)) => {
            if depth >= MAX_ARRAY_TEXT_DEPTH {
                return None;
            }
            let mut text = String::new();
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                if !item.is_null() {
                    text.push_str(&to_js_string(JsonRef::Value(item), depth + 1)?);
                }
            }
            text
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_text_as_in_javascript() {
        let text = |value: Value| to_js_string(JsonRef::Value(&value), 0);
        assert_eq!(
            text(json!([1, [null, true], {}])).as_deref(),
            Some("1,,true,[object Object]")
        );
        assert_eq!(text(json!({"toString": 1})), None);
        assert_eq!(text(json!(1e21)).as_deref(), Some("1e+21"));
    }
}

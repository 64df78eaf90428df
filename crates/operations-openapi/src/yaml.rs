//! From YAML to the JSON it stands for.
//!
//! The deserializer is asked for each value directly, so that aliases can be charged while they are
//! expanded, keys such as `200` keep their text, and a version written `1.0` stays `1.0`.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::bounds::{MAX_YAML_NESTING, YAML_NODE_COST, yaml_allowance};

/// Reads one YAML document.
///
/// # Errors
///
/// A sentence that says where and why the text is not YAML, or which limit it reached.
pub(super) fn read(text: &str) -> Result<Value, String> {
    read_as(text, Position::Root)
}

/// The same for a text that is no OpenAPI document. A key that is there twice is refused: which of
/// the two was meant?
pub(super) fn read_settings(text: &str) -> Result<Value, String> {
    read_as(text, Position::Settings)
}

fn read_as(text: &str, position: Position) -> Result<Value, String> {
    if deepest_bracket(text) > MAX_YAML_NESTING {
        return Err(format!(
            "more than {MAX_YAML_NESTING} brackets are open at once"
        ));
    }
    let left = Cell::new(yaml_allowance(text.len()));
    let node = Node {
        left: &left,
        position,
    };
    node.deserialize(yaml_serde::Deserializer::from_str(text))
        .map_err(|error| error.to_string())
}

/// How many brackets are open at once, at most. Prose is counted too; the limit leaves room for it.
fn deepest_bracket(text: &str) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Where a value stands, as far as it changes how the value is read.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    Root,
    Info,
    /// A version number: its text counts, not its value.
    Version,
    Elsewhere,
    /// Anywhere in a text that is no OpenAPI document.
    Settings,
}

impl Position {
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "openapi" | "swagger") | (Self::Info, "version") => Self::Version,
            (Self::Root, "info") => Self::Info,
            (Self::Settings, _) => Self::Settings,
            _ => Self::Elsewhere,
        }
    }
}

#[derive(Clone, Copy)]
struct Node<'c> {
    left: &'c Cell<usize>,
    position: Position,
}

impl Node<'_> {
    fn charge<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self
            .left
            .get()
            .checked_sub(YAML_NODE_COST.saturating_add(bytes));
        self.left.set(left.ok_or_else(|| {
            E::custom("its aliases expand to far more than the text itself holds")
        })?);
        Ok(())
    }

    fn below(self, key: &str) -> Self {
        Self {
            position: self.position.below(key),
            ..self
        }
    }

    fn inside(self) -> Self {
        let position = match self.position {
            Position::Settings => Position::Settings,
            _ => Position::Elsewhere,
        };
        Self { position, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        if self.position == Position::Version {
            source.deserialize_str(self)
        } else {
            source.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.position == Position::Version {
            "a version number"
        } else {
            "a value that JSON has"
        })
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.charge(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.charge(0)?;
        Ok(value.into())
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.charge(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.charge(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        self.deserialize(source)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.charge(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inside())? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.charge(0)?;
        let mut object = Map::new();
        let mut merged = Vec::new();
        while let Some(key) = entries.next_key_seed(Key(self))? {
            let value = entries.next_value_seed(self.below(&key))?;
            if key == "<<" {
                merged.push(value);
            } else if object.insert(key, value).is_some() && self.position == Position::Settings {
                // The key is not quoted: where tokens are keys, it is a secret.
                return Err(A::Error::custom("a key is there twice"));
            }
        }
        for value in merged {
            merge(&mut object, value);
        }
        Ok(Value::Object(object))
    }

    /// A value with a tag of its own (`!Something value`): the tag says nothing here.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (_, content) = tagged.variant_seed(Key(self))?;
        content.newtype_variant_seed(self.inside())
    }
}

/// The key of an entry, as it is written.
struct Key<'c>(Node<'c>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<String, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property name")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<String, E> {
        self.0.charge(value.len())?;
        Ok(value.to_owned())
    }
}

/// `<<`: what the object does not say itself comes from the merged one, or from the first of several.
fn merge(object: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                object.entry(key).or_insert(value);
            }
        }
        Value::Array(list) => {
            for value in list {
                if value.is_object() {
                    merge(object, value);
                }
            }
        }
        _ => {}
    }
}

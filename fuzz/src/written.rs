//! A schema in writing, before it is decided whether that is JSON or the facade's encoding.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A schema, or a part of one.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Written>),
    Object(Box<Object>),
    /// Something that only the encoding can carry, as it is encoded.
    Beyond(&'static str),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    pub(crate) kind: Option<&'static str>,
    pub(crate) flags: u32,
    pub(crate) entries: Vec<(String, Written)>,
}

impl From<Object> for Written {
    fn from(object: Object) -> Self {
        Self::Object(Box::new(object))
    }
}

impl From<&str> for Written {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Written {
    /// The JSON document; kinds and flags have no place in it.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null | Self::Beyond(_) => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(object) => {
                let entries = object.entries.iter();
                let entries = entries.map(|(name, value)| (name.clone(), value.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The facade's encoding.
    pub(crate) fn to_encoding(&self) -> String {
        let mut text = String::new();
        self.encode(&mut text);
        text
    }

    fn encode(&self, out: &mut String) {
        match self {
            Self::Beyond(encoded) => out.push_str(encoded),
            Self::List(items) => {
                out.push_str("[\"a\"");
                for item in items {
                    out.push(',');
                    item.encode(out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                let kind = object.kind.map_or(Value::Null, Value::from);
                let flags = object.flags;
                // Writing to a `String` cannot fail.
                let _ = write!(out, "[\"o\",{kind},{flags}");
                if flags & 16 != 0 {
                    out.push_str(",1");
                }
                for (name, value) in &object.entries {
                    let _ = write!(out, ",{},", Value::from(name.as_str()));
                    value.encode(out);
                }
                out.push(']');
            }
            scalar => {
                let _ = write!(out, "{}", scalar.to_json());
            }
        }
    }
}

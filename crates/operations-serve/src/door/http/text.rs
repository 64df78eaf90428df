//! Values of parameters: what a text in a URL or a header stands for, and for which schemas that is certain.

use operations_core::call::not_held;
use operations_core::json::{Document, Kind};
use serde_json::{Map, Value};

/// What a text is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    /// The text itself.
    Text,
    /// A number, where the text is one and nothing is lost.
    Number,
    /// `true` or `false`.
    Boolean,
}

impl Scalar {
    /// The value that a text stands for. A text that is nothing of the kind stays one: it does not fit the schema, and the
    /// error of the check says so. Fails, with the reason, for a number that would be changed.
    pub(super) fn read(self, text: &str) -> Result<Value, String> {
        let read = match self {
            Self::Text => None,
            Self::Number => number(text),
            Self::Boolean => text.parse().ok().map(Value::Bool),
        };
        let changed = read.as_ref().filter(|value| value.is_number());
        if let Some(why) = changed.and_then(|_| not_held(text)) {
            return Err(why);
        }
        Ok(read.unwrap_or_else(|| text.into()))
    }

    /// What all texts for a schema are read as; `None` where that depends.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let schema = schema.as_object()?;
        if let Some(types) = schema.get("type") {
            return Self::of_type(types.as_str()?);
        }
        if let Some(constant) = schema.get("const") {
            return Self::of_value(constant);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return agreed(values.iter().map(Self::of_value));
        }
        let variants = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
        agreed(variants.as_array()?.iter().map(Self::of))
    }

    fn of_type(name: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::Text),
            "number" | "integer" => Some(Self::Number),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }

    fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(_) => Some(Self::Text),
            Value::Number(_) => Some(Self::Number),
            Value::Bool(_) => Some(Self::Boolean),
            _ => None,
        }
    }
}

/// What all say, if they say the same.
fn agreed(mut all: impl Iterator<Item = Option<Scalar>>) -> Option<Scalar> {
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// A number as JSON writes it.
fn number(text: &str) -> Option<Value> {
    // White space around it is allowed in a JSON text, and would be lost.
    let number = Document::parse(text).ok().filter(|_| text.trim() == text)?;
    let is_number = matches!(number.root().kind(), Kind::Number(_));
    // One that is too large for a value of serde is refused all the same.
    is_number.then(|| serde_json::from_str(text).unwrap_or_else(|_| 0.into()))
}

/// The properties of an object whose values can all be parsed from text, and the schema's other keywords.
pub(super) fn flat(schema: &Value) -> Option<&Map<String, Value>> {
    /// What else an object may say and still be nothing but its properties.
    const KNOWN: [&str; 12] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "title",
        "description",
        "$id",
        "$schema",
        "$comment",
        "examples",
        "deprecated",
        "default",
    ];
    let schema = schema.as_object()?;
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let is_known = schema.keys().all(|key| KNOWN.contains(&key.as_str()));
    // What has a schema for undeclared properties wants some.
    let is_closed = !schema
        .get("additionalProperties")
        .is_some_and(Value::is_object);
    if !is_object || !is_known || !is_closed {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    let are_scalars = properties
        .iter()
        .all(|(name, schema)| !name.is_empty() && Scalar::of(schema).is_some());
    are_scalars.then_some(properties)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_converted_where_nothing_is_lost() {
        for (scalar, text, value) in [
            (Scalar::Number, "42", json!(42)),
            (Scalar::Number, "-1.5e3", json!(-1.5e3)),
            (Scalar::Number, "007", json!("007")),
            (Scalar::Number, "", json!("")),
            (Scalar::Number, " 1", json!(" 1")),
            (
                Scalar::Number,
                "9007199254740992",
                json!(9_007_199_254_740_992_u64),
            ),
            (Scalar::Number, "NaN", json!("NaN")),
            (Scalar::Boolean, "true", json!(true)),
            (Scalar::Boolean, "1", json!("1")),
            (Scalar::Text, "42", json!("42")),
        ] {
            assert_eq!(scalar.read(text), Ok(value), "{text:?}");
        }
        for changed in ["9007199254740993", "9007199254740993.0", "1e400", "1e-400"] {
            assert!(Scalar::Number.read(changed).is_err(), "{changed}");
            assert_eq!(Scalar::Text.read(changed), Ok(json!(changed)));
        }
    }

    #[test]
    fn an_object_is_flat_if_its_values_can_be_parsed_from_text() {
        let of = |properties: Value| json!({ "type": "object", "properties": properties });
        for schema in [
            of(json!({})),
            of(json!({ "a": { "type": "string" }, "b": { "type": "integer" } })),
            of(json!({ "a": { "anyOf": [{ "const": "x", "type": "string" }, { "const": "y" }] } })),
            of(json!({ "a": { "enum": [1, 2] } })),
        ] {
            assert!(flat(&schema).is_some(), "{schema}");
        }
        for schema in [
            json!({}),
            json!({ "type": "string" }),
            of(json!({ "a": {} })),
            of(json!({ "a": { "type": ["string", "null"] } })),
            of(json!({ "a": { "type": "array", "items": { "type": "string" } } })),
            of(json!({ "a": { "enum": [1, "1"] } })),
            of(json!({ "a": { "type": "Date" } })),
            json!({ "type": "object", "properties": {}, "minProperties": 1 }),
            json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } }),
        ] {
            assert!(flat(&schema).is_none(), "{schema}");
        }
    }
}

//! The keywords of a schema: which hold schemas, and which form the others must have.

use operations_schema::keywords::{Holds, holds};
use serde_json::Value;

use super::tree::Tree;

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A schema or a list of them (`items`).
    SchemaOrSchemas,
    /// Names with a schema each.
    Named,
    /// Names with a schema or a list of names each (`dependencies`).
    Dependencies,
    /// What a copy does without: the schema's identity, which only the original may claim, and its
    /// own definitions, which are copied when something refers to them.
    Left,
    /// Another place (`$ref` and its dynamic relatives).
    Reference,
    /// `discriminator`.
    Discriminator,
    /// `type`.
    Type,
    /// `required`.
    Required,
    /// A list with at least one member.
    List,
    /// A text.
    Text,
    /// A number.
    Number,
    /// A number or a boolean (`exclusiveMinimum` and `exclusiveMaximum` in OpenAPI 3.0).
    NumberOrBoolean,
    /// A boolean.
    Boolean,
    /// Anything: the keyword is data, or unknown.
    Data,
}

/// The kind of a keyword.
pub(super) fn kind_of(keyword: &str) -> Kind {
    match holds(keyword) {
        Holds::Schema => return Kind::Schema,
        Holds::Schemas => return Kind::Schemas,
        Holds::SchemaOrSchemas => return Kind::SchemaOrSchemas,
        Holds::Named => return Kind::Named,
        Holds::Dependencies => return Kind::Dependencies,
        Holds::Definitions => return Kind::Left,
        Holds::Number if keyword.starts_with("exclusive") => return Kind::NumberOrBoolean,
        Holds::Number => return Kind::Number,
        Holds::Other => {}
    }
    match keyword {
        "$id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$schema" | "$vocabulary" => {
            Kind::Left
        }
        "$ref" | "$dynamicRef" | "$recursiveRef" => Kind::Reference,
        "discriminator" => Kind::Discriminator,
        "type" => Kind::Type,
        "required" => Kind::Required,
        "enum" => Kind::List,
        "pattern" | "format" | "title" | "description" | "$comment" | "contentMediaType"
        | "contentEncoding" => Kind::Text,
        "uniqueItems" | "nullable" | "readOnly" | "writeOnly" | "deprecated" => Kind::Boolean,
        _ => Kind::Data,
    }
}

/// Whether the keyword says something to people only.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "summary"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "externalDocs"
            | "xml"
    ) || keyword.starts_with("x-")
}

/// Whether the keyword only illustrates, so that nothing is lost without it.
pub(super) fn is_illustration(keyword: &str) -> bool {
    matches!(keyword, "example" | "examples") || keyword.starts_with("x-")
}

/// Whether the value can be read as a schema.
pub(super) fn is_schema(value: &Tree) -> bool {
    matches!(value, Tree::Object(_) | Tree::Bool(_))
}

/// The JSON type that a word of a document means. Documents made by hand write more than the seven
/// words; what is meant is often plain.
pub(super) fn type_word(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" | "date" | "datetime" | "date-time" | "uuid" => "string",
        "number" | "float" | "double" | "decimal" => "number",
        "integer" | "int" | "long" | "int32" | "int64" => "integer",
        "boolean" | "bool" => "boolean",
        "object" => "object",
        "array" | "list" => "array",
        "null" => "null",
        _ => return None,
    })
}

/// `type` in a form that JSON Schema has; nothing when no rule is left.
pub(super) fn repair_type(value: &Tree) -> Option<Value> {
    match value {
        Tree::String(word) => type_word(word).map(Value::from),
        Tree::Null => Some(Value::from("null")),
        Tree::Array(words) => {
            let mut repaired: Vec<Value> = Vec::new();
            for word in words {
                let word = match word {
                    Tree::String(word) => type_word(word)?,
                    // YAML's unquoted null.
                    Tree::Null => "null",
                    _ => return None,
                };
                if !repaired.iter().any(|known| known == word) {
                    repaired.push(word.into());
                }
            }
            (!repaired.is_empty()).then_some(Value::Array(repaired))
        }
        _ => None,
    }
}

/// The value of a keyword that holds no schema, in the form it must have; nothing when it cannot be
/// read so.
pub(super) fn repair(kind: Kind, value: &Tree) -> Option<Value> {
    match kind {
        Kind::Type => repair_type(value),
        Kind::Required => {
            let names: Vec<Value> = value
                .as_array()?
                .iter()
                .filter(|name| name.is_string())
                .map(Tree::to_value)
                .collect();
            (!names.is_empty()).then_some(Value::Array(names))
        }
        Kind::List => value
            .as_array()
            .filter(|list| !list.is_empty())
            .map(|_| value.to_value()),
        Kind::Text => value.is_string().then(|| value.to_value()),
        Kind::NumberOrBoolean if value.is_boolean() => Some(value.to_value()),
        Kind::Number | Kind::NumberOrBoolean => repair_number(value),
        Kind::Boolean => match value {
            Tree::Bool(_) => Some(value.to_value()),
            Tree::String(word) => word.parse::<bool>().ok().map(Value::Bool),
            _ => None,
        },
        _ => Some(value.to_value()),
    }
}

fn repair_number(value: &Tree) -> Option<Value> {
    match value {
        Tree::Number(_) => Some(value.to_value()),
        Tree::String(text) => {
            let number: f64 = text.trim().parse().ok()?;
            serde_json::Number::from_f64(number).map(Value::Number)
        }
        _ => None,
    }
}

/// Whether the value has the form that the keyword demands as it stands.
pub(super) fn is_well_formed(kind: Kind, value: &Tree) -> bool {
    match kind {
        Kind::Schema => is_schema(value),
        Kind::Schemas => {
            matches!(value, Tree::Array(list) if !list.is_empty() && list.iter().all(is_schema))
        }
        Kind::SchemaOrSchemas => match value {
            Tree::Array(list) => list.iter().all(is_schema),
            other => is_schema(other),
        },
        Kind::Named => matches!(value, Tree::Object(map) if map.values().all(is_schema)),
        Kind::Dependencies => matches!(
            value,
            Tree::Object(map) if map.values().all(|one| is_schema(one) || one.is_array())
        ),
        Kind::Discriminator | Kind::Left | Kind::Data => true,
        Kind::Type => match value {
            Tree::Array(words) => !words.is_empty() && words.iter().all(is_type_name),
            word => is_type_name(word),
        },
        // An empty list of required properties is common, harmless and only forbidden in draft 4.
        Kind::Required => {
            matches!(value, Tree::Array(names) if names.iter().all(Tree::is_string))
        }
        Kind::List => matches!(value, Tree::Array(list) if !list.is_empty()),
        Kind::Text | Kind::Reference => value.is_string(),
        Kind::Number => value.is_number(),
        Kind::NumberOrBoolean => value.is_number() || value.is_boolean(),
        Kind::Boolean => value.is_boolean(),
    }
}

fn is_type_name(word: &Tree) -> bool {
    matches!(
        word.as_str(),
        Some("string" | "number" | "integer" | "boolean" | "object" | "array" | "null" | "file")
    )
}

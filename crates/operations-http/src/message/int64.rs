//! Where a schema says `format: int64`, and what the user wants of such integers.

use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// What becomes of an integer that a JavaScript number cannot hold, where the schema says `format: int64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// A text.
    String,
    /// A `bigint`, which a text stands for until JavaScript has it.
    BigInt,
}

/// What a user has chosen for the integers of one operation.
#[derive(Debug)]
pub struct Int64 {
    /// What becomes of them.
    pub keep: Keep,
    /// The schema of the input, as the document has it.
    pub input: LazySchema,
    /// The schema of the output.
    pub output: LazySchema,
}

/// A schema that is made when it is first needed. It stands alone: its references lead to its own `$defs`.
pub struct LazySchema(LazyLock<Value, Make>);

type Make = Box<dyn FnOnce() -> Value + Send>;

impl fmt::Debug for LazySchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LazySchema")
    }
}

/// One step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'v> {
    /// To the member of an object.
    Member(&'v str),
    /// To the element of an array.
    Element(usize),
}

/// Schemas that are visited for one path. A document can have so many alternatives that visiting all of them for each
/// number would take for ever.
const MAX_SCHEMAS: usize = 256;

impl LazySchema {
    /// A schema that `make` returns.
    pub fn of(make: impl FnOnce() -> Value + Send + 'static) -> Self {
        Self(LazyLock::new(Box::new(make)))
    }

    /// Whether some part of the schema that applies to this path says `format: int64`.
    #[must_use]
    pub fn is_int64(&self, path: &[Step<'_>]) -> bool {
        let schemas = self.at(path);
        schemas.into_iter().any(says_int64)
    }

    /// The same, where a text would mean nothing else.
    #[must_use]
    pub fn is_only_int64(&self, path: &[Step<'_>]) -> bool {
        let schemas = self.at(path);
        schemas.iter().copied().any(says_int64) && !schemas.into_iter().any(allows_text)
    }

    fn at(&self, path: &[Step<'_>]) -> Vec<&Value> {
        let root = &*self.0;
        let mut here = expanded(root, vec![root]);
        for step in path {
            let mut next = Vec::new();
            for schema in here {
                children(schema, *step, &mut next);
            }
            here = expanded(root, next);
        }
        here
    }
}

fn says_int64(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some("int64")
}

fn allows_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == "string",
        Some(Value::Array(several)) => several.iter().any(|one| one == "string"),
        _ => false,
    }
}

/// The schemas, with all that count for the same value.
fn expanded<'s>(root: &'s Value, mut schemas: Vec<&'s Value>) -> Vec<&'s Value> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied() {
        at += 1;
        let lists = ["allOf", "anyOf", "oneOf"];
        let lists = lists.iter().filter_map(|word| schema.get(word)?.as_array());
        let branches = ["then", "else"];
        let branches = branches.iter().filter_map(|word| schema.get(word));
        let target = schema.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|text| root.pointer(text.strip_prefix('#')?));
        for found in lists.flatten().chain(branches).chain(target) {
            let is_known = schemas.iter().any(|known| std::ptr::eq(*known, found));
            if !is_known && schemas.len() < MAX_SCHEMAS {
                schemas.push(found);
            }
        }
    }
    schemas
}

/// The schemas of a member or an element. Patterns are taken to match: a format that is found in vain costs nothing.
fn children<'s>(schema: &'s Value, step: Step<'_>, found: &mut Vec<&'s Value>) {
    match step {
        Step::Member(name) => {
            let own = schema
                .get("properties")
                .and_then(|members| members.get(name));
            if let Some(own) = own {
                found.push(own);
                return;
            }
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            found.extend(patterns.into_iter().flat_map(|schemas| schemas.values()));
            found.extend(schema.get("additionalProperties"));
        }
        Step::Element(index) => {
            let first = schema
                .get("prefixItems")
                .or_else(|| schema.get("items").filter(|items| items.is_array()));
            if let Some(own) = first.and_then(|schemas| schemas.get(index)) {
                found.push(own);
                return;
            }
            found.extend(schema.get("items").filter(|items| items.is_object()));
            found.extend(schema.get("additionalItems"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Step::{Element, Member};
    use super::*;

    #[test]
    fn a_place_is_found_through_lists_references_and_alternatives() {
        let schema = LazySchema::of(|| {
            json!({
                "type": "object",
                "properties": {
                    "id": { "type": "integer", "format": "int64" },
                    "size": { "type": "integer" },
                    "next": { "$ref": "#" },
                    "pets": { "type": "array", "items": { "$ref": "#/$defs/Pet" } },
                    "pair": { "type": "array", "prefixItems": [{ "type": "integer" }, { "format": "int64" }] },
                    "either": { "type": ["string", "integer"], "format": "int64" },
                },
                "additionalProperties": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/Id" }] },
                "$defs": {
                    "Id": { "type": "integer", "format": "int64" },
                    "Pet": { "allOf": [{ "$ref": "#/$defs/Pet" }, { "properties": { "id": { "$ref": "#/$defs/Id" } } }] },
                },
            })
        });
        assert!(schema.is_int64(&[Member("id")]));
        assert!(!schema.is_int64(&[Member("size")]));
        assert!(schema.is_int64(&[Member("next"), Member("next"), Member("id")]));
        assert!(schema.is_int64(&[Member("pets"), Element(7), Member("id")]));
        assert!(!schema.is_int64(&[Member("pets"), Element(7)]));
        assert!(!schema.is_int64(&[Member("pair"), Element(0)]));
        assert!(schema.is_int64(&[Member("pair"), Element(1)]));
        assert!(schema.is_int64(&[Member("whatever")]));
        assert!(schema.is_only_int64(&[Member("whatever")]));
        assert!(schema.is_int64(&[Member("either")]));
        assert!(!schema.is_only_int64(&[Member("either")]));
    }
}

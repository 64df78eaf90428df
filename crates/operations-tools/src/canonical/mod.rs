//! One way to say a thing: a schema of any draft, with `OpenAPI`'s and TypeBox's peculiarities, as
//! JSON Schema 2020-12 whose references all lead to definitions.

mod cycles;
mod keywords;
mod references;

use indexmap::IndexMap;
use operations_schema::pointer::escape;
use serde_json::{Map, Value};

use crate::lossy::Loss;
use cycles::recursive_names;
use keywords::Reader;

/// Stands for a value that JSON does not have; the word says which (`Date`, `undefined`).
pub(crate) const BEYOND_JSON: &str = "$beyondJson";

/// Keywords that say something about a value without constraining it.
const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Whether a keyword constrains nothing.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// A step of a JSON Pointer.
pub(crate) fn step(at: &str, token: &str) -> String {
    format!("{at}/{}", escape(token))
}

/// A schema in one form.
#[derive(Debug)]
pub(crate) struct Canonical {
    pub(crate) root: Value,
    pub(crate) definitions: IndexMap<String, Definition>,
    pub(crate) losses: Vec<Loss>,
}

/// What references lead to.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) schema: Value,
    /// A JSON Pointer to it in the original.
    pub(crate) at: String,
    /// How many references lead here.
    pub(crate) uses: usize,
    /// Whether a reference leads from here to here.
    pub(crate) recursive: bool,
    /// Whether it is so small that a reference saves nothing.
    pub(crate) small: bool,
}

impl Canonical {
    pub(crate) fn of(document: &Value) -> Self {
        let mut reader = Reader::new(document);
        let root = reader.schema(document, "");
        let mut definitions = IndexMap::new();
        while let Some((name, target, at)) = reader.references.waiting.pop() {
            let schema = reader.schema(target, &at);
            definitions.insert(name, (schema, at));
        }
        let recursive = recursive_names(&definitions);
        let definitions = definitions
            .into_iter()
            .map(|(name, (schema, at))| {
                let definition = Definition {
                    at,
                    uses: reader.references.uses.get(&name).copied().unwrap_or(0),
                    recursive: recursive.contains(&name),
                    small: weight(&schema) <= SMALL,
                    schema,
                };
                (name, definition)
            })
            .collect();
        Self {
            root,
            definitions,
            losses: reader.losses,
        }
    }

    /// What a reference leads to.
    pub(crate) fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// All definitions, as `$defs` has them.
    pub(crate) fn to_defs(&self) -> Map<String, Value> {
        let entries = self.definitions.iter();
        entries
            .map(|(name, definition)| (name.clone(), definition.schema.clone()))
            .collect()
    }
}

/// The name that a reference in canonical form has.
pub(crate) fn reference(node: &Map<String, Value>) -> Option<&str> {
    node.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// A definition of at most this weight is written out wherever it is used.
const SMALL: usize = 4;

/// Roughly how many values there are in a schema.
fn weight(value: &Value) -> usize {
    match value {
        Value::Object(entries) => entries
            .iter()
            .filter(|(key, _)| !is_annotation(key))
            .map(|(_, entry)| 1 + weight(entry))
            .sum(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn canonical(schema: &Value) -> Value {
        Canonical::of(schema).root
    }

    #[test]
    fn older_drafts_say_the_same_in_2020_12() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "minimum": 1,
            "exclusiveMinimum": true,
            "items": [{ "type": "string" }],
            "additionalItems": false,
            "dependencies": { "a": ["b"], "c": { "required": ["d"] } },
            "x-vendor": 1,
            "example": 3,
        });
        assert_eq!(
            canonical(&schema),
            json!({
                "exclusiveMinimum": 1,
                "prefixItems": [{ "type": "string" }],
                "items": false,
                "dependentRequired": { "a": ["b"] },
                "dependentSchemas": { "c": { "required": ["d"] } },
                "examples": [3],
            })
        );
    }

    #[test]
    fn nullable_is_a_type() {
        assert_eq!(
            canonical(&json!({ "type": "string", "nullable": true })),
            json!({ "type": ["string", "null"] })
        );
        let schema = json!({
            "description": "d", "$ref": "#/$defs/a", "nullable": true, "$defs": { "a": { "type": "string" } }
        });
        assert_eq!(
            canonical(&schema),
            json!({ "description": "d", "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "null" }] })
        );
    }

    #[test]
    fn references_of_every_kind_lead_to_definitions() {
        let schema = json!({
            "properties": {
                "a": { "$ref": "#/definitions/io.k8s.Pod%20Spec" },
                "b": { "$ref": "T0" },
                "c": { "$ref": "#here" },
                "d": { "$ref": "#/definitions/nothing" },
                "e": { "$ref": "#" },
            },
            "definitions": {
                "io.k8s.Pod Spec": { "type": "string" },
                "x": { "$id": "T0", "items": { "$ref": "T0" } },
                "y": { "$anchor": "here", "type": "integer" },
            },
        });
        let made = Canonical::of(&schema);
        let property = |name: &str| made.root["properties"][name]["$ref"].clone();
        assert_eq!(property("a"), "#/$defs/Pod_20Spec");
        assert_eq!(property("b"), "#/$defs/T0");
        assert_eq!(property("c"), "#/$defs/here");
        assert_eq!(property("e"), "#/$defs/Root");
        assert_eq!(made.root["properties"]["d"], json!({}));
        assert_eq!(made.losses.len(), 1);
        assert_eq!(made.losses[0].path, "/properties/d");
        assert!(made.definitions["T0"].recursive && made.definitions["Root"].recursive);
        assert!(!made.definitions["here"].recursive && made.definitions["here"].small);
        // From the root, from the root as a definition, and from itself.
        assert_eq!(made.definitions["T0"].uses, 3);
    }

    #[test]
    fn types_that_json_does_not_have_are_marked() {
        assert_eq!(
            canonical(&json!({ "type": "Date" })),
            json!({ BEYOND_JSON: "Date" })
        );
        assert_eq!(
            canonical(&json!({ "type": ["string", "Date"] })),
            json!({ "type": "string" })
        );
    }
}

//! Schemas of operations as parts of an OpenAPI document. Each was a document of its own, to which its references belong: those
//! that have references become components, and their references lead there.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

const JSON_TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];
/// Keywords whose values are data, or words, and no schemas.
const DATA: [&str; 7] = [
    "const",
    "enum",
    "default",
    "examples",
    "example",
    "required",
    "dependentRequired",
];
/// Keywords whose values have schemas under names of the user's.
const MAPS: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// Keywords that say where a schema is, which changes.
const PLACES: [&str; 5] = [
    "$id",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// What is nested more deeply is anything.
const DEEPEST: usize = 128;

/// The schemas that are components.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    pub(super) components: IndexMap<String, Box<RawValue>>,
}

/// A schema of an operation, in its place.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// What stands where the schema is used.
    pub(super) schema: Value,
    /// The pointer to the component, if it is one.
    component: Option<String>,
}

impl Placed {
    /// The schema of a property.
    pub(super) fn property(&self, name: &str) -> Value {
        match &self.component {
            Some(pointer) => json!({ "$ref": format!("{pointer}/properties/{}", token(name)) }),
            None => self
                .schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .cloned()
                .unwrap_or_else(|| json!({})),
        }
    }
}

/// A part of a document that is finished. A tree of JSON can always be written.
pub(super) fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Schemas {
    pub(super) fn add(&mut self, name: String, schema: &Value) {
        self.components.insert(name, raw(schema));
    }

    /// Takes a schema in. `name` is that of the component, if it becomes one.
    pub(super) fn place(&mut self, schema: Option<&Value>, name: &str) -> Placed {
        let Some(schema) = schema else {
            return Placed {
                schema: json!({}),
                component: None,
            };
        };
        let mut known = Known::default();
        known.collect(schema, &mut String::new(), "", 0);
        if !known.has_references {
            return Placed {
                schema: known.moved(schema, "", &mut String::new(), "", 0),
                component: None,
            };
        }
        let mut name: String = name
            .chars()
            .map(|char| {
                if char.is_ascii_alphanumeric() || "._-".contains(char) {
                    char
                } else {
                    '_'
                }
            })
            .collect();
        while self.components.contains_key(&name) {
            name.push('_');
        }
        let pointer = format!("#/components/schemas/{name}");
        let moved = known.moved(schema, &pointer, &mut String::new(), "", 0);
        self.add(name, &moved);
        Placed {
            schema: json!({ "$ref": pointer }),
            component: Some(pointer),
        }
    }
}

/// What a schema says about its own places.
#[derive(Debug, Default)]
struct Known {
    /// Pointers, by what references call them.
    places: HashMap<String, String>,
    has_references: bool,
}

impl Known {
    /// `base` is the place of the nearest schema with an id.
    fn collect(&mut self, schema: &Value, at: &mut String, base: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let Value::Object(members) = schema else {
            return each(schema, at, |value, at| {
                self.collect(value, at, base, depth + 1);
            });
        };
        let word = |name: &str| members.get(name).and_then(Value::as_str);
        let id = word("$id");
        let base = if id.is_some() {
            at.clone()
        } else {
            base.to_owned()
        };
        if let Some(id) = id {
            self.places
                .entry(id.to_owned())
                .or_insert_with(|| at.clone());
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(word) {
            let name = format!("{base}#{anchor}");
            self.places.entry(name).or_insert_with(|| at.clone());
        }
        self.has_references |= REFERENCES.iter().any(|name| word(name).is_some());
        for (name, value) in members
            .iter()
            .filter(|(name, _)| !DATA.contains(&name.as_str()))
        {
            within(at, name, |at| {
                if MAPS.contains(&name.as_str()) {
                    each(value, at, |value, at| {
                        self.collect(value, at, &base, depth + 1);
                    });
                } else {
                    self.collect(value, at, &base, depth + 1);
                }
            });
        }
    }

    /// Where a reference leads, within the schema.
    fn target(&self, reference: &str, base: &str) -> Option<String> {
        if reference == "#" || reference.starts_with("#/") {
            return Some(format!("{base}{}", reference.strip_prefix('#')?));
        }
        if let Some(anchor) = reference.strip_prefix('#') {
            return self.places.get(&format!("{base}#{anchor}")).cloned();
        }
        let (id, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let at = self.places.get(id)?;
        match pointer.strip_prefix('/') {
            Some(_) => Some(format!("{at}{pointer}")),
            None if pointer.is_empty() => Some(at.clone()),
            None => self.places.get(&format!("{at}#{pointer}")).cloned(),
        }
    }

    /// The schema with references that lead below `root`, and with nothing that only JavaScript understands.
    fn moved(
        &self,
        schema: &Value,
        root: &str,
        at: &mut String,
        base: &str,
        depth: usize,
    ) -> Value {
        if depth > DEEPEST {
            return json!({});
        }
        let Value::Object(members) = schema else {
            return copied(schema, at, |value, at| {
                self.moved(value, root, at, base, depth + 1)
            });
        };
        let base = match members.get("$id") {
            Some(Value::String(_)) => at.clone(),
            _ => base.to_owned(),
        };
        if !has_json_type(members) {
            let described = members.get("description").filter(|text| text.is_string());
            return described.map_or_else(|| json!({}), |text| json!({ "description": text }));
        }
        let mut moved = Map::new();
        for (name, value) in members {
            let key = name.as_str();
            if value.is_string() && PLACES.contains(&key) {
                continue;
            }
            if let (true, Some(reference)) = (REFERENCES.contains(&key), value.as_str()) {
                // A reference to somewhere else says nothing here.
                if let Some(target) = self.target(reference, &base) {
                    moved.insert("$ref".to_owned(), format!("{root}{target}").into());
                }
                continue;
            }
            let value = if DATA.contains(&key) {
                value.clone()
            } else {
                within(at, name, |at| {
                    if MAPS.contains(&key) {
                        copied(value, at, |value, at| {
                            self.moved(value, root, at, &base, depth + 1)
                        })
                    } else {
                        self.moved(value, root, at, &base, depth + 1)
                    }
                })
            };
            moved.insert(name.clone(), value);
        }
        bound_by_numbers(&mut moved);
        if moved.shift_remove("nullable") == Some(Value::Bool(true)) {
            return or_null(moved);
        }
        Value::Object(moved)
    }
}

/// OpenAPI 3.0, as draft 4 of JSON Schema, says in a boolean whether a bound is excluded; later ones have the bound in its place.
fn bound_by_numbers(schema: &mut Map<String, Value>) {
    for (exclusive, inclusive) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        let Some(Value::Bool(is_excluded)) = schema.get(exclusive) else {
            continue;
        };
        let bound = is_excluded.then(|| schema.shift_remove(inclusive));
        schema.shift_remove(exclusive);
        if let Some(bound) = bound.flatten() {
            schema.insert(exclusive.to_owned(), bound);
        }
    }
}

/// OpenAPI 3.0's `nullable`, in the words of JSON Schema: null passes, whatever else the schema says.
fn or_null(mut schema: Map<String, Value>) -> Value {
    const COMBINED: [&str; 7] = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "const"];
    if COMBINED.iter().any(|name| schema.contains_key(*name)) {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(names)) if !names.contains(&json!("null")) => names.push("null".into()),
        Some(name @ Value::String(_)) if name != "null" => {
            *name = json!([name.take(), "null"]);
        }
        _ => {}
    }
    Value::Object(schema)
}

/// Does something one step further down.
fn within<T>(at: &mut String, name: &str, work: impl FnOnce(&mut String) -> T) -> T {
    let length = at.len();
    at.push('/');
    at.push_str(&token(name));
    let done = work(at);
    at.truncate(length);
    done
}

/// Does something with each value of a list or an object.
fn each(holder: &Value, at: &mut String, mut work: impl FnMut(&Value, &mut String)) {
    copied(holder, at, |value, at| {
        work(value, at);
        Value::Null
    });
}

/// A list or an object with other values in it; everything else as it is.
fn copied(
    holder: &Value,
    at: &mut String,
    mut work: impl FnMut(&Value, &mut String) -> Value,
) -> Value {
    match holder {
        Value::Array(list) => {
            let values = list.iter().enumerate();
            values
                .map(|(index, value)| within(at, &index.to_string(), |at| work(value, at)))
                .collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), within(at, name, |at| work(value, at))))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn has_json_type(members: &Map<String, Value>) -> bool {
    let is_known = |name: &Value| name.as_str().is_none_or(|name| JSON_TYPES.contains(&name));
    match members.get("type") {
        Some(Value::Array(list)) => list.iter().all(is_known),
        Some(name) => is_known(name),
        None => true,
    }
}

/// A name as a part of a JSON Pointer in a fragment.
fn token(name: &str) -> String {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    /// What may not stand in a fragment (RFC 3986).
    const FRAGMENT: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'#')
        .add(b'%')
        .add(b'<')
        .add(b'>')
        .add(b'[')
        .add(b'\\')
        .add(b']')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let escaped = name.replace('~', "~0").replace('/', "~1");
    utf8_percent_encode(&escaped, FRAGMENT).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests: a failure should stop them")]

    use super::*;

    #[test]
    fn what_refers_to_itself_becomes_a_component() {
        let mut schemas = Schemas::default();
        let node = json!({
            "$id": "Node", "type": "object",
            "properties": {
                "next": { "$ref": "Node" },
                "tag": { "$ref": "#/$defs/Tag" },
                "same": { "$ref": "#named" },
                "away": { "$ref": "https://example.com/x" },
            },
            "$defs": { "Tag": { "$anchor": "named", "type": "string", "default": "a" } },
        });
        let placed = schemas.place(Some(&node), "a/b.input");
        assert_eq!(
            placed.schema,
            json!({ "$ref": "#/components/schemas/a_b.input" })
        );
        assert_eq!(
            placed.property("x/y"),
            json!({ "$ref": "#/components/schemas/a_b.input/properties/x~1y" })
        );
        let component: Value =
            serde_json::from_str(schemas.components["a_b.input"].get()).unwrap_or_default();
        assert_eq!(component.get("$id"), None);
        let properties = &component["properties"];
        let base = "#/components/schemas/a_b.input";
        assert_eq!(properties["next"]["$ref"], base);
        assert_eq!(properties["tag"]["$ref"], format!("{base}/$defs/Tag"));
        assert_eq!(properties["same"]["$ref"], format!("{base}/$defs/Tag"));
        assert_eq!(properties["away"], json!({}));
        assert_eq!(component["$defs"]["Tag"]["default"], "a");
    }

    #[test]
    fn words_of_openapi_3_0_become_those_of_json_schema() {
        let mut schemas = Schemas::default();
        for (old, new) in [
            (
                json!({ "type": "string", "nullable": true }),
                json!({ "type": ["string", "null"] }),
            ),
            (
                json!({ "type": "string", "nullable": false }),
                json!({ "type": "string" }),
            ),
            (
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
            ),
            (
                json!({ "nullable": true, "allOf": [{ "type": "string" }] }),
                json!({ "anyOf": [{ "allOf": [{ "type": "string" }] }, { "type": "null" }] }),
            ),
            (
                json!({ "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
                json!({ "maximum": 9, "exclusiveMinimum": 1 }),
            ),
            (
                json!({ "exclusiveMinimum": 1, "properties": { "nullable": { "type": "boolean" } } }),
                json!({ "exclusiveMinimum": 1, "properties": { "nullable": { "type": "boolean" } } }),
            ),
        ] {
            let placed = schemas.place(Some(&json!({ "items": old })), "x").schema;
            assert_eq!(placed["items"], new, "{old}");
        }
    }

    #[test]
    fn what_only_javascript_understands_is_anything() {
        let mut schemas = Schemas::default();
        let schema = json!({
            "type": "object",
            "properties": {
                "when": { "type": "Date", "description": "d" },
                "type": { "type": "string", "const": "Date" },
                "default": { "type": "string" },
            },
            "examples": [{ "type": "Date" }],
        });
        let placed = schemas.place(Some(&schema), "x").schema;
        assert_eq!(placed["properties"]["when"], json!({ "description": "d" }));
        assert_eq!(placed["properties"]["type"], schema["properties"]["type"]);
        assert_eq!(placed["properties"]["default"], json!({ "type": "string" }));
        assert_eq!(placed["examples"], schema["examples"]);
    }
}

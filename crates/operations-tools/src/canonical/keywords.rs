//! What the keywords of all drafts become.

use operations_schema::keywords::{Holds, holds};
use serde_json::{Map, Value, json};

use super::references::References;
use super::{BEYOND_JSON, is_annotation, step};
use crate::lossy::{Loss, LossKind};

const JSON_TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Reads a document, schema by schema.
pub(super) struct Reader<'d> {
    pub(super) references: References<'d>,
    pub(super) losses: Vec<Loss>,
}

impl<'d> Reader<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        Self {
            references: References::new(document),
            losses: Vec::new(),
        }
    }

    pub(super) fn schema(&mut self, schema: &'d Value, at: &str) -> Value {
        let node = match schema {
            Value::Object(node) => node,
            Value::Bool(verdict) => return Value::Bool(*verdict),
            _ => return Value::Bool(true),
        };
        let mut made = Map::new();
        for (key, value) in node {
            self.keyword(node, key, value, at, &mut made);
        }
        if truthy(node, "nullable") || truthy(node, "x-nullable") {
            return accept_null(made);
        }
        Value::Object(made)
    }

    fn keyword(
        &mut self,
        node: &'d Map<String, Value>,
        key: &str,
        value: &'d Value,
        at: &str,
        made: &mut Map<String, Value>,
    ) {
        match key {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(value, at, made),
            "type" => types(value, made),
            "items" if value.is_array() => {
                made.insert("prefixItems".to_owned(), self.list(value, at, "items"));
                if let Some(rest) = node.get("additionalItems") {
                    let rest = self.schema(rest, &step(at, "additionalItems"));
                    made.insert("items".to_owned(), rest);
                }
            }
            "additionalItems" => {}
            "dependencies" => self.dependencies(value, at, made),
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => {
                let bound = if key == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                if let (Some(number), Some(true)) = (node.get(bound), value.as_bool()) {
                    made.insert(key.to_owned(), number.clone());
                }
            }
            "minimum" if truthy(node, "exclusiveMinimum") => {}
            "maximum" if truthy(node, "exclusiveMaximum") => {}
            "example" if !node.contains_key("examples") => {
                made.insert("examples".to_owned(), json!([value]));
            }
            "required" => {
                let names: Vec<&Value> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|name| name.is_string())
                    .collect();
                if !names.is_empty() {
                    made.insert("required".to_owned(), json!(names));
                }
            }
            _ => {
                let read = match holds(key) {
                    Holds::Schema | Holds::SchemaOrSchemas => self.schema(value, &step(at, key)),
                    Holds::Schemas if value.is_array() => self.list(value, at, key),
                    Holds::Named => self.named_schemas(value, &step(at, key)),
                    _ if is_kept(key, value) => value.clone(),
                    _ => return,
                };
                made.insert(key.to_owned(), read);
            }
        }
    }

    fn list(&mut self, list: &'d Value, at: &str, key: &str) -> Value {
        let at = step(at, key);
        let items = list.as_array().into_iter().flatten().enumerate();
        items
            .map(|(index, item)| self.schema(item, &format!("{at}/{index}")))
            .collect()
    }

    fn named_schemas(&mut self, map: &'d Value, at: &str) -> Value {
        let entries = map.as_object().into_iter().flatten();
        let made: Map<String, Value> = entries
            .map(|(name, schema)| (name.clone(), self.schema(schema, &step(at, name))))
            .collect();
        Value::Object(made)
    }

    /// `dependencies` of draft 7, which are two keywords since.
    fn dependencies(&mut self, value: &'d Value, at: &str, made: &mut Map<String, Value>) {
        let mut demanded = Map::new();
        let mut schemas = Map::new();
        for (name, dependency) in value.as_object().into_iter().flatten() {
            if dependency.is_array() {
                demanded.insert(name.clone(), dependency.clone());
            } else {
                let at = step(&step(at, "dependencies"), name);
                schemas.insert(name.clone(), self.schema(dependency, &at));
            }
        }
        if !demanded.is_empty() {
            made.insert("dependentRequired".to_owned(), demanded.into());
        }
        if !schemas.is_empty() {
            made.insert("dependentSchemas".to_owned(), schemas.into());
        }
    }

    fn reference(&mut self, value: &Value, at: &str, made: &mut Map<String, Value>) {
        let Some(reference) = value.as_str() else {
            return;
        };
        if let Some(name) = self.references.name_of(reference, at) {
            made.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
            return;
        }
        let message = format!("{reference} does not exist: any value is accepted");
        // Reported once: a definition that is read in two places has it in both.
        if self.losses.iter().all(|loss| loss.message != message) {
            self.losses
                .push(Loss::new(LossKind::Reference, at, message));
        }
    }
}

/// Keywords that are taken over as they are.
fn is_kept(key: &str, value: &Value) -> bool {
    match key {
        "title" | "description" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => {
            value.is_string()
        }
        "const" | "default" => true,
        "enum" | "examples" => value.is_array(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value == &Value::Bool(true),
        "dependentRequired" => value.is_object(),
        _ => holds(key) == Holds::Number && value.is_number(),
    }
}

fn truthy(node: &Map<String, Value>, key: &str) -> bool {
    node.get(key) == Some(&Value::Bool(true))
}

/// `type`: the types that JSON has, and the first that it has not.
fn types(value: &Value, made: &mut Map<String, Value>) {
    let words: Vec<&str> = match value {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    if words.contains(&"any") {
        return;
    }
    let known: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| JSON_TYPES.contains(word))
        .collect();
    match (known.as_slice(), words.as_slice()) {
        ([], [foreign, ..]) => {
            made.insert(BEYOND_JSON.to_owned(), json!(foreign));
        }
        ([one], _) => {
            made.insert("type".to_owned(), json!(one));
        }
        ([], []) => {}
        _ => {
            made.insert("type".to_owned(), json!(known));
        }
    }
}

/// `OpenAPI`'s `nullable`.
fn accept_null(mut made: Map<String, Value>) -> Value {
    if let Some(types) = made.get_mut("type") {
        match types {
            Value::String(word) if word != "null" => *types = json!([word, "null"]),
            Value::Array(words) if !words.contains(&json!("null")) => words.push(json!("null")),
            _ => {}
        }
        return Value::Object(made);
    }
    let combined = ["$ref", "allOf", "anyOf", "oneOf"];
    if !combined.iter().any(|key| made.contains_key(*key)) {
        return Value::Object(made);
    }
    let (outside, inside): (Map<_, _>, Map<_, _>) =
        made.into_iter().partition(|(key, _)| is_annotation(key));
    let mut outside = outside;
    outside.insert("anyOf".to_owned(), json!([inside, { "type": "null" }]));
    Value::Object(outside)
}

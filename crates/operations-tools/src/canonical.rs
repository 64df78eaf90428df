//! One way to say a thing: a schema of any draft, with `OpenAPI`'s and TypeBox's peculiarities, as
//! JSON Schema 2020-12 whose references all lead to definitions.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::loss::{Loss, LossKind};

/// Stands for a value that JSON does not have; the word says which (`Date`, `undefined`).
pub(crate) const BEYOND_JSON: &str = "$beyondJson";

/// Keywords that hold one schema.
const ONE: [&str; 13] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "additionalItems",
    "extends",
];
/// Keywords that hold a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keywords whose value is a number.
const NUMERIC: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];
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
const JSON_TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Whether a keyword constrains nothing.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// A step of a JSON Pointer.
pub(crate) fn step(at: &str, token: &str) -> String {
    let escaped = token.replace('~', "~0").replace('/', "~1");
    format!("{at}/{escaped}")
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
        while let Some((name, target, at)) = reader.waiting.pop() {
            let schema = reader.schema(target, &at);
            definitions.insert(name, (schema, at));
        }
        let recursive = recursive_names(&definitions);
        let definitions = definitions
            .into_iter()
            .map(|(name, (schema, at))| {
                let definition = Definition {
                    at,
                    uses: reader.uses.get(&name).copied().unwrap_or(0),
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

struct Reader<'d> {
    document: &'d Value,
    /// Schemas by `$id`, `$anchor` and their like; collected when one is asked for.
    named: Option<HashMap<String, &'d Value>>,
    /// The name of each target, by its address in memory: two ways to write one reference are one.
    names: HashMap<*const Value, String>,
    taken: HashSet<String>,
    uses: HashMap<String, usize>,
    waiting: Vec<(String, &'d Value, String)>,
    losses: Vec<Loss>,
}

impl<'d> Reader<'d> {
    fn new(document: &'d Value) -> Self {
        Self {
            document,
            named: None,
            names: HashMap::new(),
            taken: HashSet::new(),
            uses: HashMap::new(),
            waiting: Vec::new(),
            losses: Vec::new(),
        }
    }

    fn schema(&mut self, schema: &'d Value, at: &str) -> Value {
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
            "additionalItems" | "extends" => {}
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
            _ if ONE.contains(&key) => {
                let schema = self.schema(value, &step(at, key));
                made.insert(key.to_owned(), schema);
            }
            _ if LIST.contains(&key) && value.is_array() => {
                let list = self.list(value, at, key);
                made.insert(key.to_owned(), list);
            }
            _ if NAMED.contains(&key) => {
                let named = self.named_schemas(value, &step(at, key));
                made.insert(key.to_owned(), named);
            }
            _ if is_kept(key, value) => {
                made.insert(key.to_owned(), value.clone());
            }
            _ => {}
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
        let Some(target) = self.resolve(reference) else {
            let message = format!("{reference} leads nowhere: anything is taken");
            // Told once: a definition that is read in two places has it in both.
            if self.losses.iter().all(|loss| loss.message != message) {
                self.losses
                    .push(Loss::new(LossKind::Reference, at, message));
            }
            return;
        };
        let key = std::ptr::from_ref(target);
        let name = if let Some(name) = self.names.get(&key) {
            name.clone()
        } else {
            let name = self.definition_name(reference);
            self.names.insert(key, name.clone());
            // A name of its own, not a pointer: then the place of the first use must do.
            let place = reference
                .strip_prefix('#')
                .filter(|rest| rest.starts_with('/'));
            let place = place.unwrap_or(if reference == "#" { "" } else { at });
            self.waiting.push((name.clone(), target, place.to_owned()));
            name
        };
        *self.uses.entry(name.clone()).or_default() += 1;
        made.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
    }

    fn resolve(&mut self, reference: &str) -> Option<&'d Value> {
        if reference == "#" || reference.is_empty() {
            return Some(self.document);
        }
        if let Some(pointer) = reference
            .strip_prefix('#')
            .filter(|rest| rest.starts_with('/'))
        {
            return pointed(self.document, pointer);
        }
        let document = self.document;
        let named = self.named.get_or_insert_with(|| {
            let mut named = HashMap::new();
            collect_names(document, &mut named);
            named
        });
        if let Some(found) = named.get(reference) {
            return Some(found);
        }
        let (base, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if let Some(found) = named.get(base) {
            return pointed(found, pointer);
        }
        // TypeBox's modules refer to their definitions by name alone.
        ["$defs", "definitions"]
            .iter()
            .find_map(|key| document.get(key)?.get(reference))
    }

    /// The last part of what a target is called: `DeploymentSpec` for `io.k8s.api.apps.v1.DeploymentSpec`.
    fn definition_name(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let short = last.rsplit('.').next().unwrap_or_default();
        let mut name: String = short
            .trim_start_matches('#')
            .chars()
            .take(48)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if name.is_empty() || name.chars().all(|c| c == '_') {
            "Root".clone_into(&mut name);
        }
        let mut candidate = name.clone();
        let mut number = 1;
        while !self.taken.insert(candidate.clone()) {
            number += 1;
            candidate = format!("{name}_{number}");
        }
        candidate
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
        _ => NUMERIC.contains(&key) && value.is_number(),
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

/// Every schema of a document that has a name of its own.
fn collect_names<'d>(value: &'d Value, named: &mut HashMap<String, &'d Value>) {
    match value {
        Value::Object(node) => {
            for (key, prefix) in [
                ("$id", ""),
                ("id", ""),
                ("$anchor", "#"),
                ("$dynamicAnchor", "#"),
            ] {
                if let Some(name) = node.get(key).and_then(Value::as_str) {
                    named.entry(format!("{prefix}{name}")).or_insert(value);
                }
            }
            for entry in node.values() {
                collect_names(entry, named);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, named)),
        _ => {}
    }
}

/// What a JSON Pointer, written as a fragment, leads to.
fn pointed<'d>(document: &'d Value, pointer: &str) -> Option<&'d Value> {
    document
        .pointer(pointer)
        .or_else(|| document.pointer(&percent_decoded(pointer)?))
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if let (b'%', [high, low, after @ ..]) = (first, tail) {
            let digits = [*high, *low];
            let code = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The definitions that a reference leads from and back to, and those between two such circles.
fn recursive_names(definitions: &IndexMap<String, (Value, String)>) -> HashSet<String> {
    let mut forward: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut backward: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (name, (schema, _)) in definitions {
        let mut targets = HashSet::new();
        collect_references(schema, &mut targets);
        for target in &targets {
            backward.entry(target).or_default().insert(name);
        }
        forward.insert(name, targets);
    }
    let mut left: HashSet<&str> = definitions.keys().map(String::as_str).collect();
    // What leads to nothing is in no circle, and neither is what nothing leads to.
    peel(&mut left, &forward, &backward);
    peel(&mut left, &backward, &forward);
    left.into_iter().map(str::to_owned).collect()
}

/// Takes away, again and again, what has no edge to anything that is left.
fn peel<'n>(
    left: &mut HashSet<&'n str>,
    edges: &HashMap<&'n str, HashSet<&'n str>>,
    reverse: &HashMap<&'n str, HashSet<&'n str>>,
) {
    let none = HashSet::new();
    let mut degrees: HashMap<&str, usize> = left
        .iter()
        .map(|name| {
            let targets = edges.get(name).unwrap_or(&none);
            (
                *name,
                targets
                    .iter()
                    .filter(|target| left.contains(*target))
                    .count(),
            )
        })
        .collect();
    let mut free: Vec<&str> = left
        .iter()
        .copied()
        .filter(|name| degrees.get(name) == Some(&0))
        .collect();
    while let Some(name) = free.pop() {
        left.remove(name);
        for source in reverse.get(name).unwrap_or(&none) {
            if let Some(degree) = degrees.get_mut(source)
                && *degree > 0
            {
                *degree -= 1;
                if *degree == 0 {
                    free.push(source);
                }
            }
        }
    }
}

fn collect_references<'v>(value: &'v Value, targets: &mut HashSet<&'v str>) {
    match value {
        Value::Object(node) => {
            targets.extend(reference(node));
            for entry in node.values() {
                collect_references(entry, targets);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, targets)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

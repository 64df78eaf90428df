//! Two schemas as one that demands what both demand.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::canonical::{Canonical, is_annotation, reference};

/// Schemas that are merged into one.
const MAX_PARTS: usize = 256;
/// Unions that are multiplied out have at most this many variants.
const MAX_PRODUCT: usize = 24;

/// One schema for what `$ref` and `allOf` demand together, and the keywords that could not be said in one.
///
/// # Errors
/// In words, when nothing fits or there is too much to merge.
pub(crate) fn flatten(
    source: &Canonical,
    node: &Map<String, Value>,
) -> Result<(Map<String, Value>, Vec<String>), &'static str> {
    let mut node = node.clone();
    let mut lost = Vec::new();
    let mut parts = 0;
    loop {
        let name = reference(&node).map(str::to_owned);
        node.shift_remove("$ref");
        let all = node.shift_remove("allOf");
        if name.is_none() && all.is_none() {
            let is_empty = |key: &str| node.get(key).is_some_and(|list| list == &json!([]));
            if is_empty("type") || is_empty("enum") {
                return Err("no value fits");
            }
            return Ok((node, lost));
        }
        let target = name.and_then(|name| source.definition(&name));
        let all = all.as_ref().and_then(Value::as_array).into_iter().flatten();
        for part in target.map(|target| &target.schema).into_iter().chain(all) {
            parts += 1;
            if parts > MAX_PARTS {
                return Err("it combines too many schemas");
            }
            match part {
                Value::Bool(false) => return Err("no value fits"),
                Value::Object(part) => {
                    let (merged, behind) = both(&node, part);
                    node = merged;
                    leave(&mut node, behind, &mut lost);
                }
                _ => {}
            }
        }
    }
}

/// Keywords that could not be merged: unions are multiplied out, the rest is lost.
fn leave(node: &mut Map<String, Value>, behind: Map<String, Value>, lost: &mut Vec<String>) {
    for (key, value) in behind {
        if key == "$ref" {
            // A second reference waits for the next round.
            let entry = node.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(parts) = entry {
                parts.push(json!({ "$ref": value }));
            }
            continue;
        }
        let product = matches!(key.as_str(), "anyOf" | "oneOf")
            .then(|| multiplied(node.get(&key)?, &value))
            .flatten();
        if let Some(product) = product {
            node.insert(key, product);
        } else {
            lost.push(key);
        }
    }
}

/// Every combination of two unions.
pub(crate) fn multiplied(one: &Value, other: &Value) -> Option<Value> {
    let (one, other) = (one.as_array()?, other.as_array()?);
    if one.len() * other.len() > MAX_PRODUCT {
        return None;
    }
    let pairs = one
        .iter()
        .flat_map(|one| other.iter().map(move |other| together(one, other)));
    Some(pairs.filter(|pair| pair != &Value::Bool(false)).collect())
}

/// Both at once, and the keywords of the second that cannot be said beside those of the first. The
/// annotations of the first win.
pub(crate) fn both(
    first: &Map<String, Value>,
    second: &Map<String, Value>,
) -> (Map<String, Value>, Map<String, Value>) {
    let (first, second) = &(with_places_of(first, second), with_places_of(second, first));
    let mut made = first.as_ref().clone();
    let mut behind = Map::new();
    for (key, value) in second.iter() {
        let Some(present) = made.get(key) else {
            made.insert(key.clone(), value.clone());
            continue;
        };
        if present == value || is_annotation(key) {
            continue;
        }
        match one_keyword(key, present, value) {
            Some(merged) => {
                made.insert(key.clone(), merged);
            }
            None => {
                behind.insert(key.clone(), value.clone());
            }
        }
    }
    keep_each_closed(&mut made, first, second);
    if let (Some(Value::Array(values)), Some(constant)) = (made.get("enum"), made.get("const")) {
        if !values.contains(constant) {
            return (never(), Map::new());
        }
        made.shift_remove("enum");
    }
    // Two constants that differ.
    if behind.contains_key("const") {
        return (never(), Map::new());
    }
    (made, behind)
}

/// A schema of lists with as many places as another one has: what `items` says holds for each of them.
fn with_places_of<'m>(
    node: &'m Map<String, Value>,
    other: &Map<String, Value>,
) -> Cow<'m, Map<String, Value>> {
    let places =
        |node: &Map<String, Value>| node.get("prefixItems").and_then(Value::as_array).cloned();
    let (Some(wanted), own) = (places(other), places(node).unwrap_or_default()) else {
        return Cow::Borrowed(node);
    };
    if own.len() >= wanted.len() {
        return Cow::Borrowed(node);
    }
    let rest = node.get("items").unwrap_or(&Value::Bool(true));
    let mut filled = own;
    filled.resize(wanted.len(), rest.clone());
    let mut made = node.clone();
    made.insert("prefixItems".to_owned(), Value::Array(filled));
    Cow::Owned(made)
}

/// A schema that accepts nothing.
fn never() -> Map<String, Value> {
    let mut made = Map::new();
    made.insert("not".to_owned(), Value::Object(Map::new()));
    made
}

/// Whether a schema accepts nothing.
pub(crate) fn is_never(node: &Map<String, Value>) -> bool {
    node.get("not")
        .is_some_and(|not| not == &Value::Bool(true) || not.as_object().is_some_and(Map::is_empty))
}

fn one_keyword(key: &str, one: &Value, other: &Value) -> Option<Value> {
    match key {
        "type" => common_type(one, other),
        "enum" => {
            let values = one.as_array()?.iter();
            let other = other.as_array()?;
            Some(
                values
                    .filter(|value| other.contains(value))
                    .cloned()
                    .collect(),
            )
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
        | "minContains" => greater(one, other, true),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
        | "maxContains" => greater(one, other, false),
        "required" => {
            let mut names = one.as_array()?.clone();
            for name in other.as_array()? {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            Some(Value::Array(names))
        }
        "properties" | "patternProperties" | "dependentSchemas" => {
            let mut named = one.as_object()?.clone();
            for (name, schema) in other.as_object()? {
                let merged = match named.get(name) {
                    Some(present) => together(present, schema),
                    None => schema.clone(),
                };
                named.insert(name.clone(), merged);
            }
            Some(Value::Object(named))
        }
        "items"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems" => Some(together(one, other)),
        "prefixItems" => {
            let (one, other) = (one.as_array()?, other.as_array()?);
            (one.len() == other.len()).then(|| {
                let pairs = one.iter().zip(other);
                pairs.map(|(one, other)| together(one, other)).collect()
            })
        }
        "allOf" => {
            let mut parts = one.as_array()?.clone();
            parts.extend(other.as_array()?.iter().cloned());
            Some(Value::Array(parts))
        }
        "$beyondJson" | "uniqueItems" => Some(one.clone()),
        _ => None,
    }
}

/// Both schemas, to be merged when they are visited.
pub(crate) fn together(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), schema) | (schema, Value::Bool(true)) => schema.clone(),
        _ if one == other => one.clone(),
        _ => json!({ "allOf": [one, other] }),
    }
}

/// `type: []` when no type is left.
fn common_type(one: &Value, other: &Value) -> Option<Value> {
    let words = |types: &Value| -> Option<Vec<String>> {
        match types {
            Value::String(word) => Some(vec![word.clone()]),
            Value::Array(words) => Some(
                words
                    .iter()
                    .filter_map(|word| word.as_str().map(str::to_owned))
                    .collect(),
            ),
            _ => None,
        }
    };
    let (one, other) = (words(one)?, words(other)?);
    let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
    let mut common: Vec<&String> = one.iter().filter(|word| has(&other, word)).collect();
    for (from, against) in [(&one, &other), (&other, &one)] {
        let integer = from.iter().find(|word| *word == "integer");
        if let Some(integer) = integer
            && has(against, "number")
            && !common.contains(&integer)
            && !common.iter().any(|word| *word == "number")
        {
            common.push(integer);
        }
    }
    Some(match common.as_slice() {
        [single] => json!(single),
        _ => json!(common),
    })
}

fn greater(one: &Value, other: &Value, wanted: bool) -> Option<Value> {
    let first = (one.as_f64()? >= other.as_f64()?) == wanted;
    Some(if first { one } else { other }.clone())
}

/// A property that one of the two does not list must fit what that one says about others.
fn keep_each_closed(
    made: &mut Map<String, Value>,
    first: &Map<String, Value>,
    second: &Map<String, Value>,
) {
    let Some(Value::Object(properties)) = made.get_mut("properties") else {
        return;
    };
    for node in [first, second] {
        let Some(others) = node.get("additionalProperties") else {
            continue;
        };
        if node.contains_key("patternProperties") {
            continue;
        }
        let listed = node.get("properties").and_then(Value::as_object);
        for (name, schema) in &mut *properties {
            if !listed.is_some_and(|listed| listed.contains_key(name)) {
                *schema = together(schema, others);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(one: Value, other: Value) -> (Value, Value) {
        let (Value::Object(one), Value::Object(other)) = (one, other) else {
            panic!("two objects")
        };
        let (made, behind) = both(&one, &other);
        (Value::Object(made), Value::Object(behind))
    }

    #[test]
    fn bounds_types_and_names_meet() {
        let (made, behind) = merged(
            json!({ "type": ["number", "null"], "minimum": 1, "maximum": 9, "required": ["a"] }),
            json!({ "type": ["integer", "string"], "minimum": 3, "maximum": 7, "required": ["b", "a"] }),
        );
        let expected =
            json!({ "type": "integer", "minimum": 3, "maximum": 7, "required": ["a", "b"] });
        assert_eq!((made, behind), (expected, json!({})));
        let (made, _) = merged(json!({ "enum": [1, 2] }), json!({ "enum": [2, 3] }));
        assert_eq!(made, json!({ "enum": [2] }));
    }

    #[test]
    fn what_cannot_be_said_in_one_stays_behind() {
        let (made, behind) = merged(
            json!({ "pattern": "a" }),
            json!({ "pattern": "b", "minLength": 1 }),
        );
        assert_eq!(made, json!({ "pattern": "a", "minLength": 1 }));
        assert_eq!(behind, json!({ "pattern": "b" }));
    }

    #[test]
    fn closed_objects_stay_closed() {
        let (made, _) = merged(
            json!({ "properties": { "a": true }, "additionalProperties": false }),
            json!({ "properties": { "b": { "type": "string" } } }),
        );
        assert_eq!(
            made,
            json!({ "properties": { "a": true, "b": false }, "additionalProperties": false })
        );
    }

    #[test]
    fn a_constant_beside_an_enumeration() {
        let (made, _) = merged(json!({ "enum": [1, 2] }), json!({ "const": 2 }));
        assert_eq!(made, json!({ "const": 2 }));
        for (one, other) in [
            (json!({ "enum": [1] }), json!({ "const": 2 })),
            (json!({ "const": 1 }), json!({ "const": 2 })),
        ] {
            let (Value::Object(none), _) = merged(one, other) else {
                panic!("an object")
            };
            assert!(is_never(&none));
        }
    }
}

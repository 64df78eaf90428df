//! The rules by which single keywords change when a schema is copied.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::keywords::is_annotation;
use super::pointer;
use super::tree::{Members, Tree};
use operations_http::message::Keep;

/// `required` without the properties that do not travel in this direction.
pub(super) fn demand(names: Value, excluded: &HashSet<&str>) -> Option<Value> {
    let Value::Array(mut names) = names else {
        return None;
    };
    names.retain(|name| name.as_str().is_none_or(|name| !excluded.contains(name)));
    (!names.is_empty()).then_some(Value::Array(names))
}

/// `nullable` beside a reference or a combination has no effect to the letter, and is always meant.
pub(super) fn accept_null(mut copy: Map<String, Value>, original: &Members) -> Value {
    let nullable = ["nullable", "x-nullable"]
        .iter()
        .any(|key| original.get(key) == Some(&Tree::Bool(true)));
    if !nullable {
        return Value::Object(copy);
    }
    if copy.contains_key("type") {
        copy.insert("nullable".to_owned(), true.into());
        return Value::Object(copy);
    }
    let combined = ["$ref", "allOf", "anyOf", "oneOf"]
        .iter()
        .any(|key| copy.contains_key(*key));
    if !combined {
        return Value::Object(copy);
    }
    let mut outside = Map::new();
    let mut inside = Map::new();
    for (key, value) in copy {
        if is_annotation(&key) {
            outside.insert(key, value);
        } else if key != "nullable" {
            inside.insert(key, value);
        }
    }
    outside.insert("anyOf".to_owned(), json!([inside, { "type": "null" }]));
    Value::Object(outside)
}

/// An int64 that may also be what is kept of one that is too large for a number. JSON has no word for a `bigint`: the
/// schema that stands for it is known in JavaScript (`facade/openapi/import.ts`).
pub(super) fn accept_wide(copy: Map<String, Value>, keep: Keep) -> Map<String, Value> {
    let types = match copy.get("type") {
        Some(one @ Value::String(_)) => std::slice::from_ref(one),
        Some(Value::Array(several)) => several,
        _ => return copy,
    };
    let is_number = types.iter().any(|one| one == "integer" || one == "number");
    let is_text = types.iter().any(|one| one == "string");
    if copy.get("format").and_then(Value::as_str) != Some("int64") || !is_number || is_text {
        return copy;
    }
    let wide = match keep {
        Keep::String => json!({ "type": "string", "pattern": "^-?[0-9]+$" }),
        Keep::BigInt => json!({ "type": "bigint" }),
    };
    let (mut outside, inside): (Map<_, _>, Map<_, _>) =
        copy.into_iter().partition(|(key, _)| is_annotation(key));
    outside.insert("anyOf".to_owned(), json!([inside, wide]));
    outside
}

/// How many values there are in a value.
pub(super) fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(count).sum::<usize>(),
        // Long texts count for what they hold.
        Value::String(text) => 1 + text.len() / 256,
        _ => 1,
    }
}

/// A name for the target of a reference: its last step, in characters that need no escaping, and one
/// of its kind.
pub(super) fn definition_name(reference: &str, used: &mut HashMap<String, usize>) -> String {
    let last = pointer::last_token(&pointer::from_fragment(reference));
    let mut name: String = last
        .trim_start_matches('#')
        .chars()
        .take(100)
        .map(|character| {
            if character.is_ascii_alphanumeric() || "_.-".contains(character) {
                character
            } else {
                '_'
            }
        })
        .collect();
    if name.is_empty() || name.starts_with("__") {
        name = format!("schema{name}");
    }
    // Counting on from the last number keeps many schemas of one name linear.
    loop {
        let number = used.entry(name.clone()).or_insert(0);
        *number += 1;
        let candidate = match *number {
            1 => name.clone(),
            number => format!("{name}_{number}"),
        };
        if candidate == name || !used.contains_key(&candidate) {
            used.entry(candidate.clone()).or_insert(1);
            return candidate;
        }
    }
}

//! Conditions of access rules: what a call must be like. The same as in `facade/access-condition.ts`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Identity;

/// A path (`input.path`, `identity.claims.tenant`) to what must hold there: a value, or tests by name. All must hold.
pub type Condition = Map<String, Value>;

/// One of these must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Conditions {
    /// Alternatives.
    AnyOf(Vec<Condition>),
    /// The only one.
    One(Condition),
}

/// The input that conditions look at.
#[derive(Debug, Clone, Copy)]
pub enum CallInput<'a> {
    /// There is no call yet: what depends on its input counts as met.
    Any,
    /// JSON; `None` for `undefined`.
    Json(Option<&'a str>),
}

/// What a path leads to.
enum Found<'a> {
    Value(&'a Value),
    Any,
    Nothing,
}

/// What there is of a call.
struct Subject {
    /// `None` for any.
    input: Option<Value>,
    identity: Value,
}

impl Conditions {
    /// The paths of conditions of which none is met; `None` if one is.
    pub(super) fn unmet(
        &self,
        input: CallInput<'_>,
        identity: Option<&Identity>,
    ) -> Option<Vec<String>> {
        let all = match self {
            Self::AnyOf(all) => all.as_slice(),
            Self::One(one) => std::slice::from_ref(one),
        };
        let subject = Subject {
            input: match input {
                CallInput::Any => None,
                // What cannot be read meets nothing.
                CallInput::Json(text) => {
                    let parsed = text.and_then(|text| serde_json::from_str(text).ok());
                    Some(parsed.unwrap_or(Value::Null))
                }
            },
            identity: json!(identity),
        };
        if all.iter().any(|condition| subject.meets(condition)) {
            return None;
        }
        let mut paths: Vec<String> = Vec::new();
        for path in all.iter().flat_map(Map::keys) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        Some(paths)
    }
}

impl Subject {
    fn meets(&self, condition: &Condition) -> bool {
        let mut tests = condition.iter();
        !condition.is_empty() && tests.all(|(path, test)| self.passes(path, test))
    }

    fn at(&self, path: &str) -> Found<'_> {
        let mut names = path.split('.');
        let root = match (names.next(), &self.input) {
            (Some("input"), None) => return Found::Any,
            (Some("input"), Some(input)) => input,
            (Some("identity"), _) => &self.identity,
            _ => return Found::Nothing,
        };
        let found = names.try_fold(root, |value, name| value.as_object()?.get(name));
        found.map_or(Found::Nothing, Found::Value)
    }

    fn passes(&self, path: &str, test: &Value) -> bool {
        let value = match self.at(path) {
            Found::Value(value) => value,
            Found::Any => return true,
            Found::Nothing => return false,
        };
        let Value::Object(tests) = test else {
            return each_passes(value, "equals", test);
        };
        let mut tests = tests.iter();
        tests.all(|(name, expected)| match name.as_str() {
            "contains" => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().any(|item| is_same(item, expected))
            }
            "sameAs" => match self.at(expected.as_str().unwrap_or_default()) {
                Found::Value(other) => each_passes(value, "equals", other),
                Found::Any => true,
                Found::Nothing => false,
            },
            name => each_passes(value, name, expected),
        })
    }
}

/// Of a list, each item must pass, and there must be one.
fn each_passes(value: &Value, name: &str, expected: &Value) -> bool {
    match value {
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| passes(item, name, expected))
        }
        value => passes(value, name, expected),
    }
}

fn passes(value: &Value, name: &str, expected: &Value) -> bool {
    if let ("oneOf", Value::Array(all)) = (name, expected) {
        return all.iter().any(|each| is_same(value, each));
    }
    match (name, value, expected) {
        ("equals", value, expected) => is_same(value, expected),
        ("startsWith", Value::String(text), Value::String(start)) => text.starts_with(start),
        ("endsWith", Value::String(text), Value::String(end)) => text.ends_with(end),
        ("under", Value::String(path), Value::String(folder)) => is_under(path, folder),
        ("atLeast", Value::Number(number), Value::Number(least)) => {
            number.as_f64() >= least.as_f64()
        }
        ("atMost", Value::Number(number), Value::Number(most)) => number.as_f64() <= most.as_f64(),
        _ => false,
    }
}

/// Objects, lists and null are never the same.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => one == other,
        _ => false,
    }
}

/// Whether a path is that of a folder or leads into it, in letters: without `..`, and without characters that some systems read
/// as a separator.
fn is_under(path: &str, folder: &str) -> bool {
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    let rest = path.strip_prefix(folder);
    let is_inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let lower = path.to_ascii_lowercase();
    let mut odd = ["\\", "\0", "%2e", "%2f", "%5c"].into_iter();
    let is_dots = |name: &str| {
        let name = name.trim_end_matches(' ');
        !name.is_empty() && name.bytes().all(|byte| byte == b'.')
    };
    is_inside
        && !path.is_empty()
        && !odd.any(|part| lower.contains(part))
        && !path.split('/').any(is_dots)
}

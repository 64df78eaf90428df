//! Arguments that are also sent as headers, so that what stands between the two sides can route a call without
//! reading it. A tool's input schema names them: `x-mcp-header` on a property, in revision 2026-07-28.

use std::collections::{HashMap, HashSet};
use std::sync::RwLock;

use ::http::{HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use operations_core::lock::{reading, writing};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::transport::{AnnotatedTool, HEADER_ANNOTATION as ANNOTATION};

const PREFIX: &str = "mcp-param-";
/// Around a value that headers cannot have.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// An argument, by the names of the properties that lead to it, and its header.
#[derive(Debug, PartialEq, Eq)]
struct Promoted {
    path: Vec<String>,
    header: HeaderName,
}

/// The promoted arguments of each tool.
#[derive(Default)]
pub(super) struct Parameters(RwLock<HashMap<String, Vec<Promoted>>>);

impl Parameters {
    /// Remembers these tools, in place of those before. Tells which of them break the rules, and how.
    pub(super) fn learn(&self, annotated: &[AnnotatedTool]) -> HashMap<String, String> {
        let mut refused = HashMap::new();
        let mut learnt = HashMap::new();
        for AnnotatedTool { name, input_schema } in annotated {
            match read(input_schema) {
                Ok(promoted) => drop(learnt.insert(name.clone(), promoted)),
                Err(reason) => drop(refused.insert(name.clone(), reason)),
            }
        }
        *writing(&self.0) = learnt;
        refused
    }

    /// The headers of a call; `message` is the whole of it.
    pub(super) fn headers(
        &self,
        method: &str,
        name: &str,
        message: &[u8],
    ) -> Vec<(HeaderName, HeaderValue)> {
        #[derive(Deserialize)]
        struct Call {
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            arguments: Value,
        }
        let tools = reading(&self.0);
        let Some(promoted) = tools.get(name).filter(|_| method == "tools/call") else {
            return Vec::new();
        };
        let Ok(call) = serde_json::from_slice::<Call>(message) else {
            return Vec::new();
        };
        promoted
            .iter()
            .filter_map(|Promoted { path, header: name }| {
                let mut names = path.iter();
                let value =
                    names.try_fold(&call.params.arguments, |value, name| value.get(name))?;
                match value {
                    Value::String(text) => header(name.clone(), text),
                    Value::Bool(_) | Value::Number(_) => header(name.clone(), &value.to_string()),
                    _ => None,
                }
            })
            .collect()
    }
}

/// A text as a header, encoded if need be.
pub(super) fn header(name: HeaderName, text: &str) -> Option<(HeaderName, HeaderValue)> {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text == text.trim_matches(' ')
        && !(text.starts_with(ENCODED.0) && text.ends_with(ENCODED.1));
    let value = if is_plain {
        HeaderValue::try_from(text)
    } else {
        let encoded = BASE64_STANDARD.encode(text);
        HeaderValue::try_from(format!("{}{encoded}{}", ENCODED.0, ENCODED.1))
    };
    Some((name, value.ok()?))
}

/// The promoted arguments that a schema names.
fn read(schema: &Value) -> Result<Vec<Promoted>, String> {
    let mut found = Vec::new();
    if let Value::Object(schema) = schema {
        if schema.contains_key(ANNOTATION) {
            return Err(format!(
                "'{ANNOTATION}' stands at the root of its input schema"
            ));
        }
        collect(schema, true, &mut Vec::new(), &mut found)?;
    }
    let mut seen = HashSet::new();
    match found.iter().find(|each| !seen.insert(&each.header)) {
        Some(Promoted { path, .. }) => Err(format!(
            "the '{ANNOTATION}' of '{}' is used twice",
            path.join(".")
        )),
        None => Ok(found),
    }
}

/// Walks a schema. `path` leads to it through properties alone, as long as `is_property` says so.
fn collect(
    schema: &Map<String, Value>,
    is_property: bool,
    path: &mut Vec<String>,
    found: &mut Vec<Promoted>,
) -> Result<(), String> {
    for (key, value) in schema {
        match (key.as_str(), value) {
            (ANNOTATION, _) if is_property => found.push(promoted(schema, value, path)?),
            (ANNOTATION, _) => {
                return Err(format!(
                    "'{ANNOTATION}' stands where no argument can be found, below '{}'",
                    path.join(".")
                ));
            }
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    if let Value::Object(schema) = schema {
                        path.push(name.clone());
                        collect(schema, is_property, path, found)?;
                        path.pop();
                    }
                }
            }
            // Data, not schemas.
            ("default" | "const" | "enum" | "examples", _) => {}
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(map),
            ) => {
                for schema in map.values() {
                    below(schema, path, found)?;
                }
            }
            (_, value) => below(value, path, found)?,
        }
    }
    Ok(())
}

/// Schemas that are no properties: an annotation in them is against the rules.
fn below(value: &Value, path: &mut Vec<String>, found: &mut Vec<Promoted>) -> Result<(), String> {
    match value {
        Value::Object(schema) => collect(schema, false, path, found),
        Value::Array(items) => items.iter().try_for_each(|item| below(item, path, found)),
        _ => Ok(()),
    }
}

fn promoted(
    schema: &Map<String, Value>,
    annotation: &Value,
    path: &[String],
) -> Result<Promoted, String> {
    let place = path.join(".");
    let name = annotation.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("the '{ANNOTATION}' of '{place}' is no name"))?;
    let header = HeaderName::try_from(format!("{PREFIX}{name}")).map_err(|_| {
        format!("the '{ANNOTATION}' of '{place}' is '{name}', which is no name of a header")
    })?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(Promoted {
            path: path.to_vec(),
            header,
        }),
        _ => Err(format!(
            "'{place}' has '{ANNOTATION}' and is neither a string nor an integer nor a boolean"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(properties: &Value) -> Value {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn arguments_become_headers() {
        let parameters = Parameters::default();
        let schema = schema(&json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "user": { "type": "object", "properties": { "id": { "type": "integer", "x-mcp-header": "User-Id" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "plain": { "type": "string" },
        }));
        let tool = |name: &str, input_schema| AnnotatedTool {
            name: name.to_owned(),
            input_schema,
        };
        let broken = tool("walk", json!({ "x-mcp-header": "A" }));
        let refused = parameters.learn(&[tool("run", schema), broken]);
        assert_eq!(refused.into_keys().collect::<Vec<_>>(), ["walk"]);
        let message = json!({ "params": { "name": "run", "arguments": {
            "region": "Zürich", "user": { "id": 7 }, "dry": true, "absent": null, "plain": "x",
        } } });
        let headers = parameters.headers("tools/call", "run", message.to_string().as_bytes());
        let mut headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        headers.sort_unstable();
        assert_eq!(
            headers,
            [
                ("mcp-param-dry", "true"),
                ("mcp-param-region", "=?base64?WsO8cmljaA==?="),
                ("mcp-param-user-id", "7"),
            ]
        );
        assert!(parameters.headers("prompts/get", "run", b"{}").is_empty());
    }

    #[test]
    fn values_that_headers_cannot_have_are_encoded() {
        let value = |text| header(HeaderName::from_static("x"), text).unwrap().1;
        assert_eq!(value("a b"), "a b");
        assert_eq!(value(""), "");
        for text in [" a", "a\t", "a\nb", "é", "=?base64?YQ==?="] {
            assert!(
                value(text).to_str().unwrap().starts_with("=?base64?"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn annotations_that_break_the_rules_are_refused() {
        let named = |name: Value| json!({ "type": "string", "x-mcp-header": name });
        for broken in [
            json!({ "x-mcp-header": "A" }),
            schema(&json!({ "a": named(json!("")) })),
            schema(&json!({ "a": named(json!(7)) })),
            schema(&json!({ "a": named(json!("a b")) })),
            schema(&json!({ "a": named(json!("é")) })),
            schema(&json!({ "a": named(json!("A")), "b": named(json!("a")) })),
            schema(&json!({ "a": { "type": "number", "x-mcp-header": "A" } })),
            schema(&json!({ "a": { "x-mcp-header": "A" } })),
            schema(&json!({ "a": { "type": "array", "items": named(json!("A")) } })),
            schema(&json!({ "a": { "anyOf": [named(json!("A"))] } })),
            json!({ "$defs": { "a": named(json!("A")) } }),
            json!({ "allOf": [schema(&json!({ "a": named(json!("A")) }))] }),
        ] {
            assert!(read(&broken).is_err(), "{broken}");
        }
        for fine in [
            schema(&json!({ "x-mcp-header": { "type": "string" } })),
            schema(&json!({ "a": { "type": "string", "default": { "x-mcp-header": 7 } } })),
            json!(true),
        ] {
            assert_eq!(read(&fine), Ok(Vec::new()), "{fine}");
        }
    }
}

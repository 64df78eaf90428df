//! Arguments of MCP tools that are also headers, so that what stands between the two sides can route a call without reading
//! it. A tool's input schema names them: `x-mcp-header` on a property, in revision 2026-07-28. Clients send the headers, and
//! servers hold them against the arguments.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// What names an argument as one that is to be sent as a header too.
pub const ANNOTATION: &str = "x-mcp-header";
/// How the names of these headers begin.
pub const PREFIX: &str = "mcp-param-";
/// Around a value that headers cannot have.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// An argument, by the names of the properties that lead to it, and its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    path: Vec<String>,
    header: HeaderName,
}

impl Mirrored {
    /// The arguments that an input schema names.
    ///
    /// # Errors
    ///
    /// When the schema breaks the rules for it: which one.
    pub fn all(schema: &Value) -> Result<Vec<Self>, String> {
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
            Some(Self { path, .. }) => Err(format!(
                "the '{ANNOTATION}' of '{}' is used twice",
                path.join(".")
            )),
            None => Ok(found),
        }
    }

    /// The header for these arguments; nothing where they have no value for it.
    #[must_use]
    pub fn header(&self, arguments: &Value) -> Option<(HeaderName, HeaderValue)> {
        let value = match self.value(arguments)? {
            Value::String(text) => encode(text),
            value @ (Value::Bool(_) | Value::Number(_)) => encode(&value.to_string()),
            _ => None,
        };
        Some((self.header.clone(), value?))
    }

    /// Holds the headers of a request against its arguments.
    ///
    /// # Errors
    ///
    /// When they say different things: how they differ.
    pub fn check(&self, arguments: &Value, headers: &HeaderMap) -> Result<(), String> {
        let (header, place) = (&self.header, self.path.join("."));
        let mut given = headers.get_all(header).iter();
        let (first, second) = (given.next(), given.next());
        if second.is_some() {
            return Err(format!("The {header} header is there twice"));
        }
        let value = self.value(arguments).filter(|value| !value.is_null());
        let (value, text) = match (value, first) {
            // A value of the wrong type has no header, and is refused for its type.
            (None, None) | (Some(Value::Array(_) | Value::Object(_)), _) => return Ok(()),
            (None, Some(_)) => {
                return Err(format!(
                    "The {header} header has a value, and the argument '{place}' has no value"
                ));
            }
            (Some(_), None) => {
                return Err(format!(
                    "The {header} header is missing, and the argument '{place}' has a value"
                ));
            }
            (Some(value), Some(text)) => (value, text),
        };
        let text = text.to_str().ok().and_then(decode).ok_or_else(|| {
            format!("The {header} header is not encoded as it should be: =?base64?...?= for what is not plain ASCII")
        })?;
        let is_same = match value {
            Value::String(value) => text == *value,
            Value::Number(number) => is_number(&text, number),
            value => matches!(
                (value, &*text),
                (Value::Bool(true), "true") | (Value::Bool(false), "false")
            ),
        };
        if is_same {
            Ok(())
        } else {
            Err(format!(
                "The {header} header and the argument '{place}' differ"
            ))
        }
    }

    fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let mut names = self.path.iter();
        names.try_fold(arguments, |value, name| value.get(name))
    }
}

/// `5`, `5.0` and `5e0` are one number, written in three ways.
fn is_number(text: &str, number: &serde_json::Number) -> bool {
    let written = number.to_string();
    if text == written {
        return true;
    }
    if let (Ok(one), Ok(other)) = (text.parse::<i128>(), written.parse::<i128>()) {
        return one == other;
    }
    let both = text.parse::<f64>().ok().zip(number.as_f64());
    both.is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
}

/// A text as the value of a header, encoded if need be.
#[must_use]
pub fn encode(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text == text.trim_matches(' ')
        && !(text.starts_with(ENCODED.0) && text.ends_with(ENCODED.1));
    let value = if is_plain {
        HeaderValue::try_from(text)
    } else {
        let encoded = BASE64_STANDARD.encode(text);
        HeaderValue::try_from(format!("{}{encoded}{}", ENCODED.0, ENCODED.1))
    };
    value.ok()
}

/// And back; nothing where it says that it is encoded, and is not.
#[must_use]
pub fn decode(header: &str) -> Option<String> {
    let header = header.trim_matches([' ', '\t']);
    let encoded = header
        .strip_prefix(ENCODED.0)
        .and_then(|rest| rest.strip_suffix(ENCODED.1));
    match encoded {
        None => Some(header.to_owned()),
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
    }
}

/// Walks a schema. `path` leads to it through properties alone, as long as `is_property` says so.
fn collect(
    schema: &Map<String, Value>,
    is_property: bool,
    path: &mut Vec<String>,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    for (key, value) in schema {
        match (key.as_str(), value) {
            (ANNOTATION, _) if is_property => found.push(mirrored(schema, value, path)?),
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
fn below(value: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Result<(), String> {
    match value {
        Value::Object(schema) => collect(schema, false, path, found),
        Value::Array(items) => items.iter().try_for_each(|item| below(item, path, found)),
        _ => Ok(()),
    }
}

fn mirrored(
    schema: &Map<String, Value>,
    annotation: &Value,
    path: &[String],
) -> Result<Mirrored, String> {
    let place = path.join(".");
    let name = annotation.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("the '{ANNOTATION}' of '{place}' is no name"))?;
    let header = HeaderName::try_from(format!("{PREFIX}{name}")).map_err(|_| {
        format!("the '{ANNOTATION}' of '{place}' is '{name}', which is no name of a header")
    })?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(Mirrored {
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

    fn example() -> Vec<Mirrored> {
        let all = Mirrored::all(&schema(&json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "user": { "type": "object", "properties": { "id": { "type": "integer", "x-mcp-header": "User-Id" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "plain": { "type": "string" },
        })));
        all.unwrap()
    }

    fn headers(arguments: &Value) -> HeaderMap {
        let all = example();
        all.iter()
            .filter_map(|each| each.header(arguments))
            .collect()
    }

    #[test]
    fn arguments_become_headers() {
        let arguments = json!({
            "region": "Zürich", "user": { "id": 7 }, "dry": true, "absent": null, "plain": "x",
        });
        let found = headers(&arguments);
        let mut found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ("mcp-param-dry", "true"),
                ("mcp-param-region", "=?base64?WsO8cmljaA==?="),
                ("mcp-param-user-id", "7"),
            ]
        );
    }

    #[test]
    fn what_one_side_writes_the_other_takes() {
        for region in [
            "eu",
            "",
            " a",
            "a\t",
            "a\nb",
            "é",
            "=?base64?YQ==?=",
            "=?base64?",
        ] {
            let arguments =
                json!({ "region": region, "user": { "id": 9_007_199_254_740_993_u64 } });
            let sent = headers(&arguments);
            for each in example() {
                assert_eq!(each.check(&arguments, &sent), Ok(()), "{region:?}");
            }
        }
    }

    #[test]
    fn headers_that_say_something_else_are_found_out() {
        let check = |arguments: &Value, sent: &[(&'static str, &'static str)]| {
            let mut all = HeaderMap::new();
            for (name, value) in sent {
                all.append(*name, HeaderValue::from_static(value));
            }
            example()
                .iter()
                .try_for_each(|each| each.check(arguments, &all))
        };
        let (eu, seven) = (json!({ "region": "eu" }), json!({ "user": { "id": 7 } }));
        for (arguments, sent) in [
            (&eu, vec![]),
            (&eu, vec![("mcp-param-region", "us")]),
            (&eu, vec![("mcp-param-region", "EU")]),
            (&eu, vec![("mcp-param-region", "=?base64?ZXU?=")]),
            (&eu, vec![("mcp-param-region", "=?base64?!!!!?=")]),
            (
                &eu,
                vec![("mcp-param-region", "eu"), ("mcp-param-region", "us")],
            ),
            (
                &eu,
                vec![("mcp-param-region", "eu"), ("mcp-param-dry", "true")],
            ),
            (&seven, vec![("mcp-param-user-id", "8")]),
            (&seven, vec![("mcp-param-user-id", "seven")]),
            (
                &json!({ "user": { "id": 9_007_199_254_740_993_u64 } }),
                vec![("mcp-param-user-id", "9007199254740992")],
            ),
        ] {
            assert!(check(arguments, &sent).is_err(), "{arguments} {sent:?}");
        }
        for (arguments, sent) in [
            (
                &eu,
                vec![("mcp-param-region", "eu"), ("mcp-param-other", "x")],
            ),
            (&eu, vec![("mcp-param-region", "=?base64?ZXU=?=")]),
            (&seven, vec![("mcp-param-user-id", "7.0")]),
            (&json!({ "region": null }), vec![]),
            (&json!({ "region": ["eu"] }), vec![]),
        ] {
            assert_eq!(check(arguments, &sent), Ok(()), "{arguments} {sent:?}");
        }
    }

    #[test]
    fn values_that_headers_cannot_have_are_encoded() {
        assert_eq!(encode("a b").unwrap(), "a b");
        assert_eq!(encode("").unwrap(), "");
        for text in [" a", "a\t", "a\nb", "é", "=?base64?YQ==?="] {
            let value = encode(text).unwrap();
            assert!(value.to_str().unwrap().starts_with("=?base64?"), "{text:?}");
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
            assert!(Mirrored::all(&broken).is_err(), "{broken}");
        }
        for fine in [
            schema(&json!({ "x-mcp-header": { "type": "string" } })),
            schema(&json!({ "a": { "type": "string", "default": { "x-mcp-header": 7 } } })),
            json!(true),
        ] {
            assert_eq!(Mirrored::all(&fine), Ok(Vec::new()), "{fine}");
        }
    }
}

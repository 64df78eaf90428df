//! What clients are shown: the operations of a registry as tools, ready to be sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use bytes::Bytes;
use operations_core::access::{AccessControl, Identity, enforce_access};
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{locked, reading, writing};
use operations_core::spec::{DeclaredError, OperationType};
use operations_tools::names::tool_names;
use operations_tools::{Projection, Target, project_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use super::generation::Generation;
use crate::host::Wanted;
use crate::service::Shared;

/// What the `_meta` of a tool has about its operation.
pub(super) const OPERATION_KEY: &str = "alkdev.operations/operation";

/// How long the host may take to describe its operations.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lists that are kept for callers who may call different things.
const KEPT_LISTS: usize = 64;

const JSON_TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// An operation as the host describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    id: String,
    #[serde(rename = "type")]
    operation_type: OperationType,
    description: String,
    #[serde(default)]
    title: Option<String>,
    /// The rules that can be checked here.
    access: AccessControl,
    /// Nothing where the schema cannot be written as JSON.
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    errors: Vec<DeclaredError>,
    #[serde(default)]
    annotations: Option<Map<String, Value>>,
}

/// What a tool declares to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Nothing in particular.
    Undeclared,
    /// An object.
    Object,
    /// Something else, for which the older generation has no word.
    Other,
}

/// An operation as a tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) id: String,
    pub(super) output: Output,
    access: AccessControl,
    /// How arguments become an input, where they are not the same.
    projection: Option<Projection>,
    /// As JSON, for each generation.
    handshake: String,
    stateless: String,
}

impl Tool {
    /// The input that arguments stand for; both are JSON.
    pub(super) fn input(&self, arguments: Option<&str>) -> Option<String> {
        let Some(projection) = &self.projection else {
            return Some(arguments.unwrap_or("{}").to_owned());
        };
        if projection.takes_nothing() {
            return None;
        }
        let value = arguments.and_then(|text| serde_json::from_str(text).ok());
        let value = value.unwrap_or_else(|| Value::Object(Map::new()));
        Some(projection.restore(value).to_string())
    }

    fn is_for(&self, identity: Option<&Identity>) -> bool {
        enforce_access(&self.access, identity, &self.id).is_ok()
    }
}

/// What there is to be shown, at one time.
#[derive(Debug)]
pub(super) struct Catalog {
    revision: u64,
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    /// Lists, by which tools are in them, and by generation.
    lists: Mutex<HashMap<(Vec<bool>, bool), Bytes>>,
}

impl Catalog {
    /// Reads what the host says: a JSON list.
    fn read(text: &str, revision: u64) -> Result<Self, CallError> {
        let described: Vec<Described> = serde_json::from_str(text).map_err(|error| {
            let message = format!("The list of operations cannot be read: {error}");
            CallError::new(Code::UnknownError, message)
        })?;
        let ids: Vec<_> = described.iter().map(|each| (&*each.id, None)).collect();
        let names = tool_names(&ids, Target::Mcp.rules());
        let mut tools = Vec::with_capacity(described.len());
        let mut by_name = HashMap::new();
        for (each, name) in described.iter().zip(names) {
            // What takes nothing that could be sent cannot be called.
            if let Some(tool) = tool(each, &name) {
                by_name.insert(name, tools.len());
                tools.push(tool);
            }
        }
        Ok(Self {
            revision,
            tools,
            by_name,
            lists: Mutex::default(),
        })
    }

    /// The tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.by_name
            .get(name)
            .and_then(|index| self.tools.get(*index))
    }

    /// The result of `tools/list`: what the caller may call and what is served. `about` is what results have in the newer
    /// generation, as members of an object.
    pub(super) fn list(
        &self,
        identity: Option<&Identity>,
        is_served: impl Fn(&str) -> bool,
        generation: Generation,
        about: &str,
    ) -> Bytes {
        let shown: Vec<bool> = self
            .tools
            .iter()
            .map(|tool| tool.is_for(identity) && is_served(&tool.id))
            .collect();
        let is_stateless = generation == Generation::Stateless;
        let key = (shown, is_stateless);
        let mut lists = locked(&self.lists);
        if let Some(list) = lists.get(&key) {
            return list.clone();
        }
        let tools = self.tools.iter().zip(&key.0);
        let texts: Vec<&str> = tools
            .filter(|(_, is_shown)| **is_shown)
            .map(|(tool, _)| {
                if is_stateless {
                    tool.stateless.as_str()
                } else {
                    &tool.handshake
                }
            })
            .collect();
        let members = if is_stateless {
            format!(r#","ttlMs":0,"cacheScope":"private",{about}"#)
        } else {
            String::new()
        };
        let list = Bytes::from(format!(r#"{{"tools":[{}]{members}}}"#, texts.join(",")));
        if lists.len() >= KEPT_LISTS {
            lists.clear();
        }
        lists.insert(key, list.clone());
        list
    }
}

fn tool(each: &Described, name: &str) -> Option<Tool> {
    let (input_schema, projection) = input(each.input.as_ref())?;
    let output_schema = each
        .output
        .as_ref()
        .filter(|schema| schema.is_object() && !is_anything(schema) && has_json_types(schema));
    let output = match output_schema {
        None => Output::Undeclared,
        Some(schema) if is_object(schema) => Output::Object,
        Some(_) => Output::Other,
    };
    let mut annotations = each.annotations.clone().unwrap_or_default();
    if each.operation_type == OperationType::Query {
        annotations.insert("readOnlyHint".to_owned(), Value::Bool(true));
    }
    let codes: Vec<&str> = each
        .errors
        .iter()
        .map(|error| error.code.as_str())
        .collect();
    let written = |output_schema: Option<&Value>| {
        let mut tool = json!({
            "name": name,
            "description": each.description,
            "inputSchema": input_schema,
            "_meta": {
                OPERATION_KEY: {
                    "id": each.id, "type": each.operation_type, "errors": codes,
                },
            },
        });
        if let Some(members) = tool.as_object_mut() {
            if let Some(title) = &each.title {
                members.insert("title".to_owned(), json!(title));
            }
            if let Some(schema) = output_schema {
                members.insert("outputSchema".to_owned(), schema.clone());
            }
            if !annotations.is_empty() {
                members.insert("annotations".to_owned(), json!(annotations));
            }
        }
        tool.to_string()
    };
    let wrapped = output_schema
        .filter(|_| output == Output::Other)
        .map(|schema| wrapped(schema, &each.id));
    Some(Tool {
        id: each.id.clone(),
        output,
        access: each.access.clone(),
        projection,
        handshake: written(wrapped.as_ref().or(output_schema)),
        stateless: written(output_schema),
    })
}

/// What a tool says about its arguments: the operation's own schema where that is of an object, as arguments always are.
fn input(schema: Option<&Value>) -> Option<(Value, Option<Projection>)> {
    let Some(schema) = schema.filter(|schema| !is_anything(schema)) else {
        return Some((json!({ "type": "object" }), None));
    };
    if is_object(schema) && has_json_types(schema) {
        return Some((schema.clone(), None));
    }
    let projection = project_schema(schema, Target::Mcp).ok()?;
    let projected = projection.schema.clone();
    let is_needed = projection.restores() || projection.takes_nothing();
    Some((projected, is_needed.then_some(projection)))
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Whether a schema lets everything pass.
fn is_anything(schema: &Value) -> bool {
    const WORDS: [&str; 6] = [
        "title",
        "description",
        "$id",
        "$schema",
        "examples",
        "$comment",
    ];
    match schema {
        Value::Object(members) => members.keys().all(|name| WORDS.contains(&name.as_str())),
        schema => *schema == Value::Bool(true),
    }
}

/// Whether all types are those of JSON; a `Date`, say, is not.
fn has_json_types(schema: &Value) -> bool {
    let is_known = |name: &Value| name.as_str().is_none_or(|name| JSON_TYPES.contains(&name));
    match schema {
        Value::Object(members) => members.iter().all(|(name, value)| match value {
            Value::String(_) if name == "type" => is_known(value),
            Value::Array(list) if name == "type" => list.iter().all(is_known),
            value => has_json_types(value),
        }),
        Value::Array(list) => list.iter().all(has_json_types),
        _ => true,
    }
}

/// The schema of `{ result }`. References within the schema go on to mean what they meant, because it is a document of its
/// own.
fn wrapped(schema: &Value, id: &str) -> Value {
    let mut inner = schema.clone();
    if let Some(members) = inner.as_object_mut()
        && !members.contains_key("$id")
        && schema.to_string().contains("\"$ref\"")
    {
        members.insert(
            "$id".to_owned(),
            json!(format!("urn:operation:{id}:output")),
        );
    }
    json!({ "type": "object", "properties": { "result": inner }, "required": ["result"] })
}

/// The newest catalogue that is known.
#[derive(Debug, Default)]
pub(super) struct Kept {
    newest: RwLock<Option<Arc<Catalog>>>,
    /// Whoever finds it outdated asks the host; the others wait for that.
    turn: tokio::sync::Mutex<()>,
}

impl Kept {
    /// The catalogue as it is now.
    pub(super) async fn current(&self, shared: &Shared) -> Result<Arc<Catalog>, CallError> {
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        let _turn = self.turn.lock().await;
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        // What changes while it is described makes it outdated.
        let revision = *shared.calls.revision().borrow();
        let id: Arc<str> = Uuid::new_v4().to_string().into();
        let about = "the list of operations";
        let asked = |_: &str| r#"{"describe":true}"#.to_owned();
        let answers = shared.host.ask(&id, about, Wanted::One, None, asked)?;
        let text = timeout(PATIENCE, answers.first()).await.map_err(|_| {
            CallError::new(Code::Timeout, "It took too long to list the operations")
        })??;
        let made = tokio::task::spawn_blocking(move || Catalog::read(&text, revision)).await;
        let made = made.map_err(|error| CallError::new(Code::UnknownError, error.to_string()))?;
        let made = Arc::new(made?);
        *writing(&self.newest) = Some(Arc::clone(&made));
        Ok(made)
    }

    fn newest(&self, shared: &Shared) -> Option<Arc<Catalog>> {
        let revision = *shared.calls.revision().borrow();
        let newest = reading(&self.newest);
        newest
            .as_ref()
            .filter(|newest| newest.revision == revision)
            .map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "tests: a failure should stop them"
    )]

    use super::*;

    fn catalog(operations: &Value) -> Catalog {
        Catalog::read(&operations.to_string(), 1).expect("a catalogue")
    }

    fn listed(catalog: &Catalog, generation: Generation, identity: Option<&Identity>) -> Value {
        let list = catalog.list(identity, |_| true, generation, r#""x":1"#);
        serde_json::from_slice(&list).expect("JSON")
    }

    fn operation(id: &str, more: &Value) -> Value {
        let mut operation = json!({
            "id": id, "type": "mutation", "description": "d", "access": { "requiredScopes": [] },
        });
        for (name, value) in more.as_object().expect("members") {
            operation[name] = value.clone();
        }
        operation
    }

    #[test]
    fn an_output_that_is_no_object_is_wrapped_for_those_who_need_it() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/T" }, "$defs": { "T": { "type": "string" } } });
        let catalog = catalog(&json!([
            operation("a.list", &json!({ "output": list })),
            operation("a.any", &json!({ "output": {} })),
            operation("a.date", &json!({ "output": { "type": "Date" } })),
        ]));
        let stateless = listed(&catalog, Generation::Stateless, None);
        assert_eq!(stateless["tools"][0]["outputSchema"], list);
        assert_eq!(stateless["x"], 1);
        let handshake = listed(&catalog, Generation::Handshake, None);
        let wrapped = &handshake["tools"][0]["outputSchema"];
        assert_eq!(wrapped["type"], "object");
        assert_eq!(
            wrapped["properties"]["result"]["$id"],
            "urn:operation:a.list:output"
        );
        assert_eq!(handshake.get("ttlMs"), None);
        for tool in [1, 2] {
            assert_eq!(handshake["tools"][tool].get("outputSchema"), None);
        }
        let output = |name| catalog.tool(name).expect("a tool").output;
        assert_eq!(output("a_list"), Output::Other);
        assert_eq!(output("a_any"), Output::Undeclared);
    }

    #[test]
    fn callers_see_what_they_may_call() {
        let catalog = catalog(&json!([
            operation("a.open", &json!({ "type": "query" })),
            operation(
                "a.closed",
                &json!({ "access": { "requiredScopes": ["x"] } })
            ),
        ]));
        let names = |identity: Option<&Identity>| {
            let list = listed(&catalog, Generation::Handshake, identity);
            let tools = list["tools"].as_array().cloned().expect("tools");
            tools
                .iter()
                .map(|tool| tool["name"].as_str().expect("a name").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a_open"]);
        let ada = Identity {
            id: "ada".to_owned(),
            scopes: vec!["x".to_owned()],
            resources: None,
        };
        assert_eq!(names(Some(&ada)), ["a_open", "a_closed"]);
        let list = listed(&catalog, Generation::Handshake, None);
        assert_eq!(list["tools"][0]["annotations"]["readOnlyHint"], true);
        assert_eq!(list["tools"][0]["_meta"][OPERATION_KEY]["id"], "a.open");
        let none = catalog.list(None, |_| false, Generation::Handshake, "");
        assert_eq!(&*none, br#"{"tools":[]}"#);
    }

    #[test]
    fn arguments_are_objects_whatever_an_operation_takes() {
        let object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let catalog = catalog(&json!([
            operation("a.object", &json!({ "input": object })),
            operation("a.text", &json!({ "input": { "type": "string" } })),
            operation("a.any", &json!({})),
            operation("a.date", &json!({ "input": { "type": "Date" } })),
        ]));
        let list = listed(&catalog, Generation::Stateless, None);
        assert_eq!(list["tools"][0]["inputSchema"], object);
        let tools = list["tools"].as_array().expect("a list");
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
        // No JSON is a Date, so that one cannot be called.
        assert_eq!(names, ["a_object", "a_text", "a_any"]);
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object");
        }
        let input = |name, arguments| catalog.tool(name).expect("a tool").input(arguments);
        assert_eq!(
            input("a_object", Some("{\"a\":1}")).as_deref(),
            Some("{\"a\":1}")
        );
        assert_eq!(input("a_object", None).as_deref(), Some("{}"));
        let property = list["tools"][1]["inputSchema"]["required"][0]
            .as_str()
            .expect("a property");
        let arguments = json!({ property: "x" }).to_string();
        assert_eq!(input("a_text", Some(&arguments)).as_deref(), Some("\"x\""));
    }
}

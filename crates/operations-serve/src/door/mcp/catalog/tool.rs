//! Operations as tools.

use operations_core::json::Object;
use operations_core::spec::OperationType;
use operations_http::message::mirrored::{ANNOTATION, Mirrored};
use operations_tools::{Projection, Target, project_schema};
use serde_json::{Map, Value, json};

use super::super::spilled::link_schema;
use super::super::tasks::Support;
use super::descriptor::OperationDescriptor;
use super::{INPUT_KEY, Listed, OPERATION_KEY};

const JSON_TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// What a tool declares to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Output {
    /// Nothing in particular.
    Undeclared,
    /// An object.
    Object,
    /// Something else, for which the handshake protocol has no word.
    Other,
}

/// An operation as a tool.
#[derive(Debug)]
pub(in super::super) struct Tool {
    pub(in super::super) listed: Listed,
    pub(in super::super) output: Output,
    /// Whether a large result may be a link in its place.
    pub(super) spills: bool,
    /// What a client must be able to do: names of capabilities.
    pub(in super::super) requires: Vec<String>,
    /// Whether it can be called as a task.
    pub(in super::super) task: Option<Support>,
    /// The arguments that clients of the stateless protocol send as headers too. None where the schema breaks the rules for it:
    /// such clients leave the tool out.
    pub(in super::super) mirrored: Vec<Mirrored>,
    /// Whether `INPUT_KEY` is understood.
    takes_inputs: bool,
    /// How arguments become an input, where they are not the same.
    projection: Option<Projection>,
}

impl Tool {
    /// The input that arguments stand for; both are JSON.
    pub(in super::super) fn input(&self, arguments: Option<&str>) -> Option<String> {
        let given = arguments
            .filter(|_| self.takes_inputs)
            .and_then(|text| Object::read(text).ok()?.get(INPUT_KEY));
        if let Some(given) = given {
            return Some(given.to_owned());
        }
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

    /// The tool for an operation, under a name.
    pub(super) fn new(each: &OperationDescriptor, name: &str) -> Option<Self> {
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
        let mut about = each.operation.clone();
        about.insert("id".to_owned(), json!(each.id));
        about.insert("type".to_owned(), json!(each.operation_type));
        // Where arguments are not the input, clients that know us send the input itself.
        let other = each.input.clone().filter(|own| *own != input_schema);
        let takes_inputs = other.is_some();
        if let Some(schema) = other {
            about.insert("inputSchema".to_owned(), schema);
        }
        // What all clients see may be less.
        if let Some(schema) = &each.output
            && (output_schema.is_none() || each.spills)
        {
            about.insert("outputSchema".to_owned(), schema.clone());
        }
        let written = |output_schema: Option<&Value>| {
            let mut tool = json!({
                "name": name,
                "description": each.description,
                "inputSchema": input_schema,
                "_meta": { OPERATION_KEY: about },
            });
            if let Some(members) = tool.as_object_mut() {
                if let Some(title) = &each.title {
                    members.insert("title".to_owned(), json!(title));
                }
                if let Some(schema) = output_schema {
                    members.insert("outputSchema".to_owned(), schema.clone());
                }
                if let Some(support) = each.mcp.task {
                    let execution = json!({ "taskSupport": support.name() });
                    members.insert("execution".to_owned(), execution);
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
        let or_link = |schema: Option<&Value>| {
            let schema = schema.filter(|_| each.spills)?;
            Some(or_link(schema, &each.id))
        };
        let handshake = wrapped.as_ref().or(output_schema);
        let (for_handshake, for_stateless) = (or_link(handshake), or_link(output_schema));
        let handshake = written(for_handshake.as_ref().or(handshake));
        let stateless = written(for_stateless.as_ref().or(output_schema));
        // Most schemas have none, and walking them takes time.
        let mirrored = if stateless.contains(ANNOTATION) {
            Mirrored::all(&input_schema).unwrap_or_default()
        } else {
            Vec::new()
        };
        Some(Self {
            listed: Listed::new(each, &handshake, &stateless),
            output,
            spills: each.spills,
            requires: each.mcp.requires.clone(),
            task: each.mcp.task,
            mirrored,
            takes_inputs,
            projection,
        })
    }
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

/// The schema of `{ result }`.
fn wrapped(schema: &Value, id: &str) -> Value {
    let inner = apart(schema, id);
    json!({ "type": "object", "properties": { "result": inner }, "required": ["result"] })
}

/// The schema of an output that may be a link in its place ([`super::super::spilled`]).
fn or_link(schema: &Value, id: &str) -> Value {
    let either = json!([apart(schema, id), link_schema()]);
    if is_object(schema) {
        // The handshake protocol takes nothing else.
        json!({ "type": "object", "anyOf": either })
    } else {
        json!({ "anyOf": either })
    }
}

/// A schema within another. References within it go on to mean what they meant, because it is a document of its own.
fn apart(schema: &Value, id: &str) -> Value {
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
    inner
}

//! An OpenAPI document about operations, as they are called ([`super::route`]).

use std::collections::HashSet;

use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::spec::OperationType;
use operations_http::message::Location;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::descriptor::OperationDescriptor;
use super::multipart::{is_binary, takes_files};
use super::route::{Parameter, Route, Takes};
use super::schemas::{Placed, Schemas, raw};

/// The extension for what OpenAPI cannot express, so that an import gives the same operation
/// (`crates/operations-openapi/src/origin.rs`).
const ORIGIN: &str = "x-operation";

/// What a document says beside its operations.
#[derive(Debug, Clone, Deserialize)]
pub struct About {
    /// `title` and `version`, at least.
    pub info: Map<String, Value>,
    /// Where the operations are.
    #[serde(default)]
    pub servers: Vec<Value>,
    /// `3.1` or `3.2`.
    #[serde(default)]
    pub version: Version,
}

/// The version of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Version {
    /// 3.1.
    #[default]
    #[serde(rename = "3.1")]
    Three1,
    /// 3.2, which has words for streams.
    #[serde(rename = "3.2")]
    Three2,
}

impl About {
    /// Reads it from JSON.
    ///
    /// # Errors
    ///
    /// When it is not what the facade should have sent.
    pub fn read(json: &str) -> Result<Self, CallError> {
        serde_json::from_str(json)
            .map_err(|error| CallError::invalid(format!("toOpenAPI: {error}")))
    }
}

/// The document. Each operation is written on its own, so that a large document is never there as a tree.
#[derive(Serialize)]
struct Document<'a> {
    openapi: &'static str,
    info: &'a Map<String, Value>,
    servers: &'a [Value],
    /// By path and method.
    paths: IndexMap<&'a str, IndexMap<String, Box<RawValue>>>,
    components: Components,
    /// Its operations have namespaces of their own, however few it has.
    #[serde(rename = "x-operations")]
    origins: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components {
    schemas: IndexMap<String, Box<RawValue>>,
    responses: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_schemes: Option<Value>,
}

/// The document, as JSON.
pub(super) fn of<'o>(
    operations: impl Iterator<Item = (&'o OperationDescriptor, &'o Route)>,
    about: &About,
) -> String {
    let mut schemas = Schemas::default();
    schemas.add("Problem".to_owned(), &problem());
    let mut paths: IndexMap<&str, IndexMap<String, Box<RawValue>>> = IndexMap::new();
    let mut names: HashSet<String> = HashSet::new();
    let mut is_guarded = false;
    for (operation, route) in operations {
        is_guarded |= !operation.is_open();
        let name = unique(safe_name(&operation.id()), &mut names);
        let written = written(operation, route, name, about.version, &mut schemas);
        let item = paths.entry(&route.path).or_default();
        // What is called with parameters can be called with a body as well, at the same path.
        let by_name = Route::plain(operation);
        if route.path == by_name.path && route.method != by_name.method {
            let name = unique(safe_name(&format!("{}.post", operation.id())), &mut names);
            let alias = alias(operation, &by_name, &written, name);
            item.insert("post".to_owned(), raw(&alias));
        }
        item.insert(route.method.as_str().to_ascii_lowercase(), raw(&written));
    }
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let document = Document {
        openapi: match about.version {
            Version::Three1 => "3.1.1",
            Version::Three2 => "3.2.0",
        },
        info: &about.info,
        servers: &about.servers,
        paths,
        components: Components {
            schemas: schemas.components,
            responses: json!({ "Problem": refusal("The call was refused, or failed", &problem) }),
            security_schemes: is_guarded
                .then(|| json!({ "bearer": { "type": "http", "scheme": "bearer" } })),
        },
        origins: true,
    };
    serde_json::to_string(&document).unwrap_or_default()
}

fn written(
    operation: &OperationDescriptor,
    route: &Route,
    name: String,
    version: Version,
    schemas: &mut Schemas,
) -> Value {
    let id = operation.id();
    let input_schema = OperationDescriptor::schema(operation.input.as_deref());
    let input = schemas.place(input_schema.as_ref(), &format!("{id}.input"));
    let summary = operation
        .title
        .as_deref()
        .or_else(|| operation.description.lines().next())
        .filter(|text| !text.trim().is_empty())
        .unwrap_or(&id);
    let tags = if operation.tags.is_empty() {
        vec![operation.namespace.clone()]
    } else {
        operation.tags.clone()
    };
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("operationId", name.into());
    put("summary", summary.into());
    if !operation.description.is_empty() {
        put("description", operation.description.as_str().into());
    }
    put("tags", json!(tags));
    if operation.deprecated {
        put("deprecated", true.into());
    }
    let parameters = route.parameters.iter();
    let parameters: Vec<Value> = parameters.map(|each| parameter(each, &input)).collect();
    if !parameters.is_empty() {
        put("parameters", parameters.into());
    }
    match &route.body {
        Takes::Nothing => {}
        Takes::Input => {
            let schema = input_schema.as_ref();
            let is_required = schema.is_some_and(|schema| !is_anything(schema));
            let form = schema.and_then(|schema| form(schema, &input));
            put_body(
                &mut put,
                "application/json",
                &input.schema,
                form,
                is_required,
            );
        }
        Takes::Property {
            name,
            is_required,
            media_type,
        } => put_body(
            &mut put,
            media_type,
            &input.property(name),
            None,
            *is_required,
        ),
    }
    put("responses", responses(operation, version, schemas));
    let security = if operation.is_open() {
        json!([])
    } else {
        json!([{ "bearer": [] }])
    };
    put("security", security);
    put(ORIGIN, origin(operation, route, input_schema.as_ref()));
    Value::Object(members)
}

/// The same operation, called by name: an import passes over it. Its input is flat, so that it has no references.
fn alias(operation: &OperationDescriptor, by_name: &Route, written: &Value, name: String) -> Value {
    let mut members = written.as_object().cloned().unwrap_or_default();
    members.shift_remove("parameters");
    members.insert("operationId".to_owned(), name.into());
    let schema = OperationDescriptor::schema(operation.input.as_deref());
    let input = Schemas::default().place(schema.as_ref(), "input");
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put_body(&mut put, "application/json", &input.schema, None, true);
    let mut origin = origin(operation, by_name, schema.as_ref());
    if let Some(origin) = origin.as_object_mut() {
        origin.insert("alias".to_owned(), true.into());
    }
    put(ORIGIN, origin);
    Value::Object(members)
}

fn unique(mut name: String, names: &mut HashSet<String>) -> String {
    while !names.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// An id with what generators of clients, and URLs, can have in a name.
fn safe_name(id: &str) -> String {
    let is_safe = |char: &char| char.is_ascii_alphanumeric() || "._-".contains(*char);
    id.chars()
        .map(|char| if is_safe(&char) { char } else { '_' })
        .collect()
}

fn put_body(
    put: &mut impl FnMut(&str, Value) -> Option<Value>,
    media_type: &str,
    schema: &Value,
    form: Option<Value>,
    is_required: bool,
) {
    let mut content = json!({ media_type: { "schema": schema } });
    if let (Some(form), Some(content)) = (form, content.as_object_mut()) {
        content.insert("multipart/form-data".to_owned(), json!({ "schema": form }));
    }
    put(
        "requestBody",
        json!({ "required": is_required, "content": content }),
    );
}

/// The schema of an input as a form, where some of its properties are files. JSON comes first, which an import uses.
fn form(schema: &Value, input: &Placed) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    if !properties.values().any(|each| takes_files(schema, each)) {
        return None;
    }
    let file = |description: Option<&Value>| {
        let mut file = json!({ "type": "string", "format": "binary" });
        if let (Some(text), Some(file)) = (description, file.as_object_mut()) {
            file.insert("description".to_owned(), text.clone());
        }
        file
    };
    let fields: Map<String, Value> = properties
        .iter()
        .map(|(name, each)| {
            let field = if is_binary(schema, each) {
                file(each.get("description"))
            } else if takes_files(schema, each) {
                json!({ "type": "array", "items": file(None) })
            } else {
                input.property(name)
            };
            (name.clone(), field)
        })
        .collect();
    let mut form = json!({ "type": "object", "properties": fields });
    if let (Some(required), Some(form)) = (schema.get("required"), form.as_object_mut()) {
        form.insert("required".to_owned(), required.clone());
    }
    Some(form)
}

fn parameter(parameter: &Parameter, input: &Placed) -> Value {
    let schema = input.property(&parameter.property);
    let mut written = json!({
        "name": parameter.name,
        "in": parameter.location.as_str(),
        "required": parameter.is_required,
    });
    if let Some(members) = written.as_object_mut() {
        if let Some(description) = schema.get("description").filter(|text| text.is_string()) {
            members.insert("description".to_owned(), description.clone());
        }
        if parameter.location == Location::Query && parameter.is_repeated == Some(false) {
            members.insert("explode".to_owned(), false.into());
        }
        members.insert("schema".to_owned(), schema);
    }
    written
}

fn responses(operation: &OperationDescriptor, version: Version, schemas: &mut Schemas) -> Value {
    let mut responses = Map::new();
    let schema = OperationDescriptor::schema(operation.output.as_deref());
    let output_type = schema
        .as_ref()
        .and_then(|schema| schema.get("type")?.as_str());
    let output = schemas.place(schema.as_ref(), &format!("{}.output", operation.id()));
    let (status, success) = match (operation.operation_type, output_type) {
        (OperationType::Subscription, _) => {
            let media = match version {
                Version::Three1 => json!({ "schema": output.schema }),
                Version::Three2 => json!({ "itemSchema": event(&output.schema) }),
            };
            let content = json!({ "text/event-stream": media });
            (
                "200",
                json!({ "description": "Events", "content": content }),
            )
        }
        (_, Some("undefined" | "void")) => ("204", json!({ "description": "Done" })),
        (_, Some("Uint8Array")) => {
            let content = json!({ "application/octet-stream": {} });
            ("200", json!({ "description": "Bytes", "content": content }))
        }
        _ => {
            let content = json!({ "application/json": { "schema": output.schema } });
            (
                "200",
                json!({ "description": "The result", "content": content }),
            )
        }
    };
    responses.insert(status.to_owned(), success);
    for (status, response) in declared(operation, schemas) {
        responses.insert(status, response);
    }
    for range in ["4XX", "5XX"] {
        let problem = json!({ "$ref": "#/components/responses/Problem" });
        responses.insert(range.to_owned(), problem);
    }
    Value::Object(responses)
}

/// The errors that the operation announces, by status.
fn declared(operation: &OperationDescriptor, schemas: &mut Schemas) -> Vec<(String, Value)> {
    let mut by_status: Vec<(u16, Vec<String>, Vec<Value>)> = Vec::new();
    for error in &operation.errors {
        let status = error
            .http_status
            .filter(|status| (400..600).contains(status))
            .unwrap_or(500);
        let name = format!("{}.{}", operation.id(), error.code);
        let details = schemas.place(
            error.schema.as_ref().filter(|schema| schema.is_object()),
            &name,
        );
        let mut variant = json!({ "properties": { "code": { "const": error.code } } });
        if details.schema != json!({})
            && let Some(properties) = variant.get_mut("properties").and_then(Value::as_object_mut)
        {
            properties.insert("details".to_owned(), details.schema);
        }
        let words = error
            .description
            .clone()
            .unwrap_or_else(|| error.code.clone());
        match by_status.iter_mut().find(|(known, _, _)| *known == status) {
            Some((_, descriptions, variants)) => {
                descriptions.push(words);
                variants.push(variant);
            }
            None => by_status.push((status, vec![words], vec![variant])),
        }
    }
    by_status
        .into_iter()
        .map(|(status, descriptions, variants)| {
            let problem = json!({ "$ref": "#/components/schemas/Problem" });
            // Other errors can have the status as well.
            let schema = json!({ "anyOf": variants.iter().map(|variant| json!({ "allOf": [problem, variant] })).chain([problem.clone()]).collect::<Vec<_>>() });
            (status.to_string(), refusal(&descriptions.join("; "), &schema))
        })
        .collect()
}

fn refusal(description: &str, schema: &Value) -> Value {
    let content = json!({ "application/problem+json": { "schema": schema } });
    json!({ "description": description, "content": content })
}

/// An event of a stream, as OpenAPI 3.2 describes them.
fn event(data: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["data"],
        "properties": {
            "event": { "type": "string" },
            "id": { "type": "string" },
            "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": data },
        },
    })
}

/// What an import would not know otherwise.
fn origin(operation: &OperationDescriptor, route: &Route, schema: Option<&Value>) -> Value {
    let mut origin = json!({
        "namespace": operation.namespace,
        "name": operation.name,
        "type": operation.operation_type,
    });
    let Some(members) = origin.as_object_mut() else {
        return origin;
    };
    if route.body == Takes::Input {
        members.insert("input".to_owned(), "body".into());
    } else if operation.request.is_none() {
        // What the parameters do not say of the object that they are.
        let schema = schema.and_then(Value::as_object);
        let others = schema.into_iter().flatten().filter(|(name, _)| {
            !["type", "properties", "required", "$id", "$schema"].contains(&name.as_str())
        });
        let others: Map<String, Value> = others
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        members.insert("input".to_owned(), others.into());
    }
    origin
}

fn is_anything(schema: &Value) -> bool {
    const WORDS: [&str; 4] = ["title", "description", "$id", "$schema"];
    schema
        .as_object()
        .is_some_and(|members| members.keys().all(|name| WORDS.contains(&name.as_str())))
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "Why a call was refused, or failed (RFC 9457).",
        "required": ["title", "status", "detail", "code", "requestId", "mayHaveRun"],
        "properties": {
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "code": { "type": "string" },
            "details": {},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "path": { "type": "string" }, "message": { "type": "string" } },
                },
            },
            "requestId": { "type": "string" },
            "mayHaveRun": {
                "type": "boolean",
                "description": "Whether the operation may have done something. If this is false, it has not.",
            },
        },
    })
}

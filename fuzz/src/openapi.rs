//! What the target for OpenAPI documents does with an input.
//!
//! An input is text, JSON or YAML; or, after a leading `!`, choices from which a document is made of the
//! words that documents have, with values of any type in any place, so that the fuzzer gets past the
//! reader and deep into the import at once.

use arbitrary::{Result, Unstructured};
use operations_http::message::request::build;
use operations_http::message::{BaseUrl, InputValue, Settings, resolve_server};
use operations_openapi::{Document, ImportChoices, ImportedOperation, Status, import, survey};
use operations_schema::{CompileOptions, Source, compile};
use serde_json::{Map, Value, json};
use url::Url;

/// Words that mean something somewhere in a document.
const WORDS: &[&str] = &[
    "openapi",
    "swagger",
    "info",
    "version",
    "paths",
    "/a",
    "/a/{id}",
    "get",
    "post",
    "head",
    "query",
    "additionalOperations",
    "parameters",
    "name",
    "in",
    "id",
    "path",
    "header",
    "cookie",
    "body",
    "formData",
    "required",
    "schema",
    "content",
    "style",
    "explode",
    "collectionFormat",
    "multi",
    "deepObject",
    "requestBody",
    "application/json",
    "multipart/form-data",
    "text/event-stream",
    "application/xml",
    "responses",
    "200",
    "default",
    "components",
    "schemas",
    "S",
    "definitions",
    "$ref",
    "#/components/schemas/S",
    "#/definitions/S",
    "#/paths/~1a",
    "#",
    "other.yaml#/S",
    "type",
    "object",
    "array",
    "string",
    "integer",
    "properties",
    "items",
    "allOf",
    "oneOf",
    "nullable",
    "readOnly",
    "pattern",
    "enum",
    "discriminator",
    "mapping",
    "servers",
    "url",
    "variables",
    "host",
    "basePath",
    "schemes",
    "security",
    "securitySchemes",
    "operationId",
    "tags",
    "__proto__",
];

/// How deep a value of choices may be.
const DEPTH: usize = 7;

/// Reads a document, imports it, and uses what came of it. The answer is whether there was a document.
#[must_use]
pub fn read_and_import(bytes: &[u8]) -> bool {
    let text = match bytes.split_first() {
        Some((b'!', choices)) => made(choices),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    let Ok(mut document) = Document::parse_at(&text, "folder/api.yaml") else {
        return false;
    };
    if let Some(file) = document.missing_files().first()
        && let Ok(more) = document.with_file(file, &text)
    {
        document = more;
    }
    let methods = ["get", "post", "head", "query", "COPY"].map(str::to_owned);
    let offered = survey(&document, &methods).len();
    let choices = ImportChoices {
        methods: Some(methods.to_vec()),
        max_name_length: Some(16),
        ..ImportChoices::default()
    };
    let result = import(&document, &choices);
    let there = |status: Status| status != Status::Skipped;
    let kept = result.report.iter().filter(|entry| there(entry.status));
    assert_eq!(
        kept.count(),
        result.operations.len(),
        "the report is about what there is"
    );
    assert!(
        offered >= result.operations.len(),
        "what is imported was offered"
    );
    for operation in &result.operations {
        assert!(operation.name.chars().count() <= 16, "{:?}", operation.name);
        used(operation);
    }
    true
}

/// Whether a reference leads out of a schema. What stands under a unknown keyword is data.
fn points_into_document(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return false;
    };
    keywords
        .iter()
        .any(|(keyword, value)| match keyword.as_str() {
            "$ref" => value
                .as_str()
                .is_some_and(|pointer| pointer.starts_with("#/components/")),
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                value
                    .as_object()
                    .is_some_and(|parts| parts.values().any(points_into_document))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => value
                .as_array()
                .is_some_and(|parts| parts.iter().any(points_into_document)),
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => points_into_document(value),
            _ => false,
        })
}

/// Makes the schemas of an operation, compiles them, and builds a request.
fn used(operation: &ImportedOperation) {
    for schema in [operation.input_schema(), operation.output_schema()]
        .into_iter()
        .flatten()
    {
        assert!(!points_into_document(&schema), "{schema}");
        if let Ok(source) = Source::try_from(&schema) {
            let options = CompileOptions {
                openapi: true,
                untrusted: true,
                ..CompileOptions::default()
            };
            let _ = compile(&source, &options);
        }
    }
    let server = operation.http.servers.first();
    let document = Url::parse("https://example.com/api").ok();
    let url = server.and_then(|server| resolve_server(server, document.as_ref()).ok());
    let Ok(base_url) = BaseUrl::parse(url.as_deref().unwrap_or("https://example.com")) else {
        return;
    };
    let settings = Settings {
        base_url: &base_url,
        default_headers: &[],
        call_headers: &[],
        auth: None,
    };
    let body = operation
        .http
        .request
        .body
        .iter()
        .map(|body| body.input.clone());
    let names = operation
        .http
        .request
        .parameters
        .iter()
        .map(|parameter| parameter.input.clone());
    let value = json!({ "a": ["x", 1, null], "b": "ü /?#" }).to_string();
    let input = names
        .chain(body)
        .map(|name| (name, InputValue::JsonText(value.clone())));
    let _ = build(&operation.http.request, input.collect(), &settings);
}

/// A document made of choices.
fn made(choices: &[u8]) -> String {
    let mut choices = Unstructured::new(choices);
    let mut document = match value(&mut choices, 0) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let version = ["2.0", "3.0.0", "3.1.0", "3.2.0"];
    let version = choices.choose(&version).copied().unwrap_or("3.1.0");
    let key = if version == "2.0" {
        "swagger"
    } else {
        "openapi"
    };
    document.insert(key.to_owned(), version.into());
    if !document.get("paths").is_some_and(Value::is_object) {
        let item = value(&mut choices, 2).unwrap_or_default();
        document.insert("paths".to_owned(), json!({ "/a/{id}": item }));
    }
    Value::Object(document).to_string()
}

fn value(choices: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let kinds = if depth < DEPTH { 8 } else { 5 };
    Ok(match choices.int_in_range(0..=kinds)? {
        0 => Value::Null,
        1 => choices.arbitrary::<bool>()?.into(),
        2 => choices.arbitrary::<i16>()?.into(),
        3..=5 => word(choices)?.into(),
        6 => {
            let length = choices.int_in_range(0..=4_usize)?;
            let items: Result<Vec<Value>> =
                (0..length).map(|_| value(choices, depth + 1)).collect();
            Value::Array(items?)
        }
        _ => {
            let mut members = Map::new();
            for _ in 0..choices.int_in_range(0..=5_usize)? {
                members.insert(word(choices)?.to_owned(), value(choices, depth + 1)?);
            }
            Value::Object(members)
        }
    })
}

fn word(choices: &mut Unstructured<'_>) -> Result<&'static str> {
    choices.choose(WORDS).copied()
}

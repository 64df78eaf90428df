//! The request body of an operation.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::{At, Document};
use super::keywords::is_schema;
use super::operation::Draft;
use super::parameters::{Declared, bare_schema};
use super::read::shorten;
use super::recipe::{InputPart, Source};
use super::report::Reason;
use super::tree::Tree;
use super::version::Version;
use operations_http::message::media::{Family, essence, family, is_json};
use operations_http::message::{BodyPlan, Encoding, Location, Style};

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// The body and its part of the input.
pub(super) type Body = (BodyPlan, InputPart);

/// The body of an operation, if it takes one.
pub(super) fn plan<'d>(
    document: &'d Document,
    operation: &At<'d>,
    declared: &Declared<'d>,
    draft: &mut Draft<'_, 'd>,
) -> Option<Body> {
    if document.version() != Version::Swagger2 {
        return of_request_body(document, &operation.get("requestBody")?, draft);
    }
    let consumes = media_list(document, operation, "consumes");
    match (&declared.body, declared.form.is_empty()) {
        (None, true) => None,
        (Some(body), true) => Some(of_parameter(document, body, consumes, draft)),
        (body, false) => {
            if let Some(body) = body {
                draft.degrade(
                    Reason::Body,
                    body,
                    "a body beside form fields; the form fields are used",
                );
            }
            Some(of_form(&declared.form, &consumes, draft))
        }
    }
}

/// Swagger 2.0's `consumes` or `produces`: the operation's own, else the document's.
pub(super) fn media_list(document: &Document, operation: &At<'_>, key: &str) -> Vec<String> {
    let list = operation.get(key).or_else(|| document.start().get(key));
    list.iter()
        .flat_map(At::items)
        .filter_map(|item| item.value.as_str().map(|word| word.trim().to_owned()))
        .filter(|word| !word.is_empty())
        .collect()
}

fn of_request_body<'d>(
    document: &'d Document,
    at: &At<'d>,
    draft: &mut Draft<'_, 'd>,
) -> Option<Body> {
    let body = match document.follow(at.clone()) {
        Ok(body) if body.value.is_object() => body,
        Ok(other) => {
            if !other.value.is_null() {
                draft.degrade(
                    Reason::Malformed,
                    at,
                    "the request body is not an object; it was left out",
                );
            }
            return None;
        }
        Err(reason) => {
            let reason = format!("the request body accepts any JSON value: {reason}");
            draft.degrade(Reason::Reference, at, reason);
            return Some(unknown_body());
        }
    };
    let content: IndexMap<&str, At<'d>> =
        body.get("content").iter().flat_map(At::entries).collect();
    if content.is_empty() {
        draft.degrade(
            Reason::Body,
            &body,
            "the request body lists no media type; it is sent as JSON",
        );
    }
    let mut plan = BodyPlan::new(content.keys().map(|&key| key.to_owned()).collect());
    plan.required = body.flag("required");
    let chosen = content
        .get(plan.media_type.as_str())
        .and_then(|media| document.follow(media.clone()).ok());
    let schema = chosen.as_ref().and_then(|media| media.get("schema"));
    plan.media_type = concrete(&plan.media_type, schema.as_ref().map(|at| at.value));
    if let Some(encoding) = chosen.and_then(|media| media.get("encoding")) {
        plan.encoding = encodings(&encoding);
    }
    if let Some(schema) = &schema {
        note_binary(document, schema, &mut plan);
    }
    let source = match schema {
        Some(schema) if is_schema(schema.value) => source_of(document, &plan, &schema, draft),
        _ => Source::Unknown,
    };
    let part = part(&plan, source, body.string("description"));
    Some((plan, part))
}

/// The schema of a body, as far as a caller can follow it: XML, images and the like are written by
/// the caller, as text or bytes, whatever the document says is in them.
fn source_of<'d>(
    document: &'d Document,
    plan: &BodyPlan,
    schema: &At<'d>,
    draft: &mut Draft<'_, 'd>,
) -> Source {
    if !matches!(family(&plan.media_type), Family::Binary | Family::OtherText) {
        draft.uses(schema.clone());
        return Source::at(schema);
    }
    if is_structured(document, schema) {
        let reason = format!(
            "a body of type {:?} is given as text or bytes; its schema is not checked",
            shorten(&plan.media_type, 100)
        );
        draft.degrade(Reason::Body, schema, reason);
    }
    Source::Unknown
}

/// Whether the schema describes more than a text.
fn is_structured<'d>(document: &'d Document, schema: &At<'d>) -> bool {
    let Ok(schema) = document.follow(schema.clone()) else {
        return false;
    };
    let structures = ["properties", "items", "allOf", "anyOf", "oneOf"];
    matches!(schema.string("type"), Some("object" | "array"))
        || structures.iter().any(|key| schema.get(key).is_some())
}

fn unknown_body() -> Body {
    let plan = BodyPlan::new(Vec::new());
    let part = part(&plan, Source::Unknown, None);
    (plan, part)
}

fn part(plan: &BodyPlan, source: Source, description: Option<&str>) -> InputPart {
    InputPart {
        name: plan.input.clone(),
        source,
        required: plan.required,
        description: description
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        deprecated: false,
    }
}

/// A media type that can be sent, for a range of them.
fn concrete(media_type: &str, schema: Option<&Tree>) -> String {
    if !media_type.contains('*') {
        return media_type.to_owned();
    }
    let binary = schema.is_some_and(|schema| {
        let format = schema.get("format").and_then(Tree::as_str);
        format == Some("binary")
    });
    match essence(media_type).split('/').next() {
        Some("*" | "application") if !binary => "application/json".to_owned(),
        Some("text") => "text/plain".to_owned(),
        Some("multipart") => MULTIPART.to_owned(),
        _ => "application/octet-stream".to_owned(),
    }
}

fn encodings(at: &At<'_>) -> IndexMap<String, Encoding> {
    at.entries()
        .map(|(name, entry)| {
            let style = entry.string("style").and_then(Style::from_word);
            let explode = match entry.get("explode").map(|at| at.value) {
                Some(Tree::Bool(explode)) => Some(*explode),
                _ => style.map(Style::default_explode),
            };
            let encoding = Encoding {
                content_type: entry.string("contentType").map(str::to_owned),
                style,
                explode,
                allow_reserved: entry.flag("allowReserved"),
                is_binary: false,
            };
            (name.to_owned(), encoding)
        })
        .collect()
}

/// Notes which parts of a body are binary, or that it is as a whole.
fn note_binary<'d>(document: &'d Document, schema: &At<'d>, plan: &mut BodyPlan) {
    plan.is_binary = is_binary(document, schema);
    if family(&plan.media_type) != Family::Multipart {
        return;
    }
    note_binary_parts(document, schema, plan, MAX_NESTED_ALL_OF);
}

/// How deep members of `allOf` are looked into for the parts of a body.
const MAX_NESTED_ALL_OF: usize = 8;

fn note_binary_parts<'d>(
    document: &'d Document,
    schema: &At<'d>,
    plan: &mut BodyPlan,
    depth: usize,
) {
    let Ok(schema) = document.follow(schema.clone()) else {
        return;
    };
    for (name, property) in schema.get("properties").iter().flat_map(At::entries) {
        let elements = document.follow(property.clone()).ok();
        let elements = elements.and_then(|property| property.get("items"));
        if is_binary(document, elements.as_ref().unwrap_or(&property)) {
            plan.encoding.entry(name.to_owned()).or_default().is_binary = true;
        }
    }
    if depth > 0 {
        for member in schema.get("allOf").iter().flat_map(At::items) {
            note_binary_parts(document, &member, plan, depth - 1);
        }
    }
}

fn is_binary<'d>(document: &'d Document, schema: &At<'d>) -> bool {
    let schema = document.follow(schema.clone());
    schema.is_ok_and(|schema| {
        schema.string("format") == Some("binary") || schema.string("type") == Some("file")
    })
}

/// Swagger 2.0's `in: body`.
fn of_parameter<'d>(
    document: &'d Document,
    at: &At<'d>,
    consumes: Vec<String>,
    draft: &mut Draft<'_, 'd>,
) -> Body {
    let mut plan = BodyPlan::new(consumes);
    plan.required = at.flag("required");
    let schema = at.get("schema").filter(|schema| is_schema(schema.value));
    plan.media_type = concrete(&plan.media_type, schema.as_ref().map(|at| at.value));
    let source = match schema {
        Some(schema) => source_of(document, &plan, &schema, draft),
        // Wrong, and often seen: the type beside the name.
        None if at.get("type").is_some() => Source::made(&bare_schema(at.value), at.part),
        None => Source::Unknown,
    };
    let part = part(&plan, source, at.string("description"));
    (plan, part)
}

/// Swagger 2.0's `in: formData`: the fields are folded into one object.
fn of_form<'d>(
    fields: &IndexMap<String, At<'d>>,
    consumes: &[String],
    draft: &mut Draft<'_, 'd>,
) -> Body {
    let has_file = fields
        .values()
        .any(|field| field.string("type") == Some("file"));
    let listed = |wanted: &str| consumes.iter().find(|one| essence(one) == wanted).cloned();
    let form = if has_file { None } else { listed(FORM) };
    let media_type = form
        .or_else(|| listed(MULTIPART))
        .unwrap_or_else(|| if has_file { MULTIPART } else { FORM }.to_owned());
    let mut plan = BodyPlan::new(vec![media_type.clone()]);
    plan.media_type = media_type;
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut part_index = 0;
    for (name, field) in fields {
        part_index = field.part;
        if let Some(items) = field.get("items") {
            draft.uses(items);
        }
        if field.flag("required") {
            required.push(Value::from(name.as_str()));
        }
        if field.string("type") == Some("array") {
            let format = field.string("collectionFormat").unwrap_or("csv");
            let (style, explode) = Style::from_collection_format(format, Location::Query);
            plan.encoding.insert(
                name.clone(),
                Encoding {
                    style: Some(style),
                    explode: Some(explode),
                    ..Encoding::default()
                },
            );
        }
        if field.string("type") == Some("file") {
            plan.encoding.entry(name.clone()).or_default().is_binary = true;
        }
        properties.insert(name.clone(), bare_schema(field.value));
    }
    plan.required = !required.is_empty();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    let part = part(&plan, Source::made(&schema.into(), part_index), None);
    (plan, part)
}

/// Whether the body is written in a way that has room for bytes.
pub(super) fn carries_bytes(plan: &BodyPlan) -> bool {
    !is_json(&plan.media_type)
}

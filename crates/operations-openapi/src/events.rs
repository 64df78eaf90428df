//! What a document says about the members of a stream, and what of it describes the value that a
//! caller sees.

use super::document::{At, Document};
use super::tree::Tree;
use super::version::Version;

/// The schema of an event's data, when the document's words leave no doubt. Normalising an event
/// against a schema that means something else would damage it, so doubt means no schema.
pub(super) fn of_event<'d>(document: &'d Document, described: &At<'d>) -> Option<At<'d>> {
    if let Some(item) = described.get("itemSchema") {
        return data_of_event_object(document, item);
    }
    let schema = described.get("schema")?;
    let settled = document.follow(schema.clone()).ok()?;
    // The text of the stream as a whole; the data in it may be anything.
    if settled.string("type") == Some("string") {
        return None;
    }
    (!describes_event_object(document, &settled, 2)).then_some(schema)
}

/// The schema of one line.
pub(super) fn of_line<'d>(document: &'d Document, described: &At<'d>) -> Option<At<'d>> {
    if let Some(item) = described.get("itemSchema") {
        return Some(item);
    }
    let schema = described.get("schema")?;
    let settled = document.follow(schema.clone()).ok()?;
    match settled.string("type") {
        Some("string") => None,
        // OpenAPI 3.2 describes the whole stream as an array.
        Some("array") if document.version() == Version::OpenApi32 => settled.get("items"),
        _ => Some(schema),
    }
}

/// OpenAPI 3.2's `itemSchema` describes `{ data, event, id, retry }`; the caller sees `data`, parsed
/// when it is JSON.
fn data_of_event_object<'d>(document: &'d Document, item: At<'d>) -> Option<At<'d>> {
    let event = document.follow(item).ok()?;
    let data = document
        .follow(event.get("properties")?.get("data")?)
        .ok()?;
    if let Some(content) = data.get("contentSchema") {
        return Some(content);
    }
    let kind = data.value.get("type");
    (kind.is_some() && kind.and_then(Tree::as_str) != Some("string")).then_some(data)
}

/// Whether the schema, or one of its alternatives down to so many levels of them, has both `event` and
/// `data`: it may then describe the event itself or a payload of that form, and there is no way to know which.
fn describes_event_object<'d>(document: &'d Document, schema: &At<'d>, levels: u32) -> bool {
    let names = schema.get("properties");
    if names.is_some_and(|names| names.get("event").is_some() && names.get("data").is_some()) {
        return true;
    }
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    ["oneOf", "anyOf"]
        .iter()
        .filter_map(|keyword| schema.get(keyword))
        .any(|list| {
            list.items().take(64).any(|variant| {
                document
                    .follow(variant)
                    .is_ok_and(|variant| describes_event_object(document, &variant, below))
            })
        })
}

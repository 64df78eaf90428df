//! Completions: what an argument of a prompt, or a variable of an address, could be.

use bytes::Bytes;
use operations_core::json::Object;
use serde_json::{Map, Value, json};

use super::catalog::{Catalog, Source};
use super::message::{INVALID_PARAMS, Refusal};
use super::request::RequestContext;
use crate::service::Shared;

/// The most that one answer may have.
const MOST: usize = 100;

pub(super) async fn complete(
    shared: &Shared,
    catalog: &Catalog,
    context: &RequestContext,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    let wrong = |message: &str| Refusal::new(INVALID_PARAMS, message);
    let reference = params
        .object("ref")
        .ok_or_else(|| wrong("\"ref\" must be an object"))?;
    let argument = params
        .object("argument")
        .ok_or_else(|| wrong("\"argument\" must be an object"))?;
    let (Some(name), Some(begun)) = (argument.string("name"), argument.string("value")) else {
        return Err(wrong("\"argument\" must have a name and a value"));
    };
    let found = match reference.string("type").as_deref() {
        Some("ref/prompt") => {
            let prompt = reference
                .string("name")
                .and_then(|name| catalog.prompt(&name));
            prompt.map(|prompt| (&prompt.listed, &prompt.arguments))
        }
        Some("ref/resource") => {
            let template = reference
                .string("uri")
                .and_then(|uri| catalog.template(&uri));
            template.map(|resource| (&resource.listed, &resource.arguments))
        }
        _ => return Err(wrong("\"ref\" must be of type ref/prompt or ref/resource")),
    };
    let identity = context.caller.identity.as_ref();
    let found = found.filter(|(listed, _)| {
        listed.is_for(identity) && shared.calls.operation(&listed.id).is_some()
    });
    let Some((_, arguments)) = found else {
        return Err(wrong("There is no such prompt or resource template"));
    };
    let words = match arguments.completions(&name) {
        None => Vec::new(),
        Some(Source::Words(words)) => {
            let begun = begun.to_lowercase();
            let fits = |word: &String| word.to_lowercase().starts_with(&begun);
            words.into_iter().filter(fits).collect()
        }
        Some(Source::Operation(id)) => {
            let completion_context = params.object("context").unwrap_or_default();
            let others = completion_context.get("arguments").unwrap_or("{}");
            ask(shared, context, &id, &name, &begun, others).await
        }
    };
    let total = words.len();
    let values: Vec<String> = words.into_iter().take(MOST).collect();
    let completion = json!({ "values": values, "total": total, "hasMore": total > MOST });
    Ok(format!(r#"{{"completion":{completion}{}}}"#, context.about()).into())
}

/// What an operation says. Whatever goes wrong, there are no suggestions.
async fn ask(
    shared: &Shared,
    context: &RequestContext,
    id: &str,
    name: &str,
    begun: &str,
    others: &str,
) -> Vec<String> {
    let Some(operation) = shared.calls.operation(id) else {
        return Vec::new();
    };
    let others: Map<String, Value> = serde_json::from_str(others).unwrap_or_default();
    let input = json!({ "argument": name, "value": begun, "arguments": others });
    let new = context.call(&operation, Some(input.to_string()));
    let envelope = match shared.calls.call(new).await {
        Ok(done) => done.envelope,
        Err(error) => {
            shared.log_failure(&context.request_id, &error);
            return Vec::new();
        }
    };
    serde_json::from_str(envelope.data().unwrap_or("[]")).unwrap_or_default()
}

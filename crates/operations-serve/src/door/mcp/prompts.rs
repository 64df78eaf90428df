//! Prompts: operations that give messages for a model.

use std::sync::Arc;

use operations_core::envelope::ResponseEnvelope;
use operations_core::json::Object;
use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use super::interactive_call::{self, Ended};
use super::message::{INVALID_PARAMS, Refusal};
use super::request::{Reply, RequestContext};
use super::resources::{refused, unusable};
use crate::service::Shared;

pub(super) async fn get(
    shared: &Arc<Shared>,
    catalog: &Catalog,
    context: &RequestContext,
    params: &Object<'_>,
) -> Reply {
    let wrong = |message: &str| Reply::Refused(Refusal::new(INVALID_PARAMS, message));
    let Some(name) = params.string("name") else {
        return wrong("\"name\" must be a string");
    };
    let prompt = catalog.prompt(&name);
    let found =
        prompt.and_then(|prompt| Some((prompt, shared.calls.operation(&prompt.listed.id)?)));
    let Some((prompt, operation)) = found else {
        return wrong(&format!("Unknown prompt: {name}"));
    };
    let arguments = params.get("arguments").unwrap_or("{}");
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return wrong("\"arguments\" must be an object");
    };
    let input = prompt.arguments.input(arguments).to_string();
    let new = context.call(&operation, Some(input));
    let envelope = match interactive_call::call(shared, context, &name, new, params).await {
        Ok(Ended::Done(Ok(envelope))) => envelope,
        Ok(Ended::Done(Err(error))) => return refused(shared, context, error, &operation.spec),
        Ok(Ended::NeedsInput(result)) => return Reply::Result(result.into()),
        Err(refusal) => return Reply::Refused(refusal),
    };
    let Some(members) = messages(&envelope) else {
        return unusable(shared, context, &operation.spec);
    };
    Reply::Result(format!("{{{members}{}}}", context.about()).into())
}

/// The members of the result for an envelope. Data that is no list of messages is what the user says.
fn messages(envelope: &ResponseEnvelope) -> Option<String> {
    let meta = envelope.meta_members();
    let says = |content: &Value| json!({ "role": "user", "content": content });
    let text = |text: &str| says(&json!({ "type": "text", "text": text }));
    if meta.string("source").as_deref() == Some("mcp") {
        let blocks: Vec<Value> = serde_json::from_str(meta.get("content")?).ok()?;
        let messages: Vec<Value> = blocks.iter().map(says).collect();
        return Some(format!(r#""messages":{}"#, Value::Array(messages)));
    }
    let data: Value = serde_json::from_str(envelope.data()?).ok()?;
    let is_list = |value: &Value| {
        let is_message = |each: &Value| each.get("role").is_some() && each.get("content").is_some();
        value
            .as_array()
            .is_some_and(|list| list.iter().all(is_message))
    };
    if is_list(&data) {
        return Some(format!(r#""messages":{data}"#));
    }
    if let Some(list) = data.get("messages").filter(|list| is_list(list)) {
        let description = data.get("description").filter(|text| text.is_string());
        let description =
            description.map_or_else(String::new, |text| format!(r#","description":{text}"#));
        return Some(format!(r#""messages":{list}{description}"#));
    }
    let said = match &data {
        Value::String(said) => text(said),
        data => text(&data.to_string()),
    };
    Some(format!(r#""messages":[{said}]"#))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    fn of(data: &Value) -> Value {
        let envelope = json!({ "data": data, "meta": { "source": "local" } }).to_string();
        let members = messages(&envelope.into()).expect("messages");
        serde_json::from_str(&format!("{{{members}}}")).expect("JSON")
    }

    #[test]
    fn data_becomes_messages() {
        let message =
            |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
        let list = json!([message("a")]);
        assert_eq!(of(&json!("a")), json!({ "messages": list }));
        assert_eq!(of(&list), json!({ "messages": list }));
        let described = json!({ "messages": list, "description": "d" });
        assert_eq!(of(&described), described);
        assert_eq!(
            of(&json!({ "x": 1 })),
            json!({ "messages": [message("{\"x\":1}")] })
        );
    }
}

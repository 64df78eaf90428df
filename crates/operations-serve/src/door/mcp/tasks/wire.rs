//! Tasks as clients see them. The two kinds of protocol versions have different words for the same things.

use operations_core::clock;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::store::Record;
use super::{Talk, TaskOptions};
use crate::door::mcp::client_requests::input_requests;
use crate::door::mcp::message::{INTERNAL_ERROR, Refusal};
use crate::door::mcp::protocol_version::ProtocolVersion;
use crate::door::mcp::request::{RequestContext, SERVER_KEY};

const RELATED_KEY: &str = "io.modelcontextprotocol/related-task";

/// The last sign of progress as the handler gave it: a task of the protocol has a message only.
const PROGRESS_KEY: &str = "alkdev.operations/progress";

/// A task; `talk` is what its handler has said, while it is running.
pub(super) fn task(
    record: &Record,
    talk: Option<&Talk>,
    options: &TaskOptions,
    protocol: ProtocolVersion,
) -> Map<String, Value> {
    let is_asking = talk.is_some_and(|talk| !talk.open.is_empty());
    let status = if is_asking {
        "input_required"
    } else if record.is_error && protocol == ProtocolVersion::Handshake {
        // For the handshake protocol, a tool that fails fails its task; the result is there all the same.
        "failed"
    } else {
        record.status.name()
    };
    let updated = talk.map_or(record.updated, |talk| talk.updated);
    let (keep_name, poll_name) = match protocol {
        ProtocolVersion::Stateless => ("ttlMs", "pollIntervalMs"),
        ProtocolVersion::Handshake => ("ttl", "pollInterval"),
    };
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("taskId", json!(record.id.to_string()));
    add("status", json!(status));
    add("createdAt", json!(clock::iso(record.created)));
    add("lastUpdatedAt", json!(clock::iso(updated)));
    add(keep_name, whole(record.keep));
    add(poll_name, whole(options.poll));
    if let Some(message) = talk.and_then(|talk| talk.message.as_ref()) {
        add("statusMessage", json!(message));
    }
    if let Some(progress) = talk.and_then(|talk| talk.progress.as_ref()) {
        add("_meta", json!({ PROGRESS_KEY: progress }));
    }
    if let Some(talk) = talk.filter(|_| is_asking && protocol == ProtocolVersion::Stateless) {
        let open = talk.open.iter();
        let open = open.map(|(name, (_, question))| (name.as_str(), question));
        add("inputRequests", input_requests(open));
    }
    members
}

/// JSON has one kind of number, but clients check that these are whole.
fn whole(number: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "durations are not negative, and those that are too long end up as the longest"
    )]
    let number = number as u64;
    json!(number)
}

/// The members of an object, as JSON.
pub(super) fn members(members: Map<String, Value>) -> String {
    let text = Value::Object(members).to_string();
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    inner.unwrap_or_default().to_owned()
}

/// A result of the stateless protocol.
pub(super) fn result(
    mut members: Map<String, Value>,
    context: &RequestContext,
    kind: &str,
) -> String {
    members.insert("resultType".to_owned(), json!(kind));
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(SERVER_KEY.to_owned(), json!(context.server));
    }
    Value::Object(members).to_string()
}

/// The same with the result of the call, which is JSON.
pub(super) fn result_with(
    members: Map<String, Value>,
    context: &RequestContext,
    inner: &str,
) -> String {
    let mut text = result(members, context, "complete");
    text.pop();
    text.push_str(",\"result\":");
    text.push_str(inner);
    text.push('}');
    text
}

/// The result of a call as the handshake protocol has it: it says to which task it belongs.
pub(super) fn related(result: &str, id: Uuid) -> String {
    let Ok(mut whole) = serde_json::from_str::<Map<String, Value>>(result) else {
        return result.to_owned();
    };
    let meta = whole.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        let task = json!({ "taskId": id.to_string() });
        meta.insert(RELATED_KEY.to_owned(), task);
    }
    Value::Object(whole).to_string()
}

/// An error of the protocol as it is kept.
pub(super) fn error(refusal: &Refusal) -> Value {
    let mut error = json!({ "code": refusal.code, "message": refusal.message });
    if let (Some(data), Some(members)) = (&refusal.data, error.as_object_mut()) {
        members.insert("data".to_owned(), data.clone());
    }
    error
}

/// And back.
pub(super) fn refusal(error: Option<&Value>) -> Refusal {
    let member = |name: &str| error.and_then(|error| error.get(name));
    let code = member("code").and_then(Value::as_i64);
    let message = member("message").and_then(Value::as_str);
    let refusal = Refusal::new(
        code.unwrap_or(INTERNAL_ERROR),
        message.unwrap_or("The task failed"),
    );
    match member("data") {
        None => refusal,
        Some(data) => refusal.with_data(data.clone()),
    }
}

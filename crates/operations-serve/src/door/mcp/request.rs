//! What is asked for, whichever way it came.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use operations_core::error::CallError;
use operations_core::json::{self, Object};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::generation::{self, Generation, STATELESS};
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal};
use super::result::{self, Failed};
use crate::call::NewCall;
use crate::door::http::request::LEVELS_ABOVE_INPUT;
use crate::failure;
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;

/// Where the newer generation has what a server says about itself.
pub(super) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// A request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    /// A JSON object.
    pub(super) params: String,
    pub(super) generation: Generation,
    pub(super) caller: Arc<Caller>,
    pub(super) request_id: Arc<str>,
    /// Unix milliseconds.
    pub(super) deadline: Option<f64>,
    /// What handlers learn of it: a JSON object.
    pub(super) metadata: Option<String>,
    /// Where handlers tell how far they are.
    pub(super) progress: Option<mpsc::Sender<String>>,
}

/// What is said to it.
#[derive(Debug)]
pub(super) enum Reply {
    /// A result, which is JSON.
    Result(Bytes),
    /// An error of the protocol.
    Refused(Refusal),
    /// The caller may not; the result says so where there is no status for it.
    Denied(Refusal, String),
    /// Nothing.
    Silence,
}

/// What a server says about itself.
pub(super) fn server_info(door: &McpDoor) -> Value {
    json!({ "name": door.name, "version": door.version })
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true } })
}

/// Answers a request.
pub(super) async fn answer(shared: &Shared, door: &McpDoor, asked: Asked) -> Reply {
    let params = asked.params.clone();
    // It was read before.
    let params = Object::read(&params).unwrap_or_default();
    let is_stateless = asked.generation == Generation::Stateless;
    let answered = match asked.method.as_str() {
        "initialize" if !is_stateless => Ok(initialized(door, &params)),
        "ping" if !is_stateless => Ok(Bytes::from_static(b"{}")),
        "server/discover" if is_stateless => Ok(discovered(door)),
        "tools/list" => list(shared, door, &asked, &params).await,
        "tools/call" => return call(shared, door, asked, &params).await,
        method => {
            let refusal = Refusal::new(METHOD_NOT_FOUND, format!("Method not found: {method}"));
            Err(if is_stateless {
                refusal.with_status(StatusCode::NOT_FOUND)
            } else {
                refusal
            })
        }
    };
    answered.map_or_else(Reply::Refused, Reply::Result)
}

fn initialized(door: &McpDoor, params: &Object<'_>) -> Bytes {
    let mut result = json!({
        "protocolVersion": generation::agreed(params),
        "capabilities": capabilities(),
        "serverInfo": server_info(door),
    });
    instruct(&mut result, door);
    result.to_string().into()
}

fn discovered(door: &McpDoor) -> Bytes {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "capabilities": capabilities(),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_KEY: server_info(door) },
    });
    instruct(&mut result, door);
    result.to_string().into()
}

fn instruct(result: &mut Value, door: &McpDoor) {
    if let (Some(instructions), Some(result)) = (&door.instructions, result.as_object_mut()) {
        result.insert("instructions".to_owned(), json!(instructions));
    }
}

async fn list(
    shared: &Shared,
    door: &McpDoor,
    asked: &Asked,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    if params.get("cursor").is_some() {
        let message = "There is one page, and so there is no cursor";
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    let catalog = shared
        .mcp
        .catalog
        .current(shared)
        .await
        .map_err(|error| unlisted(shared, asked, &error))?;
    let about = format!(
        r#""resultType":"complete","_meta":{{"{SERVER_KEY}":{}}}"#,
        server_info(door)
    );
    let is_served = |id: &str| shared.calls.operation(id).is_some();
    let identity = asked.caller.identity.as_ref();
    Ok(catalog.list(identity, is_served, asked.generation, &about))
}

/// The operator is told why.
fn unlisted(shared: &Shared, asked: &Asked, error: &CallError) -> Refusal {
    shared.log_failure(&asked.request_id, error);
    Refusal::new(INTERNAL_ERROR, "The tools cannot be listed")
}

async fn call(shared: &Shared, door: &McpDoor, asked: Asked, params: &Object<'_>) -> Reply {
    let catalog = match shared.mcp.catalog.current(shared).await {
        Ok(catalog) => catalog,
        Err(error) => return Reply::Refused(unlisted(shared, &asked, &error)),
    };
    let refused = |message: &str| Reply::Refused(Refusal::new(INVALID_PARAMS, message));
    let Some(name) = params.string("name") else {
        return refused("\"name\" must be a string");
    };
    let tool = catalog.tool(&name);
    let found = tool.and_then(|tool| Some((tool, shared.calls.operation(&tool.id)?)));
    let Some((tool, operation)) = found else {
        return refused(&format!("Unknown tool: {name}"));
    };
    let arguments = params.get("arguments");
    if let Some(arguments) = arguments {
        if !arguments.starts_with('{') {
            return refused("\"arguments\" must be an object");
        }
        if let Err(why) = json::check_below(LEVELS_ABOVE_INPUT, arguments) {
            return refused(&format!("\"arguments\" cannot be read: {why}"));
        }
    }
    let has_identity = asked.caller.identity.is_some();
    let new = NewCall {
        operation: Arc::clone(&operation),
        input: tool.input(arguments),
        caller: asked.caller,
        request_id: Arc::clone(&asked.request_id),
        deadline: asked.deadline,
        metadata: asked.metadata,
        progress: asked.progress,
    };
    let info = (asked.generation == Generation::Stateless).then(|| server_info(door));
    let error = match shared.calls.call(new).await {
        Err(error) => error,
        Ok(envelope) => {
            let draft = result::of_envelope(
                &envelope,
                &tool.id,
                tool.output,
                asked.generation,
                &shared.options.response_headers,
            );
            match draft {
                Some(draft) => return Reply::Result(draft.finished(info.as_ref()).into()),
                // It was written by us or by the host; whatever else it were, nobody could use.
                None => CallError::new("UNKNOWN_ERROR", "The answer is no envelope"),
            }
        }
    };
    if failure::is_masked(&error) {
        shared.log_failure(&asked.request_id, &error);
    }
    match result::of_error(error, &operation.spec, has_identity) {
        Failed::Told(draft) => Reply::Result(draft.finished(info.as_ref()).into()),
        Failed::Refused(refusal) => Reply::Refused(refusal),
        Failed::Denied(refusal, draft) => Reply::Denied(refusal, draft.finished(info.as_ref())),
        Failed::Silence => Reply::Silence,
    }
}

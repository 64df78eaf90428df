//! A request to the MCP door, over HTTP or standard streams.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use operations_core::byte_budget::Held;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::trace;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::catalog::{Catalog, List};
use super::client::Abilities;
use super::client_requests::PendingRequests;
use super::logging::Level;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal};
use super::protocol_version::{self, ProtocolVersion, STATELESS};
use super::{completion, prompts, resources, spilled, tasks, tools};
use crate::call::NewCall;
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;
use operations_core::registry::{APPROVAL, Operation};

/// Where the stateless protocol has what a server says about itself.
pub(super) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The trace that a request belongs to.
pub(super) fn trace_of(params: &Object<'_>) -> Option<String> {
    trace::carried_in(&params.object("_meta")?)
}

/// A request.
#[derive(Debug)]
pub(super) struct RequestContext {
    pub(super) method: String,
    /// A JSON object.
    pub(super) params: String,
    pub(super) protocol: ProtocolVersion,
    /// The requests that the client supports.
    pub(super) client: Abilities,
    /// The log lines that it wants to see.
    pub(super) level: Option<Level>,
    /// Its progress token: JSON.
    pub(super) token: Option<String>,
    /// The session that it belongs to, where there are sessions.
    pub(super) session: Option<String>,
    pub(super) caller: Arc<Caller>,
    pub(super) request_id: Arc<str>,
    /// Unix milliseconds.
    pub(super) deadline: Option<f64>,
    /// The headers that arguments are held against, where there are headers and the client knows of them.
    pub(super) headers: Option<HeaderMap>,
    /// What handlers learn of it: a JSON object.
    pub(super) metadata: Option<String>,
    /// The trace that it belongs to: a JSON object.
    pub(super) trace: Option<String>,
    /// Messages to the client before the answer.
    pub(super) out: Option<mpsc::Sender<String>>,
    /// Where answers of the client to messages of ours are waited for.
    pub(super) client_requests: PendingRequests,
    /// What the server says about itself.
    pub(super) server: Value,
    /// What its body is counted by, also where its call outlasts it.
    pub(super) held: Option<Arc<Held>>,
}

impl RequestContext {
    /// A call of an operation, for this request.
    pub(super) fn call(&self, operation: &Arc<Operation>, input: Option<String>) -> NewCall {
        NewCall {
            operation: Arc::clone(operation),
            input,
            caller: Arc::clone(&self.caller),
            request_id: Arc::clone(&self.request_id),
            deadline: self.deadline,
            metadata: self.metadata_with_approval(),
            trace: self.trace.clone(),
            via: Some(self.via(None)),
            channel: None,
            takes_files: false,
            takes_pieces: false,
            parent_request_id: None,
            held: self.held.clone(),
        }
    }

    /// An approval that the request names takes the place of one in a header.
    fn metadata_with_approval(&self) -> Option<String> {
        // Almost none does.
        let params = (self.params.contains(APPROVAL)).then(|| Object::read(&self.params).ok());
        let meta = params.flatten().and_then(|params| params.object("_meta"));
        let Some(id) = meta.and_then(|meta| meta.string(APPROVAL)) else {
            return self.metadata.clone();
        };
        let metadata = self.metadata.as_deref().unwrap_or("{}");
        let mut metadata: Map<String, Value> = serde_json::from_str(metadata).unwrap_or_default();
        metadata.insert(APPROVAL.to_owned(), Value::String(id));
        Some(Value::Object(metadata).to_string())
    }

    /// How a call came, as JSON. `tool` is its name, where the client has called one.
    pub(super) fn via(&self, tool: Option<&str>) -> String {
        let transport = if self.metadata.is_some() {
            "tcp"
        } else {
            "pipe"
        };
        let method = &self.method;
        json!({ "door": "mcp", "method": method, "transport": transport, "tool": tool }).to_string()
    }

    /// What results have in this protocol version: `_meta` and what else belongs to it, as members of an object that has others.
    pub(super) fn about(&self) -> String {
        match self.protocol {
            ProtocolVersion::Handshake => String::new(),
            ProtocolVersion::Stateless => format!(
                r#","resultType":"complete","_meta":{{"{SERVER_KEY}":{}}}"#,
                self.server
            ),
        }
    }
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

/// What clients find here.
fn capabilities(door: &McpDoor, catalog: Option<&Catalog>, protocol: ProtocolVersion) -> Value {
    let mut all = json!({ "tools": { "listChanged": true } });
    let Some(members) = all.as_object_mut() else {
        return all;
    };
    let has_prompts = catalog.is_some_and(Catalog::has_prompts);
    let has_resources = catalog.is_some_and(Catalog::has_resources);
    if has_prompts {
        members.insert("prompts".to_owned(), json!({ "listChanged": true }));
    }
    if has_resources {
        let resources = json!({ "listChanged": true, "subscribe": true });
        members.insert("resources".to_owned(), resources);
    }
    if !has_resources && catalog.is_some_and(Catalog::spills) {
        members.insert("resources".to_owned(), json!({}));
    }
    if has_prompts || has_resources {
        members.insert("completions".to_owned(), json!({}));
    }
    if protocol == ProtocolVersion::Handshake {
        members.insert("logging".to_owned(), json!({}));
    }
    if door.tasks.is_some() && catalog.is_some_and(Catalog::has_tasks) {
        match protocol {
            ProtocolVersion::Stateless => {
                let extensions = json!({ tasks::EXTENSION: {} });
                members.insert("extensions".to_owned(), extensions);
            }
            ProtocolVersion::Handshake => {
                let tasks = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
                members.insert("tasks".to_owned(), tasks);
            }
        }
    }
    all
}

/// Answers a request.
pub(super) async fn answer(shared: &Arc<Shared>, door: &McpDoor, context: RequestContext) -> Reply {
    let params = context.params.clone();
    // It was read before.
    let params = Object::read(&params).unwrap_or_default();
    let is_stateless = context.protocol == ProtocolVersion::Stateless;
    let method = context.method.as_str();
    if method == "ping" && !is_stateless {
        return Reply::Result(Bytes::from_static(b"{}"));
    }
    if method.starts_with("tasks/")
        && let Some(answered) = tasks::answer(shared, &context, &params).await
    {
        return answered.map_or_else(Reply::Refused, Reply::Result);
    }
    let known = shared.mcp.catalog.current(shared).await;
    let known = known.map(|catalogs| catalogs.view(door));
    let catalog = match &known {
        Ok(catalog) => catalog,
        // It can be greeted, even so.
        Err(_) if method == "initialize" && !is_stateless => {
            return Reply::Result(initialized(door, &params, None));
        }
        Err(error) => return Reply::Refused(unlisted(shared, &context, error)),
    };
    let answered = match method {
        "initialize" if !is_stateless => Ok(initialized(door, &params, Some(catalog))),
        "server/discover" if is_stateless => Ok(discovered(door, catalog)),
        "tools/list" => list(shared, catalog, List::Tools, &context, &params),
        "tools/call" => return tools::call(shared, catalog, &context, &params).await,
        "logging/setLevel" if !is_stateless => set_level(shared, &context, &params),
        method if method.starts_with("prompts/") && catalog.has_prompts() => match method {
            "prompts/list" => list(shared, catalog, List::Prompts, &context, &params),
            "prompts/get" => return prompts::get(shared, catalog, &context, &params).await,
            method => Err(unknown(method, is_stateless)),
        },
        // Large results are read there, whether there are other resources or not.
        "resources/read" if spilled::is_address(&params) => {
            return spilled::read(shared, &context, &params).await;
        }
        method if method.starts_with("resources/") && catalog.has_resources() => match method {
            "resources/list" => list(shared, catalog, List::Resources, &context, &params),
            "resources/templates/list" => list(shared, catalog, List::Templates, &context, &params),
            "resources/read" => return resources::read(shared, catalog, &context, &params).await,
            "resources/subscribe" if !is_stateless => {
                resources::watch(shared, catalog, &context, &params)
            }
            "resources/unsubscribe" if !is_stateless => {
                resources::unwatch(shared, &context, &params)
            }
            method => Err(unknown(method, is_stateless)),
        },
        "completion/complete" if catalog.has_prompts() || catalog.has_resources() => {
            completion::complete(shared, catalog, &context, &params).await
        }
        method => Err(unknown(method, is_stateless)),
    };
    answered.map_or_else(Reply::Refused, Reply::Result)
}

fn unknown(method: &str, is_stateless: bool) -> Refusal {
    let refusal = Refusal::new(METHOD_NOT_FOUND, format!("Method not found: {method}"));
    if is_stateless {
        refusal.with_status(StatusCode::NOT_FOUND)
    } else {
        refusal
    }
}

fn initialized(door: &McpDoor, params: &Object<'_>, catalog: Option<&Catalog>) -> Bytes {
    let mut result = json!({
        "protocolVersion": protocol_version::agreed(params),
        "capabilities": capabilities(door, catalog, ProtocolVersion::Handshake),
        "serverInfo": server_info(door),
    });
    instruct(&mut result, door);
    result.to_string().into()
}

fn discovered(door: &McpDoor, catalog: &Catalog) -> Bytes {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "capabilities": capabilities(door, Some(catalog), ProtocolVersion::Stateless),
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

fn list(
    shared: &Shared,
    catalog: &Catalog,
    list: List,
    context: &RequestContext,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    if params.get("cursor").is_some() {
        let message = "The list has one page, and no cursor";
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    let about = format!(
        r#""resultType":"complete","_meta":{{"{SERVER_KEY}":{}}}"#,
        context.server
    );
    let is_served = |id: &str| shared.calls.tool(id).is_some();
    let identity = context.caller.identity.as_ref();
    Ok(catalog.list(list, identity, is_served, context.protocol, &about))
}

fn set_level(
    shared: &Shared,
    context: &RequestContext,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    let level = params.string("level").and_then(|name| Level::read(&name));
    let level = level.ok_or_else(|| {
        let message =
            "\"level\" must be debug, info, notice, warning, error, critical, alert or emergency";
        Refusal::new(INVALID_PARAMS, message)
    })?;
    // A client without a session cannot be identified.
    if let Some(session) = &context.session {
        let sessions = &shared.mcp.sessions;
        sessions.set_level(session, context.caller.id(), level);
    }
    Ok(Bytes::from_static(b"{}"))
}

/// The reason is logged.
fn unlisted(shared: &Shared, context: &RequestContext, error: &CallError) -> Refusal {
    shared.log_failure(&context.request_id, error);
    Refusal::new(INTERNAL_ERROR, "The operations cannot be listed")
}

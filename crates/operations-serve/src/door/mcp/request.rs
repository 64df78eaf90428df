//! What is asked for, whichever way it came.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use operations_core::byte_budget::Held;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::trace;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::catalog::{Catalog, List};
use super::client::Abilities;
use super::generation::{self, Generation, STATELESS};
use super::level::Level;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal};
use super::questions::Questions;
use super::{completion, prompts, resources, spilled, tasks, tools};
use crate::call::NewCall;
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;
use operations_core::registry::Operation;

/// Where the newer generation has what a server says about itself.
pub(super) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The trace that a request belongs to.
pub(super) fn trace_of(params: &Object<'_>) -> Option<String> {
    trace::carried_in(&params.object("_meta")?)
}

/// A request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    /// A JSON object.
    pub(super) params: String,
    pub(super) generation: Generation,
    /// What the client can be asked.
    pub(super) client: Abilities,
    /// The log lines that it wants to see.
    pub(super) level: Option<Level>,
    /// Under what it wants to be told how far the call is: JSON.
    pub(super) token: Option<String>,
    /// The conversation that it belongs to, where there are any.
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
    pub(super) questions: Questions,
    /// What the server says about itself.
    pub(super) server: Value,
    /// What its body is counted by, also where its call outlasts it.
    pub(super) held: Option<Arc<Held>>,
}

impl Asked {
    /// A call of an operation, for this request.
    pub(super) fn call(&self, operation: &Arc<Operation>, input: Option<String>) -> NewCall {
        NewCall {
            operation: Arc::clone(operation),
            input,
            caller: Arc::clone(&self.caller),
            request_id: Arc::clone(&self.request_id),
            deadline: self.deadline,
            metadata: self.metadata.clone(),
            trace: self.trace.clone(),
            via: Some(self.via(None)),
            line: None,
            takes_files: false,
            takes_pieces: false,
            parent_request_id: None,
            held: self.held.clone(),
        }
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

    /// What results have in this generation: `_meta` and what else belongs to it, as members of an object that has others.
    pub(super) fn about(&self) -> String {
        match self.generation {
            Generation::Handshake => String::new(),
            Generation::Stateless => format!(
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
fn capabilities(door: &McpDoor, catalog: Option<&Catalog>, generation: Generation) -> Value {
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
    if generation == Generation::Handshake {
        members.insert("logging".to_owned(), json!({}));
    }
    if door.tasks.is_some() && catalog.is_some_and(Catalog::has_tasks) {
        match generation {
            Generation::Stateless => {
                let extensions = json!({ tasks::EXTENSION: {} });
                members.insert("extensions".to_owned(), extensions);
            }
            Generation::Handshake => {
                let tasks = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
                members.insert("tasks".to_owned(), tasks);
            }
        }
    }
    all
}

/// Answers a request.
pub(super) async fn answer(shared: &Arc<Shared>, door: &McpDoor, asked: Asked) -> Reply {
    let params = asked.params.clone();
    // It was read before.
    let params = Object::read(&params).unwrap_or_default();
    let is_stateless = asked.generation == Generation::Stateless;
    let method = asked.method.as_str();
    if method == "ping" && !is_stateless {
        return Reply::Result(Bytes::from_static(b"{}"));
    }
    if method.starts_with("tasks/")
        && let Some(answered) = tasks::answer(shared, &asked, &params).await
    {
        return answered.map_or_else(Reply::Refused, Reply::Result);
    }
    let known = shared.mcp.catalog.current(shared).await;
    let catalog = match &known {
        Ok(catalog) => catalog,
        // It can be greeted, even so.
        Err(_) if method == "initialize" && !is_stateless => {
            return Reply::Result(initialized(door, &params, None));
        }
        Err(error) => return Reply::Refused(unlisted(shared, &asked, error)),
    };
    let answered = match method {
        "initialize" if !is_stateless => Ok(initialized(door, &params, Some(catalog))),
        "server/discover" if is_stateless => Ok(discovered(door, catalog)),
        "tools/list" => list(shared, catalog, List::Tools, &asked, &params),
        "tools/call" => return tools::call(shared, catalog, &asked, &params).await,
        "logging/setLevel" if !is_stateless => set_level(shared, &asked, &params),
        method if method.starts_with("prompts/") && catalog.has_prompts() => match method {
            "prompts/list" => list(shared, catalog, List::Prompts, &asked, &params),
            "prompts/get" => return prompts::get(shared, catalog, &asked, &params).await,
            method => Err(unknown(method, is_stateless)),
        },
        // Large results are read there, whether there are other resources or not.
        "resources/read" if spilled::is_address(&params) => {
            return spilled::read(shared, &asked, &params).await;
        }
        method if method.starts_with("resources/") && catalog.has_resources() => match method {
            "resources/list" => list(shared, catalog, List::Resources, &asked, &params),
            "resources/templates/list" => list(shared, catalog, List::Templates, &asked, &params),
            "resources/read" => return resources::read(shared, catalog, &asked, &params).await,
            "resources/subscribe" if !is_stateless => {
                resources::watch(shared, catalog, &asked, &params)
            }
            "resources/unsubscribe" if !is_stateless => resources::unwatch(shared, &asked, &params),
            method => Err(unknown(method, is_stateless)),
        },
        "completion/complete" if catalog.has_prompts() || catalog.has_resources() => {
            completion::complete(shared, catalog, &asked, &params).await
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
        "protocolVersion": generation::agreed(params),
        "capabilities": capabilities(door, catalog, Generation::Handshake),
        "serverInfo": server_info(door),
    });
    instruct(&mut result, door);
    result.to_string().into()
}

fn discovered(door: &McpDoor, catalog: &Catalog) -> Bytes {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "capabilities": capabilities(door, Some(catalog), Generation::Stateless),
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
    asked: &Asked,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    if params.get("cursor").is_some() {
        let message = "There is one page, and so there is no cursor";
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    let about = format!(
        r#""resultType":"complete","_meta":{{"{SERVER_KEY}":{}}}"#,
        asked.server
    );
    let is_served = |id: &str| shared.calls.tool(id).is_some();
    let identity = asked.caller.identity.as_ref();
    Ok(catalog.list(list, identity, is_served, asked.generation, &about))
}

fn set_level(shared: &Shared, asked: &Asked, params: &Object<'_>) -> Result<Bytes, Refusal> {
    let level = params.string("level").and_then(|name| Level::read(&name));
    let level = level.ok_or_else(|| {
        let message =
            "\"level\" must be debug, info, notice, warning, error, critical, alert or emergency";
        Refusal::new(INVALID_PARAMS, message)
    })?;
    // A client without a session cannot be told from others.
    if let Some(session) = &asked.session {
        let sessions = &shared.mcp.sessions;
        sessions.set_level(session, asked.caller.id(), level);
    }
    Ok(Bytes::from_static(b"{}"))
}

/// The operator is told why.
fn unlisted(shared: &Shared, asked: &Asked, error: &CallError) -> Refusal {
    shared.log_failure(&asked.request_id, error);
    Refusal::new(INTERNAL_ERROR, "The operations cannot be listed")
}

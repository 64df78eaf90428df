//! `GET /ready`: whether every source that the operations need is usable. Those who start and stop the process need no more
//! than the status; which source is not usable is for operators.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use operations_core::error::CallError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use crate::body::{self, Body};
use crate::js_bridge::Expect;
use crate::service::Shared;

/// How long JavaScript may take to answer. A server whose JavaScript is busy for longer is not ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// A source of operations: an MCP server, a connection to peers, an HTTP service.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Source {
    kind: String,
    name: String,
    state: String,
    is_usable: bool,
}

/// Answers a request for `/ready`.
pub(crate) async fn answer(shared: &Arc<Shared>, head: &Parts) -> Response<Body> {
    let (is_ready, mut answer) = state(shared).await;
    if !shared.is_operator(head).await {
        answer = json!({ "status": answer.get("status") });
    }
    let mut response = Response::new(body::full(answer.to_string()));
    if !is_ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn state(shared: &Arc<Shared>) -> (bool, Value) {
    if shared.closing.is_cancelled() {
        return (false, json!({ "status": "closing" }));
    }
    match timeout(PATIENCE, sources(shared)).await {
        Ok(Ok(mut sources)) => {
            sources.extend(shared.calls.open_breakers().map(|(kind, name)| Source {
                kind,
                name,
                state: "circuit-open".to_owned(),
                is_usable: false,
            }));
            let unusable: Vec<Value> = sources
                .iter()
                .filter(|source| !source.is_usable)
                .map(|source| json!({ "kind": source.kind, "name": source.name, "state": source.state }))
                .collect();
            let is_ready = unusable.is_empty();
            let status = if is_ready { "ready" } else { "not-ready" };
            let answer =
                json!({ "status": status, "sources": sources.len(), "unusable": unusable });
            (is_ready, answer)
        }
        Ok(Err(_)) | Err(_) => (false, json!({ "status": "busy" })),
    }
}

/// The sources that operations need, each with its state.
pub(crate) async fn sources(shared: &Shared) -> Result<Vec<Source>, CallError> {
    let id: Arc<str> = Uuid::new_v4().to_string().into();
    let question = |_: &str| json!({ "sources": true }).to_string();
    let answers = shared
        .js
        .request(&id, "the sources", Expect::One, None, question)?;
    let answer = answers.first().await?;
    serde_json::from_str(&answer).map_err(|error| CallError::unknown(error.to_string()))
}

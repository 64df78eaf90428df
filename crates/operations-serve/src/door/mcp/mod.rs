//! The Model Context Protocol over HTTP: each message is a POST. Nothing is kept between requests: what an older client gets
//! as its session is a name that separates it from others, so that it can cancel its own calls.

mod cancellation;
mod catalog;
mod client;
mod client_requests;
mod completion;
mod events;
mod interactive_call;
mod logging;
mod message;
mod notifications;
mod progress;
mod prompts;
mod protocol_version;
mod request;
mod resources;
mod result;
mod resumable;
mod running_call;
mod seal;
mod session;
mod spilled;
pub mod stdio;
mod streamable_http;
mod tasks;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use operations_core::byte_budget::{Share, exhausted};
use operations_core::error::CallError;
use tokio::sync::broadcast;
use tokio::time::timeout;

use self::cancellation::RunningCalls;
use self::client_requests::PendingRequests;
use self::message::{INTERNAL_ERROR, INVALID_REQUEST, Refusal};
use self::notifications::{Audience, Watcher};
use self::protocol_version::STATELESS;
use self::request::Reply;
pub use self::resumable::ResumeOptions;
use self::resumable::{Streams, Whose};
use self::seal::Seal;
use self::session::Sessions;
pub use self::tasks::TaskOptions;
use self::tasks::Tasks;
use crate::body::{self, Body};
use crate::challenge;
use crate::description_cache::Cached;
use crate::door::http::problem;
use crate::options::McpDoor;
use crate::service::{Answered, Closed, Exchange, Shared, overloaded};

/// Whether an operation can be a resource at this address, which may have variables.
#[must_use]
pub fn is_resource_uri(uri: &str) -> bool {
    catalog::is_resource_uri(uri)
}

const SESSION_HEADER: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// How long a server that closes waits for the ends of its tasks to be stored.
const STORE_TIME: Duration = Duration::from_secs(5);
/// Updated resources that a slow client was not notified of yet.
const WAITING_UPDATES: usize = 1_024;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    catalog: Cached<catalog::Catalogs>,
    running: RunningCalls,
    sessions: Sessions,
    client_requests: PendingRequests,
    seal: Seal,
    /// Streams that clients may come back to.
    streams: Streams,
    /// Calls that outlast their requests, where they are served.
    tasks: Option<Tasks>,
    updates: broadcast::Sender<Arc<str>>,
}

impl State {
    /// Nothing is known at first.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub(crate) fn new(door: Option<&McpDoor>) -> Result<Self, CallError> {
        Ok(Self {
            catalog: Cached::default(),
            running: RunningCalls::default(),
            sessions: Sessions::default(),
            client_requests: PendingRequests::default(),
            streams: Streams::default(),
            seal: Seal::new(door.and_then(|door| door.state_key.as_deref()))?,
            tasks: door
                .and_then(|door| door.tasks.clone())
                .map(Tasks::new)
                .transpose()?,
            updates: broadcast::Sender::new(WAITING_UPDATES),
        })
    }

    /// Waits until the ends of tasks are stored, but not for a store that does not answer.
    pub(crate) async fn close(&self) {
        if let Some(tasks) = &self.tasks {
            let _ = timeout(STORE_TIME, tasks.stored()).await;
        }
    }

    /// A resource has changed: its subscribers are notified.
    pub(crate) fn resource_updated(&self, uri: &str) {
        // There may be no subscriber.
        let _ = self.updates.send(uri.into());
    }
}

/// Answers a request.
pub(crate) async fn serve(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Answered {
    match exchange.head.method {
        Method::POST => streamable_http::post(shared, door, exchange).await,
        Method::GET => Ok(get(shared, door, exchange).await),
        Method::DELETE => Ok(delete(shared, &exchange)),
        _ => Ok(wrong_method(&exchange.request_id)),
    }
}

fn wrong_method(request_id: &str) -> Response<Body> {
    let mut response = problem::wrong_method("POST", request_id);
    let allowed = HeaderValue::from_static("POST, GET, DELETE");
    response.headers_mut().insert(ALLOW, allowed);
    response
}

/// The stream on which older clients get notifications and requests.
async fn get(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Response<Body> {
    let Exchange {
        head,
        caller,
        request_id,
        ..
    } = exchange;
    let headers = &head.headers;
    let is_stateless = headers
        .get("mcp-protocol-version")
        .is_some_and(|version| version == STATELESS);
    if is_stateless || !accepts(headers, "text/event-stream") {
        return wrong_method(&request_id);
    }
    let session = session_of(headers);
    if is_over(shared, session.as_deref(), caller.id()) {
        return gone(None);
    }
    let last_event = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
    let permit = match shared.calls.stream_permit("", &caller).await {
        Ok(permit) => permit,
        Err(error) => return overloaded(&error, &request_id),
    };
    if let (Some(options), Some(last_event), Some(session)) = (&door.resume, last_event, &session) {
        let whose = Whose {
            session: session.clone(),
            caller: caller.id().to_owned(),
        };
        let resumed = shared
            .mcp
            .streams
            .resume(&whose, last_event, options, permit);
        return resumed.unwrap_or_else(|| {
            let message = "This stream cannot be resumed: it is over, or never existed";
            let refusal = Refusal::new(INVALID_REQUEST, message);
            refused(None, &refusal.with_status(StatusCode::BAD_REQUEST))
        });
    }
    let watcher = Watcher::new(shared, door, &caller, Audience::Session(session));
    events::announcing(watcher, shared.closing.clone(), permit)
}

/// Whether a session of this name cannot exist, or has ended.
fn is_over(shared: &Shared, session: Option<&str>, caller: &str) -> bool {
    session.is_some_and(|session| {
        session::is_too_long(session) || shared.mcp.sessions.is_over(session, caller)
    })
}

/// The error for a session that has ended.
fn gone(id: Option<&str>) -> Response<Body> {
    let refusal = Refusal::new(
        INVALID_REQUEST,
        "This session is over. Begin with initialize",
    );
    refused(id, &refusal.with_status(StatusCode::NOT_FOUND))
}

/// An older client ends its session.
fn delete(shared: &Shared, exchange: &Exchange) -> Response<Body> {
    let caller = exchange.caller.id();
    if let Some(session) = session_of(&exchange.head.headers) {
        if session::is_too_long(&session) {
            return gone(None);
        }
        shared.mcp.running.cancel_all(&session, caller);
        shared.mcp.sessions.end(&session, caller);
    }
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION_HEADER)?.to_str().ok()?;
    Some(session.to_owned())
}

/// Whether a client takes this type.
fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let group = media_type.split('/').next().unwrap_or_default();
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim());
    ranges.any(|range| {
        range.eq_ignore_ascii_case(media_type)
            || range == "*/*"
            || range
                .strip_suffix("/*")
                .is_some_and(|prefix| prefix.eq_ignore_ascii_case(group))
    })
}

/// A reply on a stream, unless it cannot be held until it is sent.
fn bounded(reply: Reply, share: &Arc<Share>) -> Reply {
    match reply {
        Reply::Result(result) if share.try_hold(result.len()).is_none() => {
            let message = exhausted("unknown").message;
            Reply::Refused(Refusal::new(INTERNAL_ERROR, message))
        }
        reply => reply,
    }
}

fn reply_text(id: &str, reply: Reply) -> Option<String> {
    match reply {
        Reply::Result(result) => Some(message::result(id, &String::from_utf8_lossy(&result))),
        Reply::Refused(refusal) | Reply::Denied(refusal, _) => {
            Some(message::error(Some(id), &refusal))
        }
        Reply::Silence => None,
    }
}

/// The same in parts, so that what others have too is not copied: a list is as large as all tools together.
fn reply_parts(id: &str, reply: Reply) -> Option<Vec<Bytes>> {
    match reply {
        Reply::Result(result) if !result.is_unique() => Some(vec![
            Bytes::from(message::result_head(id)),
            result,
            Bytes::from_static(b"}"),
        ]),
        reply => reply_text(id, reply).map(|text| vec![Bytes::from(text)]),
    }
}

fn plain_answer(id: &str, reply: Reply) -> Answered {
    match reply {
        Reply::Refused(refusal) | Reply::Denied(refusal, _) => {
            let mut response = refused(Some(id), &refusal);
            if refusal.status == StatusCode::FORBIDDEN {
                let missing = challenge::missing_scopes(refusal.data.as_ref());
                response.extensions_mut().insert(missing);
            }
            Ok(response)
        }
        reply => match reply_parts(id, reply) {
            Some(parts) => Ok(json_response(StatusCode::OK, body::parts(parts))),
            None => Err(Closed),
        },
    }
}

fn refused(id: Option<&str>, refusal: &Refusal) -> Response<Body> {
    json_response(refusal.status, body::full(message::error(id, refusal)))
}

fn json_response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn accepted() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

//! The Model Context Protocol over HTTP: each message is a POST. Nothing is kept between requests: what an older client gets
//! as its session is a name that tells it apart from others, so that it can cancel its own calls.

mod catalog;
mod changes;
mod client;
mod completion;
mod dialogue;
mod events;
mod generation;
mod level;
mod message;
mod progress;
mod prompts;
mod questions;
mod request;
mod resources;
mod result;
mod resumable;
mod running;
mod seal;
mod session;
mod spilled;
pub mod stdio;
mod tasks;
mod tools;
mod underway;

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_http::message::mirrored::PREFIX;
use tokio::sync::{broadcast, mpsc};

use self::changes::{Audience, Subscription, Watcher};
use self::client::Abilities;
use self::generation::{Generation, STATELESS};
use self::message::{INVALID_REQUEST, Kind, Message, PARSE_ERROR, Refusal};
use self::questions::Questions;
use self::request::{Asked, Reply};
pub use self::resumable::ResumeOptions;
use self::resumable::{Streams, Whose};
use self::running::{Key, Running};
use self::seal::Seal;
use self::session::Sessions;
pub use self::tasks::TaskOptions;
use self::tasks::Tasks;
use crate::body::{self, Body};
use crate::challenge;
use crate::described::Kept;
use crate::door::http::{problem, request as plain};
use crate::options::McpDoor;
use crate::service::{Answered, Closed, Exchange, Shared};

const SESSION_HEADER: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// The revision whose clients come back to a stream.
const RESUMABLE: &str = "2025-11-25";
/// Messages before an answer that wait to be sent; more are left out.
const WAITING_MESSAGES: usize = 64;
/// Resources that were said to be others, and that a slow client has not heard of yet.
const WAITING_UPDATES: usize = 1_024;
/// The most messages of a batch that are worked on at a time.
const BATCH_AT_ONCE: usize = 16;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    catalog: Kept<catalog::Catalog>,
    running: Running,
    sessions: Sessions,
    questions: Questions,
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
            catalog: Kept::default(),
            running: Running::default(),
            sessions: Sessions::default(),
            questions: Questions::default(),
            streams: Streams::default(),
            seal: Seal::new(door.and_then(|door| door.state_key.as_deref()))?,
            tasks: door
                .and_then(|door| door.tasks.clone())
                .map(Tasks::new)
                .transpose()?,
            updates: broadcast::Sender::new(WAITING_UPDATES),
        })
    }

    /// A resource is another: whoever watches it is told.
    pub(crate) fn resource_updated(&self, uri: &str) {
        // Nobody may be watching.
        let _ = self.updates.send(uri.into());
    }
}

/// Answers a request.
pub(crate) async fn serve(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Answered {
    match exchange.head.method {
        Method::POST => post(shared, door, exchange).await,
        Method::GET => Ok(get(shared, door, &exchange)),
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

/// The stream on which older clients hear what they have not asked for.
fn get(shared: &Arc<Shared>, door: &McpDoor, exchange: &Exchange) -> Response<Body> {
    let headers = &exchange.head.headers;
    let is_stateless = headers
        .get("mcp-protocol-version")
        .is_some_and(|version| version == STATELESS);
    if is_stateless || !accepts(headers, "text/event-stream") {
        return wrong_method(&exchange.request_id);
    }
    let session = session_of(headers);
    if is_over(shared, session.as_deref(), exchange.caller.id()) {
        return gone(None);
    }
    let last_event = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
    if let (Some(options), Some(last_event), Some(session)) = (&door.resume, last_event, &session) {
        let whose = Whose {
            session: session.clone(),
            caller: exchange.caller.id().to_owned(),
        };
        let resumed = shared.mcp.streams.resume(&whose, last_event, options);
        return resumed.unwrap_or_else(|| {
            let message = "This stream cannot be resumed: it is over, or was never there";
            let refusal = Refusal::new(INVALID_REQUEST, message);
            refused(None, &refusal.with_status(StatusCode::BAD_REQUEST))
        });
    }
    let watcher = Watcher::new(shared, &exchange.caller, Audience::Session(session));
    events::announcing(watcher, shared.closing.clone())
}

/// Whether nobody can have a session of this name, or not any more.
fn is_over(shared: &Shared, session: Option<&str>, caller: &str) -> bool {
    session.is_some_and(|session| {
        session::is_too_long(session) || shared.mcp.sessions.is_over(session, caller)
    })
}

/// What is said to a client that has said goodbye before.
fn gone(id: Option<&str>) -> Response<Body> {
    let refusal = Refusal::new(
        INVALID_REQUEST,
        "This session is over. Begin with initialize",
    );
    refused(id, &refusal.with_status(StatusCode::NOT_FOUND))
}

/// An older client says goodbye.
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

/// Those of the headers that are arguments too.
fn mirrored(headers: &HeaderMap) -> HeaderMap {
    let is_one = |name: &HeaderName| name.as_str().starts_with(PREFIX);
    let all = headers.iter().filter(|(name, _)| is_one(name));
    let mut found = HeaderMap::new();
    for (name, value) in all {
        found.append(name, value.clone());
    }
    found
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

/// What is the same for all messages of a request.
struct Origin {
    shared: Arc<Shared>,
    door: McpDoor,
    headers: HeaderMap,
    caller: Arc<crate::identity::Caller>,
    request_id: Arc<str>,
    deadline: Option<f64>,
}

async fn post(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Answered {
    let Exchange {
        head,
        body,
        request_id,
        caller,
        deadline,
    } = exchange;
    let headers = head.headers;
    // A page may send a text without asking; only with this type does its browser ask us first.
    if !plain::is_json(&headers) {
        return Ok(problem::wrong_type(&request_id));
    }
    if headers.contains_key(ACCEPT) && !accepts(&headers, "application/json") {
        let refusal = Refusal::new(
            INVALID_REQUEST,
            "Answers are application/json or text/event-stream, and both must be accepted",
        );
        return Ok(refused(
            None,
            &refusal.with_status(StatusCode::NOT_ACCEPTABLE),
        ));
    }
    let (most, within) = (
        shared.options.max_body_bytes,
        shared.options.request_timeout,
    );
    let bytes = match body::read(body, most, within).await {
        Ok(bytes) => bytes,
        Err(why) => return Ok(problem::unread(why, most, &request_id)),
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let refusal = Refusal::new(PARSE_ERROR, "The message is not UTF-8");
        return Ok(refused(None, &refusal.with_status(StatusCode::BAD_REQUEST)));
    };
    let origin = Origin {
        shared: Arc::clone(shared),
        door: door.clone(),
        headers,
        caller,
        request_id,
        deadline,
    };
    if text.trim_start().starts_with('[') {
        return Ok(origin.batch(text).await);
    }
    origin.single(text).await
}

impl Origin {
    async fn single(&self, text: &str) -> Answered {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(refusal) => return Ok(refused(None, &refusal)),
        };
        let session = session_of(&self.headers);
        let is_over = is_over(&self.shared, session.as_deref(), self.caller.id());
        let params = message.params;
        let (id, method) = match message.kind {
            _ if is_over => return Ok(gone(None)),
            Kind::Answer { id, result, error } => {
                self.answered(id, result, error);
                return Ok(accepted());
            }
            Kind::Notification { method } => {
                self.notified(&method, &params);
                return Ok(accepted());
            }
            Kind::Request { id, method } => (id, method),
        };
        let generation = match generation::of(&method, &params, Some(&self.headers)) {
            Ok(generation) => generation,
            Err(refusal) => return Ok(refused(Some(id), &refusal)),
        };
        if method == "subscriptions/listen" && generation == Generation::Stateless {
            return Ok(match Subscription::read(id, &params) {
                Ok(subscription) => self.listening(subscription),
                Err(refusal) => refused(Some(id), &refusal),
            });
        }
        let is_greeting = method == "initialize" && generation == Generation::Handshake;
        let (say, messages) = mpsc::channel(WAITING_MESSAGES);
        let out = accepts(&self.headers, "text/event-stream").then_some(say);
        let asked = self.asked(method, &params, params_text(text), generation, out);
        let may_be_told = asked.out.is_some()
            && (asked.token.is_some() || asked.level.is_some() || asked.client.any());
        let resumable = asked
            .out
            .is_some()
            .then(|| self.resumable(&asked))
            .flatten();
        let work = self.work(id, asked);
        let mut response = if let Some((options, whose)) = resumable {
            resumable::telling(&self.shared, options, whose, id, work, messages).await?
        } else if may_be_told {
            events::telling(id, work, messages).await?
        } else {
            plain_answer(id, work.await)?
        };
        if is_greeting {
            let capabilities = params.object("capabilities");
            let name = session::name(Abilities::read(capabilities.as_ref()));
            if let Ok(name) = HeaderValue::try_from(name) {
                response.headers_mut().insert(SESSION_HEADER, name);
            }
        }
        Ok(response)
    }

    /// How the stream of a call can be resumed, if it can: earlier revisions do not know of it, and later ones have tasks.
    fn resumable(&self, asked: &Asked) -> Option<(&ResumeOptions, Whose)> {
        let options = self.door.resume.as_ref()?;
        let session = asked.session.clone()?;
        let version = self.headers.get("mcp-protocol-version")?;
        let is_known = asked.method == "tools/call" && version == RESUMABLE;
        is_known.then(|| {
            let caller = self.caller.id().to_owned();
            (options, Whose { session, caller })
        })
    }

    fn listening(&self, subscription: Subscription) -> Response<Body> {
        let audience = Audience::Subscription(subscription);
        let watcher = Watcher::new(&self.shared, &self.caller, audience);
        events::announcing(watcher, self.shared.closing.clone())
    }

    fn asked(
        &self,
        method: String,
        params: &Object<'_>,
        text: String,
        generation: Generation,
        out: Option<mpsc::Sender<String>>,
    ) -> Asked {
        let allowed = &self.shared.options.request_headers;
        let session = session_of(&self.headers);
        let (client, level) = match (generation, &session) {
            (Generation::Stateless, _) => {
                let level = client::level_of_request(params);
                (Abilities::of_request(params), level)
            }
            (Generation::Handshake, None) => (Abilities::default(), None),
            (Generation::Handshake, Some(session)) => {
                let level = self.shared.mcp.sessions.level(session, self.caller.id());
                (session::abilities(session), level)
            }
        };
        Asked {
            method,
            params: text,
            generation,
            client,
            level,
            token: progress::token(params),
            session,
            caller: Arc::clone(&self.caller),
            request_id: Arc::clone(&self.request_id),
            deadline: self.deadline,
            headers: (generation == Generation::Stateless).then(|| mirrored(&self.headers)),
            metadata: Some(plain::metadata(&self.headers, allowed)),
            trace: request::trace_of(params).or_else(|| plain::trace(&self.headers)),
            out,
            questions: self.shared.mcp.questions.clone(),
            server: request::server_info(&self.door),
        }
    }

    /// A client answers a question of ours.
    fn answered(&self, id: &str, result: Option<&str>, error: Option<&str>) {
        if let Some(key) = self.key(id) {
            self.shared.mcp.questions.answered(&key, result, error);
        }
    }

    /// The work on a request, which its client may cancel.
    fn work(&self, id: &str, asked: Asked) -> BoxFuture<'static, Reply> {
        let (shared, door) = (Arc::clone(&self.shared), self.door.clone());
        // Whoever has no session goes away to cancel a call.
        let entry = self.key(id).map(|key| shared.mcp.running.begin(key));
        async move {
            let answer = request::answer(&shared, &door, asked);
            match entry {
                None => answer.await,
                Some(entry) => tokio::select! {
                    biased;
                    () = entry.cancel.cancelled() => Reply::Silence,
                    reply = answer => reply,
                },
            }
        }
        .boxed()
    }

    fn key(&self, id: &str) -> Option<Key> {
        Some(Key {
            session: session_of(&self.headers)?,
            caller: self.caller.id().to_owned(),
            id: id.to_owned(),
        })
    }

    fn notified(&self, method: &str, params: &Object<'_>) {
        if method == "notifications/cancelled"
            && let Some(key) = params.get("requestId").and_then(|id| self.key(id))
        {
            self.shared.mcp.running.cancel(&key);
        }
    }

    /// Several messages at once, as revision 2025-03-26 has them.
    async fn batch(&self, text: &str) -> Response<Body> {
        let session = session_of(&self.headers);
        if is_over(&self.shared, session.as_deref(), self.caller.id()) {
            return gone(None);
        }
        let messages = match message::batch(text) {
            Ok(messages) => messages,
            Err(refusal) => return refused(None, &refusal),
        };
        let answering: Vec<BoxFuture<'_, Option<String>>> = messages
            .into_iter()
            .map(|text| self.of_batch(text).boxed())
            .collect();
        let answers: Vec<Option<String>> = stream::iter(answering)
            .buffered(BATCH_AT_ONCE)
            .collect()
            .await;
        let answers: Vec<String> = answers.into_iter().flatten().collect();
        if answers.is_empty() {
            return accepted();
        }
        json_response(StatusCode::OK, format!("[{}]", answers.join(",")))
    }

    async fn of_batch(&self, text: &str) -> Option<String> {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(refusal) => return Some(message::error(None, &refusal)),
        };
        let (id, method) = match message.kind {
            Kind::Answer { id, result, error } => {
                self.answered(id, result, error);
                return None;
            }
            Kind::Notification { method } => {
                self.notified(&method, &message.params);
                return None;
            }
            Kind::Request { id, method } => (id, method),
        };
        let generation = generation::of(&method, &message.params, Some(&self.headers));
        let refusal = match generation {
            Ok(Generation::Handshake) if method != "initialize" => {
                let params = &message.params;
                let text = params_text(text);
                let asked = self.asked(method, params, text, Generation::Handshake, None);
                return reply_text(id, self.work(id, asked).await);
            }
            Ok(_) => Refusal::new(INVALID_REQUEST, format!("{method} cannot be in a batch")),
            Err(refusal) => refusal,
        };
        Some(message::error(Some(id), &refusal))
    }
}

/// The parameters of a message that was read.
fn params_text(text: &str) -> String {
    let params = Object::read(text).ok();
    let params = params.and_then(|message| message.get("params"));
    params.unwrap_or("{}").to_owned()
}

/// An answer as one message; nothing where there is none. A denial is an error here, as it is over HTTP.
fn reply_text(id: &str, reply: Reply) -> Option<String> {
    match reply {
        Reply::Result(result) => Some(message::result(id, &String::from_utf8_lossy(&result))),
        Reply::Refused(refusal) | Reply::Denied(refusal, _) => {
            Some(message::error(Some(id), &refusal))
        }
        Reply::Silence => None,
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
        reply => match reply_text(id, reply) {
            Some(text) => Ok(json_response(StatusCode::OK, text)),
            None => Err(Closed),
        },
    }
}

fn refused(id: Option<&str>, refusal: &Refusal) -> Response<Body> {
    json_response(refusal.status, message::error(id, refusal))
}

fn json_response(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(body::full(text));
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

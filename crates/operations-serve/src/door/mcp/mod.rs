//! The Model Context Protocol over HTTP: each message is a POST. Nothing is kept between requests: what an older client gets
//! as its session is a name that tells it apart from others, so that it can cancel its own calls.

mod catalog;
mod changes;
mod generation;
mod message;
mod progress;
mod request;
mod result;
mod running;
pub mod stdio;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use operations_core::json::Object;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use self::changes::Subscription;
use self::generation::{Generation, STATELESS};
use self::message::{INVALID_REQUEST, Kind, Message, PARSE_ERROR, Refusal};
use self::request::{Asked, Reply};
use self::running::{Key, Running};
use crate::body::{self, Body};
use crate::challenge;
use crate::door::http::{problem, request as plain};
use crate::options::McpDoor;
use crate::service::{Answered, Closed, Exchange, Shared};

const SESSION_HEADER: &str = "mcp-session-id";
/// Silence after which a comment is sent: what is in between ends connections on which nothing happens.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Signs of progress that wait to be sent; more are left out.
const WAITING_NOTES: usize = 64;
/// The most messages of a batch that are worked on at a time.
const BATCH_AT_ONCE: usize = 16;

/// What all requests share.
#[derive(Debug, Default)]
pub(crate) struct State {
    catalog: catalog::Kept,
    running: Running,
}

/// Answers a request.
pub(crate) async fn serve(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Answered {
    match exchange.head.method {
        Method::POST => post(shared, door, exchange).await,
        Method::GET => Ok(get(shared, &exchange)),
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
fn get(shared: &Arc<Shared>, exchange: &Exchange) -> Response<Body> {
    let headers = &exchange.head.headers;
    let is_stateless = headers
        .get("mcp-protocol-version")
        .is_some_and(|version| version == STATELESS);
    if is_stateless || !accepts(headers, "text/event-stream") {
        return wrong_method(&exchange.request_id);
    }
    announcing(shared, None)
}

/// An older client says goodbye.
fn delete(shared: &Shared, exchange: &Exchange) -> Response<Body> {
    let session = session_of(&exchange.head.headers).unwrap_or_default();
    let running = &shared.mcp.running;
    running.cancel_all(&session, exchange.caller.id());
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
        let params = message.params;
        let (id, method) = match message.kind {
            Kind::Answer => return Ok(accepted()),
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
                Ok(subscription) => announcing(&self.shared, Some(subscription)),
                Err(refusal) => refused(Some(id), &refusal),
            });
        }
        let is_greeting = method == "initialize" && generation == Generation::Handshake;
        let token =
            progress::token(&params).filter(|_| accepts(&self.headers, "text/event-stream"));
        let (tell, notes) = mpsc::channel(WAITING_NOTES);
        let progress = token.is_some().then_some(tell);
        let asked = self.asked(method, &params_text(text), generation, progress);
        let work = self.work(id, asked);
        let mut response = match token {
            None => plain_answer(id, work.await)?,
            Some(token) => telling(id, work, token, notes).await?,
        };
        if is_greeting && let Ok(name) = HeaderValue::try_from(Uuid::new_v4().to_string()) {
            response.headers_mut().insert(SESSION_HEADER, name);
        }
        Ok(response)
    }

    fn asked(
        &self,
        method: String,
        params: &str,
        generation: Generation,
        progress: Option<mpsc::Sender<String>>,
    ) -> Asked {
        let allowed = &self.shared.options.request_headers;
        Asked {
            method,
            params: params.to_owned(),
            generation,
            caller: Arc::clone(&self.caller),
            request_id: Arc::clone(&self.request_id),
            deadline: self.deadline,
            metadata: Some(plain::metadata(&self.headers, allowed)),
            progress,
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
            Kind::Answer => return None,
            Kind::Notification { method } => {
                self.notified(&method, &message.params);
                return None;
            }
            Kind::Request { id, method } => (id, method),
        };
        let generation = generation::of(&method, &message.params, Some(&self.headers));
        let refusal = match generation {
            Ok(Generation::Handshake) if method != "initialize" => {
                let asked = self.asked(method, &params_text(text), Generation::Handshake, None);
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
        Reply::Refused(refusal) => Ok(refused(Some(id), &refusal)),
        Reply::Denied(refusal, _) => {
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

/// What is left of a call whose client is told how far it is.
struct Telling {
    id: String,
    token: String,
    first: Option<String>,
    notes: mpsc::Receiver<String>,
    work: BoxFuture<'static, Reply>,
}

/// A call whose client wants to know how far it is. As long as there is nothing to tell, it is answered like any other.
async fn telling(
    id: &str,
    mut work: BoxFuture<'static, Reply>,
    token: String,
    mut notes: mpsc::Receiver<String>,
) -> Answered {
    let first = tokio::select! {
        biased;
        Some(note) = notes.recv() => Some(note),
        reply = &mut work => return plain_answer(id, reply),
        () = sleep(KEEP_ALIVE) => None,
    };
    let state = Telling {
        id: id.to_owned(),
        token,
        first,
        notes,
        work,
    };
    let pieces = stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        let note = if let Some(note) = state.first.take() {
            Some(note)
        } else {
            tokio::select! {
                biased;
                Some(note) = state.notes.recv() => Some(note),
                reply = &mut state.work => {
                    let last = reply_text(&state.id, reply).map(event);
                    return Some((last.unwrap_or_default(), None));
                }
                () = sleep(KEEP_ALIVE) => None,
            }
        };
        let piece = match note {
            None => comment(),
            Some(note) => {
                let told = progress::notification(&state.token, &note);
                told.map(event).unwrap_or_default()
            }
        };
        Some((piece, Some(state)))
    });
    Ok(event_stream(body::streamed(pieces.boxed())))
}

/// How far a stream of announcements is.
enum Stage {
    First,
    Open,
    Over,
}

/// A stream that tells when the list of tools is another.
fn announcing(shared: &Arc<Shared>, subscription: Option<Subscription>) -> Response<Body> {
    let revision = shared.calls.revision();
    let closing = shared.closing.clone();
    let begun = (Stage::First, revision, closing, subscription);
    let pieces = stream::unfold(
        begun,
        |(stage, mut revision, closing, subscription)| async move {
            let (piece, stage) = match (stage, &subscription) {
                (Stage::Over, _) => return None,
                // Something, so that the client knows that it stands.
                (Stage::First, None) => (comment(), Stage::Open),
                (Stage::First, Some(subscription)) => {
                    let mut piece = event(subscription.acknowledgement()).to_vec();
                    if subscription.wants_tools {
                        (Bytes::from(piece), Stage::Open)
                    } else {
                        piece.extend_from_slice(&event(subscription.end()));
                        (Bytes::from(piece), Stage::Over)
                    }
                }
                (Stage::Open, subscription) => {
                    let changed = tokio::select! {
                        biased;
                        () = closing.cancelled() => None,
                        changed = timeout(KEEP_ALIVE, changes::next(&mut revision)) => Some(changed),
                    };
                    match (changed, subscription) {
                        (Some(Err(_)), _) => (comment(), Stage::Open),
                        (Some(Ok(Some(()))), None) => (event(changes::announcement()), Stage::Open),
                        (Some(Ok(Some(()))), Some(subscription)) => {
                            (event(subscription.announcement()), Stage::Open)
                        }
                        (_, Some(subscription)) => (event(subscription.end()), Stage::Over),
                        (_, None) => return None,
                    }
                }
            };
            Some((piece, (stage, revision, closing, subscription)))
        },
    );
    event_stream(body::streamed(pieces.boxed()))
}

fn event(text: String) -> Bytes {
    let line = message::one_line(text);
    Bytes::from(format!("event: message\ndata: {line}\n\n"))
}

fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
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

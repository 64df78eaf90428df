//! The POST of streamable HTTP: the answer to a message is a response, a stream, or 202 Accepted.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use operations_core::byte_budget::{Held, exhausted};
use operations_core::json::Object;
use operations_http::message::mirrored::PREFIX;
use tokio::sync::mpsc;

use super::cancellation::Key;
use super::client::{self, Abilities};
use super::message::{self, INTERNAL_ERROR, INVALID_REQUEST, Kind, Message, PARSE_ERROR, Refusal};
use super::notifications::{Audience, Subscription, Watcher};
use super::protocol_version::{self, ProtocolVersion};
use super::request::{self, Reply, RequestContext};
use super::resumable::{self, ResumeOptions, Whose};
use super::{
    SESSION_HEADER, accepted, accepts, events, gone, is_over, json_response, plain_answer,
    progress, refused, reply_parts, session, session_of,
};
use uuid::Uuid;

use crate::body::{self, Body};
use crate::door::http::{problem, request as plain};
use crate::options::McpDoor;
use crate::service::{Answered, Exchange, Shared};

/// The revision whose clients come back to a stream.
const RESUMABLE: &str = "2025-11-25";
/// Messages before an answer that wait to be sent; more are left out.
const WAITING_MESSAGES: usize = 64;
/// The most messages of a batch that are worked on at a time.
const BATCH_AT_ONCE: usize = 16;

/// What is the same for all messages of a request.
struct Origin {
    shared: Arc<Shared>,
    door: McpDoor,
    headers: HeaderMap,
    caller: Arc<crate::identity::Caller>,
    request_id: Arc<str>,
    deadline: Option<f64>,
    /// The budget share that counts the body.
    held: Arc<Held>,
}

/// Answers what is posted.
pub(super) async fn post(shared: &Arc<Shared>, door: &McpDoor, exchange: Exchange) -> Answered {
    let Exchange {
        head,
        body,
        request_id,
        caller,
        held,
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
        held,
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
        let protocol = match protocol_version::of(&method, &params, Some(&self.headers)) {
            Ok(protocol) => protocol,
            Err(refusal) => return Ok(refused(Some(id), &refusal)),
        };
        if method == "subscriptions/listen" && protocol == ProtocolVersion::Stateless {
            return Ok(match Subscription::read(id, &params) {
                Ok(subscription) => self.listening(id, subscription).await,
                Err(refusal) => refused(Some(id), &refusal),
            });
        }
        let is_greeting = method == "initialize" && protocol == ProtocolVersion::Handshake;
        let (say, messages) = mpsc::channel(WAITING_MESSAGES);
        let out = accepts(&self.headers, "text/event-stream").then_some(say);
        let context = self.context(method, &params, message::params_text(text), protocol, out);
        let may_get_messages = context.out.is_some()
            && (context.token.is_some() || context.level.is_some() || context.client.any());
        let resumable = context
            .out
            .is_some()
            .then(|| self.resumable(&context))
            .flatten();
        let work = self.work(id, context);
        let share = self.held.share().of_streams();
        let mut response = if let Some((options, whose)) = resumable {
            resumable::streamed_call(&self.shared, options, whose, id, work, messages, share)
                .await?
        } else if may_get_messages {
            events::streamed_call(id, work, messages, share).await?
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
    fn resumable(&self, context: &RequestContext) -> Option<(&ResumeOptions, Whose)> {
        let options = self.door.resume.as_ref()?;
        let session = context.session.clone()?;
        let version = self.headers.get("mcp-protocol-version")?;
        let is_known = context.method == "tools/call" && version == RESUMABLE;
        is_known.then(|| {
            let caller = self.caller.id().to_owned();
            (options, Whose { session, caller })
        })
    }

    async fn listening(&self, id: &str, subscription: Subscription) -> Response<Body> {
        let permit = match self.shared.calls.stream_permit("", &self.caller).await {
            Ok(permit) => permit,
            Err(error) => {
                let refusal = Refusal::new(INTERNAL_ERROR, error.message);
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return refused(Some(id), &refusal.with_status(status));
            }
        };
        let audience = Audience::Subscription(subscription);
        let watcher = Watcher::new(&self.shared, &self.door, &self.caller, audience);
        events::announcing(watcher, self.shared.closing.clone(), permit)
    }

    fn context(
        &self,
        method: String,
        params: &Object<'_>,
        text: String,
        protocol: ProtocolVersion,
        out: Option<mpsc::Sender<String>>,
    ) -> RequestContext {
        let allowed = &self.shared.options.request_headers;
        let session = session_of(&self.headers);
        let (client, level) = match (protocol, &session) {
            (ProtocolVersion::Stateless, _) => {
                let level = client::level_of_request(params);
                (Abilities::of_request(params), level)
            }
            (ProtocolVersion::Handshake, None) => (Abilities::default(), None),
            (ProtocolVersion::Handshake, Some(session)) => {
                let level = self.shared.mcp.sessions.level(session, self.caller.id());
                (session::abilities(session), level)
            }
        };
        RequestContext {
            method,
            params: text,
            protocol,
            client,
            level,
            token: progress::token(params),
            session,
            caller: Arc::clone(&self.caller),
            request_id: Arc::clone(&self.request_id),
            deadline: self.deadline,
            headers: (protocol == ProtocolVersion::Stateless).then(|| mirrored(&self.headers)),
            metadata: Some(plain::metadata(&self.headers, allowed)),
            trace: request::trace_of(params).or_else(|| plain::trace(&self.headers)),
            out,
            client_requests: self.shared.mcp.client_requests.clone(),
            server: request::server_info(&self.door),
            held: Some(Arc::clone(&self.held)),
        }
    }

    /// A client responds to a request of ours.
    fn answered(&self, id: &str, result: Option<&str>, error: Option<&str>) {
        if let Some(key) = self.key(id) {
            self.shared
                .mcp
                .client_requests
                .answered(&key, result, error);
        }
    }

    /// The work on a request, which its client may cancel.
    fn work(&self, id: &str, context: RequestContext) -> BoxFuture<'static, Reply> {
        let (shared, door) = (Arc::clone(&self.shared), self.door.clone());
        // A client without a session cancels a call by disconnecting.
        let entry = self.key(id).map(|key| shared.mcp.running.begin(key));
        async move {
            let answer = request::answer(&shared, &door, context);
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
        // Counted as they are made: no answer of a batch is sent before the last one is there.
        let held = Arc::new(self.held.share().hold_responses());
        let answering: Vec<BoxFuture<'_, Option<Vec<Bytes>>>> = messages
            .into_iter()
            .map(|text| self.of_batch(text, &held).boxed())
            .collect();
        let answers: Vec<Option<Vec<Bytes>>> = stream::iter(answering)
            .buffered(BATCH_AT_ONCE)
            .collect()
            .await;
        let mut parts = Vec::new();
        for answer in answers.into_iter().flatten() {
            let before: &[u8] = if parts.is_empty() { b"[" } else { b"," };
            parts.push(Bytes::from_static(before));
            parts.extend(answer);
        }
        if parts.is_empty() {
            return accepted();
        }
        parts.push(Bytes::from_static(b"]"));
        json_response(StatusCode::OK, body::parts(parts).counted_by(&held))
    }

    async fn of_batch(&self, text: &str, held: &Held) -> Option<Vec<Bytes>> {
        let refused = |id: Option<&str>, refusal: &Refusal| {
            Some(vec![Bytes::from(message::error(id, refusal))])
        };
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(refusal) => return refused(None, &refusal),
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
        let protocol = protocol_version::of(&method, &message.params, Some(&self.headers));
        let refusal = match protocol {
            Ok(ProtocolVersion::Handshake) if method != "initialize" => {
                let params = &message.params;
                let text = message::params_text(text);
                let mut context =
                    self.context(method, params, text, ProtocolVersion::Handshake, None);
                // Calls that follow each other under one id would end each other.
                context.request_id = Uuid::new_v4().to_string().into();
                let parts = reply_parts(id, self.work(id, context).await)?;
                let own = parts.iter().filter(|part| part.is_unique());
                if held.try_add(own.map(Bytes::len).sum()) {
                    return Some(parts);
                }
                Refusal::new(INTERNAL_ERROR, exhausted("unknown").message)
            }
            Ok(_) => Refusal::new(INVALID_REQUEST, format!("{method} cannot be in a batch")),
            Err(refusal) => refusal,
        };
        refused(Some(id), &refusal)
    }
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

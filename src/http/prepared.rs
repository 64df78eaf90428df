//! A request that somebody else sends: `config.fetch`, or a global `fetch` that was replaced. What
//! the answer means is still decided here.

use std::sync::Arc;
use std::time::SystemTime;

use napi::bindgen_prelude::{Array, Either3, Env, Null, Uint8Array};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_http::message::ResponseKind;
use operations_http::message::body::Payload;
use operations_http::message::retry::{self, Failure as Why, RetryPolicy};
use operations_http::message::{Request, ResponseHead, Secret, redirect, transport};
use operations_http::sse::Limits;
use operations_http::{Feed, Lost, Reconnect, Service, decoded_reply, resume_after, stream_kind};
use serde_json::json;

use super::feed::StreamFeed;
use super::outcome::{meta_text, reply_outcome};
use crate::border::bridge::Bridge;
use crate::completions::Outcome;

/// A request, ready to be sent, and the rules for what comes back.
#[napi]
pub struct PreparedRequest {
    bridge: Arc<Bridge>,
    request: Request,
    /// What it was before it followed a redirect.
    original: Option<Request>,
    secrets: Vec<Secret>,
    promised: ResponseKind,
    limits: Limits,
    max_response_bytes: usize,
    retry: RetryPolicy,
    reconnect: Option<Reconnect>,
    followed: usize,
}

impl PreparedRequest {
    pub(super) fn new(
        bridge: Arc<Bridge>,
        service: &Service,
        promised: ResponseKind,
        request: Request,
        secrets: Vec<Secret>,
    ) -> Self {
        Self {
            bridge,
            request,
            original: None,
            secrets,
            promised,
            limits: service.event_limits(),
            max_response_bytes: service.max_response_bytes(),
            retry: service.retry_policy(),
            reconnect: service.reconnect(),
            followed: 0,
        }
    }
}

#[napi]
impl PreparedRequest {
    /// JSON: method, url, headers as pairs.
    #[napi]
    pub fn head(&self) -> String {
        let headers: Vec<_> = self.request.headers.iter().collect();
        json!({
            "method": self.request.method,
            "url": self.request.url.as_str(),
            "headers": headers,
        })
        .to_string()
    }

    /// The body: a text, bytes, or nothing.
    #[napi]
    pub fn body(&self) -> Either3<String, Uint8Array, Null> {
        match self.request.body.as_ref().map(|body| &body.payload) {
            None => Either3::C(Null),
            Some(Payload::Text(text)) => Either3::A(text.clone()),
            Some(other) => Either3::B(other.clone().into_bytes().into()),
        }
    }

    /// The largest response body that is read.
    #[napi]
    pub fn max_response_bytes(&self) -> f64 {
        self.max_response_bytes as f64
    }

    /// Is the first request again, after redirects.
    #[napi]
    pub fn restart(&mut self) {
        if let Some(original) = self.original.take() {
            self.request = original;
            self.followed = 0;
        }
    }

    /// Turns into the request that a redirect asks for; false when the response is none.
    #[napi]
    pub fn redirect(
        &mut self,
        env: Env,
        status: u32,
        location: Option<String>,
    ) -> napi::Result<bool> {
        let next = self.bridge.run(&env, || {
            redirect::next_request(
                &self.request,
                word(status),
                location.as_deref(),
                self.followed,
            )
        })?;
        let Some(next) = next else {
            return Ok(false);
        };
        let before = std::mem::replace(&mut self.request, next);
        self.original.get_or_insert(before);
        self.followed += 1;
        Ok(true)
    }

    /// What a complete response means: kind, text and body, as results have them. `headers` is a JSON
    /// list of pairs.
    #[napi]
    pub fn decode<'env>(
        &self,
        env: &'env Env,
        status: u32,
        reason: String,
        headers: String,
        body: Uint8Array,
    ) -> napi::Result<Array<'env>> {
        let bytes = body.to_vec();
        let outcome = self.bridge.run(env, || {
            let head = head(status, &reason, &headers)?;
            Ok(match decoded_reply(head, bytes, &self.secrets) {
                Ok(reply) => reply_outcome(reply),
                Err(failure) => Outcome::Failed(*failure.error, failure.body),
            })
        })?;
        let mut array = env.create_array(Outcome::PARTS)?;
        outcome.write(env, &mut array, 0)?;
        Ok(array)
    }

    /// Makes the request ask for what comes after the event with this id.
    #[napi]
    pub fn resume_after(&mut self, id: String) {
        self.restart();
        resume_after(&mut self.request, &id);
    }

    /// The pause in milliseconds before a stream is opened again, or nothing when it is not to be. A
    /// status of 0 is a connection that has ended or was never made.
    #[napi]
    pub fn reconnection_delay(
        &self,
        feed: &StreamFeed,
        attempts: u32,
        status: u32,
        retry_after: Option<String>,
    ) -> Option<f64> {
        // A stream of lines has no ids to go on from.
        let policy = self.reconnect.filter(|_| feed.has_events())?;
        let pause = policy.pause(Lost {
            attempts,
            why: (status != 0).then_some(Why::Status(word(status))),
            stream_asks: feed.reconnection_time(),
            server_asks: retry_after
                .and_then(|value| retry::retry_after(&value, SystemTime::now())),
        })?;
        Some(pause.as_secs_f64() * 1000.0)
    }

    /// What a successful response to a stream request is: a feed for its bytes; nothing where it is
    /// one value.
    #[napi]
    pub fn feed(
        &self,
        env: Env,
        status: u32,
        headers: String,
        last_event_id: String,
    ) -> napi::Result<Option<StreamFeed>> {
        self.bridge.run(&env, || {
            let head = head(status, "", &headers)?;
            let kind = stream_kind(self.promised, &head)?;
            Ok(kind.map(|kind| {
                let feed = Feed::new(kind, self.limits, &last_event_id);
                StreamFeed::new(&self.bridge, feed, kind, meta_text(&head))
            }))
        })
    }

    /// Throws the error for a request that failed on its way. `kind` is `network`, `timeout` (`text`
    /// being the milliseconds), `aborted` or `size`.
    #[napi]
    pub fn fail(&self, env: Env, kind: String, text: String, tries: u32) -> napi::Result<()> {
        self.bridge.run(&env, || {
            let host = self.request.host();
            let error = match kind.as_str() {
                "timeout" => transport::timed_out(&host, text.parse().unwrap_or_default()),
                "aborted" => transport::aborted(&host),
                "size" => transport::too_large(&host, self.max_response_bytes),
                _ => transport::network_failure(&host, &text, &self.secrets),
            };
            Err(retry::with_tries(error, tries))
        })
    }

    /// The pause in milliseconds before another try, or nothing when there is to be none. A status of
    /// 0 is a request that failed on its way.
    #[napi]
    pub fn retry_delay(
        &self,
        tries: u32,
        status: u32,
        retry_after: Option<String>,
        jitter: f64,
    ) -> Option<f64> {
        let why = match word(status) {
            // How far it got is not known, so the worst is assumed.
            0 => Why::ConnectionLost,
            status => Why::Status(status),
        };
        let asked = retry_after.and_then(|value| retry::retry_after(&value, SystemTime::now()));
        let method = &self.request.method;
        let pause = self.retry.delay(tries, method, why, asked, jitter)?;
        Some(pause.as_secs_f64() * 1000.0)
    }
}

fn word(status: u32) -> u16 {
    u16::try_from(status).unwrap_or_default()
}

fn head(status: u32, reason: &str, headers: &str) -> Result<ResponseHead, CallError> {
    let pairs: Vec<(String, String)> = serde_json::from_str(headers).map_err(|error| {
        CallError::new(
            operations_core::error::InfrastructureErrorCode::ExecutionError,
            format!("The headers of the response cannot be read: {error}"),
        )
    })?;
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let reason = (!reason.is_empty()).then_some(reason);
    Ok(ResponseHead::new(word(status), reason, pairs))
}

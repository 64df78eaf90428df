//! A SUBSCRIPTION as `text/event-stream`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::registry::Operation;
use tokio::time::timeout;

use super::{answer, problem};
use crate::body::{self, Body};
use crate::call::{Events, NewCall};
use crate::failure::{self, Outcome};
use crate::options::HttpDoor;
use crate::service::Shared;

/// How long the first event is waited for before the client gets the head of its stream. What goes wrong until then has
/// a status of its own.
const FIRST_EVENT: Duration = Duration::from_millis(250);
/// Silence after which a comment is sent: proxies close idle connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is left of a stream, and how it is written.
struct Writing {
    events: Events,
    first: Option<Result<ResponseEnvelope, CallError>>,
    shared: Arc<Shared>,
    wants_envelope: bool,
    operation: Arc<Operation>,
    has_identity: bool,
    exposes_errors: bool,
    request_id: String,
    /// The number of the last event, for sources that are no event streams.
    count: u64,
    /// The id that the client has from the events before.
    last_id: String,
}

/// Subscribes. It fails if that is clear at once.
pub(super) async fn stream(
    shared: &Arc<Shared>,
    door: &HttpDoor,
    call: NewCall,
    wants_envelope: bool,
    last_event_id: Option<String>,
) -> Result<Response<Body>, CallError> {
    let operation = Arc::clone(&call.operation);
    let has_identity = call.caller.identity.is_some();
    let request_id = call.request_id.to_string();
    let mut events = shared.calls.subscribe(call).await?;
    let first = match timeout(FIRST_EVENT, events.next()).await {
        Err(_) => None,
        Ok(Some(Err(error))) => return Err(error),
        Ok(Some(first)) => Some(first),
        Ok(None) => {
            events = stream::empty().boxed();
            None
        }
    };
    let writing = Writing {
        events,
        first,
        shared: Arc::clone(shared),
        wants_envelope,
        operation,
        has_identity,
        exposes_errors: door.expose_errors,
        request_id,
        // Numbers go on where the client was.
        count: last_event_id
            .and_then(|id| id.parse().ok())
            .unwrap_or_default(),
        last_id: String::new(),
    };
    let pieces = stream::unfold(Some(writing), |writing| async move {
        let mut writing: Writing = writing?;
        let (piece, is_last) = writing.next().await?;
        Some((Bytes::from(piece), (!is_last).then_some(writing)))
    });
    let mut response = Response::new(body::streamed(pieces.boxed()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer::secure(&mut response);
    Ok(response)
}

impl Writing {
    /// The next piece, and whether it is the last.
    async fn next(&mut self) -> Option<(String, bool)> {
        let next = if let Some(first) = self.first.take() {
            first
        } else {
            tokio::select! {
                biased;
                () = self.shared.closing.cancelled() => return None,
                next = timeout(KEEP_ALIVE, self.events.next()) => match next {
                    Err(_) => return Some((":\n\n".to_owned(), false)),
                    Ok(next) => next?,
                },
            }
        };
        Some(match next {
            Ok(envelope) => (self.event(envelope), false),
            Err(error) => (self.error(error), true),
        })
    }

    fn event(&mut self, envelope: ResponseEnvelope) -> String {
        let mut text = String::with_capacity(envelope.text().len() + 32);
        if let Some(sse) = envelope.meta_members().object("sse") {
            self.push_fields(&mut text, &sse);
        } else {
            // A client may name any number as its last.
            self.count = self.count.wrapping_add(1);
            push_field(&mut text, "id", &self.count.to_string());
        }
        if self.wants_envelope {
            let envelope = self.shared.calls.headers.in_envelope(envelope);
            push_field(&mut text, "data", envelope.text());
        } else {
            push_field(&mut text, "data", envelope.data().unwrap_or_default());
        }
        text.push('\n');
        text
    }

    /// The fields of an event that was one before: its own, so that `Last-Event-ID` means the same to its source.
    fn push_fields(&mut self, text: &mut String, sse: &Object<'_>) {
        // A line break would end the field, and what follows it would be one of its own.
        let field = |name| {
            let value = sse.string(name).unwrap_or_default();
            (!value.contains(['\n', '\r', '\0'])).then_some(value)
        };
        if let Some(event) = field("event").filter(|event| !event.is_empty() && event != "message")
        {
            push_field(text, "event", &event);
        }
        // An id counts for the events after it, too, until an empty one takes it back.
        let id = field("id").unwrap_or_default();
        if !(id.is_empty() && self.last_id.is_empty()) {
            push_field(text, "id", &id);
        }
        self.last_id = id;
        let retry = sse.get("retry");
        if let Some(retry) = retry.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
            push_field(text, "retry", retry);
        }
    }

    fn error(&self, error: CallError) -> String {
        let status = match failure::outcome(&error, Some(&self.operation.spec), self.has_identity) {
            Outcome::Answer(status) => status,
            Outcome::Closed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        self.shared
            .log_masked(&self.request_id, &error, self.exposes_errors);
        let error = failure::masked(error, self.exposes_errors);
        let may_have_run = failure::may_have_run(&error, &self.operation.spec.id());
        let problem = problem::details(&error, status, &self.request_id, may_have_run);
        let mut text = String::new();
        push_field(&mut text, "event", "error");
        push_field(&mut text, "data", &problem.to_string());
        text.push('\n');
        text
    }
}

/// A field, whose value may have several lines.
fn push_field(text: &mut String, name: &str, value: &str) {
    // One character at a time: that search is much faster, and a value may be large.
    for line in value.split('\n').flat_map(|line| line.split('\r')) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {line}");
    }
}

//! Answers that come bit by bit: messages before the result of a call, and notifications.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use operations_core::byte_budget::Share;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::message;
use super::notifications::{Audience, Watcher};
use super::request::Reply;
use super::{bounded, plain_answer, reply_text};
use crate::body::{self, Body};
use crate::limits::Permit;
use crate::service::Answered;

/// Silence after which a comment is sent: proxies close idle connections.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is left of a call whose client gets messages before its result.
struct StreamedCall {
    id: String,
    first: Option<String>,
    messages: mpsc::Receiver<String>,
    work: BoxFuture<'static, Reply>,
    /// The budget share that counts its client's streams.
    share: Arc<Share>,
}

/// A call whose client may get messages before its result. As long as there are none, it is answered like any
/// other.
pub(super) async fn streamed_call(
    id: &str,
    mut work: BoxFuture<'static, Reply>,
    mut messages: mpsc::Receiver<String>,
    share: Arc<Share>,
) -> Answered {
    let first = tokio::select! {
        biased;
        Some(message) = messages.recv() => Some(message),
        reply = &mut work => match messages.try_recv() {
            // A message was sent just before the end.
            Ok(first) => return Ok(event_stream(last_words(id, first, messages, reply))),
            Err(_) => return plain_answer(id, reply),
        },
        () = sleep(KEEP_ALIVE) => None,
    };
    let state = StreamedCall {
        id: id.to_owned(),
        first,
        messages,
        work,
        share,
    };
    let pieces = stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        let message = if let Some(message) = state.first.take() {
            Some(message)
        } else {
            tokio::select! {
                biased;
                Some(message) = state.messages.recv() => Some(message),
                reply = &mut state.work => {
                    let reply = bounded(reply, &state.share);
                    let last = left(&mut state.messages, &state.id, reply);
                    return Some((last, None));
                }
                () = sleep(KEEP_ALIVE) => None,
            }
        };
        let piece = message.map_or_else(comment, event);
        Some((piece, Some(state)))
    });
    Ok(event_stream(body::streamed(pieces.boxed())))
}

/// The remaining messages, and the answer.
fn left(messages: &mut mpsc::Receiver<String>, id: &str, reply: Reply) -> Bytes {
    let mut piece = Vec::new();
    while let Ok(message) = messages.try_recv() {
        piece.extend_from_slice(&event(message));
    }
    if let Some(last) = reply_text(id, reply) {
        piece.extend_from_slice(&event(last));
    }
    piece.into()
}

pub(super) fn last_words(
    id: &str,
    first: String,
    mut messages: mpsc::Receiver<String>,
    reply: Reply,
) -> Body {
    let mut whole = event(first).to_vec();
    whole.extend_from_slice(&left(&mut messages, id, reply));
    body::full(whole)
}

/// The state of a stream of notifications.
enum Stage {
    First,
    Open,
    Over,
}

/// A stream of notifications.
pub(super) fn announcing(
    watcher: Watcher,
    closing: CancellationToken,
    permit: Option<Permit>,
) -> Response<Body> {
    let begun = (Stage::First, watcher, closing, permit);
    let pieces = stream::unfold(begun, |(stage, mut watcher, closing, permit)| async move {
        let (piece, stage) = match stage {
            Stage::Over => return None,
            Stage::First => first(&watcher.audience),
            Stage::Open => {
                let changed = tokio::select! {
                    biased;
                    () = closing.cancelled() => None,
                    changed = timeout(KEEP_ALIVE, watcher.next()) => Some(changed),
                };
                match changed {
                    Some(Err(_)) => (comment(), Stage::Open),
                    Some(Ok(Some(messages))) => {
                        let pieces: Vec<Bytes> = messages.into_iter().map(event).collect();
                        (Bytes::from(pieces.concat()), Stage::Open)
                    }
                    Some(Ok(None)) | None => match &watcher.audience {
                        Audience::Subscription(wanted) => (event(wanted.end()), Stage::Over),
                        Audience::Session(_) => return None,
                    },
                }
            }
        };
        Some((piece, (stage, watcher, closing, permit)))
    });
    event_stream(body::streamed(pieces.boxed()))
}

fn first(audience: &Audience) -> (Bytes, Stage) {
    match audience {
        // A first byte, so that the client knows that the stream is open.
        Audience::Session(_) => (comment(), Stage::Open),
        Audience::Subscription(wanted) => {
            let acknowledgement = event(wanted.acknowledgement());
            if wanted.is_empty() {
                let both = [acknowledgement, event(wanted.end())].concat();
                return (Bytes::from(both), Stage::Over);
            }
            (acknowledgement, Stage::Open)
        }
    }
}

fn event(text: String) -> Bytes {
    let line = message::one_line(text);
    Bytes::from(format!("event: message\ndata: {line}\n\n"))
}

pub(super) fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

pub(super) fn event_stream(body: Body) -> Response<Body> {
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

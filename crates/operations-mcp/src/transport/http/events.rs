//! The events of a stream, each message of which passes by the tap.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use operations_http::sse::{Event, Limits, Parser};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use crate::client::tap::{Tap, Verdict};
use crate::transport::message;

/// A server that wants to be asked again at once, in milliseconds, is asked again after this. It would
/// otherwise keep both sides busy.
const SHORTEST_RETRY: u64 = 500;

/// The messages of one HTTP response.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

struct Reader<S> {
    bytes: S,
    parser: Parser,
    ready: VecDeque<Sse>,
    tap: Arc<Tap>,
    /// The request that the stream answers, if it answers one.
    request: Option<u64>,
    over: bool,
}

/// The events in a body.
pub(super) fn read<S>(bytes: S, limit: usize, tap: Arc<Tap>, request: Option<u64>) -> Events
where
    S: Stream<Item = reqwest::Result<Bytes>> + Send + Unpin + 'static,
{
    let reader = Reader {
        bytes,
        parser: Parser::new(Limits { event_bytes: limit }),
        ready: VecDeque::new(),
        tap,
        request,
        over: false,
    };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
    .boxed()
}

/// Messages that did not come as a stream.
pub(super) fn of(messages: Vec<String>) -> Events {
    stream::iter(
        messages
            .into_iter()
            .map(|data| Ok(Sse::default().data(data))),
    )
    .boxed()
}

impl<S> Reader<S>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Unpin,
{
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            match self.bytes.next().await {
                None => return None,
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(SseError::Body(Box::new(error))));
                }
                Some(Ok(bytes)) => self.push(&bytes),
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let pushed = self.parser.push(bytes, &mut |event| events.push(event));
        for event in events {
            self.event(&event);
        }
        if pushed.is_err() {
            // Too large. Whoever waits for the answer learns that; on a stream that answers nobody in
            // particular, nobody has to.
            self.over = true;
            let told = self.request.map(|id| self.tap.too_large(Some(id)));
            let told = told.unwrap_or_default();
            self.ready
                .extend(told.into_iter().map(|data| Sse::default().data(data)));
        }
    }

    fn event(&mut self, event: &Event) {
        let frame = |data: String| Sse {
            event: None,
            data: Some(data),
            id: (!event.id.is_empty()).then(|| event.id.to_string()),
            retry: event.retry.map(|time| time.max(SHORTEST_RETRY)),
        };
        if event.data.trim().is_empty() {
            // It carries an id to resume from.
            self.ready.push_back(frame(String::new()));
            return;
        }
        for text in message::split(&event.data) {
            match self.tap.inbound(&text) {
                Verdict::Forward(text) => {
                    if message::typed(&text).is_some() {
                        self.ready.push_back(frame(text.into_owned()));
                    }
                }
                // The id counts even so.
                Verdict::Done | Verdict::NotAMessage => self.ready.push_back(frame(String::new())),
            }
        }
    }
}

//! What the server says as a stream of events: in answer to a request, or by itself.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use operations_http::sse::{Event, Limits, Parser};
use reqwest::{Response, StatusCode};
use tokio::sync::{Notify, oneshot};

use super::answer::content_type;
use super::{HttpTransport, STREAM};
use crate::error::Failure;
use crate::transport::Transport;

/// A stream that ended is opened again after this, if the server does not say when.
const PAUSE: Duration = Duration::from_secs(1);
/// A server that wants to be asked again sooner than this would keep both sides busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long the end of a stream is awaited whose answer has come, so that the connection can be used again.
const REMAINDER: Duration = Duration::from_millis(50);

/// A stream over all its connections.
#[derive(Default)]
pub(super) struct EventStream {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// Where the address for messages is awaited (HTTP+SSE).
    endpoint: Option<oneshot::Sender<String>>,
}

/// How a connection of a stream ended.
pub(super) enum End {
    /// What was awaited has come.
    Answered,
    Over,
    TooLarge,
}

impl EventStream {
    /// A stream whose first event names the address for messages.
    pub(super) fn naming_endpoint(sender: oneshot::Sender<String>) -> Self {
        Self {
            endpoint: Some(sender),
            ..Self::default()
        }
    }

    /// Reads the answer to a request. A stream that ends before it, or breaks, is taken up where it ended, if the
    /// server gave a place to go on from.
    pub(super) async fn answer(
        mut self,
        transport: &Arc<HttpTransport>,
        response: Response,
        id: u64,
    ) -> Result<(), Failure> {
        let mut next = Some(response);
        let mut failures = 0;
        loop {
            if let Some(response) = next.take() {
                match self.read(transport, response, Some(id)).await {
                    End::Answered => return Ok(()),
                    End::TooLarge => {
                        let limit = transport.conversation.config.max_message_bytes;
                        return Err(Failure::TooLarge(limit));
                    }
                    End::Over => {}
                }
            }
            if self.last_id.is_none() || transport.is_stateless() {
                return Err(Failure::cut("the answer ended early".to_owned()));
            }
            self.pause(failures).await;
            if !transport.conversation.requests.is_waiting(id) {
                return Ok(());
            }
            match transport.stream(self.last_id.as_deref()).await {
                Ok(response) if is_stream(&response) => {
                    failures = 0;
                    next = Some(response);
                }
                Ok(response) if response.status().is_client_error() => {
                    let what = format!("the answer ended early (HTTP {})", response.status());
                    return Err(Failure::cut(what));
                }
                Err(failure @ Failure::NotAuthorized { .. }) => return Err(failure),
                Ok(_) | Err(_) => failures += 1,
            }
        }
    }

    /// Reads what the server says by itself, over and over; returns when it has no such stream. `begun` is called when
    /// the server has answered.
    pub(super) async fn stand(mut self, transport: &Arc<HttpTransport>, begun: &Notify) {
        let mut failures = 0;
        loop {
            let response = transport.stream(self.last_id.as_deref()).await;
            begun.notify_one();
            match response {
                Ok(response) if is_stream(&response) => {
                    failures = 0;
                    if matches!(self.read(transport, response, None).await, End::TooLarge) {
                        return;
                    }
                }
                Ok(response) if !response.status().is_server_error() => return,
                Err(Failure::NotAuthorized { .. }) => return,
                Ok(_) | Err(_) => failures += 1,
            }
            self.pause(failures).await;
        }
    }

    async fn pause(&self, failures: u32) {
        let pause = self.retry.unwrap_or(PAUSE).max(SHORTEST_PAUSE);
        let pause = pause.saturating_mul(1 << failures.min(10));
        tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
    }

    /// Reads one connection to its end, or to the answer that is awaited.
    pub(super) async fn read(
        &mut self,
        transport: &Arc<HttpTransport>,
        response: Response,
        awaited: Option<u64>,
    ) -> End {
        let conversation = &transport.conversation;
        let mut parser = Parser::new(Limits {
            event_bytes: conversation.config.max_message_bytes,
        });
        let mut bytes = response.bytes_stream();
        while let Some(Ok(piece)) = bytes.next().await {
            let mut events = Vec::new();
            let pushed = parser.push(&piece, &mut |event| events.push(event));
            for event in events {
                self.take(&event, transport);
            }
            if awaited.is_some_and(|id| !conversation.requests.is_waiting(id)) {
                let remainder = async { while bytes.next().await.is_some() {} };
                let _ = tokio::time::timeout(REMAINDER, remainder).await;
                return End::Answered;
            }
            if pushed.is_err() {
                return End::TooLarge;
            }
        }
        End::Over
    }

    fn take(&mut self, event: &Event, transport: &Arc<HttpTransport>) {
        if event.event == "endpoint" {
            if let Some(sender) = self.endpoint.take() {
                let _ = sender.send(event.data.clone());
            }
            return;
        }
        if !event.id.is_empty() {
            self.last_id = Some(event.id.to_string());
        }
        self.retry = event.retry.map(Duration::from_millis).or(self.retry);
        if !event.data.trim().is_empty() {
            let reply_transport: Arc<dyn Transport> = Arc::clone(transport) as _;
            transport.conversation.hear(&event.data, &reply_transport);
        }
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    response.status() == StatusCode::OK && content_type(response).starts_with(STREAM)
}

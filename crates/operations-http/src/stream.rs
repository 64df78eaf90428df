//! Open streams: read in batches, opened again.

use std::sync::Arc;

use crate::message::ResponseKind;
use crate::message::retry::{self, Failure as Why};
use crate::message::{ResponseHead, Secret};
use futures::FutureExt;
use operations_core::error::{CallError, InfrastructureErrorCode};
use reqwest::Response;

use crate::batch::{Batch, Feed};
use crate::exchange::{Answer, Outgoing};
use crate::failure;
use crate::open::Begun;
use crate::reconnect::{Lost, resume_after};
use crate::service::Service;

/// What a stream consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
}

/// How a stream was asked for, and can be again.
pub(crate) struct Asked {
    pub(crate) service: Arc<Service>,
    pub(crate) promised: ResponseKind,
    pub(crate) outgoing: Outgoing,
    pub(crate) secrets: Vec<Secret>,
}

/// An open stream. It reads from its connection only while somebody waits for the next batch, so a
/// slow consumer slows the server down.
pub struct StreamReader {
    asked: Asked,
    head: ResponseHead,
    new_head: Option<ResponseHead>,
    host: String,
    feed: Feed,
    state: State,
    /// Attempts in a row that brought no event.
    fruitless: u32,
}

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

enum State {
    Reading(Response),
    /// The connection is gone; with an error if it broke.
    Ended(Option<CallError>),
    Over,
}

impl StreamReader {
    pub(crate) fn new(asked: Asked, answer: Answer, feed: Feed) -> Self {
        Self {
            asked,
            head: answer.head,
            new_head: None,
            host: answer.host,
            feed,
            state: State::Reading(answer.response),
            fruitless: 0,
        }
    }

    /// The head of the first response.
    #[must_use]
    pub fn head(&self) -> &ResponseHead {
        &self.head
    }

    /// Whether its members are events; otherwise they are lines.
    #[must_use]
    pub fn kind(&self) -> StreamKind {
        self.feed.kind()
    }

    /// Waits for the next events and takes along what else is there; nothing at the end.
    ///
    /// # Errors
    /// `EXECUTION_ERROR` when the connection breaks, when an event is too large, or when the stream
    /// could not be opened again. Every event before that has been handed over.
    pub async fn next_batch(&mut self) -> Result<Option<Batch>, CallError> {
        loop {
            if let Some(text) = self.feed.take() {
                let head = self.new_head.take();
                return Ok(Some(Batch { text, head }));
            }
            if let Some(error) = self.feed.take_failure() {
                self.state = State::Over;
                return Err(error);
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Reading(response) => self.read(response).await,
                State::Ended(how) => {
                    if !self.reopen(how).await? {
                        return Ok(None);
                    }
                }
                State::Over => return Ok(None),
            }
        }
    }

    /// Waits for one chunk, then takes those that are there already, up to a full batch.
    async fn read(&mut self, mut response: Response) {
        let mut chunk = response.chunk().await;
        loop {
            match chunk {
                Ok(Some(bytes)) => self.feed.push(&bytes),
                Ok(None) => return self.end(None),
                Err(error) => {
                    let why = failure::describe(&error, &self.host, &self.asked.secrets);
                    return self.end(Some(why));
                }
            }
            if self.feed.is_full() {
                break;
            }
            let mut ready = response.chunk().now_or_never();
            if ready.is_none() {
                // The connection is read by a task of its own, which may be just about to run.
                tokio::task::yield_now().await;
                ready = response.chunk().now_or_never();
            }
            let Some(ready) = ready else { break };
            chunk = ready;
        }
        if self.feed.has_events() {
            self.fruitless = 0;
        }
        self.state = State::Reading(response);
    }

    fn end(&mut self, error: Option<CallError>) {
        self.feed.finish();
        if self.feed.has_events() {
            self.fruitless = 0;
        }
        self.state = State::Ended(error);
    }

    /// Opens the stream again, if the configuration asks for it. False when it is over.
    async fn reopen(&mut self, how: Option<CallError>) -> Result<bool, CallError> {
        let mut error = how;
        // A stream of lines has no ids to go on from: what was sent would be sent again.
        let policy = match self.feed.kind() {
            StreamKind::Events => self.asked.service.reconnect(),
            StreamKind::Lines => None,
        };
        let mut why = None;
        let mut server_asks = None;
        loop {
            let lost = Lost {
                attempts: self.fruitless,
                why,
                stream_asks: self.feed.reconnection_time(),
                server_asks,
            };
            let Some(pause) = policy.and_then(|policy| policy.pause(lost)) else {
                return error.map_or(Ok(false), Err);
            };
            tokio::time::sleep(pause).await;
            self.fruitless += 1;
            let asked = &mut self.asked;
            resume_after(&mut asked.outgoing.request, self.feed.last_event_id());
            let attempt = asked
                .service
                .open_once(asked.promised, &asked.outgoing, &asked.secrets)
                .await;
            let refused = match attempt {
                Ok(Begun::Stream(StreamKind::Events, answer)) => {
                    self.feed.begin_again();
                    self.host = answer.host;
                    self.new_head = Some(answer.head);
                    self.state = State::Reading(answer.response);
                    return Ok(true);
                }
                // The server has nothing more to say, or something that goes on nowhere.
                Ok(_) => return Ok(false),
                Err(refused) => refused,
            };
            let refusal = *refused.failure.error;
            // Too late is as good as never.
            let late = refusal.is(InfrastructureErrorCode::Timeout);
            why = refused.why.or(late.then_some(Why::ConnectionLost));
            server_asks = refused.retry_after;
            let refusal = retry::with_tries(refusal, self.fruitless + 1);
            if why.is_none() {
                return Err(refusal);
            }
            error = Some(refusal);
        }
    }
}

//! Streams: opened, read in batches, opened again.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::http::retry::{self, Failure as Why};
use operations_core::http::{BodyKind, ResponseHead, Secret, media};
use operations_core::openapi::{ImportedOperation, ResponseKind};
use reqwest::Response;

use crate::batch::{Batch, Feed};
use crate::exchange::{Answer, Outgoing};
use crate::failure;
use crate::limited::collect;
use crate::outcome::{Failure, Reply, decoded_reply};
use crate::random;
use crate::reconnect::{Lost, resume_after};
use crate::service::{CallInput, Service, retry_after, too_late};

/// What a stream consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
}

/// What came back when a stream was asked for.
#[derive(Debug)]
pub enum Opened {
    /// Nothing: the stream is over.
    Nothing,
    /// One value.
    One(Reply),
    /// A stream.
    Stream(Box<StreamReader>),
}

/// What a successful response to a stream request is: nothing (`Ok(None)` is one value).
///
/// # Errors
/// `EXECUTION_ERROR` when it is neither text nor JSON.
pub fn stream_kind(
    promised: ResponseKind,
    head: &ResponseHead,
) -> Result<Option<StreamKind>, CallError> {
    let promised = match promised {
        ResponseKind::Ndjson => StreamKind::Lines,
        _ => StreamKind::Events,
    };
    if head.content_type.trim().is_empty() {
        return Ok(Some(promised));
    }
    match head.kind() {
        BodyKind::EventStream => Ok(Some(StreamKind::Events)),
        BodyKind::JsonLines => Ok(Some(StreamKind::Lines)),
        // Servers that say no more than "text" mean what they have promised.
        BodyKind::Text => Ok(Some(promised)),
        BodyKind::Json => Ok(None),
        BodyKind::Bytes => Err(CallError::new(
            InfrastructureErrorCode::ExecutionError,
            format!(
                "HTTP {}: a stream was expected, and the response is {}",
                head.status,
                media::essence(&head.content_type)
            ),
        )
        .with_details(serde_json::json!({
            "statusCode": head.status,
            "contentType": head.content_type,
        }))),
    }
}

impl Service {
    /// Opens a stream. Whoever awaits this and the reader ends both by dropping them, which closes
    /// the connection.
    ///
    /// # Errors
    /// As [`Service::call`].
    pub async fn open(
        self: &Arc<Self>,
        operation: &ImportedOperation,
        input: CallInput,
    ) -> Result<Opened, Failure> {
        let (mut request, secrets) = self.prepare(operation, input)?;
        let resumed = self.last_event_id().to_owned();
        if request.headers.get("Last-Event-ID").is_none() {
            resume_after(&mut request, &resumed);
        }
        let outgoing = Outgoing::new(request);
        let mut tries = 1;
        loop {
            let refused = match self
                .open_once(operation.response, &outgoing, &secrets)
                .await
            {
                Ok(Begun::Nothing) => return Ok(Opened::Nothing),
                Ok(Begun::One(reply)) => return Ok(Opened::One(reply)),
                Ok(Begun::Stream(kind, answer)) => {
                    return Ok(Opened::Stream(Box::new(StreamReader {
                        feed: Feed::new(kind, self.settings.event_limits, &resumed),
                        head: answer.head,
                        new_head: None,
                        host: answer.host,
                        state: State::Reading(answer.response),
                        fruitless: 0,
                        promised: operation.response,
                        service: Arc::clone(self),
                        outgoing,
                        secrets,
                    })));
                }
                Err(refused) => refused,
            };
            let method = &outgoing.request.method;
            let jitter = random::fraction();
            let after = refused.retry_after;
            let pause = refused
                .why
                .and_then(|why| self.settings.retry.delay(tries, method, why, after, jitter));
            let Some(pause) = pause else {
                let mut failure = refused.failure;
                failure.error = Box::new(retry::with_tries(*failure.error, tries));
                return Err(failure);
            };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    async fn open_once(
        &self,
        promised: ResponseKind,
        outgoing: &Outgoing,
        secrets: &[Secret],
    ) -> Result<Begun, Refused> {
        let opened = self.open_exchange(outgoing, secrets).await;
        let mut answer = opened.map_err(|broken| Refused {
            failure: (*broken.error).into(),
            why: broken.kind,
            retry_after: None,
        })?;
        let status = answer.head.status;
        if !answer.head.is_success() {
            let after = retry_after(&answer.head);
            let bytes = self.small_body(&mut answer, secrets).await?;
            let why = Some(Why::Status(status));
            return match decoded_reply(answer.head, bytes, secrets) {
                Ok(_) => Ok(Begun::Nothing),
                Err(failure) => Err(Refused {
                    failure,
                    why,
                    retry_after: after,
                }),
            };
        }
        if matches!(status, 204 | 205) {
            return Ok(Begun::Nothing);
        }
        if let Some(kind) = stream_kind(promised, &answer.head).map_err(Failure::from)? {
            return Ok(Begun::Stream(kind, answer));
        }
        let bytes = self.small_body(&mut answer, secrets).await?;
        if bytes.is_empty() {
            return Ok(Begun::Nothing);
        }
        Ok(Begun::One(decoded_reply(answer.head, bytes, secrets)?))
    }

    /// A body that is no stream: within the size limit, and the time limit once more.
    async fn small_body(
        &self,
        answer: &mut Answer,
        secrets: &[Secret],
    ) -> Result<Vec<u8>, Failure> {
        let limit = self.settings.max_response_bytes;
        let reading = collect(&mut answer.response, limit);
        let read = match self.settings.timeout {
            None => reading.await,
            Some(time) => tokio::time::timeout(time, reading)
                .await
                .map_err(|_| too_late(&answer.host, time))?,
        };
        Ok(read.map_err(|error| error.describe(&answer.host, limit, secrets))?)
    }
}

/// The first answer of a server, told apart.
enum Begun {
    Nothing,
    One(Reply),
    Stream(StreamKind, Answer),
}

struct Refused {
    failure: Failure,
    why: Option<Why>,
    retry_after: Option<Duration>,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            why: None,
            retry_after: None,
        }
    }
}

/// An open stream. It reads from its connection only while somebody waits for the next batch, so a
/// slow consumer slows the server down.
pub struct StreamReader {
    service: Arc<Service>,
    outgoing: Outgoing,
    secrets: Vec<Secret>,
    promised: ResponseKind,
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
                    let why = failure::describe(&error, &self.host, &self.secrets);
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
            StreamKind::Events => self.service.reconnect(),
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
            resume_after(&mut self.outgoing.request, self.feed.last_event_id());
            let attempt = self
                .service
                .open_once(self.promised, &self.outgoing, &self.secrets)
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

//! Opening streams, and what may come instead of one.

use std::sync::Arc;

use crate::message::retry::Failure as Why;
use crate::message::{BodyKind, ResponseHead, Secret, media};
use crate::message::{HttpOperation, ResponseKind};
use operations_core::error::{CallError, InfrastructureErrorCode};
use serde_json::json;

use crate::batch::Feed;
use crate::exchange::{Answer, Outgoing};
use crate::limited::collect;
use crate::outcome::{Failure, Reply, decoded_reply};
use crate::reconnect::resume_after;
use crate::service::{CallInput, Service, too_late};
use crate::stream::{Asked, StreamKind, StreamReader};
use crate::tries::{Failed, retry_after, with_retries};

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

/// The first answer of a server, told apart.
pub(crate) enum Begun {
    Nothing,
    One(Reply),
    Stream(StreamKind, Answer),
}

impl Service {
    /// Opens a stream. Whoever awaits this and the reader ends both by dropping them, which closes
    /// the connection.
    ///
    /// # Errors
    /// As [`Service::call`].
    pub async fn open(
        self: &Arc<Self>,
        operation: &HttpOperation,
        input: CallInput,
    ) -> Result<Opened, Failure> {
        let (mut request, secrets) = self.prepare(operation, input)?;
        let resumed = self.last_event_id().to_owned();
        if request.headers.get("Last-Event-ID").is_none() {
            resume_after(&mut request, &resumed);
        }
        let outgoing = Outgoing::new(request);
        let method = &outgoing.request.method;
        let work = || self.open_once(operation.response, &outgoing, &secrets);
        match with_retries(self.settings.retry, method, work).await? {
            Begun::Nothing => Ok(Opened::Nothing),
            Begun::One(reply) => Ok(Opened::One(reply)),
            Begun::Stream(kind, answer) => {
                let feed = Feed::new(kind, self.settings.event_limits, &resumed);
                let asked = Asked {
                    service: Arc::clone(self),
                    promised: operation.response,
                    outgoing,
                    secrets,
                };
                let reader = StreamReader::new(asked, answer, feed);
                Ok(Opened::Stream(Box::new(reader)))
            }
        }
    }

    pub(crate) async fn open_once(
        &self,
        promised: ResponseKind,
        outgoing: &Outgoing,
        secrets: &[Secret],
    ) -> Result<Begun, Failed> {
        let mut answer = self.open_exchange(outgoing, secrets).await?;
        let status = answer.head.status;
        if !answer.head.is_success() {
            let after = retry_after(&answer.head);
            let bytes = self.small_body(&mut answer, secrets).await?;
            let why = Some(Why::Status(status));
            return match decoded_reply(answer.head, bytes, secrets) {
                Ok(_) => Ok(Begun::Nothing),
                Err(failure) => Err(Failed {
                    failure,
                    why,
                    retry_after: after,
                }),
            };
        }
        if matches!(status, 204 | 205) {
            return Ok(Begun::Nothing);
        }
        if let Some(kind) = stream_kind(promised, &answer.head)? {
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
        .with_details(json!({
            "statusCode": head.status,
            "contentType": head.content_type,
        }))),
    }
}

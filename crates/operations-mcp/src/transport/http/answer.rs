//! What comes back for a POST.

use std::sync::Arc;

use ::http::header::CONTENT_TYPE;
use futures::StreamExt;
use operations_core::utf8::text_of;
use reqwest::{Response, StatusCode};

use super::events::EventStream;
use super::{HttpTransport, JSON, SESSION, STREAM};
use crate::error::Failure;
use crate::transport::Transport;
use crate::transport::message::{Message, RpcError};

/// How much of the body of an error is read, for the message.
const ERROR_BODY: usize = 64 * 1024;
/// How much of it is quoted.
const QUOTED: usize = 300;

impl HttpTransport {
    /// Takes the answer to a request. On success the waiting request has its answer.
    pub(super) async fn take_answer(
        self: &Arc<Self>,
        response: Response,
        id: u64,
        had_session: bool,
    ) -> Result<(), Failure> {
        let status = response.status();
        // What these say of a notification, they cannot say of a request: its answer comes here or nowhere.
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let what = format!("HTTP {status}, which has no body, instead of an answer");
            return Err(Failure::answered(what));
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(Failure::Lost { sent: false });
        }
        if !status.is_success() {
            let failure = status_failure(response).await;
            // The status for a session that is gone is 404; many servers say 400, and name it.
            let names_session = || {
                format!("{failure:?}")
                    .to_ascii_lowercase()
                    .contains("session")
            };
            let is_gone = status == StatusCode::BAD_REQUEST && had_session && names_session();
            return Err(if is_gone {
                Failure::Lost { sent: false }
            } else {
                failure
            });
        }
        if let Some(session) = response.headers().get(SESSION) {
            // Only the answer to the handshake is the first to have one.
            let _ = self.session.set(session.clone());
        }
        let kind = content_type(&response);
        if kind.starts_with(STREAM) {
            return EventStream::default().answer(self, response, id).await;
        }
        if !kind.starts_with(JSON) {
            let what = format!(
                "a body of type '{kind}' instead of JSON or an event stream. Check that the URL is the address of an MCP server"
            );
            return Err(Failure::answered(what));
        }
        let limit = self.conversation.config.max_message_bytes;
        let reply_transport: Arc<dyn Transport> = Arc::clone(self) as _;
        let Some(body) = read_body(response, limit).await? else {
            return Err(Failure::TooLarge(limit));
        };
        let text = text_of(&body);
        if !self.conversation.hear(&text, &reply_transport) {
            let what = format!("a body that is not a JSON-RPC message: {}", quote(&text));
            return Err(Failure::answered(what));
        }
        self.is_answered(id)
    }

    fn is_answered(&self, id: u64) -> Result<(), Failure> {
        if self.conversation.requests.is_waiting(id) {
            return Err(Failure::Odd("there is no result in it".to_owned()));
        }
        Ok(())
    }
}

/// What a status says that is no success: in the words of the protocol, if the body has some.
pub(super) async fn status_failure(response: Response) -> Failure {
    let status = response.status();
    let is_json = content_type(&response).starts_with(JSON);
    let body = match read_body(response, ERROR_BODY).await {
        Ok(body) => body.unwrap_or_default(),
        Err(failure) => return failure,
    };
    let text = String::from_utf8_lossy(&body);
    if is_json && let Some(error) = Message::read(&text).and_then(|message| message.error) {
        return Failure::Refused(RpcError::read(error));
    }
    let quoted = quote(&text);
    let separator = if quoted.is_empty() { "" } else { ": " };
    let reason = format!("HTTP {status}{separator}{quoted}");
    match status {
        // Turned away at the door.
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Failure::Transport {
            sent: false,
            answered: true,
            may_pass: true,
            reason,
        },
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => Failure::cut(reason),
        _ => Failure::answered(reason),
    }
}

pub(super) fn content_type(response: &Response) -> String {
    response
        .headers()
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
        .unwrap_or_default()
}

fn quote(text: &str) -> String {
    text.trim().chars().take(QUOTED).collect()
}

/// The whole body, or nothing if it is larger than the limit.
async fn read_body(response: Response, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Failure::http(&error))?;
        if body.len() + piece.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

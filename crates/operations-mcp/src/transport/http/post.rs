//! rmcp's idea of an HTTP client, on reqwest: every message passes by the tap, and nothing is read that
//! is larger than the limit.

use std::collections::HashMap;
use std::sync::Arc;

use ::http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use ::http::{HeaderName, HeaderValue};
use futures::StreamExt;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};

use super::events::{self, Events};
use crate::client::tap::{Tap, Verdict};
use crate::transport::message;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";
const BOTH: &str = "application/json, text/event-stream";
/// How much of the body of an error is read, for the message.
const ERROR_BODY: usize = 64 * 1024;
/// How much of it is quoted.
const QUOTED: usize = 300;

type Failure = StreamableHttpError<reqwest::Error>;

/// The HTTP client of one connection.
#[derive(Clone)]
pub(crate) struct TappedClient {
    client: Client,
    tap: Arc<Tap>,
    limit: usize,
}

impl TappedClient {
    pub(crate) fn new(client: Client, tap: Arc<Tap>, limit: usize) -> Self {
        Self { client, tap, limit }
    }

    /// The answer to a POST, as far as the body.
    async fn answer(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.refusal(response, message, had_session).await;
        }
        let session = response
            .headers()
            .get(SESSION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let request = request_number(message);
        let kind = content_type(&response);
        if kind.starts_with(STREAM) {
            let events = self.events(response, request);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if request.is_none() {
            // Nobody waits for what is said to a notification.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !kind.starts_with(JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        let Some(body) = read_body(response, self.limit).await? else {
            let told = self.tap.too_large(request);
            return Ok(messages_of(told, session));
        };
        let text = String::from_utf8_lossy(&body);
        let mut messages = Vec::new();
        let mut odd = false;
        for text in message::split(&text) {
            match self.tap.inbound(&text) {
                Verdict::Forward(text) => messages.push(text.into_owned()),
                Verdict::Done => {}
                Verdict::NotAMessage => odd = true,
            }
        }
        if odd && messages.is_empty() {
            let what = format!("a body that is no message: {}", quote(&text));
            return Err(StreamableHttpError::UnexpectedServerResponse(what.into()));
        }
        Ok(messages_of(messages, session))
    }

    fn events(&self, response: Response, request: Option<u64>) -> Events {
        let bytes = response.bytes_stream().boxed();
        events::read(bytes, self.limit, Arc::clone(&self.tap), request)
    }

    /// A status that is no success.
    async fn refusal(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        check_auth(&response)?;
        let is_json = content_type(&response).starts_with(JSON);
        let body = read_body(response, ERROR_BODY).await?.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        // The status for a session that is gone is 404; many servers say 400, and name it.
        let names_session = || text.to_ascii_lowercase().contains("session");
        if status == StatusCode::BAD_REQUEST && had_session && names_session() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let told = match message::typed(&text) {
            Some(ServerJsonRpcMessage::Error(error)) if is_json && !auth => Some(error.error),
            _ => None,
        };
        if let ClientJsonRpcMessage::Request(request) = message {
            let is_discover = matches!(request.request, ClientRequest::DiscoverRequest(_));
            // Servers of the older generation do not know the question which protocol they speak, and
            // say so in many ways.
            let older = is_discover && !had_session && status.is_client_error() && !auth;
            let error =
                told.or_else(|| older.then(|| ErrorData::invalid_request(quote(&text), None)));
            if let Some(error) = error {
                self.tap.forget(&request.id);
                let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                return Ok(StreamableHttpPostResponse::Json(answer, None));
            }
        }
        if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        let quoted = quote(&text);
        let separator = if quoted.is_empty() { "" } else { ": " };
        let what = format!("HTTP {status}{separator}{quoted}");
        Err(StreamableHttpError::UnexpectedServerResponse(what.into()))
    }
}

/// Messages that came in one body. Several are told like those of a stream.
fn messages_of(mut messages: Vec<String>, session: Option<String>) -> StreamableHttpPostResponse {
    match (messages.pop(), messages.is_empty()) {
        (None, _) => StreamableHttpPostResponse::Accepted,
        (Some(only), true) => match message::typed(&only) {
            Some(message) => StreamableHttpPostResponse::Json(message, session),
            None => StreamableHttpPostResponse::Accepted,
        },
        (Some(last), false) => {
            messages.push(last);
            StreamableHttpPostResponse::Sse(events::of(messages), session)
        }
    }
}

fn request_number(message: &ClientJsonRpcMessage) -> Option<u64> {
    match message {
        ClientJsonRpcMessage::Request(request) => request.id.to_string().parse().ok(),
        _ => None,
    }
}

fn content_type(response: &Response) -> String {
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
        let piece = piece?;
        if body.len() + piece.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

/// What the server wants to see first, if it says so.
fn check_auth(response: &Response) -> Result<(), Failure> {
    let challenge = response
        .headers()
        .get(WWW_AUTHENTICATE)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    match (response.status(), challenge) {
        (StatusCode::UNAUTHORIZED, challenge) => Err(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(challenge.unwrap_or_default()),
        )),
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let scope = scope_of(&challenge);
            Err(StreamableHttpError::InsufficientScope(
                InsufficientScopeError::new(challenge, scope),
            ))
        }
        _ => Ok(()),
    }
}

fn scope_of(challenge: &str) -> Option<String> {
    let (_, rest) = challenge.split_once("scope=")?;
    let scope = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ';', ' ']).next(),
    };
    scope.filter(|scope| !scope.is_empty()).map(str::to_owned)
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<&str>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

impl StreamableHttpClient for TappedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        // Whether it arrived, only the answer can tell.
        if let Some(slot) = self.tap.outbound(&message).slot {
            slot.mark_written(true);
        }
        let body = serde_json::to_vec(&message)?;
        let request = self
            .client
            .post(uri.as_ref())
            .header(ACCEPT, BOTH)
            .header(CONTENT_TYPE, JSON)
            .body(body);
        let had_session = session_id.is_some();
        let request = with_headers(request, session_id.as_deref(), auth_header, custom_headers);
        let response = request.send().await?;
        self.answer(response, &message, had_session).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let request = self.client.delete(uri.as_ref());
        let request = with_headers(request, Some(&session_id), auth_header, custom_headers);
        // Whether the server deletes sessions or not is its own affair.
        request.send().await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        let mut request = self.client.get(uri.as_ref()).header(ACCEPT, STREAM);
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT, id);
        }
        let request = with_headers(request, session_id.as_deref(), auth_header, custom_headers);
        let response = request.send().await?;
        check_auth(&response)?;
        let kind = content_type(&response);
        if response.status() == StatusCode::METHOD_NOT_ALLOWED || !kind.starts_with(STREAM) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            return Err(HttpStatusError::new(response.status().as_u16(), None).into());
        }
        Ok(self.events(response, None))
    }
}

//! What a response means: which kind of body it has, and whether it is an error.

use http::StatusCode;
use serde::Serialize;
use serde_json::map::Entry;
use serde_json::{Map, Value, json};

use super::auth::{Secret, redact};
use super::charset;
use super::integers::Note;
use super::media::{self, Family};
use operations_core::error::CallError;
use operations_core::json::{Document, MAX_ANSWER_DEPTH, MAX_DEPTH, check_below, is_too_deep};

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status.
    pub status: u16,
    /// What the server wrote after it, if anything.
    pub reason: Option<String>,
    /// The headers: names in lower case, repeated ones joined by `", "`.
    pub headers: Map<String, Value>,
    /// The content type as it was sent, or nothing.
    pub content_type: String,
    /// What an envelope is to say about the body.
    pub notes: Vec<Note>,
    /// Whether the content type was not declared: the first note says so.
    pub is_undeclared: bool,
}

impl ResponseHead {
    /// Reads the head of a response.
    pub fn new<'a>(
        status: u16,
        reason: Option<&str>,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        Self::with_headers(status, reason.map(str::to_owned), header_map(headers))
    }

    /// The same, of headers that are a [`header_map`] already.
    pub(crate) fn with_headers(
        status: u16,
        reason: Option<String>,
        headers: Map<String, Value>,
    ) -> Self {
        let content_type = headers.get("content-type").and_then(Value::as_str);
        Self {
            status,
            reason,
            content_type: content_type.unwrap_or_default().to_owned(),
            headers,
            notes: Vec::new(),
            is_undeclared: false,
        }
    }

    /// Forgets how the body was compressed, where it is known to be compressed no more: `fetch` undoes these codings, and
    /// still shows their names and the size of before. Says whether there was something to forget.
    pub fn forget_coding(&mut self) -> bool {
        const CODINGS: [&str; 5] = ["gzip", "x-gzip", "deflate", "br", "zstd"];
        let coding = self.headers.get("content-encoding").and_then(Value::as_str);
        let is_known = |name: &str| CODINGS.contains(&name.trim().to_ascii_lowercase().as_str());
        let is_undone = coding.is_some_and(|list| list.split(',').all(is_known));
        if is_undone {
            self.headers.shift_remove("content-encoding");
            self.headers.shift_remove("content-length");
        }
        is_undone
    }

    /// Fails where the body is still encoded in a way that is unknown here, so that it would be taken for something else.
    pub(crate) fn check_coding(&self) -> Result<(), CallError> {
        let coding = self.headers.get("content-encoding").and_then(Value::as_str);
        let is_plain = |name: &str| name.is_empty() || name.eq_ignore_ascii_case("identity");
        match coding.filter(|list| !list.split(',').map(str::trim).all(is_plain)) {
            None => Ok(()),
            Some(coding) => {
                let message = format!(
                    "HTTP {}: the body of the response is encoded as {coding:?}, which cannot be read",
                    self.status
                );
                Err(CallError::failed(message).with_details(details(self, None, &[])))
            }
        }
    }

    /// The size of the body, if the server has declared it.
    #[must_use]
    pub fn announced(&self) -> Option<u64> {
        self.headers.get("content-length")?.as_str()?.parse().ok()
    }

    /// Whether the status means success.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// What an envelope says about this response, as JSON.
    #[must_use]
    pub fn meta_text(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta<'a> {
            status_code: u16,
            headers: &'a Map<String, Value>,
            content_type: &'a str,
            source: &'static str,
            #[serde(skip_serializing_if = "<[Note]>::is_empty")]
            notes: &'a [Note],
        }
        let meta = Meta {
            status_code: self.status,
            headers: &self.headers,
            content_type: &self.content_type,
            source: "http",
            notes: &self.notes,
        };
        // Maps of texts are always JSON.
        serde_json::to_string(&meta).unwrap_or_default()
    }

    /// Whether the content type is one of those that were declared. Without any, nothing was declared.
    pub(crate) fn is_of_type(&self, declared: &[String]) -> bool {
        let sent = self.content_type.as_str();
        declared.is_empty() || declared.iter().any(|range| media::covers(range, sent))
    }

    /// Adds a note if the content type was not declared. Without any, nothing was declared.
    pub(crate) fn compare_type(&mut self, declared: &[String]) {
        if self.is_of_type(declared) {
            return;
        }
        let sent = match media::essence(&self.content_type) {
            none if none.is_empty() => "has no content type".to_owned(),
            essence => format!("is {essence}"),
        };
        let declared = declared.join(", ");
        self.is_undeclared = true;
        self.notes.push(Note {
            path: String::new(),
            message: format!("The response {sent}, and the document declares only {declared}"),
        });
    }

    /// What the server wrote after the status, else the registered name: HTTP/2 sends numbers only.
    /// Control characters are spaces, and it is not longer than a line or two, because it is a text
    /// of the server's in an error that gets printed.
    #[must_use]
    pub fn reason(&self) -> String {
        const LONGEST: usize = 200;
        let written = self.reason.as_deref().map(str::trim);
        let registered = StatusCode::from_u16(self.status).ok();
        let registered = registered.and_then(|status| status.canonical_reason());
        let reason = written.filter(|text| !text.is_empty()).or(registered);
        let reason = reason.unwrap_or("Unknown Status").chars().take(LONGEST);
        reason
            .map(|one| if one.is_control() { ' ' } else { one })
            .collect()
    }

    /// How the body is read.
    #[must_use]
    pub fn kind(&self) -> BodyKind {
        match media::family(&self.content_type) {
            Family::Json => BodyKind::Json,
            Family::EventStream => BodyKind::EventStream,
            Family::JsonLines => BodyKind::JsonLines,
            Family::PlainText | Family::OtherText => BodyKind::Text,
            Family::Form | Family::Multipart | Family::Binary => BodyKind::Bytes,
        }
    }
}

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// One JSON value.
    Json,
    /// A string.
    Text,
    /// Bytes as they are.
    Bytes,
    /// Server-sent events, to whom a stream was promised.
    EventStream,
    /// One JSON value per line, to whom a stream was promised.
    JsonLines,
}

/// A body, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// No value: `undefined`.
    Empty,
    /// Text that claims to be JSON.
    Json(String),
    /// JSON that was parsed, for callers that read it in Rust.
    Document(Document),
    /// A string.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Names in lower case, repeated headers joined by `", "`, in the order of their first appearance.
pub fn header_map<'a>(
    headers: impl IntoIterator<Item = (&'a str, impl Into<String>)>,
) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, value) in headers {
        match map.entry(name.to_ascii_lowercase()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Value::String(value.into()));
            }
            Entry::Occupied(mut occupied) => {
                if let Value::String(present) = occupied.get_mut() {
                    present.push_str(", ");
                    present.push_str(&value.into());
                }
            }
        }
    }
    map
}

/// Decodes a complete body as its content type says. JSON is UTF-8 whatever its label claims.
#[must_use]
pub fn decode(head: &ResponseHead, bytes: Vec<u8>) -> Decoded {
    if bytes.is_empty() {
        return Decoded::Empty;
    }
    match head.kind() {
        BodyKind::Json => Decoded::Json(charset::decode(bytes, None)),
        BodyKind::Text | BodyKind::EventStream => {
            let label = media::parameter(&head.content_type, "charset");
            Decoded::Text(charset::decode(bytes, label.as_deref()))
        }
        BodyKind::Bytes | BodyKind::JsonLines => Decoded::Bytes(bytes),
    }
}

/// The error for a success whose body claims to be JSON and is not, or is nested too deeply to be
/// read.
#[must_use]
pub fn invalid_json(head: &ResponseHead, text: &str, secrets: &[Secret]) -> CallError {
    let media_type = media::essence(&head.content_type);
    let status = head.status;
    if is_too_deep(text) {
        let message = format!(
            "HTTP {status}: the body of the response ({media_type}) is nested more than {MAX_ANSWER_DEPTH} levels deep"
        );
        return CallError::failed(message).with_details(details(head, None, secrets));
    }
    let message = format!(
        "HTTP {status}: the response says it is {media_type} but its body is not valid JSON"
    );
    CallError::failed(message).with_details(details(head, Some(Value::from(text)), secrets))
}

/// The error for a status outside 2XX. Binary bodies are in its details as text where they are text,
/// and absent where they are not; a binding that has a type for bytes puts them there itself.
#[must_use]
pub fn failure(head: &ResponseHead, body: Decoded, secrets: &[Secret]) -> CallError {
    let body = match body {
        Decoded::Empty => None,
        Decoded::Text(text) => Some(Value::String(text)),
        Decoded::Json(text) => Some(value_of(text)),
        Decoded::Document(document) => Some(value_of(document.into_text())),
        Decoded::Bytes(bytes) => String::from_utf8(bytes).ok().map(Value::String),
    };
    let reason = head.reason();
    let reason = redact(&reason, secrets);
    CallError::failed(format!("HTTP {}: {reason}", head.status))
        .with_details(details(head, body, secrets))
}

/// The depth up to which the body of an error is read: that of `serde_json`.
const MAX_BODY_DEPTH: usize = 127;

/// The value of a body that claims to be JSON; where it is not, or is nested deeply, the text. Numbers that are too large for
/// JavaScript are `null`, as everywhere in the details of an error.
fn value_of(text: String) -> Value {
    match serde_json::from_str(&text) {
        Ok(value) => value,
        // A lone surrogate, or a number like 1e400: JavaScript reads both.
        Err(_) if check_below(MAX_DEPTH - MAX_BODY_DEPTH, &text).is_ok() => {
            let document = Document::parse(text.as_str());
            document.map_or(Value::String(text), |document| document.root().to_value())
        }
        Err(_) => Value::String(text),
    }
}

fn details(head: &ResponseHead, body: Option<Value>, secrets: &[Secret]) -> Value {
    let mut details = json!({
        "statusCode": head.status,
        "headers": head.headers,
        "contentType": head.content_type,
        // The server has answered, and this is its answer.
        "delivery": "done",
        "reason": "status",
    });
    if let (Some(members), Some(body)) = (details.as_object_mut(), body) {
        members.insert("body".to_owned(), body);
    }
    blank_out(&mut details, secrets);
    details
}

/// Blanks secrets out of every string and key. Values from the network are parsed with a limit on
/// depth, so the recursion is bounded.
fn blank_out(value: &mut Value, secrets: &[Secret]) {
    if secrets.is_empty() {
        return;
    }
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(blanked) = redact(text, secrets) {
                *text = blanked;
            }
        }
        Value::Array(elements) => {
            for element in elements {
                blank_out(element, secrets);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                blank_out(member, secrets);
            }
            let echoed = members
                .keys()
                .any(|key| matches!(redact(key, secrets), std::borrow::Cow::Owned(_)));
            if echoed {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, member)| (redact(&key, secrets).into_owned(), member))
                    .collect();
            }
        }
        _ => {}
    }
}

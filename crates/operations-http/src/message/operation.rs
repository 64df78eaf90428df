//! What a client has to know of an operation to call it over HTTP.

use std::sync::Arc;

use serde::Serialize;

use super::int64::Int64;
use super::media::{Family, essence, family};
use super::plan::{RequestPlan, Server};

/// An operation that is an HTTP request. Where it came from does not matter here: a document is read
/// elsewhere (`operations-openapi`).
#[derive(Debug, Clone, Default)]
pub struct HttpOperation {
    /// What errors call it, below the namespace of its service; empty for an operation without a name.
    pub name: String,
    /// How an input becomes a request.
    pub request: RequestPlan,
    /// The servers that count when the configuration names none, the first one first.
    pub servers: Arc<[Server]>,
    /// What the body of a success response is.
    pub response: ResponseKind,
    /// What becomes of integers that a JavaScript number cannot hold; without it they are rounded.
    pub int64: Option<Arc<Int64>>,
    /// Whether the server is one of ours, which sends envelopes to those who ask for them ([`super::served`]).
    pub is_served: bool,
    /// The namespace, where it is not that of the service.
    pub namespace: Option<String>,
}

/// What the body of a success response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseKind {
    /// One JSON value.
    Json,
    /// Server-sent events.
    Sse,
    /// One JSON value per line.
    Ndjson,
    /// A text.
    Text,
    /// Bytes.
    Binary,
    /// No content is declared.
    #[default]
    Empty,
}

impl ResponseKind {
    /// Whether there is more than one result.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        matches!(self, Self::Sse | Self::Ndjson)
    }

    /// What a media type says. A range can be anything, which is most often JSON.
    #[must_use]
    pub fn of_media_type(media_type: &str) -> Self {
        let essence = essence(media_type);
        match essence.as_str() {
            "*/*" | "application/*" | "*" => Self::Json,
            _ => match family(&essence) {
                Family::EventStream => Self::Sse,
                Family::JsonLines => Self::Ndjson,
                Family::Json => Self::Json,
                Family::PlainText | Family::OtherText => Self::Text,
                Family::Form | Family::Multipart | Family::Binary => Self::Binary,
            },
        }
    }
}

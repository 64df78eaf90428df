//! What the answer to a call means: a reply, or a failure.

use std::borrow::Cow;

use operations_core::error::Failure;
use operations_core::json::{Document, MAX_ANSWER_DEPTH, is_too_deep};
use operations_spill::{Spilled, described, preview};
use serde::de::IgnoredAny;

use super::auth::Secret;
use super::int64::Int64;
use super::integers::keep_integers;
use super::response::{self, BodyKind, Decoded, ResponseHead, decode};
use super::{charset, media};

/// What becomes of a body that is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonForm {
    /// It is checked and stays a text, for JavaScript to parse.
    Text,
    /// It is parsed, once, for callers that read it in Rust.
    Document,
}

/// A success.
#[derive(Debug)]
pub struct Reply {
    /// The head of the response.
    pub head: ResponseHead,
    /// Its body. JSON has been parsed once: it is valid.
    pub body: Decoded,
    /// Where a text in it stands for a `bigint`, as JSON Pointers.
    pub bigints: Vec<String>,
    /// The file that has all of the body, if it was too large. What is in `body` is its beginning.
    pub spill: Option<Spilled>,
}

impl Reply {
    /// A success whose body is in a file, by its beginning.
    pub(crate) fn spilled(head: ResponseHead, start: &[u8], spill: Spilled) -> Self {
        let preview = if head.kind() == BodyKind::Bytes {
            described(&head.content_type, spill.bytes)
        } else {
            preview(start)
        };
        Self {
            head,
            body: Decoded::Text(preview),
            bigints: Vec::new(),
            spill: Some(spill),
        }
    }
}

impl Reply {
    /// Treats the integers of a JSON body ([`keep_integers`]).
    pub(crate) fn keep_integers(&mut self, int64: Option<&Int64>) {
        let text = match &self.body {
            Decoded::Json(text) => text,
            Decoded::Document(document) => document.text(),
            _ => return,
        };
        let (kept, remarks) = keep_integers(Cow::Borrowed(text), int64);
        if let Cow::Owned(kept) = kept {
            self.body = match (&self.body, Document::parse(kept.as_str())) {
                (Decoded::Document(_), Ok(document)) => Decoded::Document(document),
                _ => Decoded::Json(kept),
            };
        }
        self.head.notes.extend(remarks.notes);
        self.bigints = remarks.bigints;
    }

    /// The body as text, whatever its type says: for what is no operation, such as a document.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.body {
            Decoded::Empty => String::new(),
            Decoded::Json(text) | Decoded::Text(text) => text,
            Decoded::Document(document) => document.into_text(),
            Decoded::Bytes(bytes) => {
                let label = media::parameter(&self.head.content_type, "charset");
                charset::decode(bytes, label.as_deref())
            }
        }
    }
}

/// Whether a text is JSON that JavaScript may be asked to parse. Nothing is built, and depth costs
/// no stack.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok() && !is_too_deep(text)
}

/// What a complete response means.
///
/// # Errors
/// When the status is outside 2XX, or when the body claims to be JSON and is not.
pub fn decoded_reply(
    head: ResponseHead,
    bytes: Vec<u8>,
    secrets: &[Secret],
    form: JsonForm,
) -> Result<Reply, Failure> {
    if !head.is_success() {
        if head.kind() == BodyKind::Bytes && !bytes.is_empty() {
            let error = Box::new(response::failure(&head, Decoded::Empty, secrets));
            let body = Some(bytes);
            return Err(Failure { error, body });
        }
        let body = match decode(&head, bytes) {
            // A promised stream that is an error after all is a text.
            Decoded::Bytes(bytes) => Decoded::Text(String::from_utf8_lossy(&bytes).into_owned()),
            other => other,
        };
        return Err(response::failure(&head, body, secrets).into());
    }
    let body = match (decode(&head, bytes), form) {
        (Decoded::Json(text), JsonForm::Text) if is_json(&text) => Decoded::Json(text),
        (Decoded::Json(text), JsonForm::Text) => {
            return Err(response::invalid_json(&head, &text, secrets).into());
        }
        (Decoded::Json(text), JsonForm::Document) => {
            match Document::parse_within(MAX_ANSWER_DEPTH, text) {
                Ok(document) => Decoded::Document(document),
                Err((_, text)) => {
                    return Err(response::invalid_json(&head, &text, secrets).into());
                }
            }
        }
        (other, _) => other,
    };
    Ok(Reply {
        head,
        body,
        bigints: Vec::new(),
        spill: None,
    })
}

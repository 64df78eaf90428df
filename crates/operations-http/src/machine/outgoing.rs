//! The request of a machine: as it was built, and as redirects have changed it.

use std::borrow::Cow;

use bytes::Bytes;
use encoding_rs::mem;
use operations_core::error::CallError;

use super::redirect;
use crate::message::body::{Body, Payload};
use crate::message::headers::latin1;
use crate::message::{Auth, Reach, Request, ResponseHead, Secret};

/// What is to be sent. The body can be sent more than once without a copy.
#[derive(Debug)]
pub struct Outgoing {
    /// As it was built. Its body, if any, holds no bytes: it says that there is one, and of which type.
    first: Request,
    /// What a redirect has made of it.
    redirected: Option<Request>,
    followed: usize,
    body: Bytes,
    is_text: bool,
}

impl Outgoing {
    pub(super) fn new(mut request: Request) -> Self {
        let mut body = Bytes::new();
        let mut is_text = false;
        if let Some(Body { payload, .. }) = &mut request.body {
            is_text = matches!(payload, Payload::Text(_));
            let taken = std::mem::replace(payload, Payload::Bytes(Vec::new()));
            body = taken.into_bytes().into();
        }
        Self {
            first: request,
            redirected: None,
            followed: 0,
            body,
            is_text,
        }
    }

    /// The request, whose body is [`Outgoing::body`].
    #[must_use]
    pub fn request(&self) -> &Request {
        self.redirected.as_ref().unwrap_or(&self.first)
    }

    /// The bytes of the body, if there is one.
    #[must_use]
    pub fn body(&self) -> Option<&Bytes> {
        self.request().body.is_some().then_some(&self.body)
    }

    /// The body as text, where it is one and not bytes.
    #[must_use]
    pub fn body_text(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.body()?).ok();
        text.filter(|_| self.is_text)
    }

    /// The method before redirects, which may have made a GET of it.
    pub(super) fn first_method(&self) -> &str {
        &self.first.method
    }

    pub(super) fn host(&self) -> String {
        self.request().host()
    }

    pub(super) fn has_credentials(&self) -> bool {
        self.first.headers.get("Authorization").is_some()
    }

    /// Whether a redirect has led to another origin.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.request().url.origin() != self.first.url.origin()
    }

    pub(super) fn authorize(&mut self, token: &Secret) -> Result<(), CallError> {
        let auth = Auth::Bearer(token.clone());
        if let Some(redirected) = &mut self.redirected {
            auth.apply(&mut redirected.headers)?;
        }
        auth.apply(&mut self.first.headers)
    }

    /// Is the first request again.
    pub(super) fn restart(&mut self) {
        self.redirected = None;
        self.followed = 0;
    }

    /// Turns into the request that a response asks for; false when it asks for none.
    pub(super) fn redirect(
        &mut self,
        head: &ResponseHead,
        reach: &Reach,
    ) -> Result<bool, CallError> {
        let location = location(head);
        let next = redirect::next_request(
            self.request(),
            head.status,
            location.as_deref(),
            self.followed,
        )?;
        let Some(next) = next else {
            return Ok(false);
        };
        reach.check(&next.url)?;
        self.redirected = Some(next);
        self.followed += 1;
        Ok(true)
    }

    /// Asks for what comes after the event with this id. An id that no header can carry is not sent.
    pub(super) fn resume_after(&mut self, id: &str) {
        if id.is_empty() {
            return;
        }
        // Headers are written as Latin-1, and this one is UTF-8: each byte is a character of its own.
        let bytes = mem::decode_latin1(id.as_bytes());
        let _ = self.first.headers.set(LAST_EVENT_ID, &bytes);
    }

    /// The same, unless the request says already where it begins.
    pub(super) fn begin_after(&mut self, id: &str) {
        if self.first.headers.get(LAST_EVENT_ID).is_none() {
            self.resume_after(id);
        }
    }
}

const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Where a response points to. Servers write addresses as UTF-8, and headers are read as Latin-1.
fn location(head: &ResponseHead) -> Option<String> {
    let value = head.headers.get("location")?.as_str()?;
    let bytes = latin1(value).map(Cow::into_owned);
    let decoded = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Some(decoded.unwrap_or_else(|| value.to_owned()))
}

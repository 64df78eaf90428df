//! One request, its redirects, and the head of the answer.

use crate::message::body::{Body, Payload};
use crate::message::headers::latin1;
use crate::message::{Request, ResponseHead, Secret, redirect, retry};
use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use operations_core::error::CallError;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response};

use crate::failure;
use crate::pool::Connections;

/// A request whose body can be sent more than once without a copy.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// Its body, if any, holds no bytes: it says that there is one, and of which type.
    pub(crate) request: Request,
    body: Bytes,
}

impl Outgoing {
    pub(crate) fn new(mut request: Request) -> Self {
        let mut body = Bytes::new();
        if let Some(Body { payload, .. }) = &mut request.body {
            let taken = std::mem::replace(payload, Payload::Bytes(Vec::new()));
            body = taken.into_bytes().into();
        }
        Self { request, body }
    }

    fn to_reqwest(&self) -> Result<reqwest::Request, Broken> {
        let method = Method::from_bytes(self.request.method.as_bytes())
            .map_err(|_| Broken::of_build("the method is none"))?;
        let mut out = reqwest::Request::new(method, self.request.url.clone());
        *out.headers_mut() = headers(&self.request)?;
        if !self.body.is_empty() && self.request.body.is_some() {
            *out.body_mut() = Some(self.body.clone().into());
        } else if matches!(self.request.method.as_str(), "POST" | "PUT" | "PATCH") {
            // Servers may insist on a length where a body could have been, and hyper writes none.
            let none = HeaderValue::from_static("0");
            out.headers_mut().insert(CONTENT_LENGTH, none);
        }
        Ok(out)
    }
}

fn headers(request: &Request) -> Result<HeaderMap, Broken> {
    let mut map = HeaderMap::with_capacity(request.headers.len() + 4);
    for (name, value) in request.headers.iter() {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Broken::of_build("a header name is none"))?;
        let value = HeaderValue::from_bytes(&latin1(value))
            .map_err(|_| Broken::of_build("a header value is none"))?;
        map.insert(name, value);
    }
    Ok(map)
}

/// A request that got no answer.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) error: Box<CallError>,
    pub(crate) kind: Option<retry::Failure>,
}

impl Broken {
    fn of_build(what: &str) -> Self {
        Self::from(CallError::new(
            operations_core::error::InfrastructureErrorCode::ValidationError,
            format!("The request cannot be sent: {what}"),
        ))
    }
}

impl From<CallError> for Broken {
    /// An error that another try would not change.
    fn from(error: CallError) -> Self {
        Self {
            error: Box::new(error),
            kind: None,
        }
    }
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) response: Response,
    /// The host that gave it, after redirects.
    pub(crate) host: String,
}

/// Sends a request and follows redirects.
pub(crate) async fn exchange(
    connections: &Connections,
    outgoing: &Outgoing,
    secrets: &[Secret],
) -> Result<Answer, Broken> {
    let mut current = outgoing.clone();
    let mut followed = 0;
    loop {
        let client = connections.client(current.request.url.scheme())?;
        let host = current.request.host();
        let sent = client.execute(current.to_reqwest()?).await;
        let response = sent.map_err(|error| Broken {
            kind: Some(failure::kind(&error)),
            error: Box::new(failure::describe(&error, &host, secrets)),
        })?;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION);
        let location = location.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let next = redirect::next_request(&current.request, status, location.as_deref(), followed)?;
        let Some(next) = next else {
            return Ok(Answer {
                head: head(&response),
                response,
                host,
            });
        };
        current.request = next;
        followed += 1;
    }
}

fn head(response: &Response) -> ResponseHead {
    let reason = response.extensions().get::<ReasonPhrase>();
    let reason = reason.map(|phrase| from_latin1(phrase.as_bytes()));
    let values: Vec<(&str, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), from_latin1(value.as_bytes())))
        .collect();
    let headers = values.iter().map(|(name, value)| (*name, value.as_str()));
    ResponseHead::new(response.status().as_u16(), reason.as_deref(), headers)
}

/// Header values are bytes; `fetch` shows each as one character, and so do we.
fn from_latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

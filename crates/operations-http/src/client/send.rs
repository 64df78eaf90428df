//! A request and the head of its response, as reqwest has them.

use encoding_rs::mem;
use hyper::ext::ReasonPhrase;
use operations_core::error::CallError;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};

use super::network_error;
use super::pool::Connections;
use crate::machine::{Input, Outgoing};
use crate::message::headers::latin1;
use crate::message::response::header_map;
use crate::message::{Request, ResponseHead};

/// Sends a request. Errors are returned in the form that the machine takes.
pub(super) async fn send(
    connections: &Connections,
    outgoing: &Outgoing,
) -> Result<Response, Input<'static>> {
    let scheme = outgoing.request().url.scheme();
    let client = connections.client(scheme).map_err(Input::Refused)?;
    let request = to_reqwest(outgoing).map_err(Input::Refused)?;
    let sent = client.execute(request).await;
    sent.map_err(|error| Input::Failed(network_error::of(&error)))
}

fn to_reqwest(outgoing: &Outgoing) -> Result<reqwest::Request, CallError> {
    let request = outgoing.request();
    let method = Method::from_bytes(request.method.as_bytes())
        .map_err(|_| unsendable("HTTP has no such method"))?;
    let needs_length = matches!(method, Method::POST | Method::PUT | Method::PATCH);
    let mut out = reqwest::Request::new(method, request.url.clone());
    *out.headers_mut() = headers(request)?;
    match outgoing.body() {
        Some(body) if !body.is_empty() => *out.body_mut() = Some(body.clone().into()),
        // Servers may insist on a length where a body could have been, and hyper writes none.
        _ if needs_length => {
            let zero = HeaderValue::from_static("0");
            out.headers_mut().insert(CONTENT_LENGTH, zero);
        }
        _ => {}
    }
    Ok(out)
}

fn headers(request: &Request) -> Result<HeaderMap, CallError> {
    let mut map = HeaderMap::with_capacity(request.headers.len() + 4);
    for (name, value) in request.headers.iter() {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| unsendable("a header has no name of HTTP"))?;
        let value = latin1(value).and_then(|bytes| HeaderValue::from_bytes(&bytes).ok());
        let value =
            value.ok_or_else(|| unsendable("a header has a value that HTTP cannot carry"))?;
        map.insert(name, value);
    }
    Ok(map)
}

fn unsendable(why: &str) -> CallError {
    CallError::invalid(format!("The request cannot be sent: {why}"))
}

/// The head of a response, for the machine.
pub(super) fn head(response: &Response) -> Input<'static> {
    let reason = response.extensions().get::<ReasonPhrase>();
    let reason = reason.map(|phrase| from_latin1(phrase.as_bytes()));
    let headers = response.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str(), from_latin1(value.as_bytes())));
    let status = response.status().as_u16();
    Input::Head {
        head: ResponseHead::with_headers(status, reason, header_map(headers)),
        announced: response.content_length(),
    }
}

/// Header values are bytes; `fetch` shows each as one character, and so do we.
fn from_latin1(bytes: &[u8]) -> String {
    mem::decode_latin1(bytes).into_owned()
}

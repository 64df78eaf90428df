//! From an envelope to an answer: its data is the body, unless the client wants all of it.

use std::iter;

use futures::StreamExt;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::registry::BodyStream;
use serde_json::{Value, json};

use super::request::ENVELOPE;
use super::{download, problem};
use crate::binary::{Binary, binary};
use crate::body::{self, Body, BodyError};
use crate::call::Done;
use crate::failure;
use crate::identity::Caller;
use crate::service::Shared;
use crate::spilled::with_spill;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The request that is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub(super) caller: &'a Caller,
    pub(super) wants_envelope: bool,
    pub(super) request_id: &'a str,
}

/// The answer to a call.
pub(super) async fn of(
    shared: &Shared,
    door: &str,
    Done { envelope, pieces }: Done,
    context: RequestContext<'_>,
) -> Response<Body> {
    let request_id = context.request_id;
    // We or JavaScript wrote it; anything that is not an envelope is of no use to a client.
    let Some(meta) = envelope.meta() else {
        let error = CallError::new("UNKNOWN_ERROR", "The operation failed");
        return problem::of(&error, StatusCode::INTERNAL_SERVER_ERROR, request_id);
    };
    // The data leaves as the body, and the envelope with it.
    let meta = meta.to_owned();
    let meta = Object::read(&meta).unwrap_or_default();
    let source = meta.text("source");
    let is_mcp_error = source.as_deref() == Some("mcp") && meta.get("isError") == Some("true");
    let is_http = source.as_deref() == Some("http");
    let upstream = is_http.then(|| meta.number("statusCode")).flatten();
    let status = success(upstream, is_mcp_error, true);
    let file = shared.downloads.offer(&meta, context.caller);
    let mut response = if context.wants_envelope {
        let spill = file
            .as_ref()
            .map(|file| file.to_json(("url", &download::address(door, file))));
        let envelope = with_spill(shared.calls.headers.in_envelope(envelope), spill.as_ref());
        with(
            status,
            body::full(envelope.into_text()),
            HeaderValue::from_static(ENVELOPE),
        )
    } else if let Some(file) = &file {
        match download::whole(door, file, status).await {
            Ok(response) => response,
            Err(error) => {
                let error =
                    CallError::unknown(format!("The file of a large result is gone: {error}"));
                shared.log_failure(request_id, &error);
                let error = failure::masked(error, false);
                return problem::of(&error, StatusCode::INTERNAL_SERVER_ERROR, request_id);
            }
        }
    } else if let Some(pieces) = pieces {
        with_pieces(pieces, status, &meta)
    } else if is_mcp_error {
        mcp_error(envelope.data(), status, request_id)
    } else {
        with_data(envelope, status, &meta)
    };
    let headers = response.headers_mut();
    if is_http && let Some(upstream) = meta.object("headers") {
        for name in &shared.options.response_headers {
            let value = upstream.string(name);
            if let (Ok(name), Some(Ok(value))) = (
                HeaderName::try_from(name.as_str()),
                value.map(|value| HeaderValue::try_from(relayed(name, value))),
            ) {
                headers.insert(name, value);
            }
        }
    }
    secure(&mut response);
    response
}

/// The value of an upstream header, as it applies to this answer: upstream's is for anyone with the credentials of this
/// server, and ours is for one caller. No cache that is shared may store it.
fn relayed(name: &str, value: String) -> String {
    if name != CACHE_CONTROL.as_str() {
        return value;
    }
    let is_shared = |directive: &&str| {
        let name = directive.split('=').next().unwrap_or_default().trim();
        let shared = ["public", "private", "s-maxage", "proxy-revalidate"];
        shared.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    // It names headers, and we cannot decide who may store which.
    if value.contains('"') {
        return "no-store".to_owned();
    }
    let directives = value.split(',').map(str::trim);
    let directives = directives.filter(|each| !each.is_empty() && !is_shared(each));
    iter::once("private")
        .chain(directives)
        .collect::<Vec<_>>()
        .join(", ")
}

/// What came from elsewhere must not become a page of this origin.
pub(in crate::door) fn secure(response: &mut Response<Body>) {
    secure_headers(response.headers_mut());
}

pub(super) fn secure_headers(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// The status of an answer: upstream's own, if it means success. A tool that says that it failed is no success, and without data there is
/// no content.
#[must_use]
pub fn success(upstream: Option<f64>, is_tool_error: bool, has_content: bool) -> StatusCode {
    if is_tool_error {
        return StatusCode::BAD_GATEWAY;
    }
    let known = upstream.and_then(|status| {
        (200..300_u16).find(|known| (f64::from(*known) - status).abs() < f64::EPSILON)
    });
    let status = known.and_then(|status| StatusCode::from_u16(status).ok());
    match status.unwrap_or(StatusCode::OK) {
        StatusCode::OK if !has_content => StatusCode::NO_CONTENT,
        status => status,
    }
}

fn with(status: StatusCode, body: Body, media_type: HeaderValue) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

fn with_data(envelope: ResponseEnvelope, status: StatusCode, meta: &Object<'_>) -> Response<Body> {
    if let Some(Binary { bytes, .. }) = envelope.data().and_then(binary) {
        return with(status, body::full(bytes), media_type(meta));
    }
    let Some(data) = envelope.into_data() else {
        // Nothing at all is what an operation without a result gives.
        let mut response = Response::new(body::empty());
        *response.status_mut() = success(Some(f64::from(status.as_u16())), false, false);
        return response;
    };
    with(status, body::full(data), JSON)
}

/// The type that the upstream server gave its binary data.
fn media_type(meta: &Object<'_>) -> HeaderValue {
    meta.string("contentType")
        .and_then(|media_type| HeaderValue::try_from(media_type).ok())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// Binary data that is handed on as it comes. If it breaks off, so does the connection.
fn with_pieces(pieces: BodyStream, status: StatusCode, meta: &Object<'_>) -> Response<Body> {
    let body = pieces
        .body
        .map(|piece| piece.map_err(|error| BodyError::from(error.message)));
    let mut response = with(status, body::fallible(body.boxed()), media_type(meta));
    if let Some(length) = pieces.length {
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

/// The tool says that it failed: its message for the model becomes the error message.
fn mcp_error(data: Option<&str>, status: StatusCode, request_id: &str) -> Response<Body> {
    let content: Value = data
        .and_then(|data| serde_json::from_str(data).ok())
        .unwrap_or_default();
    let said: Vec<&str> = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    let message = if said.is_empty() {
        "The tool failed".to_owned()
    } else {
        said.join("\n")
    };
    let error =
        CallError::failed(message).with_details(json!({ "content": content, "delivery": "done" }));
    problem::of_call(&error, status, "", request_id)
}

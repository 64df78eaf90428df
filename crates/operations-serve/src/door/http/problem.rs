//! Errors as problem details (RFC 9457).

use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Response, StatusCode};
use operations_core::byte_budget::exhausted;
use operations_core::error::{CallError, InfrastructureErrorCode};
use serde_json::{Value, json};

use super::route::Unreadable;
use crate::body::{self, Body, Unread};
use crate::challenge;
use crate::failure;
use crate::service::overloaded;

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Why a request was not let through to an operation.
#[must_use]
pub fn of(error: &CallError, status: StatusCode, request_id: &str) -> Response<Body> {
    written(&details(error, status, request_id, false), status)
}

/// Why a call failed.
#[must_use]
pub fn of_call(
    error: &CallError,
    status: StatusCode,
    id: &str,
    request_id: &str,
) -> Response<Body> {
    let may_have_run = failure::may_have_run(error, id);
    let mut response = written(&details(error, status, request_id, may_have_run), status);
    if let Some(refused) = failure::refused(error) {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(refused.retry_after));
    }
    // Of an upstream server whose status is relayed, if its headers may be shown.
    let details = error.details.as_ref();
    if status == StatusCode::TOO_MANY_REQUESTS
        && let Some(wait) =
            details.and_then(|details| details.pointer("/headers/retry-after")?.as_str())
        && let Ok(wait) = HeaderValue::try_from(wait)
    {
        response.headers_mut().insert(RETRY_AFTER, wait);
    }
    let is_denied = error.is(InfrastructureErrorCode::AccessDenied);
    if status == StatusCode::FORBIDDEN && is_denied && !failure::is_not_approved(error) {
        let missing = challenge::missing_scopes(error.details.as_ref());
        response.extensions_mut().insert(missing);
    }
    response
}

/// The body of a problem.
#[must_use]
pub fn details(
    error: &CallError,
    status: StatusCode,
    request_id: &str,
    may_have_run: bool,
) -> Value {
    let mut problem = json!({
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": error.message,
        "code": error.code,
        "requestId": request_id,
        "mayHaveRun": may_have_run,
    });
    if let (Some(details), Some(problem)) = (&error.details, problem.as_object_mut()) {
        if let Some(errors) = details.get("errors") {
            problem.insert("errors".to_owned(), errors.clone());
        }
        problem.insert("details".to_owned(), details.clone());
    }
    problem
}

fn written(problem: &Value, status: StatusCode) -> Response<Body> {
    let mut response = Response::new(body::full(problem.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM);
    response
}

fn refusal(status: StatusCode, message: impl Into<String>, request_id: &str) -> Response<Body> {
    let error = CallError::invalid(message).with_details(json!({ "delivery": "none" }));
    of(&error, status, request_id)
}

/// There is nothing at this path.
#[must_use]
pub fn not_found(request_id: &str) -> Response<Body> {
    let error = CallError::new("OPERATION_NOT_FOUND", "There is nothing at this path")
        .with_details(json!({ "delivery": "none" }));
    of(&error, StatusCode::NOT_FOUND, request_id)
}

/// There is something, but not for this method.
#[must_use]
pub fn wrong_method(allowed: &'static str, request_id: &str) -> Response<Body> {
    let message = format!("This operation is called with {allowed}");
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, message, request_id);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// The same, where there are several.
#[must_use]
pub fn wrong_method_of(allowed: &[Method], request_id: &str) -> Response<Body> {
    let mut names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let message = format!("This path accepts only {}", names.join(" or "));
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, message, request_id);
    if let Ok(value) = HeaderValue::from_str(&names.join(", ")) {
        response.headers_mut().insert(ALLOW, value);
    }
    response
}

/// A part of the input outside the body cannot be read.
#[must_use]
pub(super) fn unreadable(id: &str, part: &Unreadable, request_id: &str) -> Response<Body> {
    let Unreadable { what, path } = part;
    let message = format!("The input of operation {id} cannot be read: {what}");
    let mut details = json!({ "operationId": id, "delivery": "none" });
    if let (Some(path), Some(details)) = (path, details.as_object_mut()) {
        let errors = json!([{ "path": path, "message": what }]);
        details.insert("errors".to_owned(), errors);
    }
    let error = CallError::invalid(message).with_details(details);
    malformed(&error, request_id)
}

/// The body is of a type that means nothing here.
#[must_use]
pub fn wrong_type(request_id: &str) -> Response<Body> {
    let message = "The input must be sent as JSON, with Content-Type: application/json, or as multipart/form-data";
    refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, request_id)
}

/// The body is compressed, or encoded in another way. Says what is accepted (RFC 7694).
#[must_use]
pub fn encoded(request_id: &str) -> Response<Body> {
    let message = "The body must be sent without a Content-Encoding";
    let mut response = refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, request_id);
    let headers = response.headers_mut();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    response
}

/// The body is not there.
#[must_use]
pub fn unread(why: Unread, most: usize, request_id: &str) -> Response<Body> {
    match why {
        Unread::TooLarge => {
            let message = format!("The body is larger than the limit of {most} bytes");
            refusal(StatusCode::PAYLOAD_TOO_LARGE, message, request_id)
        }
        Unread::TooSlow => {
            let message = "The body did not arrive in time";
            refusal(StatusCode::REQUEST_TIMEOUT, message, request_id)
        }
        Unread::Exhausted => overloaded(&exhausted("none"), request_id),
        Unread::Broken => {
            let message = "The body could not be read to its end";
            refusal(StatusCode::BAD_REQUEST, message, request_id)
        }
    }
}

/// What was sent is not what is understood here.
#[must_use]
pub fn malformed(error: &CallError, request_id: &str) -> Response<Body> {
    of(error, StatusCode::BAD_REQUEST, request_id)
}

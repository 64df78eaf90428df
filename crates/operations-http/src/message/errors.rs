//! The errors of requests. A message about the way to a server has the host, never the whole URL: a
//! query may hold a key.

use serde_json::{Map, Value, json};

use super::Request;
use super::auth::{Secret, redact};
use crate::machine::About;
use operations_core::error::{CallError, InfrastructureErrorCode};

/// The request did not get there, or its answer not back. `code` is a word that programs know from
/// Node, such as `ECONNREFUSED`.
#[must_use]
pub fn network_failure(host: &str, why: &str, code: Option<&str>, secrets: &[Secret]) -> CallError {
    let why = redact(why, secrets);
    let details = match code {
        Some(code) => json!({ "host": host, "reason": "network", "cause": redact(code, secrets) }),
        None => json!({ "host": host, "reason": "network" }),
    };
    CallError::failed(format!("The request to {host} failed: {why}")).with_details(details)
}

/// The time limit passed.
#[must_use]
pub fn timed_out(host: &str, milliseconds: u128) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Timeout,
        format!(
            "{host} did not answer within {milliseconds} ms, the `timeout` of the configuration"
        ),
    )
    .with_details(json!({ "host": host, "reason": "timeout", "timeout": milliseconds }))
}

/// The caller's signal ended the request.
#[must_use]
pub fn aborted(host: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Aborted,
        format!("The request to {host} was aborted"),
    )
    .with_details(json!({ "host": host, "reason": "aborted" }))
}

/// The response is larger than allowed.
#[must_use]
pub fn too_large(host: &str, limit: usize) -> CallError {
    CallError::failed(format!(
        "The response of {host} is larger than the limit of {limit} bytes. \
         If such responses are expected, raise `maxResponseBytes` in the configuration"
    ))
    .with_details(json!({ "reason": "too-large", "maxResponseBytes": limit }))
}

/// The error with the number of tries, where there was more than one.
#[must_use]
pub fn with_tries(mut error: CallError, tries: u32) -> CallError {
    if tries > 1 {
        error.message = format!("{} (tried {tries} times)", error.message);
    }
    error
}

/// The error with what a caller can know: whether the call was carried out. An answer says so itself.
#[must_use]
pub fn with_delivery(error: CallError, may_have_arrived: bool) -> CallError {
    let word = if may_have_arrived { "unknown" } else { "none" };
    with_members(error, [("delivery", Value::from(word))])
}

/// The error with the operation, and where its request went: in the details, and in the message of an HTTP status, which
/// would say nothing else.
#[must_use]
pub fn with_operation(mut error: CallError, about: &About, request: &Request) -> CallError {
    let About {
        operation_id, path, ..
    } = about;
    let (method, host) = (&request.method, request.host());
    if error.message.starts_with("HTTP ") {
        error.message = format!(
            "{}, in {operation_id} ({method} {path} at {host})",
            error.message
        );
    }
    let status = error.details.as_ref();
    let status = status.and_then(|details| details.get("statusCode")?.as_u64());
    let declared = about.statuses.iter();
    if declared
        .into_iter()
        .any(|known| Some(u64::from(*known)) == status)
    {
        error = with_members(error, [("documented", Value::Bool(true))]);
    }
    with_members(
        error,
        [
            ("operationId", Value::from(operation_id.as_str())),
            ("method", Value::from(method.as_str())),
            ("path", Value::from(path.as_str())),
            ("host", Value::from(host)),
        ],
    )
}

/// The error for a value of the input that cannot be sent.
#[must_use]
pub fn invalid_at(path: &str, why: &str) -> CallError {
    let errors = json!([{ "path": path, "message": why }]);
    CallError::invalid(format!("The request cannot be sent: {path}: {why}"))
        .with_details(json!({ "errors": errors, "delivery": "none" }))
}

/// The error for a string of which the document says that it is binary data.
#[must_use]
pub fn not_binary(path: &str) -> CallError {
    invalid_at(
        path,
        "Expected binary data: a Uint8Array, an ArrayBuffer or a Blob; as JSON { \"$bytes\": \"<base64>\" }",
    )
}

/// The error with these members in its details, unless they are there.
fn with_members<const N: usize>(mut error: CallError, members: [(&str, Value); N]) -> CallError {
    let details = error
        .details
        .get_or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(present) = details {
        for (name, value) in members {
            present.entry(name).or_insert(value);
        }
    }
    error
}

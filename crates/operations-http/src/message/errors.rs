//! The errors of requests. A message about the way to a server has the host, never the whole URL: a
//! query may hold a key.

use serde_json::json;

use super::auth::{Secret, redact};
use operations_core::error::{CallError, InfrastructureErrorCode};

/// Something that the caller, the configuration or the document has to change.
pub(crate) fn invalid(message: impl Into<String>) -> CallError {
    CallError::new(InfrastructureErrorCode::ValidationError, message)
}

/// Something that went wrong on the way to the other side, or there.
pub(crate) fn failed(message: impl Into<String>) -> CallError {
    CallError::new(InfrastructureErrorCode::ExecutionError, message)
}

/// The request did not get there, or its answer not back. `code` is a word that programs know from
/// Node, such as `ECONNREFUSED`.
#[must_use]
pub fn network_failure(host: &str, why: &str, code: Option<&str>, secrets: &[Secret]) -> CallError {
    let why = redact(why, secrets);
    let details = match code {
        Some(code) => json!({ "host": host, "cause": redact(code, secrets) }),
        None => json!({ "host": host }),
    };
    failed(format!("The request to {host} failed: {why}")).with_details(details)
}

/// The time limit passed.
#[must_use]
pub fn timed_out(host: &str, milliseconds: u128) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Timeout,
        format!("{host} did not answer within {milliseconds} ms"),
    )
}

/// The caller's signal ended the request.
#[must_use]
pub fn aborted(host: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Aborted,
        format!("The request to {host} was aborted"),
    )
}

/// The response is larger than allowed.
#[must_use]
pub fn too_large(host: &str, limit: usize) -> CallError {
    failed(format!(
        "The response of {host} is larger than the limit of {limit} bytes. \
         If such responses are expected, raise `maxResponseBytes` in the configuration"
    ))
    .with_details(json!({ "maxResponseBytes": limit }))
}

/// The error with the number of tries, where there was more than one.
#[must_use]
pub fn with_tries(mut error: CallError, tries: u32) -> CallError {
    if tries > 1 {
        error.message = format!("{} (tried {tries} times)", error.message);
    }
    error
}

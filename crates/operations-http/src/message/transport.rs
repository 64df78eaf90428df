//! The errors of the way to a server and back. A message has the host, never the whole URL: a query
//! may hold a key.

use serde_json::json;

use super::auth::{Secret, redact};
use super::problem;
use operations_core::error::{CallError, InfrastructureErrorCode};

/// How much of a response is read when the configuration says nothing.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The request did not get there, or its answer not back.
#[must_use]
pub fn network_failure(host: &str, why: &str, secrets: &[Secret]) -> CallError {
    problem::failed(format!(
        "The request to {host} failed: {}",
        redact(why, secrets)
    ))
}

/// The time limit passed.
#[must_use]
pub fn timed_out(host: &str, milliseconds: u64) -> CallError {
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
    problem::failed(format!(
        "The response of {host} is larger than the limit of {limit} bytes. \
         If such responses are expected, raise `maxResponseBytes` in the configuration"
    ))
    .with_details(json!({ "maxResponseBytes": limit }))
}

//! The errors with which requests end, worded as in `facade/outcomes.ts`.

use serde_json::{Value, json};

use crate::error::{CallError, InfrastructureErrorCode};

/// Either side has ended the call.
#[must_use]
pub fn was_aborted(operation_id: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Aborted,
        format!("The call of {operation_id} was aborted"),
    )
    .with_details(json!({ "operationId": operation_id }))
}

/// The other side says that a call is over, and has not answered it.
#[must_use]
pub fn without_response(operation_id: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Aborted,
        format!("The call of {operation_id} completed without response"),
    )
    .with_details(json!({ "operationId": operation_id }))
}

/// The deadline (Unix milliseconds) has passed. `after` is how long the call had been running, in milliseconds; nothing
/// where it had not begun.
#[must_use]
pub fn timed_out(operation_id: &str, deadline: f64, after: Option<f64>) -> CallError {
    let when = after.map_or_else(
        || "before it began".to_owned(),
        |after| format!("after {} ms", number(after.round())),
    );
    let message = format!(
        "The call of {operation_id} timed out {when}: its deadline was {}",
        number(deadline)
    );
    CallError::new(InfrastructureErrorCode::Timeout, message)
        .with_details(json!({ "deadline": number(deadline) }))
}

/// The handler held its permit for longer than a limit allows.
#[must_use]
pub fn took_too_long(operation_id: &str, timeout: f64) -> CallError {
    let message = format!(
        "The call of {operation_id} timed out: its handler took longer than {} ms",
        number(timeout)
    );
    CallError::new(InfrastructureErrorCode::Timeout, message).with_details(json!({
        "reason": "timeout",
        "delivery": "unknown",
        "timeout": number(timeout),
        "operationId": operation_id,
    }))
}

/// Nothing arrived for longer than the subscriber wants to wait.
#[must_use]
pub fn was_silent(operation_id: &str, idle_timeout: f64) -> CallError {
    CallError::new(
        InfrastructureErrorCode::Timeout,
        format!(
            "The subscription to {operation_id} timed out: nothing arrived for {} ms",
            number(idle_timeout)
        ),
    )
    .with_details(json!({ "idleTimeout": number(idle_timeout) }))
}

/// The consumer of a subscription does not keep up.
#[must_use]
pub fn too_slow(operation_id: &str, limit: usize) -> CallError {
    CallError::failed(format!(
            "The subscription to {operation_id} was ended: {limit} events wait for a consumer that is too slow. \
             Read faster, or raise maxWaitingEvents"
        ),
    )
    .with_details(json!({ "maxWaitingEvents": limit }))
}

/// The same, where the events that wait are large.
#[must_use]
pub(super) fn too_slow_for_size(operation_id: &str, limit: usize) -> CallError {
    CallError::failed(format!(
        "The subscription to {operation_id} was ended: events of {limit} bytes or more wait for a consumer that is too slow. \
         Read faster, or send smaller events"
    ))
    .with_details(json!({ "maxWaitingBytes": limit }))
}

/// The other side answered with something that is no envelope.
#[must_use]
pub fn malformed_answer(request_id: &str) -> CallError {
    CallError::failed(format!(
            "The answer to request {request_id} is not a ResponseEnvelope: the other side does not follow the call protocol"
        ),
    )
    .with_details(json!({ "requestId": request_id }))
}

/// A number as JavaScript writes it: whole ones without a fraction.
fn number(value: f64) -> Value {
    /// The largest number up to which every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and within the range of exact integers"
        )]
        let whole = value as i64;
        return json!(whole);
    }
    json!(value)
}

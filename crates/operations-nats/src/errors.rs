//! Errors that only a transport has, and what a caller may conclude from each: `details.delivery` is `"none"` when
//! the operation cannot have run, `"unknown"` when it may have, and `"done"` when this is its answer.

use operations_core::call::{TooLarge, lost};
use operations_core::error::{CallError, InfrastructureErrorCode};
use serde_json::{Value, json};

pub use operations_core::call::{answered, with_delivery};

/// A call that was lost at a worker which is known.
fn lost_at(worker: &str, reason: &str, operation_id: &str, message: String) -> CallError {
    let mut error = lost(reason, "unknown", operation_id, message);
    if let Some(Value::Object(details)) = &mut error.details {
        details.insert("worker".to_owned(), worker.into());
    }
    error
}

/// No worker serves the operation.
#[must_use]
pub fn not_served(operation_id: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::OperationNotFound,
        format!("Operation not found: {operation_id} (no worker on this NATS prefix serves it)"),
    )
    .with_details(json!({
        "operationId": operation_id,
        "reason": "no-worker",
        "delivery": "none",
    }))
}

/// The worker that had the call is gone.
#[must_use]
pub fn worker_lost(operation_id: &str, worker: &str) -> CallError {
    lost_at(
        worker,
        "worker-lost",
        operation_id,
        format!(
            "The worker {worker} that was running {operation_id} has disappeared. The operation may have been carried out, in part or in full"
        ),
    )
}

/// The request was sent, and its arrival was not confirmed.
#[must_use]
pub fn unconfirmed(operation_id: &str) -> CallError {
    lost(
        "unconfirmed",
        "unknown",
        operation_id,
        format!(
            "No worker confirmed the call of {operation_id}: the request, or the worker that got it, was lost on the way. The operation may have been carried out"
        ),
    )
}

/// The worker has finished the call, and its answer never came.
#[must_use]
pub fn answer_lost(operation_id: &str, worker: &str) -> CallError {
    lost_at(
        worker,
        "answer-lost",
        operation_id,
        format!(
            "The answer of the worker {worker} to the call of {operation_id} was lost on the way (the connection to the broker was interrupted). The operation has most likely been carried out"
        ),
    )
}

/// Events of a stream are missing.
#[must_use]
pub fn events_lost(operation_id: &str, expected: u64, got: u64) -> CallError {
    lost(
        "events-lost",
        "unknown",
        operation_id,
        format!(
            "Events of the subscription to {operation_id} were lost on the way (number {expected} was expected, {got} came)"
        ),
    )
}

/// There is no connection, and there was none for long.
#[must_use]
pub fn not_connected(operation_id: &str) -> CallError {
    lost(
        "not-connected",
        "none",
        operation_id,
        format!(
            "The call of {operation_id} was not sent: the connection to NATS is lost, and was not restored in time"
        ),
    )
}

/// Too many requests wait already.
#[must_use]
pub fn overloaded(operation_id: &str, waiting: usize) -> CallError {
    lost(
        "overloaded",
        "none",
        operation_id,
        format!(
            "The call of {operation_id} was not sent: {waiting} calls wait for a worker or for the connection already (maxWaiting)"
        ),
    )
}

/// The broker does not let this account publish there. One that was let before may have got through.
#[must_use]
pub fn forbidden(operation_id: &str, may_have_arrived: bool) -> CallError {
    let (what, delivery) = if may_have_arrived {
        ("may not have been sent", "unknown")
    } else {
        ("was not sent", "none")
    };
    CallError::new(
        InfrastructureErrorCode::AccessDenied,
        format!(
            "The call of {operation_id} {what}: this account of the NATS server may not publish on its subjects"
        ),
    )
    .with_details(json!({
        "operationId": operation_id,
        "reason": "forbidden",
        "delivery": delivery,
    }))
}

/// The user has closed the connection.
#[must_use]
pub fn closed(operation_id: &str, was_sent: bool) -> CallError {
    lost(
        "closed",
        if was_sent { "unknown" } else { "none" },
        operation_id,
        format!("The call of {operation_id} has no answer: the NATS connection was closed"),
    )
}

/// The worker was closed before the call was over.
#[must_use]
pub fn worker_closed(operation_id: &str, worker: &str) -> CallError {
    lost_at(
        worker,
        "worker-closed",
        operation_id,
        format!(
            "The worker {worker} that was running {operation_id} was closed before it had finished"
        ),
    )
}

/// A message that the broker would not take.
#[must_use]
pub fn too_large(what: TooLarge, operation_id: &str, size: usize, limit: usize) -> CallError {
    let advice = format!(
        "makes a message of {size} bytes; this NATS server takes at most {limit} (max_payload). Send less, or a reference to it, or raise the limit of the server"
    );
    what.error(operation_id, size, limit, &advice)
}

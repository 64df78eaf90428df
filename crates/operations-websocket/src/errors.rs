//! Errors that only a connection has, and what a caller may conclude from each.

use std::time::Duration;

use operations_core::call::{TooLarge, lost};
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::json::MAX_DEPTH;
use serde_json::json;

/// The peer that had the call is gone.
#[must_use]
pub fn peer_lost(operation_id: &str, peer: &str, why: &str, was_sent: bool) -> CallError {
    let (delivery, what) = if was_sent {
        (
            "unknown",
            "The operation may have been carried out, in part or in full",
        )
    } else {
        ("none", "The call was not sent")
    };
    let message = format!(
        "The connection to {peer}, which was asked for {operation_id}, is lost ({why}). {what}"
    );
    let mut error = lost("peer-lost", delivery, operation_id, message);
    if let Some(details) = error
        .details
        .as_mut()
        .and_then(serde_json::Value::as_object_mut)
    {
        details.insert("peer".to_owned(), json!(peer));
    }
    error
}

/// The hub does not let us in, and said so with this error.
#[must_use]
pub fn not_let_in(operation_id: &str, refusal: &CallError) -> CallError {
    let mut error = refusal.clone();
    error.message = format!("The call of {operation_id} was not sent. {}", error.message);
    if let Some(details) = error
        .details
        .as_mut()
        .and_then(serde_json::Value::as_object_mut)
    {
        details.insert("operationId".to_owned(), json!(operation_id));
    }
    error
}

/// The connection was closed on this side.
#[must_use]
pub fn closed(operation_id: &str, was_sent: bool) -> CallError {
    let delivery = if was_sent { "unknown" } else { "none" };
    let message =
        format!("The call of {operation_id} has no answer: the connection to the hub was closed");
    lost("closed", delivery, operation_id, message)
}

/// Too much waits to be sent.
#[must_use]
pub fn overloaded(operation_id: &str, waiting: usize) -> CallError {
    let message = format!(
        "The call of {operation_id} was not sent: {waiting} calls wait for the connection already (maxWaiting)"
    );
    lost("overloaded", "none", operation_id, message)
}

/// The other end has too many calls running already.
#[must_use]
pub fn too_many_calls(operation_id: &str, limit: usize) -> CallError {
    let message = format!(
        "The call of {operation_id} was refused: {limit} calls of this connection are running already. Try again later"
    );
    lost("overloaded", "none", operation_id, message)
}

/// The running calls of the other end hold too much already.
#[must_use]
pub fn too_many_call_bytes(operation_id: &str, limit: usize) -> CallError {
    let message = format!(
        "The call of {operation_id} was refused: the running calls of this connection may have {limit} bytes in all. Try again later"
    );
    lost("overloaded", "none", operation_id, message)
}

/// The other end asks, or offers, too much at a time.
#[must_use]
pub fn too_many_questions(limit: usize) -> CallError {
    CallError::failed(format!(
        "This was refused: {limit} discovery requests and offers of this connection are running already. Try again later"
    ))
    .with_details(json!({ "reason": "overloaded", "delivery": "none" }))
}

/// The other end offers more operations than are taken.
#[must_use]
pub fn too_many_operations(count: usize, limit: usize) -> CallError {
    CallError::failed(format!(
        "The offer was refused: it has {count} operations, and the other side takes at most {limit} (maxOperations). Offer fewer, or raise the limit there"
    ))
    .with_details(json!({
        "reason": "too-many-operations",
        "limit": limit,
        "delivery": "none",
    }))
}

/// The offers of a connection take more than they may.
#[must_use]
pub fn offer_too_large(limit: usize) -> CallError {
    CallError::failed(format!(
        "The offer was refused: the unanswered offers of one connection may have {limit} bytes in all. Offer fewer operations, or shorter descriptions and schemas"
    ))
    .with_details(json!({ "reason": "too-large", "limit": limit, "delivery": "none" }))
}

/// The offers of all connections take more than they may.
#[must_use]
pub fn too_many_offers() -> CallError {
    CallError::failed(
        "The offer was refused: the other side has no room for it, because others offer too much at the same time. Try again later",
    )
    .with_details(json!({ "reason": "overloaded", "delivery": "none" }))
}

/// The last part of an offer did not arrive in time.
#[must_use]
pub fn offer_too_late(limit: Duration) -> CallError {
    let seconds = limit.as_secs();
    CallError::failed(format!(
        "The offer was refused: its last part did not arrive within {seconds} seconds of the first. Offer the operations again"
    ))
    .with_details(json!({ "reason": "too-late", "limit": limit.as_millis(), "delivery": "none" }))
}

/// A frame is nested too deeply to be read.
#[must_use]
pub fn too_deep() -> CallError {
    CallError::invalid(format!(
        "The frame was refused: it is nested more than {MAX_DEPTH} levels deep. Send something flatter"
    ))
    .with_details(json!({ "reason": "too-deep", "limit": MAX_DEPTH, "delivery": "none" }))
}

/// Nothing new is begun here.
#[must_use]
pub fn closing(operation_id: &str) -> CallError {
    let message = format!("The call of {operation_id} was refused: this side is about to close");
    lost("closing", "none", operation_id, message)
}

/// A stream is ended because this side is.
#[must_use]
pub fn stream_closed(operation_id: &str) -> CallError {
    let message =
        format!("The subscription to {operation_id} was ended: the side that serves it is closing");
    lost("closing", "unknown", operation_id, message)
}

/// The `side` that was asked, a hub or a spoke, has no such operation. `nearest` is one that the caller may call.
#[must_use]
pub fn not_found(operation_id: &str, side: &str, nearest: Option<&str>) -> CallError {
    let why = format!("The {side} serves no such operation");
    let mut error = absent(operation_id, "no-such-operation", &why);
    if let (Some(nearest), Some(details)) = (
        nearest,
        error
            .details
            .as_mut()
            .and_then(serde_json::Value::as_object_mut),
    ) {
        details.insert("nearest".to_owned(), json!(nearest));
        error.message = format!("{}. Did you mean {nearest}?", error.message);
    }
    error
}

/// The spoke that was asked has not called `serve`.
#[must_use]
pub fn serves_nothing(operation_id: &str) -> CallError {
    absent(operation_id, "no-worker", "The spoke serves no operations")
}

fn absent(operation_id: &str, reason: &str, why: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::OperationNotFound,
        format!("Operation not found: {operation_id}. {why}"),
    )
    .with_details(json!({ "operationId": operation_id, "reason": reason, "delivery": "none" }))
}

/// A frame that the other end would not take.
#[must_use]
pub fn too_large(what: TooLarge, operation_id: &str, size: usize, limit: usize) -> CallError {
    let advice = format!(
        "makes a frame of {size} bytes; the other side takes at most {limit} (maxFrameBytes). Send less, or a reference to it, or raise the limit there"
    );
    what.error(operation_id, size, limit, &advice)
}

/// A control request has no response.
#[must_use]
pub fn unanswered(what: &str, why: &str) -> CallError {
    CallError::failed(format!("{what} has no answer: {why}"))
        .with_details(json!({ "reason": "peer-lost", "delivery": "unknown" }))
}

/// A control request was not sent: the connection was closed on this side.
#[must_use]
pub fn not_asked(what: &str) -> CallError {
    CallError::failed(format!("{what} was not sent: the connection was closed"))
        .with_details(json!({ "reason": "closed", "delivery": "none" }))
}

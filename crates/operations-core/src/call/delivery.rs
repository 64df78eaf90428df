//! What a caller may conclude from a failure: `details.delivery` is `"none"` when the operation cannot have run, `"unknown"`
//! when it may have, and `"done"` when this is its answer.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use crate::error::{CallError, InfrastructureErrorCode};

/// What a caller may conclude, where the error itself does not say it.
#[must_use]
pub fn with_delivery(mut error: CallError, delivery: &str) -> CallError {
    let details = error
        .details
        .get_or_insert_with(|| Value::Object(Map::new()));
    // What an operation throws may be anything.
    if let Some(details) = details.as_object_mut() {
        details
            .entry("delivery")
            .or_insert_with(|| Value::from(delivery));
    }
    error
}

/// An error that a worker has answered with. That it has no such operation, it says before it does anything.
#[must_use]
pub fn answered(operation_id: &str, error: CallError) -> CallError {
    let about = error
        .details
        .as_ref()
        .and_then(|details| details.get("operationId"));
    let is_unknown = &*error.code == InfrastructureErrorCode::OperationNotFound.as_str()
        && about.and_then(Value::as_str) == Some(operation_id);
    with_delivery(error, if is_unknown { "none" } else { "done" })
}

/// A call that a transport has lost, or could not take.
#[must_use]
pub fn lost(reason: &str, delivery: &str, operation_id: &str, message: String) -> CallError {
    CallError::failed(message).with_details(json!({
        "operationId": operation_id,
        "reason": reason,
        "delivery": delivery,
    }))
}

/// A request that the other side would not read.
#[must_use]
pub fn cannot_be_sent(operation_id: &str, why: &impl Display) -> CallError {
    CallError::invalid(format!("The call of {operation_id} cannot be sent: {why}"))
        .with_details(json!({ "operationId": operation_id, "delivery": "none" }))
}

/// An output that the caller would not read.
#[must_use]
pub fn output_cannot_be_sent(operation_id: &str, why: &impl Display) -> CallError {
    CallError::failed(format!(
        "The output of {operation_id} cannot be sent: {why}"
    ))
    .with_details(json!({ "operationId": operation_id, "delivery": "done" }))
}

/// What is too large to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLarge {
    /// What the operation takes. It has not run.
    Input,
    /// What the operation gave. It has run.
    Output,
}

impl TooLarge {
    /// The error, of which `advice` says what takes how much, and what to do.
    #[must_use]
    pub fn error(self, operation_id: &str, size: usize, limit: usize, advice: &str) -> CallError {
        let (what, code, delivery) = match self {
            Self::Input => ("input", InfrastructureErrorCode::ValidationError, "none"),
            Self::Output => ("output", InfrastructureErrorCode::ExecutionError, "done"),
        };
        CallError::new(code, format!("The {what} of {operation_id} {advice}")).with_details(json!({
            "operationId": operation_id,
            "size": size,
            "limit": limit,
            "reason": "too-large",
            "delivery": delivery,
        }))
    }
}

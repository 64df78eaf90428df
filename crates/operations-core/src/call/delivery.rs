//! What a caller may conclude from a failure: `details.delivery` is `"none"` when the operation cannot have run, `"unknown"`
//! when it may have, and `"done"` when this is its answer.

use serde_json::{Map, Value};

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

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

/// An error that a worker has answered with. What it has refused before it did anything was not carried out.
/// `facade/outcomes.ts` has the same rule.
#[must_use]
pub fn answered(operation_id: &str, error: CallError) -> CallError {
    let may_have_run = may_have_run(&error, operation_id);
    with_delivery(error, if may_have_run { "done" } else { "none" })
}

/// Whether the operation may have done something, in part or in full. When in doubt, it may.
#[must_use]
pub fn may_have_run(error: &CallError, id: &str) -> bool {
    if let Some(delivery) = detail(error, "/delivery").and_then(Value::as_str) {
        return delivery != "none";
    }
    // A handler can fail with the code of a refusal, for instance that of a call of its own; those of the pipeline speak of
    // this very operation.
    let is_about_it = detail(error, "/operationId").and_then(Value::as_str) == Some(id);
    if error.is(InfrastructureErrorCode::OperationNotFound)
        || error.is(InfrastructureErrorCode::AccessDenied)
    {
        return !is_about_it;
    }
    if error.is(InfrastructureErrorCode::ValidationError) {
        let refused = format!("Validation failed for input of operation {id}:");
        let unread = format!("The input of operation {id} cannot be");
        return !error.message.starts_with(&refused) && !error.message.starts_with(&unread);
    }
    true
}

fn detail<'a>(error: &'a CallError, path: &str) -> Option<&'a Value> {
    error
        .details
        .as_ref()
        .and_then(|details| details.pointer(path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_of_this_very_operation_certainly_did_nothing() {
        let with = |code: &'static str, message: &str, details: Value| {
            CallError::new(code, message).with_details(details)
        };
        for (error, may) in [
            (
                with("ACCESS_DENIED", "", json!({ "operationId": "t.it" })),
                false,
            ),
            (
                with("ACCESS_DENIED", "", json!({ "operationId": "t.other" })),
                true,
            ),
            (with("ACCESS_DENIED", "", json!({})), true),
            (
                with(
                    "VALIDATION_ERROR",
                    "Validation failed for input of operation t.it:\n",
                    json!({}),
                ),
                false,
            ),
            (
                with(
                    "VALIDATION_ERROR",
                    "Validation failed for input of operation t.item:\n",
                    json!({}),
                ),
                true,
            ),
            (
                with(
                    "VALIDATION_ERROR",
                    "Validation failed for output of operation t.it:\n",
                    json!({}),
                ),
                true,
            ),
            (
                with("EXECUTION_ERROR", "", json!({ "delivery": "none" })),
                false,
            ),
            (
                with("EXECUTION_ERROR", "", json!({ "delivery": "unknown" })),
                true,
            ),
            (with("EXECUTION_ERROR", "", json!({})), true),
        ] {
            assert_eq!(may_have_run(&error, "t.it"), may, "{error:?}");
        }
    }
}

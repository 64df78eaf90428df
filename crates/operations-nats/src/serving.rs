//! What JavaScript says about what it serves.

use operations_core::error::{CallError, InfrastructureErrorCode};

use crate::limits::CONCURRENCY;
use crate::wire::Served;

/// Reads the list of operations.
///
/// # Errors
///
/// When it is none.
pub fn operations(json: &str) -> Result<Vec<Served>, CallError> {
    serde_json::from_str(json).map_err(|error| {
        CallError::new(
            InfrastructureErrorCode::ValidationError,
            format!("The operations to be served cannot be read: {error}"),
        )
    })
}

/// How many calls run at a time.
///
/// # Errors
///
/// When it is not a whole number from 1 on.
pub fn concurrency(value: Option<f64>) -> Result<usize, CallError> {
    let Some(value) = value else {
        return Ok(CONCURRENCY);
    };
    if value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and within the range"
        )]
        return Ok(value as usize);
    }
    Err(CallError::new(
        InfrastructureErrorCode::ValidationError,
        format!("serve: concurrency must be a whole number from 1 on, not {value}"),
    ))
}

//! The errors of this module.

use operations_core::error::{CallError, InfrastructureErrorCode};

/// Something that the caller, the configuration or the document has to change.
pub(super) fn invalid(message: impl Into<String>) -> CallError {
    CallError::new(InfrastructureErrorCode::ValidationError, message)
}

/// Something that went wrong on the way to the other side, or there.
pub(super) fn failed(message: impl Into<String>) -> CallError {
    CallError::new(InfrastructureErrorCode::ExecutionError, message)
}

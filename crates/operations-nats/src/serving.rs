//! What is served.

use operations_core::error::CallError;
use operations_core::registry::Registry;
use operations_core::spec::OperationType;

use crate::wire::Served;

/// The operations of a registry, as they are described to others.
pub(crate) fn operations(registry: &Registry) -> Vec<Served> {
    let operations = registry.list();
    let served = operations.iter().map(|operation| Served {
        id: operation.spec.id().into(),
        kind: match operation.spec.operation_type {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        }
        .to_owned(),
        description: Some(operation.spec.description.clone()),
        spec: None,
    });
    served.collect()
}

/// How many calls run at a time.
///
/// # Errors
///
/// When it is not a whole number from 1 on.
pub fn concurrency(value: f64) -> Result<usize, CallError> {
    if value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and within the range"
        )]
        return Ok(value as usize);
    }
    Err(CallError::invalid(format!(
        "serve: concurrency must be a whole number from 1 on, not {value}"
    )))
}

//! The boolean verdict.

mod access;
mod equality;
mod evaluated;
mod hash;
mod json;
mod json_containers;
mod parts;
mod typebox;
mod typebox_containers;
mod walk;

pub(crate) use evaluated::of_parts;
pub(crate) use json::types_of;
pub use parts::{Part, check_part};
pub(crate) use typebox::{compare_bigint, is_bigint_multiple};
pub(crate) use walk::Walk;

use crate::host::{Host, Interrupt, Result};
use crate::ir::Program;
use crate::work::Budget;

/// Whether a value passes.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check<H: Host>(program: &Program, host: &mut H, value: H::Value) -> Result<bool> {
    check_within(program, host, value, &mut program.budget())
}

/// Whether a value passes, with an allowance of work; what is left of it tells what it cost.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check_within<H: Host>(
    program: &Program,
    host: &mut H,
    value: H::Value,
    budget: &mut Budget,
) -> Result<bool> {
    verdict(check_part(
        program,
        host,
        Part::Node(program.root()),
        value,
        budget,
    ))
}

/// What TypeBox would have thrown on is invalid as a whole.
pub(crate) fn verdict(result: Result<bool>) -> Result<bool> {
    match result {
        Err(Interrupt::TypeBoxThrows) => Ok(false),
        other => other,
    }
}

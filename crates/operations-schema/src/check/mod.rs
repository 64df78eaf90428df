//! The boolean verdict.

mod equality;
mod evaluated;
mod hash;
mod json;
mod json_containers;
pub mod parts;
mod typebox;
mod typebox_containers;
mod walk;

pub(crate) use json::types_of;
pub(crate) use json_containers::item_schema;
pub(crate) use typebox::{at_least, at_most, compare_bigint, is_bigint_multiple};
pub(crate) use walk::Walk;

use crate::host::{Host, Interrupt};
use crate::ir::{NodeId, Program};

/// Whether a value passes.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check<H: Host>(program: &Program, host: &mut H, value: H::Value) -> Result<bool, Interrupt> {
    check_node(program, host, program.root(), value)
}

/// Whether a value passes, and how much work it was to find out: one step for each rule that was visited.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check_counting<H: Host>(
    program: &Program,
    host: &mut H,
    value: H::Value,
) -> Result<(bool, u64), Interrupt> {
    let mut walk = Walk::new(program, host, value);
    let passes = walk.visit(program.root(), value);
    let steps = walk.steps_spent();
    Ok((verdict(passes)?, steps))
}

/// Whether a value passes one node of the program. (With dynamic references the verdict of a node
/// can depend on how it is reached; then only the root gives the right answer.)
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check_node<H: Host>(
    program: &Program,
    host: &mut H,
    node: NodeId,
    value: H::Value,
) -> Result<bool, Interrupt> {
    verdict(Walk::new(program, host, value).visit(node, value))
}

/// What TypeBox would have thrown on is invalid as a whole.
pub(crate) fn verdict(result: Result<bool, Interrupt>) -> Result<bool, Interrupt> {
    match result {
        Err(Interrupt::TypeBoxThrows) => Ok(false),
        other => other,
    }
}

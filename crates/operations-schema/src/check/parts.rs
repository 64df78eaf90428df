//! Parts of a check that emitted code leaves to the engine, each with what is left of its allowance.
//!
//! Unlike [`super::check`] they let [`Interrupt::TypeBoxThrows`] through: the emitted code is in the
//! middle of a value, and what TypeBox throws on makes the whole of it invalid.

use super::Walk;
use crate::host::{Host, Interrupt};
use crate::ir::{ConstId, NodeId, Program};
use crate::work::Budget;

/// Walks with an allowance.
fn within<'p, 'h, H: Host>(
    program: &'p Program,
    host: &'h mut H,
    value: H::Value,
    budget: &mut Budget,
    run: impl FnOnce(&mut Walk<'p, 'h, H>) -> Result<bool, Interrupt>,
) -> Result<bool, Interrupt> {
    let mut walk = Walk::new(program, host, value, *budget);
    let verdict = run(&mut walk);
    *budget = walk.budget;
    verdict
}

/// Whether a value passes one node. (With dynamic references the verdict of a node can depend on how
/// it is reached; then only the root gives the right answer.)
///
/// # Errors
/// When the user's code throws, TypeBox would throw, or a bound is reached.
pub fn node<H: Host>(
    program: &Program,
    host: &mut H,
    node: NodeId,
    value: H::Value,
    budget: &mut Budget,
) -> Result<bool, Interrupt> {
    within(program, host, value, budget, |walk| walk.visit(node, value))
}

/// TypeBox's `uniqueItems` of an array.
///
/// # Errors
/// When the user's code throws, TypeBox would throw, or a bound is reached.
pub fn unique<H: Host>(
    program: &Program,
    host: &mut H,
    array: H::Value,
    budget: &mut Budget,
) -> Result<bool, Interrupt> {
    within(program, host, array, budget, |walk| {
        let length = walk.array_length(array)?;
        walk.all_hashes_differ(array, length)
    })
}

/// JSON Schema's `uniqueItems` of an array.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn distinct<H: Host>(
    program: &Program,
    host: &mut H,
    array: H::Value,
    budget: &mut Budget,
) -> Result<bool, Interrupt> {
    within(program, host, array, budget, |walk| {
        let length = walk.array_length(array)?;
        walk.all_differ(array, length)
    })
}

/// JSON Schema's equality with a constant of the program.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn equals<H: Host>(
    program: &Program,
    host: &mut H,
    value: H::Value,
    constant: ConstId,
    budget: &mut Budget,
) -> Result<bool, Interrupt> {
    within(program, host, value, budget, |walk| {
        walk.equals(value, constant)
    })
}

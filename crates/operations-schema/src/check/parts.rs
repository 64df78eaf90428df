//! Parts of a check that emitted code leaves to the engine.
//!
//! Unlike [`super::check`] they let [`Interrupt::TypeBoxThrows`] through: the emitted code is in the
//! middle of a value, and what TypeBox throws on makes the whole of it invalid.

use super::Walk;
use crate::host::{Host, Interrupt};
use crate::ir::{ConstId, NodeId, Program};

/// Whether a value passes one node.
///
/// # Errors
/// When the user's code throws, TypeBox would throw, or a bound is reached.
pub fn node<H: Host>(
    program: &Program,
    host: &mut H,
    node: NodeId,
    value: H::Value,
) -> Result<bool, Interrupt> {
    Walk::new(program, host, value).visit(node, value)
}

/// TypeBox's `uniqueItems` of an array.
///
/// # Errors
/// When the user's code throws, TypeBox would throw, or a bound is reached.
pub fn unique<H: Host>(
    program: &Program,
    host: &mut H,
    array: H::Value,
) -> Result<bool, Interrupt> {
    let length = host.array_length(array)?;
    Walk::new(program, host, array).all_hashes_differ(array, length)
}

/// JSON Schema's `uniqueItems` of an array.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn distinct<H: Host>(
    program: &Program,
    host: &mut H,
    array: H::Value,
) -> Result<bool, Interrupt> {
    let length = host.array_length(array)?;
    Walk::new(program, host, array).all_differ(array, length)
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
) -> Result<bool, Interrupt> {
    Walk::new(program, host, value).equals(value, constant)
}

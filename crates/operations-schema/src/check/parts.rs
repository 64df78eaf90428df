//! Parts of a check that emitted code leaves to the engine, each with what is left of its allowance.

use super::Walk;
use crate::ir::{ConstId, NodeId, Program};
use crate::value_access::{Result, ValueAccess};
use crate::work::Budget;

/// What is to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Whether it passes one node. (With dynamic references the verdict of a node can depend on how it is
    /// reached; then only the root gives the right answer.)
    Node(NodeId),
    /// TypeBox's `uniqueItems` of an array.
    Unique,
    /// JSON Schema's `uniqueItems` of an array.
    Distinct,
    /// JSON Schema's equality with a constant of the program.
    Equals(ConstId),
}

/// Answers one question about a value.
///
/// Unlike [`super::check`] it lets [`Interrupt::TypeBoxThrows`](crate::Interrupt::TypeBoxThrows) through: the emitted code is in the
/// middle of a value, and what TypeBox throws on makes the whole of it invalid.
///
/// # Errors
/// When the user's code throws, TypeBox would throw, or a bound is reached.
pub fn check_part<A: ValueAccess>(
    program: &Program,
    access: &mut A,
    part: Part,
    value: A::Value,
    budget: &mut Budget,
) -> Result<bool> {
    let mut walk = Walk::new(program, access, value, *budget);
    let verdict = match part {
        Part::Node(node) => walk.accepts(node, value),
        Part::Equals(constant) => walk.equals(value, constant),
        Part::Unique => walk
            .array_length(value)
            .and_then(|length| walk.all_hashes_differ(value, length)),
        Part::Distinct => walk
            .array_length(value)
            .and_then(|length| walk.all_differ(value, length)),
    };
    *budget = walk.budget;
    verdict
}

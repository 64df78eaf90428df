//! The walk over a value: whether it passes, and what is wrong with it.

mod access;
mod equality;
mod evaluated;
mod failure;
mod hash;
mod json;
mod json_containers;
mod messages;
mod parts;
mod typebox;
mod typebox_containers;
mod walk;

pub use failure::ValueError;
pub(crate) use failure::{errors_within, shorten};
pub use parts::{Part, check_part};
pub(crate) use walk::Walk;

use crate::ir::Program;
use crate::value_access::{Result, ValueAccess};
use crate::work::Budget;
use failure::throws_is_no;

/// Whether a value passes.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check<A: ValueAccess>(program: &Program, access: &mut A, value: A::Value) -> Result<bool> {
    check_within(program, access, value, &mut program.budget())
}

/// Whether a value passes, with an allowance of work, from which the cost is subtracted.
///
/// # Errors
/// When the user's code throws or a bound is reached.
pub fn check_within<A: ValueAccess>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    budget: &mut Budget,
) -> Result<bool> {
    throws_is_no(check_part(
        program,
        access,
        Part::Node(program.root()),
        value,
        budget,
    ))
}

/// Collects at most `max` errors (at least one); none when the value passes.
///
/// # Errors
/// When the user's code throws, or a bound is reached before it is known whether the value passes.
/// Where it does not, and the bound is reached on the way through its errors, those found so far are
/// the result.
pub fn collect_errors<A: ValueAccess>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    if check(program, access, value)? {
        return Ok(Vec::new());
    }
    errors_of_refused(program, access, value, max)
}

/// The errors of a value that is known not to pass.
///
/// # Errors
/// When the user's code throws.
pub fn errors_of_refused<A: ValueAccess>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    let mut walk = Walk::new(program, access, value, program.budget());
    errors_within(&mut walk, value, max)
}

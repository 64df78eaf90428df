//! Turning a value into the declared shape: undeclared properties go, missing ones are filled,
//! values of the wrong type are converted where nothing is lost and replaced where they cannot be.
//!
//! Nothing is ever changed in place. A value that already has the declared shape comes back as the
//! very same value, and a change copies only the containers on the way down to it. Whatever is lost
//! beyond undeclared properties, and whatever still is not as declared, is in the notes.

mod array;
mod choose;
mod convert;
mod create;
mod date_text;
mod default;
mod making;
mod nodes;
mod normaliser;
mod notes;
mod number_text;
mod object;
mod property_disposition;
mod types;
mod view;

pub use notes::{Note, What};

use crate::bounds::{DEFAULT_MAX_ERRORS, NORMALISE_FACTOR};
use crate::check::{Walk, errors_within};

use crate::ir::Program;
use crate::value_access::{Result, ValueBuilder};
use normaliser::{Normaliser, Outcome};
use notes::Notes;

/// How far normalisation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Fill, convert, and remove what is not declared.
    #[default]
    Normalise,
    /// Fill and convert, but remove nothing.
    Keep,
    /// Remove what is not declared, fill in declared defaults, convert where nothing is lost. Nothing is
    /// made up: what is missing or of the wrong type beyond that stays so.
    Strict,
}

/// A value in the declared shape, as far as that can be had.
#[derive(Debug)]
pub struct Normalised<V> {
    /// The value; the very same one when nothing had to change.
    pub value: V,
    /// Whether anything had to change.
    pub changed: bool,
    /// Whether the value passes the check now.
    pub valid: bool,
    /// What was lost and what still is not as declared, in the order of the walk.
    pub notes: Vec<Note>,
    /// How many notes did not fit into `notes`.
    pub omitted_notes: usize,
    /// What the check of the result cost: a measure of how much there is to normalise.
    pub work: u64,
}

/// How often a changed value is walked again. A change can make another variant of a union fit or
/// meet a condition; walking again until nothing changes makes the result stable. Two walks are
/// enough for all but contrived schemas.
const MAX_PASSES: u32 = 6;

/// Turns a value into the shape that a program declares, the whole value if need be, as TypeBox's
/// `Value.Cast` does.
///
/// # Errors
/// When the user's code (a getter, a proxy, a registered check) throws or a bound is reached. What
/// the schema makes impossible is no error: the value stays, and a note says so.
pub fn normalise<A: ValueBuilder>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    mode: Mode,
) -> Result<Normalised<A::Value>> {
    run(program, access, value, mode, false)
}

/// The same for what an operation gave: a value whose root is of another kind than the schema declares
/// (a page of text where an object is declared) stays, with a note. Everything in it would be made up.
///
/// # Errors
/// As for [`normalise`].
pub fn shape_output<A: ValueBuilder>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    mode: Mode,
) -> Result<Normalised<A::Value>> {
    run(program, access, value, mode, true)
}

fn run<A: ValueBuilder>(
    program: &Program,
    access: &mut A,
    value: A::Value,
    mode: Mode,
    keeps_root: bool,
) -> Result<Normalised<A::Value>> {
    let mut budget = program.budget();
    budget.grant(budget.left() * (NORMALISE_FACTOR - 1));
    let mut normaliser =
        Normaliser::new(Walk::new(program, access, value, budget), mode, keeps_root);
    let mut result = normaliser.whole(value)?;
    let mut pass = 1;
    let mut last = result.changed;
    while last && normaliser.chose && pass < MAX_PASSES {
        normaliser.notes.next_pass();
        let again = normaliser.whole(result.value)?;
        last = again.changed;
        result.value = again.value;
        pass += 1;
    }
    let Normaliser {
        mut walk,
        mut notes,
        chose,
        ..
    } = normaliser;
    // A schema that contradicts itself can change a value in a cycle: then there is no value to
    // be made, and the original stays.
    if last && chose {
        result = Outcome::same(value);
        notes = Notes::new(DEFAULT_MAX_ERRORS);
    }
    let before = walk.budget.spent();
    let valid = walk.passes(program.root(), result.value)?;
    let work = walk.budget.spent() - before;
    if (valid && !result.changed) || mode == Mode::Strict {
        // Rules that contradict each other on a property that only one of them reads (an inherited one,
        // say) leave a note behind, although there was nothing to do. In strict mode only errors count.
        notes = Notes::new(DEFAULT_MAX_ERRORS);
    }
    if !valid {
        for error in errors_within(&mut walk, result.value, DEFAULT_MAX_ERRORS)? {
            if !notes.tells_of(&error.path) {
                let message = error.message;
                let what = if mode == Mode::Strict {
                    What::Refused { message }
                } else {
                    What::Kept { message }
                };
                notes.add_at(Note {
                    path: error.path,
                    what,
                });
            }
        }
    }
    let (mut notes, omitted_notes) = notes.finish();
    if !valid && notes.is_empty() {
        let what = What::Kept {
            message: "the value does not match the schema".to_owned(),
        };
        notes.push(Note {
            path: String::new(),
            what,
        });
    }
    Ok(Normalised {
        value: result.value,
        changed: result.changed,
        valid,
        notes,
        omitted_notes,
        work,
    })
}

//! Writes JavaScript source for the hot path.
//!
//! From a compiled [`Program`] come two functions of a value: the check, and "it passes and has
//! exactly the declared shape, so normalisation would return it untouched". The text is meant for
//! `new Function("env", body)`: it returns the function. What it needs from outside it takes from
//! `env`, in the order of the tables of [`Emitted`]; nothing that a schema contains is ever written
//! as code (see `literal`).
//!
//! | member of `env` | meaning |
//! |---|---|
//! | `patterns[i]` | a `RegExp` for `Emitted::patterns[i]` |
//! | `formats[i]` | `(string, work) => cost` for `Emitted::formats[i]` |
//! | `kinds[i]` | `(value) => boolean` for the custom kind at node `Emitted::kinds[i]` |
//! | `consts[i]` | the live value of `Emitted::consts[i]` |
//! | `test(pattern, string, work)` | the verdict of the engines that count, by pattern id, as a cost |
//! | `walk(node, value, work)` | the native check of one node, by node id, as a cost |
//! | `unique(array, work)` | TypeBox's `uniqueItems`, as a cost |
//! | `distinct(array, work)` | JSON Schema's `uniqueItems`, as a cost |
//! | `equal(value, constant, work)` | JSON Schema's equality, as a cost |
//! | `multiple(number, divisor)` | JSON Schema's `multipleOf`, exact in decimals |
//! | `isDate(value)`, `isBytes(value)`, `isPromise(value)` | whether it is one of another realm |
//! | `invalid` | an object; `kinds` may throw it where TypeBox would throw, and the whole value is then invalid |
//! | `giveUp()` | gives what is thrown when the walk should decide instead: the value is deep, or calls are many |
//! | `tooMuchWork()` | gives what is thrown when the allowance is used up, which is the verdict |
//!
//! A cost is a verdict and what it took to find out: positive if it passes, negative if not, 0 where
//! TypeBox would throw. `work` is what is left of the allowance. Only the code of schemas that may come
//! from outside has one ([`Program::is_from_outside`]): there each block of the text pays for itself
//! when it is entered. A user's own schema runs without counting, or, where functions call each other,
//! counts calls; `work` is not passed then.
//!
//! Where the emitted code gives up, its bounds are a little tighter than those of the walk: JavaScript that
//! then runs the native walk on the whole value has the same verdict always.

mod array;
mod children;
mod coverage;
mod fast_check;
mod json;
mod json_logic;
mod json_parts;
mod keys;
mod leaf;
mod literal;
mod logic;
mod object;
mod plan;
mod traversal;
mod writer;

use crate::ir::{ConstId, FormatId, NodeId, PatternId, Program};
pub use fast_check::fast_check;
use plan::Plan;
use writer::{Mode, Writer};

/// Emitted text longer than this is given up: compiling it would cost more than it saves.
pub const MAX_TEXT: usize = 256 * 1024;

/// The body of a JavaScript function of `env`, and what `env` must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The function body; it returns `(value) => boolean`.
    pub body: String,
    /// The patterns to pass as `env.patterns`, with the `u` flag where the pattern belongs to a
    /// JSON Schema.
    pub patterns: Vec<PatternId>,
    /// The formats to pass as `env.formats`.
    pub formats: Vec<FormatId>,
    /// The nodes of custom kinds to pass as `env.kinds`.
    pub kinds: Vec<NodeId>,
    /// The constants to pass as `env.consts`.
    pub consts: Vec<ConstId>,
    /// The nodes that are left to `env.walk`.
    pub walks: Vec<NodeId>,
}

/// Why nothing was emitted; the walk serves instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The text would be too long.
    #[error("the emitted code would be too large")]
    TooLarge,
    /// The whole schema would be left to the walk.
    #[error("the schema needs the native walk")]
    NeedsWalk,
}

/// JavaScript for the check.
///
/// # Errors
/// When the walk must serve instead.
pub fn check_source(program: &Program) -> Result<Emitted, Unsupported> {
    emit(program, Mode::Check)
}

/// JavaScript for "passes, and normalisation would change nothing". It never says so wrongly; it
/// may fail to say so for rare schemas, and then normalisation finds out.
///
/// # Errors
/// When the walk must serve instead.
pub fn exact_source(program: &Program) -> Result<Emitted, Unsupported> {
    emit(program, Mode::Exact)
}

fn emit(program: &Program, mode: Mode) -> Result<Emitted, Unsupported> {
    // The meaning of a dynamic reference depends on the way from the root.
    if program.has_dynamic_references() {
        return Err(Unsupported::NeedsWalk);
    }
    let plan = Plan::of(program).ok_or(Unsupported::TooLarge)?;
    let root = program.resolve(program.root());
    if plan.facts(root).walk {
        return Err(Unsupported::NeedsWalk);
    }
    Writer::new(program, &plan)
        .program(root, mode)
        .ok_or(Unsupported::TooLarge)
}

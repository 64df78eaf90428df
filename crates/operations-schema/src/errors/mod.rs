//! Errors with paths, in TypeBox's wording.
//!
//! TypeBox's errors and its check differ in corners: a property that a class inherits, or that may be
//! `undefined`, is present enough for the check and missing to the errors; a number passes a `RegExp`
//! kind and is an error of it. Here the check decides whether there are errors at all, so a value
//! that passes has none and one that does not has some; which, is as TypeBox lists them.

mod json;
mod messages;
mod typebox;
mod typebox_containers;

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::bounds::MAX_MESSAGE_BYTES;
use crate::check::Walk;
use crate::host::{Host, Interrupt, Limit, Result};
use crate::ir::{NodeId, Program, Shape};
use crate::pointer::escape;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// The JSON Pointer of the place in the value.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// Collects at most `max` errors (at least one); none when the value passes.
///
/// # Errors
/// When the user's code throws, or a bound is reached before it is known whether the value passes.
/// Where it does not, and the bound is reached on the way through its errors, those that were found
/// are told.
pub fn collect_errors<H: Host>(
    program: &Program,
    host: &mut H,
    value: H::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    if crate::check::check(program, host, value)? {
        return Ok(Vec::new());
    }
    errors_of_refused(program, host, value, max)
}

/// The errors of a value that is known not to pass.
///
/// # Errors
/// When the user's code throws, or the value is too deep.
pub fn errors_of_refused<H: Host>(
    program: &Program,
    host: &mut H,
    value: H::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    let mut walk = Walk::new(program, host, value, program.budget());
    errors_within(&mut walk, value, max)
}

/// The errors of a value that does not pass, within what a walk has left.
pub(crate) fn errors_within<H: Host>(
    walk: &mut Walk<'_, '_, H>,
    value: H::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    let root = walk.program.root();
    let mut collector = Collector {
        walk,
        path: String::new(),
        errors: Vec::new(),
        max: max.max(1),
    };
    let said = match collector.visit(root, value) {
        // Where TypeBox's errors have nothing to say about what its check refuses.
        Ok(()) | Err(Stop::Full) => "Unexpected value",
        Err(Stop::Interrupt(Interrupt::TypeBoxThrows)) => "Unknown type",
        Err(Stop::Interrupt(Interrupt::Limit(Limit::Work | Limit::Backtracking))) => {
            "The value does not match the schema; finding out where takes too much work"
        }
        Err(Stop::Interrupt(interrupt)) => return Err(interrupt),
    };
    if collector.errors.is_empty() {
        collector.errors.push(ValueError {
            path: collector.path,
            message: said.to_owned(),
        });
    }
    Ok(collector.errors)
}

/// Why collecting ends.
#[derive(Debug)]
enum Stop {
    /// There are enough errors.
    Full,
    Interrupt(Interrupt),
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        Self::Interrupt(interrupt)
    }
}

struct Collector<'w, 'p, 'h, H: Host> {
    walk: &'w mut Walk<'p, 'h, H>,
    path: String,
    errors: Vec<ValueError>,
    max: usize,
}

impl<H: Host> Collector<'_, '_, '_, H> {
    fn report(&mut self, message: impl Into<Cow<'static, str>>) -> Result<(), Stop> {
        if self.errors.len() >= self.max {
            return Err(Stop::Full);
        }
        // A name can be as long as the value, and each error repeats it.
        self.walk.spend(10 + self.path.len() as u64)?;
        let message = shorten(&message.into()).into_owned();
        self.errors.push(ValueError {
            path: self.path.clone(),
            message,
        });
        Ok(())
    }

    fn report_all(&mut self, messages: Vec<String>) -> Result<(), Stop> {
        messages
            .into_iter()
            .try_for_each(|message| self.report(message))
    }

    /// Whether a value passes, where TypeBox's exceptions mean no.
    fn passes(&mut self, id: NodeId, value: H::Value) -> Result<bool, Stop> {
        Ok(self.walk.passes(id, value)?)
    }

    /// Goes on at a key.
    fn at_key<R>(
        &mut self,
        key: &str,
        visit: impl FnOnce(&mut Self) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&escape(key));
        let result = visit(self);
        self.path.truncate(length);
        result
    }

    /// Goes on at a position of an array.
    fn at_index(&mut self, id: NodeId, array: H::Value, index: usize) -> Result<(), Stop> {
        let length = self.path.len();
        let _ = write!(self.path, "/{index}");
        let element = self.walk.element(array, index)?;
        let result = self.visit(id, element);
        self.path.truncate(length);
        result
    }

    fn visit(&mut self, id: NodeId, value: H::Value) -> Result<(), Stop> {
        let program = self.walk.program;
        let mut id = id;
        while let Some(target) = self.walk.bare_target(program.shape(id)) {
            self.walk.spend(1)?;
            id = target;
        }
        self.walk.open_rule()?;
        self.rule(id, value)?;
        self.walk.close_rule();
        Ok(())
    }

    fn rule(&mut self, id: NodeId, value: H::Value) -> Result<(), Stop> {
        let program = self.walk.program;
        match program.shape(id) {
            Shape::Ref(target) | Shape::Import(target) => self.visit(*target, value),
            Shape::Json(schema) => self.json(schema, value),
            Shape::JsonBoolean(true) => Ok(()),
            Shape::JsonBoolean(false) | Shape::Never => self.report("Never"),
            Shape::Broken(reason) => self.report(format!("Unknown type: {reason}")),
            shape => self.typebox(id, shape, value),
        }
    }
}

/// A text that is short enough for a message.
pub(crate) fn shorten(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.into();
    }
    let mut end = MAX_MESSAGE_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", text.get(..end).unwrap_or_default()).into()
}

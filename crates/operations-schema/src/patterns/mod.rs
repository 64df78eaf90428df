//! Regular expressions of schemas: ECMAScript syntax, run by engines with bounds.
//!
//! A pattern is translated to Rust's syntax. Most run on the linear-time engine; lookaround and
//! back references need the backtracking one, which has a limit.

mod class;
mod cursor;
mod engine;
mod escape;
mod translate;

use std::sync::OnceLock;

use engine::Engine;
pub use engine::PatternFailure;

use crate::host::Limit;

/// Which ECMAScript regular expressions a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Of a TypeBox kind: `new RegExp(source, flags)`, without the `u` flag unless it is there.
    TypeBox,
    /// Of a JSON Schema: unicode mode. What is only valid without the `u` flag (`\-`, a lone `}`)
    /// is read that way, because real documents are full of it.
    JsonSchema,
}

/// A regular expression of a schema. The engine behind it is built when it is first needed.
#[derive(Debug)]
pub struct Pattern {
    source: Box<str>,
    flags: Box<str>,
    dialect: Dialect,
    engine: OnceLock<Result<Engine, PatternFailure>>,
}

impl Pattern {
    /// A pattern; whether it can run is known when it is first asked.
    #[must_use]
    pub fn new(source: &str, flags: &str, dialect: Dialect) -> Self {
        Self {
            source: source.into(),
            flags: flags.into(),
            dialect,
            engine: OnceLock::new(),
        }
    }

    /// The pattern as it is written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The flags.
    #[must_use]
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// The dialect.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn engine(&self) -> &Result<Engine, PatternFailure> {
        self.engine
            .get_or_init(|| Engine::build(&self.source, &self.flags, self.dialect))
    }

    /// Why the pattern cannot run, if it cannot.
    #[must_use]
    pub fn failure(&self) -> Option<&PatternFailure> {
        self.engine().as_ref().err()
    }

    /// Whether the pattern matches somewhere in the text. One that is not valid JavaScript matches
    /// nothing: `new RegExp` would have thrown.
    ///
    /// # Errors
    /// When the engine cannot run this pattern or reaches its bound.
    pub fn matches(&self, text: &str) -> Result<bool, Limit> {
        match self.engine() {
            Ok(engine) => engine.matches(text),
            Err(PatternFailure::Syntax(_)) => Ok(false),
            Err(PatternFailure::Unsupported(_)) => Err(Limit::Pattern),
        }
    }
}

/// Whether a text is a regular expression in ECMAScript's unicode mode (the format `regex`).
#[must_use]
pub fn is_regular_expression(text: &str) -> bool {
    match Engine::build_strict(text) {
        Ok(_) | Err(PatternFailure::Unsupported(_)) => true,
        Err(PatternFailure::Syntax(_)) => false,
    }
}

#[cfg(test)]
mod tests;

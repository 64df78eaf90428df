//! Regular expressions of schemas: ECMAScript syntax, run by engines that count their work.
//!
//! A pattern is read once ([`ast`]). It runs on an engine that tries one way to read the text after
//! another; where that takes long, and the pattern has no look around and no back reference, an
//! engine takes over whose time grows with the text alone. `proven` decides which patterns may run on
//! JavaScript's own `RegExp`.

mod ast;
mod backtrack;
mod class;
mod cursor;
mod engine;
mod escape;
mod linear;
mod parse;
mod program;
mod proven;
mod template;
mod units;

use std::sync::OnceLock;

use engine::Engine;
use parse::{Syntax, parse};
pub(crate) use proven::{LONGEST_SUBJECT, Price};

use crate::value_access::Limit;
use crate::work::Budget;

/// Why a pattern cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternFailure {
    /// It is not a regular expression of JavaScript.
    #[error("{0}")]
    Syntax(Box<str>),
    /// It is one, but this engine cannot run it.
    #[error("{0}")]
    Unsupported(Box<str>),
}

/// Which ECMAScript regular expressions a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Of a TypeBox kind: `new RegExp(source, flags)`, without the `u` flag unless it is there.
    TypeBox,
    /// Of a JSON Schema: unicode mode. What is only valid without the `u` flag (`\-`, a lone `}`)
    /// is read that way, because real documents are full of it.
    JsonSchema,
}

/// A regular expression of a schema, read when it is first needed.
#[derive(Debug)]
pub struct Pattern {
    source: Box<str>,
    flags: Box<str>,
    dialect: Dialect,
    engine: OnceLock<Result<Engine, PatternFailure>>,
    needs_bounds: OnceLock<bool>,
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
            needs_bounds: OnceLock::new(),
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

    fn engine(&self) -> Result<&Engine, &PatternFailure> {
        let built = self.engine.get_or_init(|| {
            let syntax = Syntax::new(&self.flags, self.dialect)?;
            let parsed = match parse(&self.source, syntax).0 {
                Err(PatternFailure::Syntax(_)) if self.dialect == Dialect::JsonSchema => {
                    parse(&self.source, syntax.lenient()).0
                }
                other => other,
            };
            parsed.map(Engine::new)
        });
        built.as_ref()
    }

    /// Why the pattern cannot run, if it cannot.
    #[must_use]
    pub fn failure(&self) -> Option<&PatternFailure> {
        self.engine().err()
    }

    /// Whether the pattern matches somewhere in the text. One that is not valid JavaScript matches
    /// nothing: `new RegExp` would have thrown.
    ///
    /// # Errors
    /// When the engine cannot run this pattern, or it takes more work than is left.
    pub fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Limit> {
        match self.engine() {
            Ok(engine) => engine
                .matches(text, budget)
                .map_err(|_| Limit::Backtracking),
            Err(PatternFailure::Syntax(_)) => Ok(false),
            Err(PatternFailure::Unsupported(_)) => Err(Limit::Pattern),
        }
    }

    /// What the pattern costs on JavaScript's own `RegExp` with the `u` flag, where it is proven that
    /// it takes time in proportion to the text there and means the same.
    pub(crate) fn price_elsewhere(&self) -> Option<Price> {
        let engine = self.engine().ok()?;
        proven::price(&engine.parsed, self.source.len())
    }

    /// Whether JavaScript's own `RegExp` may take much longer than in proportion to the text, so that the
    /// engines in Rust have to decide. Never for what they cannot run.
    #[must_use]
    pub fn needs_bounds(&self) -> bool {
        *self.needs_bounds.get_or_init(|| {
            self.engine().is_ok_and(|engine| {
                proven::price_in_time(&engine.parsed, self.source.len()).is_none()
            })
        })
    }

    /// The first text that matches, where there are finitely many.
    pub(crate) fn first_text(&self) -> Option<String> {
        template::first_text(&self.engine().ok()?.parsed)
    }
}

/// Whether a text is a regular expression in ECMAScript's unicode mode (the format `regex`).
pub(crate) fn is_regular_expression(text: &str, budget: &mut Budget) -> Result<bool, Limit> {
    let (parsed, work) = match Syntax::new("", Dialect::JsonSchema) {
        Ok(syntax) => parse(text, syntax),
        Err(failure) => (Err(failure), 0),
    };
    budget.spend(work)?;
    Ok(!matches!(parsed, Err(PatternFailure::Syntax(_))))
}

#[cfg(test)]
mod tests;

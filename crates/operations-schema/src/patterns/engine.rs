//! The engines that run a translated pattern.

use std::borrow::Cow;

use super::Dialect;
use super::translate::{Syntax, Translated, split_astral, translate};
use crate::host::Limit;

/// How much memory one compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;
/// How often the backtracking engine may step back.
const BACKTRACK_LIMIT: usize = 200_000;
/// How long a text the backtracking engine gets: its work can grow with the square of it.
const MAX_BACKTRACKED_TEXT: usize = 32 * 1024;

/// Why a pattern cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternFailure {
    /// It is not a regular expression of JavaScript.
    Syntax(String),
    /// It is one, but this engine cannot run it.
    Unsupported(String),
}

impl std::fmt::Display for PatternFailure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax(reason) | Self::Unsupported(reason) => out.write_str(reason),
        }
    }
}

#[derive(Debug)]
enum Machine {
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// A pattern that can run.
#[derive(Debug)]
pub(super) struct Engine {
    machine: Machine,
    /// The pattern sees UTF-16 units, as JavaScript does without the `u` flag.
    by_unit: bool,
}

impl Engine {
    pub(super) fn build(
        source: &str,
        flags: &str,
        dialect: Dialect,
    ) -> Result<Self, PatternFailure> {
        let syntax = Syntax::new(flags, dialect)?;
        match Self::from_syntax(source, syntax) {
            Err(PatternFailure::Syntax(_)) if dialect == Dialect::JsonSchema => {
                Self::from_syntax(source, syntax.lenient())
            }
            other => other,
        }
    }

    pub(super) fn build_strict(source: &str) -> Result<Self, PatternFailure> {
        Self::from_syntax(source, Syntax::new("", Dialect::JsonSchema)?)
    }

    fn from_syntax(source: &str, syntax: Syntax) -> Result<Self, PatternFailure> {
        let linear = translate(source, syntax, false)?;
        let machine = if linear.needs_backtracking {
            Machine::Backtracking(Box::new(backtracking(&translate(source, syntax, true)?)?))
        } else {
            Machine::Linear(linear_engine(&linear)?)
        };
        Ok(Self {
            machine,
            by_unit: !syntax.by_code_point,
        })
    }

    pub(super) fn matches(&self, text: &str) -> Result<bool, Limit> {
        // Only characters beyond the basic plane (four bytes) are more than one unit.
        let text = if self.by_unit && text.bytes().any(|byte| byte >= 0xF0) {
            Cow::Owned(split_astral(text))
        } else {
            Cow::Borrowed(text)
        };
        match &self.machine {
            Machine::Linear(regex) => Ok(regex.is_match(&text)),
            Machine::Backtracking(regex) => {
                if text.len() > MAX_BACKTRACKED_TEXT {
                    return Err(Limit::Backtracking);
                }
                regex.is_match(&*text).map_err(|_| Limit::Backtracking)
            }
        }
    }
}

fn linear_engine(translated: &Translated) -> Result<regex::Regex, PatternFailure> {
    regex::RegexBuilder::new(&translated.text)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                PatternFailure::Unsupported("it is too large when compiled".into())
            }
            // What the translation lets through and the engine does not know are names of
            // Unicode properties.
            _ => PatternFailure::Syntax("it names an unknown Unicode property".into()),
        })
}

fn backtracking(translated: &Translated) -> Result<fancy_regex::Regex, PatternFailure> {
    fancy_regex::RegexBuilder::new(&translated.text)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(SIZE_LIMIT)
        .delegate_dfa_size_limit(SIZE_LIMIT)
        .build()
        .map_err(|_| PatternFailure::Unsupported("the backtracking engine cannot run it".into()))
}

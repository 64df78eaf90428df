//! Runs a pattern on the engine that suits it.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::ast::Parsed;
use super::backtrack;
use super::linear::{self, Linear};
use super::program::Program;
use super::units::split_astral;
use crate::value_access::Limit;
use crate::work::Budget;

/// How many steps of a pattern are one unit of work.
const STEPS_PER_UNIT: u64 = 1;

/// How many steps a pattern gets before the linear engine is built for it, and how many more for
/// each byte of the text. Most patterns need fewer, on any text, and then nothing is built at all.
const FEW_STEPS: u64 = 256;
const FEW_STEPS_PER_BYTE: u64 = 4;

/// A pattern that can run.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) parsed: Parsed,
    program: Program,
    linear: OnceLock<Option<Linear>>,
}

impl Engine {
    pub(super) fn new(parsed: Parsed) -> Self {
        Self {
            program: Program::new(&parsed),
            parsed,
            linear: OnceLock::new(),
        }
    }

    /// Whether the pattern matches somewhere in the text.
    pub(super) fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Limit> {
        let length = text.len() as u64;
        budget.spend(1 + length / 64)?;
        // Only characters beyond the basic plane (four bytes) are more than one unit.
        let text = if self.parsed.by_unit && text.bytes().any(|byte| byte >= 0xF0) {
            budget.spend(length / 4)?;
            Cow::Owned(split_astral(text))
        } else {
            Cow::Borrowed(text)
        };
        let few = FEW_STEPS + FEW_STEPS_PER_BYTE * length;
        if let Some(found) = self.backtrack(&text, few, budget)? {
            return Ok(found);
        }
        match self.linear(budget)? {
            Some(linear) => linear.matches(&text, budget),
            None => self.backtrack(&text, u64::MAX, budget)?.ok_or(Limit::Work),
        }
    }

    /// Tries with so many steps; no answer when they are not enough.
    fn backtrack(
        &self,
        text: &str,
        steps: u64,
        budget: &mut Budget,
    ) -> Result<Option<bool>, Limit> {
        let granted = steps.min(budget.left().saturating_mul(STEPS_PER_UNIT));
        let mut left = granted;
        let found = backtrack::matches(&self.program, text, &mut left);
        budget.spend((granted - left).div_ceil(STEPS_PER_UNIT))?;
        Ok(found.ok())
    }

    /// The linear engine, built when it is first needed; none where it cannot serve.
    fn linear(&self, budget: &mut Budget) -> Result<Option<&Linear>, Limit> {
        if self.linear.get().is_none() {
            let size = linear::size(&self.parsed);
            if let Some(states) = size {
                budget.spend(states.saturating_mul(linear::UNITS_PER_STATE))?;
            }
            // Another thread may have been quicker.
            let _ = self
                .linear
                .set(size.and_then(|_| Linear::build(&self.parsed)));
        }
        Ok(self.linear.get().and_then(Option::as_ref))
    }
}

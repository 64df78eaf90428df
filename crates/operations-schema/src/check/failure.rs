//! What happens where a value does not fit: the check stops, the errors go on and collect.
//!
//! There is one walk for both, compiled twice: each rule says what it expects beside how it decides.
//!
//! TypeBox's errors and its check differ in corners: a property that a class inherits, or that may be
//! `undefined`, is present enough for the check and missing to the errors; a number passes a `RegExp`
//! kind and is an error of it. Here the check decides whether there are errors at all, so a value
//! that passes has none and one that does not has some; which, is as TypeBox lists them.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use super::walk::Walk;
use crate::bounds::MAX_MESSAGE_BYTES;
use crate::ir::{KeyId, NodeId};
use crate::pointer::escape;
use crate::value_access::{Interrupt, Limit, Result, ValueAccess};

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// The JSON Pointer of the place in the value.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// What a walk does at a failure.
pub(crate) trait OnFailure {
    /// Whether it goes on and lists what is wrong.
    const COLLECTS: bool;
}

/// The first failure is the verdict.
pub(crate) struct FailFast;

/// Every failure becomes a [`ValueError`].
pub(crate) struct CollectErrors;

impl OnFailure for FailFast {
    const COLLECTS: bool = false;
}

impl OnFailure for CollectErrors {
    const COLLECTS: bool = true;
}

/// Why a walk does not go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The value does not pass ([`FailFast`]).
    Failed,
    /// There are enough errors ([`CollectErrors`]).
    Full,
    Interrupt(Interrupt),
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        Self::Interrupt(interrupt)
    }
}

impl From<Limit> for Stop {
    fn from(limit: Limit) -> Self {
        Self::Interrupt(limit.into())
    }
}

/// What a rule gives: with [`FailFast`] whether the value passes, with [`CollectErrors`] whether to go on.
pub(crate) type Verdict = Result<(), Stop>;

/// The verdict as an answer.
pub(super) fn passed(verdict: Verdict) -> Result<bool> {
    match verdict {
        Ok(()) => Ok(true),
        Err(Stop::Failed | Stop::Full) => Ok(false),
        Err(Stop::Interrupt(interrupt)) => Err(interrupt),
    }
}

/// An answer as a verdict that has no message.
pub(super) fn require(holds: bool) -> Verdict {
    if holds { Ok(()) } else { Err(Stop::Failed) }
}

/// What TypeBox would have thrown on is invalid as a whole.
pub(crate) fn throws_is_no(result: Result<bool>) -> Result<bool> {
    match result {
        Err(Interrupt::TypeBoxThrows) => Ok(false),
        other => other,
    }
}

/// The errors of a walk so far.
#[derive(Default)]
pub(super) struct Errors {
    path: String,
    list: Vec<ValueError>,
    max: usize,
}

/// A step from a value to a part of it.
#[derive(Clone, Copy)]
pub(super) enum Step<K> {
    Name(KeyId),
    Key(K),
    Index(usize),
    /// `length` of an array or string.
    Length,
}

/// The errors of a value that does not pass, within what a walk has left.
pub(crate) fn errors_within<A: ValueAccess>(
    walk: &mut Walk<'_, '_, A>,
    value: A::Value,
    max: usize,
) -> Result<Vec<ValueError>> {
    walk.errors.max = max.max(1);
    let verdict = walk.visit::<CollectErrors>(walk.program.root(), value);
    let Errors { path, mut list, .. } = std::mem::take(&mut walk.errors);
    let message = match verdict {
        // TypeBox's check refuses some values of which its errors list nothing.
        Ok(()) | Err(Stop::Failed | Stop::Full) => "Unexpected value",
        Err(Stop::Interrupt(Interrupt::TypeBoxThrows)) => "Unknown type",
        Err(Stop::Interrupt(Interrupt::Limit(limit))) if limit != Limit::Pattern => {
            "The value does not match the schema; finding out where takes too much work"
        }
        Err(Stop::Interrupt(interrupt)) => return Err(interrupt),
    };
    if list.is_empty() {
        let message = message.to_owned();
        list.push(ValueError { path, message });
    }
    Ok(list)
}

impl<A: ValueAccess> Walk<'_, '_, A> {
    /// The value does not fit.
    #[inline]
    pub(super) fn fail<F: OnFailure>(&mut self, message: impl Display) -> Verdict {
        if F::COLLECTS {
            self.report(&message)
        } else {
            Err(Stop::Failed)
        }
    }

    /// The same for a part of it.
    #[inline]
    pub(super) fn fail_at<F: OnFailure>(
        &mut self,
        step: Step<A::Key>,
        message: &'static str,
    ) -> Verdict {
        self.at::<F>(step, |walk| walk.fail::<F>(message))
    }

    /// The value fits, or fails with a message.
    #[inline]
    pub(super) fn expect<F: OnFailure>(&mut self, fits: bool, message: impl Display) -> Verdict {
        if fits {
            Ok(())
        } else {
            self.fail::<F>(message)
        }
    }

    /// The answer of a nested check: where errors are listed, what TypeBox throws on is a failure like any other.
    #[inline]
    pub(super) fn settle<F: OnFailure>(answer: Result<bool>) -> Result<bool> {
        if F::COLLECTS {
            throws_is_no(answer)
        } else {
            answer
        }
    }

    #[cold]
    pub(super) fn report(&mut self, message: &dyn Display) -> Verdict {
        if self.errors.list.len() >= self.errors.max {
            return Err(Stop::Full);
        }
        // A name can be as long as the value, and each error repeats it.
        self.spend(10 + self.errors.path.len() as u64)?;
        self.errors.list.push(ValueError {
            path: self.errors.path.clone(),
            message: shorten(&message.to_string()).into_owned(),
        });
        Ok(())
    }

    pub(super) fn error_count(&self) -> usize {
        self.errors.list.len()
    }

    /// Goes on at a part of the value.
    #[inline]
    pub(super) fn at<F: OnFailure>(
        &mut self,
        step: Step<A::Key>,
        go_on: impl FnOnce(&mut Self) -> Verdict,
    ) -> Verdict {
        if !F::COLLECTS {
            return go_on(self);
        }
        let length = self.errors.path.len();
        self.push_step(step)?;
        let verdict = go_on(self);
        self.errors.path.truncate(length);
        verdict
    }

    fn push_step(&mut self, step: Step<A::Key>) -> Result<()> {
        let mut path = std::mem::take(&mut self.errors.path);
        path.push('/');
        let pushed = match step {
            Step::Name(id) => {
                path.push_str(&escape(self.program.key_text(id)));
                Ok(())
            }
            Step::Key(key) => self.key_text(key, |text| path.push_str(&escape(text))),
            Step::Index(index) => {
                let _ = write!(path, "{index}");
                Ok(())
            }
            Step::Length => {
                path.push_str("length");
                Ok(())
            }
        };
        self.errors.path = path;
        pushed
    }

    /// Visits a node of which only the first error is listed.
    pub(super) fn first_error<F: OnFailure>(&mut self, node: NodeId, value: A::Value) -> Verdict {
        let max = self.errors.max;
        self.errors.max = max.min(self.error_count() + 1);
        let verdict = self.visit::<F>(node, value);
        self.errors.max = max;
        match verdict {
            Err(Stop::Full) if self.error_count() < max => Ok(()),
            other => other,
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

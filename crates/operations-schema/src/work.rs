//! What a walk may cost.

use crate::value_access::Limit;

/// An allowance of work, and what is left of it.
///
/// Everything that a check, a report of errors or a normalisation does is paid for out of one of
/// these: rules, properties that are read, texts that are looked through, steps of patterns. One
/// unit is about ten nanoseconds of a slow machine; prices are rounded up. Counting work instead of
/// time gives the same verdict in every run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    granted: u64,
    left: u64,
}

impl Budget {
    /// An allowance.
    #[must_use]
    pub fn new(units: u64) -> Self {
        Self {
            granted: units,
            left: units,
        }
    }

    /// Pays.
    ///
    /// # Errors
    /// When there is not enough left. What is left is gone then.
    pub fn spend(&mut self, units: u64) -> Result<(), Limit> {
        let left = self.left.checked_sub(units);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(Limit::Work)
    }

    /// Allows more.
    pub(crate) fn grant(&mut self, units: u64) {
        self.granted = self.granted.saturating_add(units);
        self.left = self.left.saturating_add(units);
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What was paid so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.granted.saturating_sub(self.left)
    }
}

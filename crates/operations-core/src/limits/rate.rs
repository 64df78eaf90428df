//! How many calls begin in a stretch of time.

use std::collections::VecDeque;

use super::Rate;

/// The times at which the last calls began. Exact: no stretch of `per` milliseconds sees more than `calls` of them.
#[derive(Debug)]
pub(super) struct Window {
    rate: Rate,
    began: VecDeque<f64>,
}

impl Window {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            began: VecDeque::new(),
        }
    }

    pub(super) fn has_room(&self, now: f64) -> bool {
        self.began.len() < self.rate.calls
            || self
                .began
                .front()
                .is_some_and(|oldest| oldest + self.rate.per <= now)
    }

    pub(super) fn take(&mut self, now: f64) {
        if self.began.len() >= self.rate.calls {
            self.began.pop_front();
        }
        self.began.push_back(now);
    }

    /// When a call may begin before which so many others do.
    pub(super) fn free_at(&self, now: f64, ahead: usize) -> f64 {
        let free = self.rate.calls.saturating_sub(self.began.len());
        let Some(behind) = ahead.checked_sub(free) else {
            return now;
        };
        let calls = self.rate.calls.max(1);
        let oldest = self.began.get(behind % calls).copied().unwrap_or(now);
        let rounds = (behind / calls + 1) as f64;
        (oldest + rounds * self.rate.per).max(now)
    }
}

//! When a source that fails is left alone, and when it is tried again.

use std::collections::VecDeque;

use super::machine::Ticket;
use super::{BreakerSettings, Verdict};

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls are made.
    Closed,
    /// No call is made.
    Open,
    /// One call is tried: its end decides.
    HalfOpen,
}

impl BreakerState {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

#[derive(Debug)]
pub(super) struct Breaker {
    settings: BreakerSettings,
    /// The last failures, the oldest first.
    failures: VecDeque<f64>,
    /// While it is not closed: when a call may be tried.
    opens_until: Option<f64>,
    /// The call that is tried.
    probe: Option<Ticket>,
    /// What began before this moment has nothing to say about what comes after it.
    changed_at: f64,
    /// How often it has opened.
    pub(super) opened: u64,
}

impl Breaker {
    pub(super) fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            failures: VecDeque::new(),
            opens_until: None,
            probe: None,
            changed_at: f64::MIN,
            opened: 0,
        }
    }

    pub(super) fn state(&self, now: f64) -> BreakerState {
        match self.opens_until {
            None => BreakerState::Closed,
            Some(until) if now < until => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// How long no call is made; nothing if one may be.
    pub(super) fn closed_for(&self, now: f64) -> Option<f64> {
        let until = self.opens_until?;
        if now < until {
            return Some(until - now);
        }
        // Whoever comes while one is tried learns soon enough what became of it.
        self.probe.is_some().then_some(self.settings.cooldown)
    }

    /// A call begins.
    pub(super) fn admitted(&mut self, ticket: Ticket) {
        if self.opens_until.is_some() {
            self.probe = Some(ticket);
        }
    }

    /// What a call that began at some time says about the source. Returns whether the breaker has opened by it.
    pub(super) fn judge(&mut self, now: f64, ticket: Ticket, began: f64, verdict: Verdict) -> bool {
        if self.opens_until.is_some() {
            if self.probe != Some(ticket) {
                return false;
            }
            self.probe = None;
            return match verdict {
                Verdict::Neutral => false,
                Verdict::Success => {
                    self.opens_until = None;
                    self.changed_at = now;
                    false
                }
                Verdict::Failure => self.open(now),
            };
        }
        if verdict != Verdict::Failure || began < self.changed_at {
            return false;
        }
        self.failures.push_back(now);
        while self
            .failures
            .front()
            .is_some_and(|oldest| oldest + self.settings.window < now)
        {
            self.failures.pop_front();
        }
        self.failures.len() >= self.settings.failures && self.open(now)
    }

    fn open(&mut self, now: f64) -> bool {
        self.failures.clear();
        self.opens_until = Some(now + self.settings.cooldown);
        self.changed_at = now;
        self.opened += 1;
        true
    }
}

//! When a source that fails is left alone, and when it is tried again.

use std::collections::VecDeque;

use super::machine::Ticket;
use super::{BreakerSettings, Verdict};

/// How long a call that is tried may say nothing before another one is tried beside it, in milliseconds, or the cooldown if that
/// is longer. Otherwise a source that never answers would keep the breaker from ever closing.
const PATIENCE: f64 = 30_000.0;

/// How many calls may be tried at a time, if the source answers none of them. Then the oldest counts no longer.
const MOST_PROBES: usize = 8;

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
    /// Calls that are tried and have not ended, the newest last.
    probes: VecDeque<Ticket>,
    /// Until when no other call is tried beside the newest of them.
    tries_until: Option<f64>,
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
            probes: VecDeque::new(),
            tries_until: None,
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
        // A call that comes while one is tried is soon decided by its outcome, unless the source says nothing at all.
        self.tries_until
            .map(|until| until - now)
            .filter(|wait| *wait > 0.0)
    }

    /// When a refused caller should try again. Beside a call that is tried that is a guess: it mostly ends much sooner than
    /// another one is tried, and if it fails, the cooldown begins again.
    pub(super) fn retry_after(&self, now: f64) -> f64 {
        let wait = self.closed_for(now).unwrap_or(0.0);
        wait.min(self.settings.cooldown)
    }

    /// A call begins.
    pub(super) fn admitted(&mut self, now: f64, ticket: Ticket) {
        if self.opens_until.is_none() {
            return;
        }
        if self.probes.len() == MOST_PROBES {
            self.probes.pop_front();
        }
        self.probes.push_back(ticket);
        self.tries_until = Some(now + self.settings.cooldown.max(PATIENCE));
    }

    /// What a call that began at some time says about the source. Returns whether the breaker has opened by it.
    pub(super) fn judge(&mut self, now: f64, ticket: Ticket, began: f64, verdict: Verdict) -> bool {
        if self.opens_until.is_some() {
            let Some(at) = self.probes.iter().position(|probe| *probe == ticket) else {
                return false;
            };
            self.probes.remove(at);
            return match verdict {
                Verdict::Neutral => {
                    // It has said nothing, so the next one may be tried; a later one that is tried already goes on.
                    if at == self.probes.len() {
                        self.tries_until = None;
                    }
                    false
                }
                Verdict::Success => {
                    self.opens_until = None;
                    self.end_trial(now);
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
        self.end_trial(now);
        self.opened += 1;
        true
    }

    /// What is still being tried has nothing to say any more.
    fn end_trial(&mut self, now: f64) {
        self.probes.clear();
        self.tries_until = None;
        self.changed_at = now;
    }
}

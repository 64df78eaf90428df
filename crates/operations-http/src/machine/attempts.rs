//! Failures and time limits, and what is tried after them.

use std::time::{Duration, Instant};

use super::retry::{Cause, random_fraction};
use super::{Machine, NetworkError, State};
use crate::message::{Failure, errors};

impl Machine {
    pub(super) fn on_failed(&mut self, error: &NetworkError, now: Instant) {
        let NetworkError { why, code, .. } = error;
        self.may_have_arrived |= !error.never_connected;
        let host = self.outgoing.host();
        let failure = errors::network_failure(&host, why, code.as_deref(), &self.secrets);
        match self.state {
            State::Streaming => self.on_stream_end(Some(failure), now),
            State::Sending | State::Collecting(..) | State::Spilling(..) => {
                let cause = if error.never_connected {
                    Cause::NeverConnected
                } else {
                    Cause::ConnectionLost
                };
                self.on_refusal(failure.into(), Some(cause), None, now);
            }
            State::Pausing(_) | State::Over => {}
        }
    }

    pub(super) fn on_tick(&mut self, now: Instant) {
        if self.limit.is_some_and(|limit| now >= limit) {
            self.note_interruption();
            let limit = self.rules.timeout.unwrap_or_default().as_millis();
            let failure = errors::timed_out(&self.outgoing.host(), limit);
            // A stream that is opened again does not give up at the first delay. Anything else does:
            // with a limit set, the caller does not want to wait for another try.
            let cause = self.feed.is_some().then_some(Cause::ConnectionLost);
            self.on_refusal(failure.into(), cause, None, now);
        } else if let State::Pausing(until) = self.state
            && now >= until
        {
            self.tries = self.tries.saturating_add(1);
            self.outgoing.restart();
            if let Some(feed) = &self.feed {
                self.outgoing.resume_after(feed.last_event_id());
            }
            self.state = State::Sending;
            if self.promised.is_some() {
                self.start_clock(now);
            }
        }
    }

    /// There was no success, this time. Without a cause, another try would not change that.
    pub(super) fn on_refusal(
        &mut self,
        failure: Failure,
        cause: Option<Cause>,
        asked: Option<Duration>,
        now: Instant,
    ) {
        let pause = cause.and_then(|cause| {
            if self.feed.is_some() {
                return self.reopening_delay(Some(cause), asked);
            }
            let method = &self.outgoing.request().method;
            let retry = self.rules.retry;
            retry.delay(self.tries, method, cause, asked, random_fraction())
        });
        match pause.and_then(|pause| now.checked_add(pause)) {
            Some(until) => self.pause(until),
            None => self.fail(failure),
        }
    }

    pub(super) fn pause(&mut self, until: Instant) {
        self.state = State::Pausing(until);
        if self.promised.is_some() {
            self.limit = None;
        }
    }
}

//! How many calls are worked on at a time. Above a limit a call waits; beyond that it is refused. The rules are those of
//! `facade/call/places.ts`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::lock::locked;
use tokio::sync::oneshot;

use crate::host::overloaded;
use crate::options::Limits;

const DEFAULT_QUEUE: usize = 1024;

/// Places, and who has them.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    by_operation: HashMap<String, usize>,
    by_caller: HashMap<String, usize>,
    waiting: VecDeque<Waiting>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    operation: String,
    caller: String,
    begin: oneshot::Sender<()>,
}

/// A place, or the wish for one. It is given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    ticket: u64,
    operation: String,
    caller: String,
}

impl Places {
    /// As many as these limits allow.
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            state: Mutex::default(),
        })
    }

    fn is_unlimited(&self) -> bool {
        let limits = &self.limits;
        limits.concurrency.is_none()
            && limits.per_operation.is_none()
            && limits.per_caller.is_none()
    }

    /// A place, when there is one; nothing where nobody needs any.
    ///
    /// # Errors
    ///
    /// When too many wait already.
    pub async fn enter(
        self: &Arc<Self>,
        operation: &str,
        caller: &str,
    ) -> Result<Option<Place>, CallError> {
        if self.is_unlimited() {
            return Ok(None);
        }
        let (place, granted) = self.queue_up(operation, caller)?;
        if let Some(granted) = granted {
            // It is sent before its sender goes: whoever waits is in the queue, or has a place.
            let _ = granted.await;
        }
        Ok(Some(place))
    }

    fn queue_up(
        self: &Arc<Self>,
        operation: &str,
        caller: &str,
    ) -> Result<(Place, Option<oneshot::Receiver<()>>), CallError> {
        let mut state = locked(&self.state);
        state.last_ticket += 1;
        let place = |ticket| Place {
            places: Arc::clone(self),
            ticket,
            operation: operation.to_owned(),
            caller: caller.to_owned(),
        };
        if self.has_place(&state, operation, caller) {
            take(&mut state, operation, caller);
            return Ok((place(state.last_ticket), None));
        }
        if state.waiting.len() >= self.limits.queue.unwrap_or(DEFAULT_QUEUE) {
            return Err(overloaded(operation));
        }
        let (begin, granted) = oneshot::channel();
        let ticket = state.last_ticket;
        state.waiting.push_back(Waiting {
            ticket,
            operation: operation.to_owned(),
            caller: caller.to_owned(),
            begin,
        });
        Ok((place(ticket), Some(granted)))
    }

    fn has_place(&self, state: &State, operation: &str, caller: &str) -> bool {
        let is_below = |count: usize, limit: Option<usize>| limit.is_none_or(|limit| count < limit);
        let count = |counts: &HashMap<String, usize>, key| counts.get(key).copied().unwrap_or(0);
        is_below(state.taken, self.limits.concurrency)
            && is_below(
                count(&state.by_operation, operation),
                self.limits.per_operation,
            )
            && is_below(count(&state.by_caller, caller), self.limits.per_caller)
    }

    /// How many hold a place, and how many wait.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = locked(&self.state);
        (state.taken, state.waiting.len())
    }
}

fn take(state: &mut State, operation: &str, caller: &str) {
    state.taken += 1;
    *state.by_operation.entry(operation.to_owned()).or_default() += 1;
    *state.by_caller.entry(caller.to_owned()).or_default() += 1;
}

fn release(counts: &mut HashMap<String, usize>, key: &str) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let places = &self.places;
        let mut state = locked(&places.state);
        let queued = state.waiting.iter();
        if let Some(at) = queued
            .map(|each| each.ticket)
            .position(|ticket| ticket == self.ticket)
        {
            state.waiting.remove(at);
            return;
        }
        state.taken -= 1;
        release(&mut state.by_operation, &self.operation);
        release(&mut state.by_caller, &self.caller);
        // All that have a place now, in their order: one operation's or caller's queue does not keep the others waiting, and
        // where there is more than one limit, one place can be what several waited for.
        while let Some(next) = state
            .waiting
            .iter()
            .position(|each| places.has_place(&state, &each.operation, &each.caller))
            .and_then(|at| state.waiting.remove(at))
        {
            take(&mut state, &next.operation, &next.caller);
            // If nobody waits for it any more, their place is given back as this one is.
            let _ = next.begin.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    fn places(concurrency: usize, per_operation: Option<usize>, queue: usize) -> Arc<Places> {
        Places::new(Limits {
            concurrency: Some(concurrency),
            per_operation,
            per_caller: None,
            queue: Some(queue),
        })
    }

    fn now(places: &Arc<Places>, operation: &str) -> Place {
        let entered = places.enter(operation, "").now_or_never();
        let entered = entered.expect("without waiting").expect("not refused");
        entered.expect("a place")
    }

    #[test]
    fn above_the_limit_one_waits_and_beyond_that_is_refused() {
        let places = places(1, None, 1);
        let first = now(&places, "a");
        let mut second = pin!(places.enter("b", ""));
        assert!(second.as_mut().now_or_never().is_none());
        let third = places.enter("c", "").now_or_never().expect("at once");
        let error = third.expect_err("refused");
        assert_eq!(
            error.details.expect("details")["reason"],
            serde_json::json!("overloaded")
        );
        assert_eq!(places.counts(), (1, 1));
        drop(first);
        let second = second
            .now_or_never()
            .expect("its turn")
            .expect("not refused");
        assert_eq!(places.counts(), (1, 0));
        drop(second);
        assert_eq!(places.counts(), (0, 0));
    }

    #[test]
    fn one_operation_does_not_keep_others_waiting() {
        let places = places(2, Some(1), 10);
        let first = now(&places, "a");
        let mut again = pin!(places.enter("a", ""));
        assert!(again.as_mut().now_or_never().is_none());
        let other = now(&places, "b");
        let mut third = pin!(places.enter("c", ""));
        assert!(third.as_mut().now_or_never().is_none());
        drop(other);
        let third = third
            .now_or_never()
            .expect("its turn")
            .expect("not refused");
        assert!(again.as_mut().now_or_never().is_none());
        drop(first);
        let again = again
            .now_or_never()
            .expect("its turn")
            .expect("not refused");
        drop((third, again));
        assert_eq!(places.counts(), (0, 0));
    }

    #[test]
    fn one_place_may_be_what_several_waited_for() {
        let places = Places::new(Limits {
            concurrency: None,
            per_operation: Some(1),
            per_caller: Some(1),
            queue: None,
        });
        let place = |operation, caller| {
            let entered = places.enter(operation, caller).now_or_never();
            entered.expect("at once").expect("not refused")
        };
        let first = place("a", "x");
        let mut same_operation = pin!(places.enter("a", "y"));
        let mut same_caller = pin!(places.enter("b", "x"));
        assert!(same_operation.as_mut().now_or_never().is_none());
        assert!(same_caller.as_mut().now_or_never().is_none());
        drop(first);
        assert!(same_operation.now_or_never().is_some());
        assert!(same_caller.now_or_never().is_some());
    }

    #[test]
    fn whoever_leaves_the_queue_or_is_granted_a_place_in_vain_gives_it_back() {
        let places = places(1, None, 10);
        let first = now(&places, "a");
        {
            let mut waits = pin!(places.enter("b", ""));
            assert!(waits.as_mut().now_or_never().is_none());
            assert_eq!(places.counts(), (1, 1));
        }
        assert_eq!(places.counts(), (1, 0));
        {
            let mut waits = pin!(places.enter("b", ""));
            assert!(waits.as_mut().now_or_never().is_none());
            drop(first);
            assert_eq!(places.counts(), (1, 0));
        }
        assert_eq!(places.counts(), (0, 0));
    }

    #[test]
    fn without_limits_nobody_needs_a_place() {
        let places = Places::new(Limits::default());
        let entered = places.enter("a", "").now_or_never().expect("at once");
        assert!(entered.expect("not refused").is_none());
    }
}

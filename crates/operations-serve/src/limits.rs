//! How many calls are worked on at a time. Above a limit a call waits; beyond that it is refused. Callers wait in queues of their
//! own, which take turns; when too many wait in all, the last of the longest queue is refused. The rules are those of
//! `facade/call/admission-queue.ts`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::lock::locked;
use tokio::sync::oneshot;

use crate::js_bridge::overloaded;
use crate::options::Limits;

const DEFAULT_QUEUE: usize = 1024;

/// The limit, and the permits that are taken.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    by_operation: HashMap<String, usize>,
    by_caller: HashMap<String, usize>,
    /// Those who wait, by caller, in the order of the callers' turns.
    queues: IndexMap<String, VecDeque<Waiting>>,
    waiting: usize,
    /// The tickets of those that hold a permit.
    holding: HashSet<u64>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    operation: String,
    /// Gets whether it may begin.
    begin: oneshot::Sender<bool>,
}

/// A permit, or a place in the queue for one. Dropping it releases it.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<ConcurrencyLimit>,
    ticket: u64,
    operation: String,
    caller: String,
}

impl ConcurrencyLimit {
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

    /// Waits for a permit; `None` where there are no limits. `operation` is empty for what belongs to no operation.
    ///
    /// # Errors
    ///
    /// When too many wait already.
    pub async fn enter(
        self: &Arc<Self>,
        operation: &str,
        caller: &str,
    ) -> Result<Option<Permit>, CallError> {
        if self.is_unlimited() {
            return Ok(None);
        }
        let (permit, granted) = self.admit(operation, caller)?;
        let may_begin = match granted {
            // Until then it is in a queue.
            Some(granted) => granted.await.unwrap_or(false),
            None => true,
        };
        may_begin
            .then_some(Some(permit))
            .ok_or_else(|| overloaded(operation))
    }

    fn admit(
        self: &Arc<Self>,
        operation: &str,
        caller: &str,
    ) -> Result<(Permit, Option<oneshot::Receiver<bool>>), CallError> {
        let mut state = locked(&self.state);
        state.last_ticket += 1;
        let permit = |ticket| Permit {
            limit: Arc::clone(self),
            ticket,
            operation: operation.to_owned(),
            caller: caller.to_owned(),
        };
        let ticket = state.last_ticket;
        if self.has_room(&state, operation, caller) {
            state.take(ticket, operation, caller);
            return Ok((permit(ticket), None));
        }
        if state.waiting >= self.limits.queue.unwrap_or(DEFAULT_QUEUE) {
            let evicted = state.evict_for(caller);
            let evicted = evicted.ok_or_else(|| overloaded(operation))?;
            // If the receiver is gone, nothing is lost.
            let _ = evicted.begin.send(false);
        }
        let (begin, granted) = oneshot::channel();
        state.enqueue(
            caller,
            Waiting {
                ticket,
                operation: operation.to_owned(),
                begin,
            },
        );
        Ok((permit(ticket), Some(granted)))
    }

    fn has_room(&self, state: &State, operation: &str, caller: &str) -> bool {
        let is_below = |count: usize, limit: Option<usize>| limit.is_none_or(|limit| count < limit);
        let count = |counts: &HashMap<String, usize>, key| counts.get(key).copied().unwrap_or(0);
        is_below(state.taken, self.limits.concurrency)
            && (operation.is_empty()
                || is_below(
                    count(&state.by_operation, operation),
                    self.limits.per_operation,
                ))
            && is_below(count(&state.by_caller, caller), self.limits.per_caller)
    }

    /// Takes out the next that there is room for: callers take turns, and each has its own calls in their order.
    fn next(&self, state: &mut State) -> Option<(String, Waiting)> {
        let (caller, at) = state.queues.iter().find_map(|(caller, queue)| {
            let mut queue = queue.iter();
            let at = queue.position(|each| self.has_room(state, &each.operation, caller))?;
            Some((caller.clone(), at))
        })?;
        let next = state.take_out(&caller, at)?;
        if let Some(rest) = state.queues.shift_remove(&caller) {
            state.queues.insert(caller.clone(), rest);
        }
        Some((caller, next))
    }

    /// How many hold a permit, and how many wait.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = locked(&self.state);
        (state.taken, state.waiting)
    }
}

impl State {
    fn take(&mut self, ticket: u64, operation: &str, caller: &str) {
        self.taken += 1;
        self.holding.insert(ticket);
        *self.by_operation.entry(operation.to_owned()).or_default() += 1;
        *self.by_caller.entry(caller.to_owned()).or_default() += 1;
    }

    fn enqueue(&mut self, caller: &str, waiting: Waiting) {
        let queue = self.queues.entry(caller.to_owned()).or_default();
        queue.push_back(waiting);
        self.waiting += 1;
    }

    /// Takes one out of its queue.
    fn take_out(&mut self, caller: &str, at: usize) -> Option<Waiting> {
        let queue = self.queues.get_mut(caller)?;
        let waiting = queue.remove(at)?;
        if queue.is_empty() {
            self.queues.shift_remove(caller);
        }
        self.waiting -= 1;
        Some(waiting)
    }

    /// Where there is no room for one more: takes out the last of the longest queue, if that is longer than the caller's own will
    /// be. Otherwise a caller could keep all others out by waiting often enough.
    fn evict_for(&mut self, caller: &str) -> Option<Waiting> {
        let own = self.queues.get(caller).map_or(0, VecDeque::len);
        let newest = |queue: &VecDeque<Waiting>| queue.back().map(|last| last.ticket);
        let queues = self.queues.iter();
        let (longest, queue) = queues.max_by_key(|(_, queue)| (queue.len(), newest(queue)))?;
        if queue.len() <= own + 1 {
            return None;
        }
        let (longest, last) = (longest.clone(), queue.len() - 1);
        self.take_out(&longest, last)
    }
}

fn release(counts: &mut HashMap<String, usize>, key: &str) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// What a permit is for, so that another can take its place.
#[derive(Debug)]
pub struct WantedPermit {
    limit: Arc<ConcurrencyLimit>,
    operation: String,
    caller: String,
}

impl Permit {
    pub(crate) fn wanted(&self) -> WantedPermit {
        WantedPermit {
            limit: Arc::clone(&self.limit),
            operation: self.operation.clone(),
            caller: self.caller.clone(),
        }
    }
}

impl WantedPermit {
    pub(crate) async fn enter(&self) -> Result<Option<Permit>, CallError> {
        self.limit.enter(&self.operation, &self.caller).await
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let limit = &self.limit;
        let mut state = locked(&limit.state);
        if !state.holding.remove(&self.ticket) {
            // It waits still, or was refused.
            let queue = state.queues.get(&self.caller);
            let at =
                queue.and_then(|queue| queue.iter().position(|each| each.ticket == self.ticket));
            if let Some(at) = at {
                state.take_out(&self.caller, at);
            }
            return;
        }
        state.taken -= 1;
        release(&mut state.by_operation, &self.operation);
        release(&mut state.by_caller, &self.caller);
        // All that there is room for now: one operation's or caller's queue does not keep the others waiting, and
        // where there is more than one limit, one permit can be what several waited for.
        while let Some((caller, next)) = limit.next(&mut state) {
            state.take(next.ticket, &next.operation, &caller);
            // If the receiver is gone, its permit is released as this one is.
            let _ = next.begin.send(true);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    fn limit(
        concurrency: usize,
        per_operation: Option<usize>,
        queue: usize,
    ) -> Arc<ConcurrencyLimit> {
        ConcurrencyLimit::new(Limits {
            concurrency: Some(concurrency),
            per_operation,
            queue: Some(queue),
            ..Limits::default()
        })
    }

    fn now(limit: &Arc<ConcurrencyLimit>, operation: &str) -> Permit {
        let entered = limit.enter(operation, "").now_or_never();
        let entered = entered.expect("without waiting").expect("not refused");
        entered.expect("a permit")
    }

    #[test]
    fn above_the_limit_one_waits_and_beyond_that_is_refused() {
        let limit = limit(1, None, 1);
        let first = now(&limit, "a");
        let mut second = pin!(limit.enter("b", ""));
        assert!(second.as_mut().now_or_never().is_none());
        let third = limit.enter("c", "").now_or_never().expect("at once");
        let error = third.expect_err("refused");
        assert_eq!(
            error.details.expect("details")["reason"],
            serde_json::json!("overloaded")
        );
        assert_eq!(limit.counts(), (1, 1));
        drop(first);
        let second = second
            .now_or_never()
            .expect("its turn")
            .expect("not refused");
        assert_eq!(limit.counts(), (1, 0));
        drop(second);
        assert_eq!(limit.counts(), (0, 0));
    }

    #[test]
    fn one_operation_does_not_keep_others_waiting() {
        let limit = limit(2, Some(1), 10);
        let first = now(&limit, "a");
        let mut again = pin!(limit.enter("a", ""));
        assert!(again.as_mut().now_or_never().is_none());
        let other = now(&limit, "b");
        let mut third = pin!(limit.enter("c", ""));
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
        assert_eq!(limit.counts(), (0, 0));
    }

    #[test]
    fn one_permit_may_be_what_several_waited_for() {
        let limit = ConcurrencyLimit::new(Limits {
            per_operation: Some(1),
            per_caller: Some(1),
            ..Limits::default()
        });
        let permit = |operation, caller| {
            let entered = limit.enter(operation, caller).now_or_never();
            entered.expect("at once").expect("not refused")
        };
        let first = permit("a", "x");
        let mut same_operation = pin!(limit.enter("a", "y"));
        let mut same_caller = pin!(limit.enter("b", "x"));
        assert!(same_operation.as_mut().now_or_never().is_none());
        assert!(same_caller.as_mut().now_or_never().is_none());
        drop(first);
        assert!(same_operation.now_or_never().is_some());
        assert!(same_caller.now_or_never().is_some());
    }

    #[test]
    fn leaving_the_queue_or_dropping_a_granted_permit_releases_it() {
        let limit = limit(1, None, 10);
        let first = now(&limit, "a");
        {
            let mut waits = pin!(limit.enter("b", ""));
            assert!(waits.as_mut().now_or_never().is_none());
            assert_eq!(limit.counts(), (1, 1));
        }
        assert_eq!(limit.counts(), (1, 0));
        {
            let mut waits = pin!(limit.enter("b", ""));
            assert!(waits.as_mut().now_or_never().is_none());
            drop(first);
            assert_eq!(limit.counts(), (1, 0));
        }
        assert_eq!(limit.counts(), (0, 0));
    }

    #[test]
    fn a_caller_that_floods_keeps_no_other_out() {
        let limit = limit(1, None, 4);
        let permit = |caller| limit.enter("a", caller);
        let first = permit("flood").now_or_never().expect("at once");
        let mut flood: Vec<_> = (0..4).map(|_| Box::pin(permit("flood"))).collect();
        for each in &mut flood {
            assert!(each.as_mut().now_or_never().is_none());
        }
        let refused = permit("flood").now_or_never().expect("at once");
        assert!(refused.is_err(), "its own queue is the longest");
        let mut other = Box::pin(permit("other"));
        assert!(other.as_mut().now_or_never().is_none());
        let mut second = Box::pin(permit("other"));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(limit.counts(), (1, 4));
        // Those that were evicted get an error.
        for _ in 0..2 {
            let made_room = flood.pop().expect("one of four");
            assert!(made_room.now_or_never().expect("an answer").is_err());
        }
        assert!(
            permit("other").now_or_never().expect("at once").is_err(),
            "both queues are as long now"
        );
        // They take turns.
        drop(first);
        let mut begun = Vec::new();
        for _ in 0..4 {
            let is_flood = flood
                .first_mut()
                .and_then(|next| next.as_mut().now_or_never());
            let held = if let Some(held) = is_flood {
                begun.push("flood");
                drop(flood.remove(0));
                held
            } else if let Some(held) = other.as_mut().now_or_never() {
                begun.push("other");
                std::mem::swap(&mut other, &mut second);
                held
            } else {
                panic!("none has begun after {begun:?}");
            };
            drop(held);
        }
        assert_eq!(begun, ["flood", "other", "flood", "other"]);
        assert_eq!(limit.counts(), (0, 0));
    }

    #[test]
    fn an_evicted_call_that_is_dropped_before_its_error_releases_nothing() {
        let limit = limit(1, None, 2);
        let first = now(&limit, "a");
        let mut flood: Vec<_> = (0..2).map(|_| Box::pin(limit.enter("a", "f"))).collect();
        for each in &mut flood {
            assert!(each.as_mut().now_or_never().is_none());
        }
        let mut other = Box::pin(limit.enter("a", "o"));
        assert!(other.as_mut().now_or_never().is_none());
        drop(flood);
        assert_eq!(limit.counts(), (1, 1));
        drop(first);
        assert!(other.now_or_never().expect("its turn").is_ok());
        assert_eq!(limit.counts(), (0, 0));
    }

    #[test]
    fn without_limits_no_permit_is_needed() {
        let limit = ConcurrencyLimit::new(Limits::default());
        let entered = limit.enter("a", "").now_or_never().expect("at once");
        assert!(entered.expect("not refused").is_none());
    }
}

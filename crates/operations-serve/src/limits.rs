//! How many calls are worked on at a time. Above a limit a call waits; beyond that it is refused. Callers wait in lines of their
//! own, which take turns; where all waiting places are taken, the last of the longest line makes room. The rules are those of
//! `facade/call/places.ts`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
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
    /// Those who wait, by caller, in the order of the callers' turns.
    lines: IndexMap<String, VecDeque<Waiting>>,
    waiting: usize,
    /// Those who have a place.
    holding: HashSet<u64>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    operation: String,
    /// Told whether it may begin.
    begin: oneshot::Sender<bool>,
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

    /// A place, when there is one; nothing where there are no limits. What belongs to no operation has an empty one.
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
        let may_begin = match granted {
            // Whoever waits is in a line until they are told.
            Some(granted) => granted.await.unwrap_or(false),
            None => true,
        };
        may_begin
            .then_some(Some(place))
            .ok_or_else(|| overloaded(operation))
    }

    fn queue_up(
        self: &Arc<Self>,
        operation: &str,
        caller: &str,
    ) -> Result<(Place, Option<oneshot::Receiver<bool>>), CallError> {
        let mut state = locked(&self.state);
        state.last_ticket += 1;
        let place = |ticket| Place {
            places: Arc::clone(self),
            ticket,
            operation: operation.to_owned(),
            caller: caller.to_owned(),
        };
        let ticket = state.last_ticket;
        if self.has_place(&state, operation, caller) {
            state.take(ticket, operation, caller);
            return Ok((place(ticket), None));
        }
        if state.waiting >= self.limits.queue.unwrap_or(DEFAULT_QUEUE) {
            let in_the_way = state.in_the_way_of(caller);
            let in_the_way = in_the_way.ok_or_else(|| overloaded(operation))?;
            // If nobody waits for it any more, nothing is lost.
            let _ = in_the_way.begin.send(false);
        }
        let (begin, granted) = oneshot::channel();
        state.line_up(
            caller,
            Waiting {
                ticket,
                operation: operation.to_owned(),
                begin,
            },
        );
        Ok((place(ticket), Some(granted)))
    }

    fn has_place(&self, state: &State, operation: &str, caller: &str) -> bool {
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

    /// Takes out the next who has a place: callers take turns, and each has its own calls in their order.
    fn next(&self, state: &mut State) -> Option<(String, Waiting)> {
        let (caller, at) = state.lines.iter().find_map(|(caller, line)| {
            let mut line = line.iter();
            let at = line.position(|each| self.has_place(state, &each.operation, caller))?;
            Some((caller.clone(), at))
        })?;
        let next = state.take_out(&caller, at)?;
        if let Some(rest) = state.lines.shift_remove(&caller) {
            state.lines.insert(caller.clone(), rest);
        }
        Some((caller, next))
    }

    /// How many hold a place, and how many wait.
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

    fn line_up(&mut self, caller: &str, waiting: Waiting) {
        let line = self.lines.entry(caller.to_owned()).or_default();
        line.push_back(waiting);
        self.waiting += 1;
    }

    /// Takes one out of its line.
    fn take_out(&mut self, caller: &str, at: usize) -> Option<Waiting> {
        let line = self.lines.get_mut(caller)?;
        let waiting = line.remove(at)?;
        if line.is_empty() {
            self.lines.shift_remove(caller);
        }
        self.waiting -= 1;
        Some(waiting)
    }

    /// Where there is no room for one more: takes out the last of the longest line, if that is longer than the caller's own will
    /// be. Otherwise a caller could keep all others out by waiting often enough.
    fn in_the_way_of(&mut self, caller: &str) -> Option<Waiting> {
        let own = self.lines.get(caller).map_or(0, VecDeque::len);
        let newest = |line: &VecDeque<Waiting>| line.back().map(|last| last.ticket);
        let lines = self.lines.iter();
        let (longest, line) = lines.max_by_key(|(_, line)| (line.len(), newest(line)))?;
        if line.len() <= own + 1 {
            return None;
        }
        let (longest, last) = (longest.clone(), line.len() - 1);
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

impl Drop for Place {
    fn drop(&mut self) {
        let places = &self.places;
        let mut state = locked(&places.state);
        if !state.holding.remove(&self.ticket) {
            // It waits still, or was refused.
            let line = state.lines.get(&self.caller);
            let at = line.and_then(|line| line.iter().position(|each| each.ticket == self.ticket));
            if let Some(at) = at {
                state.take_out(&self.caller, at);
            }
            return;
        }
        state.taken -= 1;
        release(&mut state.by_operation, &self.operation);
        release(&mut state.by_caller, &self.caller);
        // All that have a place now: one operation's or caller's queue does not keep the others waiting, and
        // where there is more than one limit, one place can be what several waited for.
        while let Some((caller, next)) = places.next(&mut state) {
            state.take(next.ticket, &next.operation, &caller);
            // If nobody waits for it any more, their place is given back as this one is.
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

    fn places(concurrency: usize, per_operation: Option<usize>, queue: usize) -> Arc<Places> {
        Places::new(Limits {
            concurrency: Some(concurrency),
            per_operation,
            queue: Some(queue),
            ..Limits::default()
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
            per_operation: Some(1),
            per_caller: Some(1),
            ..Limits::default()
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
    fn a_caller_who_floods_keeps_nobody_out() {
        let places = places(1, None, 4);
        let place = |caller| places.enter("a", caller);
        let first = place("flood").now_or_never().expect("at once");
        let mut flood: Vec<_> = (0..4).map(|_| Box::pin(place("flood"))).collect();
        for each in &mut flood {
            assert!(each.as_mut().now_or_never().is_none());
        }
        let refused = place("flood").now_or_never().expect("at once");
        assert!(refused.is_err(), "its own line is the longest");
        let mut other = Box::pin(place("other"));
        assert!(other.as_mut().now_or_never().is_none());
        let mut second = Box::pin(place("other"));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(places.counts(), (1, 4));
        // Those who had to make room are told.
        for _ in 0..2 {
            let made_room = flood.pop().expect("one of four");
            assert!(made_room.now_or_never().expect("told").is_err());
        }
        assert!(
            place("other").now_or_never().expect("at once").is_err(),
            "both lines are as long now"
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
                panic!("nobody has begun after {begun:?}");
            };
            drop(held);
        }
        assert_eq!(begun, ["flood", "other", "flood", "other"]);
        assert_eq!(places.counts(), (0, 0));
    }

    #[test]
    fn whoever_made_room_and_left_before_being_told_gives_nothing_back() {
        let places = places(1, None, 2);
        let first = now(&places, "a");
        let mut flood: Vec<_> = (0..2).map(|_| Box::pin(places.enter("a", "f"))).collect();
        for each in &mut flood {
            assert!(each.as_mut().now_or_never().is_none());
        }
        let mut other = Box::pin(places.enter("a", "o"));
        assert!(other.as_mut().now_or_never().is_none());
        drop(flood);
        assert_eq!(places.counts(), (1, 1));
        drop(first);
        assert!(other.now_or_never().expect("its turn").is_ok());
        assert_eq!(places.counts(), (0, 0));
    }

    #[test]
    fn without_limits_nobody_needs_a_place() {
        let places = Places::new(Limits::default());
        let entered = places.enter("a", "").now_or_never().expect("at once");
        assert!(entered.expect("not refused").is_none());
    }
}

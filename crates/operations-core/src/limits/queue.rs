//! The calls that wait at one limiter: each caller has a queue of its own, and the queues take turns.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::machine::Ticket;

#[derive(Debug, Default)]
pub(super) struct FairQueue {
    by_caller: HashMap<Arc<str>, BTreeSet<Ticket>>,
    /// The callers that wait, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl FairQueue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Joins the queue. A ticket has its place in the queue by its age, wherever it waited before.
    pub(super) fn add(&mut self, caller: &Arc<str>, ticket: Ticket) {
        let queue = self.by_caller.entry(Arc::clone(caller)).or_default();
        if queue.is_empty() {
            self.turns.push_back(Arc::clone(caller));
        }
        if queue.insert(ticket) {
            self.len += 1;
        }
    }

    /// Takes out the one whose turn it is.
    pub(super) fn next(&mut self) -> Option<Ticket> {
        let caller = self.turns.pop_front()?;
        let queue = self.by_caller.get_mut(&caller)?;
        let ticket = queue.pop_first()?;
        self.len -= 1;
        if queue.is_empty() {
            self.by_caller.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        Some(ticket)
    }

    /// Removes one that waits no longer.
    pub(super) fn remove(&mut self, caller: &Arc<str>, ticket: Ticket) {
        let Some(queue) = self.by_caller.get_mut(caller) else {
            return;
        };
        if queue.remove(&ticket) {
            self.len -= 1;
        }
        if queue.is_empty() {
            self.by_caller.remove(caller);
            self.turns.retain(|each| each != caller);
        }
    }

    /// Where there is no room for one more: the last in the longest queue, if that is longer than the caller's own will
    /// be. It has to make room, so that one caller cannot keep others out by waiting often enough.
    pub(super) fn in_the_way_of(&self, caller: &str) -> Option<Ticket> {
        let own = self.by_caller.get(caller).map_or(0, BTreeSet::len);
        // Of queues that are as long, the one with the newest call: chance decides nothing.
        let queues = self.by_caller.values();
        let longest = queues.max_by_key(|queue| (queue.len(), queue.last().copied()))?;
        (longest.len() > own + 1)
            .then(|| longest.last().copied())
            .flatten()
    }

    /// All of them, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Ticket> {
        self.by_caller.values().flatten().copied()
    }
}

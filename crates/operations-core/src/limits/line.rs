//! Those who wait at one limiter: each caller has a line of its own, and the lines take turns.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::machine::Ticket;

#[derive(Debug, Default)]
pub(super) struct Lines {
    by_caller: HashMap<Arc<str>, BTreeSet<Ticket>>,
    /// The callers that wait, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lines up. A ticket has its place in the line by its age, wherever it waited before.
    pub(super) fn add(&mut self, caller: &Arc<str>, ticket: Ticket) {
        let line = self.by_caller.entry(Arc::clone(caller)).or_default();
        if line.is_empty() {
            self.turns.push_back(Arc::clone(caller));
        }
        if line.insert(ticket) {
            self.len += 1;
        }
    }

    /// Takes out the one whose turn it is.
    pub(super) fn next(&mut self) -> Option<Ticket> {
        let caller = self.turns.pop_front()?;
        let line = self.by_caller.get_mut(&caller)?;
        let ticket = line.pop_first()?;
        self.len -= 1;
        if line.is_empty() {
            self.by_caller.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        Some(ticket)
    }

    /// Takes one out who waits no longer.
    pub(super) fn remove(&mut self, caller: &Arc<str>, ticket: Ticket) {
        let Some(line) = self.by_caller.get_mut(caller) else {
            return;
        };
        if line.remove(&ticket) {
            self.len -= 1;
        }
        if line.is_empty() {
            self.by_caller.remove(caller);
            self.turns.retain(|each| each != caller);
        }
    }

    /// Where there is no room for one more: the last in the longest line, if that is longer than the caller's own will
    /// be. It has to make room, so that nobody keeps others out by waiting often enough.
    pub(super) fn in_the_way_of(&self, caller: &str) -> Option<Ticket> {
        let own = self.by_caller.get(caller).map_or(0, BTreeSet::len);
        // Of lines that are as long, the one with the newest call: chance decides nothing.
        let lines = self.by_caller.values();
        let longest = lines.max_by_key(|line| (line.len(), line.last().copied()))?;
        (longest.len() > own + 1)
            .then(|| longest.last().copied())
            .flatten()
    }

    /// Everybody, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Ticket> {
        self.by_caller.values().flatten().copied()
    }
}

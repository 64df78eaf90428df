//! When something is to happen next.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A time in milliseconds since the epoch, with an order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A position in the schedule; needed to take it out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(Moment, u64);

/// Requests by the time at which they are due. What is over is taken out, so nothing piles up.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    slots: BTreeMap<Slot, Arc<str>>,
    made: u64,
}

impl Schedule {
    pub(super) fn add(&mut self, time: f64, id: &Arc<str>) -> Slot {
        self.made += 1;
        let slot = Slot(Moment(time), self.made);
        self.slots.insert(slot, Arc::clone(id));
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        self.slots.remove(&slot);
    }

    pub(super) fn next(&self) -> Option<f64> {
        self.slots.keys().next().map(|slot| slot.0.0)
    }

    /// Takes out the first that is due.
    pub(super) fn pop(&mut self, now: f64) -> Option<Arc<str>> {
        let entry = self.slots.first_entry()?;
        (entry.key().0.0 <= now).then(|| entry.remove())
    }
}

//! Whether JavaScript is alive: its event loop turns. A worker whose JavaScript stands still answers pings all the
//! same, because messages are read natively; that alone must not bring it calls that it cannot do.

use std::sync::Arc;

use super::Worker;
use crate::limits::{HOST_GIVES_BACK, HOST_STALLED};
use crate::state::{Doer, Todo};
use crate::wire::Notice;

impl Worker {
    /// The event loop of JavaScript has turned.
    pub fn host_turned(&mut self, now: f64, todo: &mut Todo) {
        let was_stalled = self.host_silent_for(now) >= HOST_STALLED;
        self.host_turned_at = Some(now);
        if was_stalled {
            self.grant(now, todo);
        }
    }

    fn host_silent_for(&self, now: f64) -> f64 {
        self.host_turned_at.map_or(0.0, |at| now - at)
    }

    /// Whether work on this operation could begin now.
    pub(super) fn can_do(&self, now: f64, operation: &str) -> bool {
        self.doer_of(operation) == Doer::Registry || self.host_silent_for(now) < HOST_STALLED
    }

    /// What JavaScript has not begun with goes back to its callers when it has stood still for long. It will not begin
    /// with it later: see [`Worker::begin`].
    pub(super) fn give_back(&mut self, now: f64, todo: &mut Todo) {
        if self.host_silent_for(now) < HOST_GIVES_BACK {
            return;
        }
        let waiting: Vec<Arc<str>> = self
            .running
            .iter()
            .filter(|(_, running)| {
                running.doer == Doer::Host
                    && !running.is_begun
                    && !running.is_aborted
                    && !running.is_answered
            })
            .map(|(id, _)| Arc::clone(id))
            .collect();
        for id in waiting {
            let Some(running) = self.running.get(&id) else {
                continue;
            };
            let subject = self.subjects.to_peer(&running.from, "note");
            let notice = Notice::Busy {
                from: Arc::clone(&self.me),
                id: Arc::clone(&id),
            };
            todo.notify_reliably(subject, &notice);
            self.finished(now, &id, todo);
        }
    }
}

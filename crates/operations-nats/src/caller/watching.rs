//! What becomes of requests as time passes, workers go, and connections are lost.

use std::sync::Arc;

use operations_core::error::CallError;

use super::{Caller, Held, Outgoing, Stage};
use crate::errors;
use crate::limits::{CONFIRMATION, IDS_PER_PING, RECONNECTION, STREAM_WINDOW, TICK};
use crate::state::Todo;
use crate::wire::Notice;

impl Caller {
    /// Deadlines and idle time-outs.
    pub fn due(&mut self, now: f64, todo: &mut Todo) {
        let effects = self.pending.tick(now);
        self.carry_out(now, effects, None, todo);
    }

    /// Every half second: what was not confirmed, what waits too long for a connection, what is still parked.
    pub fn tick(&mut self, now: f64, todo: &mut Todo) {
        while let Some((at, id)) = self.unconfirmed.front().cloned()
            && now - at >= CONFIRMATION
        {
            if self.disconnected_at.is_some() || now - self.connected_at < CONFIRMATION {
                // The time without a connection does not count.
                break;
            }
            self.unconfirmed.pop_front();
            let is_overdue = self.outgoing.get(&id).is_some_and(|outgoing| {
                matches!(&outgoing.stage, Stage::Sent { at: sent } | Stage::Offered { at: sent, .. } if *sent <= at)
            });
            if is_overdue {
                self.fail(now, &id, errors::unconfirmed, todo);
            }
        }
        if let Some(disconnected_at) = self.disconnected_at {
            let waiting: Vec<Arc<str>> = self
                .outgoing
                .iter()
                .filter(|(_, outgoing)| {
                    matches!(outgoing.stage, Stage::Parked { since } if now - since.max(disconnected_at) >= RECONNECTION)
                })
                .map(|(id, _)| Arc::clone(id))
                .collect();
            for id in waiting {
                self.fail(now, &id, errors::not_connected, todo);
            }
            return;
        }
        if now - self.asked_at < TICK {
            return;
        }
        self.asked_at = now;
        for (operation, lane) in &self.lanes {
            if lane.is_contended && lane.waiting > 0 {
                self.ask(operation, todo);
            }
        }
    }

    /// A worker has come: it may have slots.
    pub fn worker_came(&self, todo: &mut Todo) {
        for (operation, lane) in &self.lanes {
            if lane.is_contended && lane.waiting > 0 {
                self.ask(operation, todo);
            }
        }
    }

    /// The ids that a worker is asked about, and how far its streams may go (again, in case it was lost).
    /// Where there are too many for one question, each `round` asks about others.
    pub fn ask_about(&self, worker: &str, round: usize, todo: &mut Todo) -> Vec<Arc<str>> {
        let Some(Held { ids, .. }) = self.held.get(worker) else {
            return Vec::new();
        };
        for id in ids {
            if let Some(Outgoing {
                stream: Some(stream),
                ..
            }) = self.outgoing.get(id)
                && stream.up_to > STREAM_WINDOW
            {
                let notice = Notice::Credit {
                    from: Arc::clone(&self.me),
                    id: Arc::clone(id),
                    up_to: stream.up_to,
                };
                todo.notify(self.subjects.to_peer(worker, "note"), None, &notice);
            }
        }
        let rounds = ids.len().div_ceil(IDS_PER_PING).max(1);
        let skipped = round % rounds * IDS_PER_PING;
        ids.iter()
            .skip(skipped)
            .take(IDS_PER_PING)
            .cloned()
            .collect()
    }

    /// A worker does not know these (any more): it has answered, and the answer did not come.
    pub fn answers_lost(&mut self, now: f64, worker: &str, ids: &[Arc<str>], todo: &mut Todo) {
        for id in ids {
            let Some(held) = self.held.get(worker).filter(|held| held.ids.contains(id)) else {
                continue;
            };
            let name = called(&held.name, worker);
            self.fail(
                now,
                id,
                |operation| errors::answer_lost(operation, &name),
                todo,
            );
        }
    }

    /// A worker has disappeared.
    pub fn worker_gone(&mut self, now: f64, worker: &str, todo: &mut Todo) {
        let Some(Held { name, ids }) = self.held.remove(worker) else {
            return;
        };
        let name = called(&name, worker);
        todo.warn.push(format!(
            "The worker {name} has disappeared (calls that fail with it: {})",
            ids.len()
        ));
        for id in ids {
            self.fail(
                now,
                &id,
                |operation| errors::worker_lost(operation, &name),
                todo,
            );
        }
    }

    /// The connection to the broker is lost.
    pub fn disconnected(&mut self, now: f64) {
        self.disconnected_at.get_or_insert(now);
    }

    /// The connection to the broker is back.
    pub fn connected(&mut self, now: f64, todo: &mut Todo) {
        self.disconnected_at = None;
        self.connected_at = now;
        self.reconnected_at = Some(now);
        for operation in self.lanes.keys().cloned().collect::<Vec<_>>() {
            self.pump(now, &operation, todo);
        }
        self.worker_came(todo);
    }

    /// Ends everything.
    pub fn close(&mut self, now: f64, todo: &mut Todo) {
        for id in self.outgoing.keys().cloned().collect::<Vec<_>>() {
            let was_sent = !self.is_parked(&id);
            self.fail(
                now,
                &id,
                |operation| errors::closed(operation, was_sent),
                todo,
            );
        }
    }

    pub(super) fn fail(
        &mut self,
        now: f64,
        id: &str,
        error: impl FnOnce(&str) -> CallError,
        todo: &mut Todo,
    ) {
        let Some(outgoing) = self.outgoing.get(id) else {
            return;
        };
        let error = error(&outgoing.operation);
        let effects = self.pending.give_up(id, error);
        self.carry_out(now, effects, None, todo);
    }
}

/// How a worker is named in messages: by its name, if it has one.
fn called(name: &str, id: &str) -> String {
    if name.is_empty() { id } else { name }.to_owned()
}

//! Getting a request to a worker that has a slot for it.

use std::sync::Arc;

use operations_core::call::Answer;
use operations_core::table::Table;

use super::{Caller, Lane, Outgoing, Slots, Stage};
use crate::errors;
use crate::limits::{LONGEST_NAME, STREAM_WINDOW, UNCONFIRMED, WORKERS_RETURN};
use crate::state::Todo;
use crate::subjects::token_of;
use crate::wire::{self, Beside, Notice};

impl Caller {
    /// Sends what is parked to the queue group, unless all are known to be busy.
    pub(super) fn pump(&mut self, now: f64, operation: &Arc<str>, todo: &mut Todo) {
        while self.disconnected_at.is_none()
            && let Some(lane) = self.lanes.get_mut(operation)
            && !lane.is_contended
            && lane.sent < UNCONFIRMED
        {
            let Some(id) = next_parked(lane, &self.outgoing) else {
                break;
            };
            lane.sent += 1;
            let subject = self.subjects.call(&lane.token);
            self.send(now, &id, subject, Stage::Sent { at: now }, 0, todo);
        }
        self.tidy(operation);
    }

    fn send(
        &mut self,
        now: f64,
        id: &Arc<str>,
        subject: String,
        stage: Stage,
        more: usize,
        todo: &mut Todo,
    ) {
        let Some(outgoing) = self.outgoing.get_mut(id) else {
            return;
        };
        let proof = match &stage {
            Stage::Offered {
                worker,
                slot: Some(slot),
                ..
            } => {
                let key = wire::key_of(&self.secret, &outgoing.operation);
                let proof = wire::proof(&key, worker, *slot, &outgoing.payload);
                Some((*slot, proof))
            }
            _ => None,
        };
        outgoing.stage = stage;
        let beside = Beside {
            remaining: outgoing.deadline.map(|deadline| (deadline - now).max(0.0)),
            window: outgoing.stream.as_ref().map(|_| STREAM_WINDOW),
            more,
            proof,
        };
        if let Some(stream) = &mut outgoing.stream {
            stream.up_to = STREAM_WINDOW;
        }
        let message = wire::request(&self.me, &outgoing.payload, beside);
        let reply = self.subjects.to_peer(&self.me, id);
        todo.request(subject, reply, message);
        self.unconfirmed.push_back((now, Arc::clone(id)));
    }

    /// There are no listeners where this request was sent to.
    pub fn no_responders(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let Some((id, outgoing)) = self.outgoing.get_key_value(id) else {
            return;
        };
        let id = Arc::clone(id);
        let operation = Arc::clone(&outgoing.operation);
        match &outgoing.stage {
            Stage::Sent { .. } if !self.workers_may_return(now) => {
                let error = errors::not_served(&operation);
                let effects = self.pending.answer(now, &id, Answer::Failed(error));
                self.carry_out(now, effects, None, todo);
            }
            Stage::Sent { .. } | Stage::Offered { .. } => {
                self.park(now, &id);
                self.contend(&operation, todo);
            }
            Stage::Parked { .. } | Stage::Taken { .. } => {}
        }
    }

    /// No worker of an operation listens: what is parked for it has nowhere to go.
    pub fn no_receivers(&mut self, now: f64, token: &str, todo: &mut Todo) {
        if self.workers_may_return(now) {
            return;
        }
        let Some((operation, lane)) = self.lanes.iter().find(|(_, lane)| lane.token == token)
        else {
            return;
        };
        let operation = Arc::clone(operation);
        for id in lane.parked.clone() {
            if self.is_parked(&id) {
                let error = errors::not_served(&operation);
                let effects = self.pending.answer(now, &id, Answer::Failed(error));
                self.carry_out(now, effects, None, todo);
            }
        }
    }

    /// The broker has refused to pass on what was published for an operation.
    pub fn forbidden(&mut self, now: f64, token: &str, todo: &mut Todo) {
        let Some((operation, _)) = self.lanes.iter().find(|(_, lane)| lane.token == token) else {
            return;
        };
        let operation = Arc::clone(operation);
        // Permissions may have changed, and it is unknown which of the messages was refused.
        let was_permitted = self.reached.contains(&operation);
        let ids: Vec<(Arc<str>, bool)> = self
            .outgoing
            .iter()
            .filter(|(_, outgoing)| outgoing.operation == operation)
            .filter_map(|(id, outgoing)| match outgoing.stage {
                Stage::Parked { .. } => Some((Arc::clone(id), false)),
                Stage::Sent { at } => {
                    Some((Arc::clone(id), was_permitted || at < self.connected_at))
                }
                Stage::Offered { .. } | Stage::Taken { .. } => None,
            })
            .collect();
        for (id, may_have_arrived) in ids {
            self.fail(
                now,
                &id,
                |operation| errors::forbidden(operation, may_have_arrived),
                todo,
            );
        }
    }

    fn workers_may_return(&self, now: f64) -> bool {
        self.reconnected_at
            .is_some_and(|at| now - at < WORKERS_RETURN)
    }

    /// Puts a request back to the front.
    fn park(&mut self, now: f64, id: &Arc<str>) {
        let Some(outgoing) = self.outgoing.get_mut(id) else {
            return;
        };
        let lane = self
            .lanes
            .entry(Arc::clone(&outgoing.operation))
            .or_insert_with(|| Lane {
                // It was a token when the request was made.
                token: token_of(&outgoing.operation).unwrap_or_default(),
                ..Lane::default()
            });
        if matches!(outgoing.stage, Stage::Sent { .. }) {
            lane.sent = lane.sent.saturating_sub(1);
        }
        outgoing.stage = Stage::Parked { since: now };
        lane.parked.push_front(Arc::clone(id));
        lane.waiting += 1;
    }

    /// From now on what is parked waits for a promise; all workers are asked for one.
    fn contend(&mut self, operation: &Arc<str>, todo: &mut Todo) {
        let Some(lane) = self.lanes.get_mut(operation) else {
            return;
        };
        let was_contended = std::mem::replace(&mut lane.is_contended, true);
        if !was_contended {
            self.ask(operation, todo);
        }
    }

    pub(super) fn ask(&self, operation: &Arc<str>, todo: &mut Todo) {
        let Some(lane) = self.lanes.get(operation) else {
            return;
        };
        let notice = Notice::Who {
            from: Arc::clone(&self.me),
            operation: Arc::clone(operation),
            count: lane.waiting as u64,
            key: Some(wire::key_of(&self.secret, operation).into()),
        };
        let reply = self
            .subjects
            .to_peer(&self.me, &format!("who-{}", lane.token));
        todo.notify(self.subjects.who(&lane.token), Some(reply), &notice);
    }

    /// A worker keeps slots free for requests of this operation.
    pub fn slots(
        &mut self,
        now: f64,
        worker: &Arc<str>,
        operation: &Arc<str>,
        Slots { count, slot }: Slots,
        todo: &mut Todo,
    ) {
        let mut left = count;
        while left > 0
            && let Some(lane) = self.lanes.get_mut(operation)
            && let Some(id) = next_parked(lane, &self.outgoing)
        {
            let slot = slot.map(|first| first.saturating_add(count - left));
            left -= 1;
            let more = lane.waiting;
            let stage = Stage::Offered {
                at: now,
                worker: Arc::clone(worker),
                slot,
            };
            let subject = self.subjects.to_peer(worker, "call");
            self.send(now, &id, subject, stage, more, todo);
        }
        if left > 0 {
            let notice = Notice::Pass {
                from: Arc::clone(&self.me),
                operation: Arc::clone(operation),
                count: left,
            };
            todo.notify(self.subjects.to_peer(worker, "note"), None, &notice);
        }
        self.pump(now, operation, todo);
    }

    /// A worker had no slot, or has one no longer and has not begun.
    pub fn busy(&mut self, now: f64, worker: &str, id: &str, todo: &mut Todo) {
        let Some((id, outgoing)) = self.outgoing.get_key_value(id) else {
            return;
        };
        let is_its = match &outgoing.stage {
            Stage::Sent { .. } => true,
            Stage::Offered { worker: asked, .. } | Stage::Taken { worker: asked } => {
                &**asked == worker
            }
            Stage::Parked { .. } => false,
        };
        if is_its {
            let was_promised = matches!(outgoing.stage, Stage::Offered { .. });
            let (id, operation) = (Arc::clone(id), Arc::clone(&outgoing.operation));
            self.let_go(worker, &id);
            self.park(now, &id);
            self.contend(&operation, todo);
            if was_promised {
                // The promise had expired, and the worker does not remember who was refused.
                self.ask(&operation, todo);
            }
        }
    }

    /// A worker has these. Those that were abandoned it need not do.
    pub fn taken(
        &mut self,
        now: f64,
        worker: &Arc<str>,
        name: &str,
        ids: &[Arc<str>],
        todo: &mut Todo,
    ) {
        for id in ids {
            let Some(outgoing) = self.outgoing.get_mut(id) else {
                self.send_aborted(worker, id, todo);
                continue;
            };
            let was_sent = matches!(outgoing.stage, Stage::Sent { .. });
            if matches!(outgoing.stage, Stage::Taken { .. }) {
                continue;
            }
            if let Stage::Parked { .. } = outgoing.stage
                && let Some(lane) = self.lanes.get_mut(&outgoing.operation)
            {
                lane.waiting = lane.waiting.saturating_sub(1);
            }
            outgoing.stage = Stage::Taken {
                worker: Arc::clone(worker),
            };
            todo.watch(worker);
            let held = self.held.entry(Arc::clone(worker)).or_default();
            if held.name.is_empty() {
                held.name = name.chars().take(LONGEST_NAME).collect();
            }
            held.ids.insert(Arc::clone(id));
            let operation = Arc::clone(&outgoing.operation);
            self.reached.insert(Arc::clone(&operation));
            if was_sent && let Some(lane) = self.lanes.get_mut(&operation) {
                lane.sent = lane.sent.saturating_sub(1);
            }
            self.pump(now, &operation, todo);
        }
    }

    /// Drops what an operation needs only while requests for it are on their way.
    fn tidy(&mut self, operation: &Arc<str>) {
        let Some(lane) = self.lanes.get_mut(operation) else {
            return;
        };
        if lane.waiting == 0 {
            lane.parked.clear();
            lane.is_contended = false;
            if lane.sent == 0 {
                self.lanes.remove(operation);
            }
        }
    }
}

/// The first request of a lane that is still parked.
fn next_parked(lane: &mut Lane, outgoing: &Table<Arc<str>, Outgoing>) -> Option<Arc<str>> {
    while let Some(id) = lane.parked.pop_front() {
        let is_parked = outgoing
            .get(&id)
            .is_some_and(|outgoing| matches!(outgoing.stage, Stage::Parked { .. }));
        if is_parked {
            lane.waiting = lane.waiting.saturating_sub(1);
            return Some(id);
        }
    }
    None
}

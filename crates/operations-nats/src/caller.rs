//! The side that calls: where each request is on its way to a worker. What becomes of it in the end is decided by
//! `operations_core::call`; here is only how it travels.

use std::collections::VecDeque;
use std::sync::Arc;

pub use operations_core::call::submission::NewRequest;
use operations_core::call::{Answer, CallEvent, Effect, Kind, PendingRequests, Request, TooLarge};
use operations_core::error::CallError;
use operations_core::mailbox::Item;
use operations_core::table::{KeySet, Table};
use ring::hmac;

use crate::errors;
use crate::limits::{STREAM_WINDOW, WAITING};
use crate::state::Todo;
use crate::subjects::{Subjects, is_token, token_of};
use crate::wire::{self, Notice};

mod routing;
mod watching;

/// How much stands around a payload in its message, at most.
const AROUND_A_PAYLOAD: usize = 320;

/// Slots that a worker has promised.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// How many.
    pub count: u64,
    /// The number of the first one, where the worker numbers them.
    pub slot: Option<u64>,
}

/// Where a request is.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Here, until a worker has a slot for it or the connection is back.
    Parked { since: f64 },
    /// On its way to whichever worker the queue group picks.
    Sent { at: f64 },
    /// On its way to a worker that promised a slot.
    Offered {
        at: f64,
        worker: Arc<str>,
        slot: Option<u64>,
    },
    /// At a worker that has confirmed it.
    Taken { worker: Arc<str> },
}

#[derive(Debug)]
struct Outgoing {
    operation: Arc<str>,
    /// The payload of the request. Kept while it is pending: a worker that could not begin gives it back.
    payload: String,
    stage: Stage,
    deadline: Option<f64>,
    stream: Option<Stream>,
}

/// The flow of a subscription's events.
#[derive(Debug, Default)]
struct Stream {
    arrived: u64,
    consumed: u64,
    /// What was last sent to the worker.
    up_to: u64,
}

/// The requests of one operation that no worker has yet.
#[derive(Debug, Default)]
struct Lane {
    token: String,
    /// In their order. May hold ids that are no longer parked; `waiting` counts those that are.
    parked: VecDeque<Arc<str>>,
    waiting: usize,
    sent: usize,
    /// A worker said that it was busy: what is parked waits for permits, and is not sent at random.
    is_contended: bool,
}

/// What a worker has of ours.
#[derive(Debug, Default)]
struct Held {
    /// The name that its user gave it, or nothing.
    name: String,
    ids: KeySet<Arc<str>>,
}

/// The requests of one connection.
#[derive(Debug)]
pub struct Caller {
    me: Arc<str>,
    /// What the keys of operations are made from.
    secret: hmac::Key,
    subjects: Subjects,
    pending: PendingRequests,
    outgoing: Table<Arc<str>, Outgoing>,
    lanes: Table<Arc<str>, Lane>,
    /// Which requests a worker holds.
    held: Table<Arc<str>, Held>,
    /// Operations of which a request is known to have arrived, over this connection or an earlier one.
    reached: KeySet<Arc<str>>,
    /// What was sent and when, oldest first.
    unconfirmed: VecDeque<(f64, Arc<str>)>,
    /// Since when there is no connection.
    disconnected_at: Option<f64>,
    connected_at: f64,
    /// The first connection is no reconnection.
    reconnected_at: Option<f64>,
    asked_at: f64,
    max_waiting: usize,
}

impl Caller {
    /// No requests.
    #[must_use]
    pub fn new(me: Arc<str>, subjects: Subjects) -> Self {
        let window = usize::try_from(STREAM_WINDOW).unwrap_or(usize::MAX);
        Self {
            me,
            secret: wire::secret(),
            subjects,
            pending: PendingRequests::new(window),
            outgoing: Table::default(),
            lanes: Table::default(),
            held: Table::default(),
            reached: KeySet::default(),
            unconfirmed: VecDeque::new(),
            disconnected_at: None,
            connected_at: 0.0,
            reconnected_at: None,
            asked_at: 0.0,
            max_waiting: WAITING,
        }
    }

    /// How many requests may wait here.
    pub fn limit_waiting(&mut self, max: usize) {
        self.max_waiting = max;
    }

    /// How many requests have no final answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// How many of them wait here for a slot at a worker.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lanes.values().map(|lane| lane.waiting).sum()
    }

    /// The same for one operation.
    #[must_use]
    pub fn waiting_for(&self, operation: &str) -> usize {
        self.lanes.get(operation).map_or(0, |lane| lane.waiting)
    }

    /// When a deadline or an idle time-out passes next.
    #[must_use]
    pub fn next_due(&self) -> Option<f64> {
        self.pending.next_due()
    }

    /// Whether a request has no final answer.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.pending.contains(id)
    }

    /// Whether some request is at this worker.
    #[must_use]
    pub fn waits_for(&self, worker: &str) -> bool {
        self.held.contains_key(worker)
    }

    /// Sends a request, now or when there is a slot for it. `parent` is the call that makes it.
    ///
    /// # Errors
    ///
    /// When nothing is sent at all: its deadline has passed, or it cannot be a message.
    pub fn request(
        &mut self,
        now: f64,
        request: NewRequest,
        parent: Option<String>,
        max_payload: usize,
        todo: &mut Todo,
    ) -> Result<(), CallError> {
        let NewRequest {
            id,
            operation_id,
            payload,
            kind,
        } = request;
        let size = payload.len() + AROUND_A_PAYLOAD;
        if size > max_payload {
            let what = TooLarge::Input;
            return Err(errors::too_large(what, &operation_id, size, max_payload));
        }
        if self.waiting() >= self.max_waiting {
            return Err(errors::overloaded(&operation_id, self.max_waiting));
        }
        debug_assert!(is_token(&id), "request ids are made here");
        let operation: Arc<str> = operation_id.into();
        let token = match self.lanes.get(&operation) {
            Some(_) => String::new(),
            None => token_of(&operation)?,
        };
        let id: Arc<str> = id.into();
        let request = Request {
            id: Arc::clone(&id),
            operation_id: Arc::clone(&operation),
            parent: parent.map(Into::into),
            kind,
        };
        self.pending
            .open(now, request)
            .map_err(|error| errors::with_delivery(error, "none"))?;
        let deadline = match kind {
            Kind::Call { deadline } => deadline,
            Kind::Subscription { .. } => None,
        };
        let stream = matches!(kind, Kind::Subscription { .. }).then(Stream::default);
        self.outgoing.insert(
            Arc::clone(&id),
            Outgoing {
                operation: Arc::clone(&operation),
                payload,
                stage: Stage::Parked { since: now },
                deadline,
                stream,
            },
        );
        let lane = self
            .lanes
            .entry(Arc::clone(&operation))
            .or_insert_with(|| Lane {
                token,
                ..Lane::default()
            });
        lane.parked.push_back(id);
        lane.waiting += 1;
        self.pump(now, &operation, todo);
        Ok(())
    }

    /// An event of the protocol for a request of ours. Events of a stream are numbered.
    pub fn event(&mut self, now: f64, event: CallEvent<'_>, number: Option<u64>, todo: &mut Todo) {
        let id = event.request_id().to_owned();
        let Some(outgoing) = self.outgoing.get_mut(&*id) else {
            return;
        };
        let mut lost = None;
        if let (Some(stream), Some(number)) = (&mut outgoing.stream, number) {
            let expected = match event {
                CallEvent::Responded { .. } => stream.arrived + 1,
                _ => stream.arrived,
            };
            if number < expected {
                // It has been here before.
                return;
            }
            if number > expected {
                lost = Some(errors::events_lost(&outgoing.operation, expected, number));
            }
            stream.arrived = number;
        }
        if let Some(error) = lost {
            let effects = self.pending.give_up(&id, error);
            self.carry_out(now, effects, None, todo);
            return;
        }
        if !self.reached.contains(&outgoing.operation) {
            self.reached.insert(Arc::clone(&outgoing.operation));
        }
        let (answer, output) = match event {
            CallEvent::Responded {
                output: Some(output),
                ..
            } => (Answer::Responded(output.len()), Some(output)),
            CallEvent::Responded { output: None, .. } => (Answer::Malformed, None),
            CallEvent::Completed { .. } => (Answer::Completed, None),
            CallEvent::Aborted { .. } => (Answer::Aborted, None),
            CallEvent::Error { error, .. } => {
                let error = errors::answered(&outgoing.operation, error);
                (Answer::Failed(error), None)
            }
            CallEvent::Requested(_) => return,
        };
        let effects = self.pending.answer(now, &id, answer);
        self.carry_out(now, effects, output, todo);
    }

    /// Work that this connection does for others was aborted: so is what it has called for it.
    pub fn parent_aborted(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let effects = self.pending.answer(now, id, Answer::Aborted);
        self.carry_out(now, effects, None, todo);
    }

    /// `abort(id)` of the user's.
    pub fn abort(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let effects = self.pending.abort(id);
        self.carry_out(now, effects, None, todo);
    }

    /// The caller's signal.
    pub fn cancel(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let effects = self.pending.cancel(id);
        self.carry_out(now, effects, None, todo);
    }

    /// The consumer of a stream has left.
    pub fn leave(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let effects = self.pending.leave(id);
        self.carry_out(now, effects, None, todo);
    }

    /// The consumer of a stream has read this many events.
    pub fn consumed(&mut self, now: f64, id: &str, count: u64, todo: &mut Todo) {
        let Some(outgoing) = self.outgoing.get_mut(id) else {
            return;
        };
        let Some(stream) = &mut outgoing.stream else {
            return;
        };
        let count = count.min(stream.arrived.saturating_sub(stream.consumed));
        stream.consumed += count;
        for _ in 0..count {
            self.pending.ask(now, id);
        }
        let up_to = stream.consumed + STREAM_WINDOW;
        if let Stage::Taken { worker } = &outgoing.stage
            && up_to - stream.up_to >= STREAM_WINDOW / 2
        {
            stream.up_to = up_to;
            let notice = Notice::Credit {
                from: Arc::clone(&self.me),
                id: id.into(),
                up_to,
            };
            todo.notify(self.subjects.to_peer(worker, "note"), None, &notice);
        }
    }

    fn is_parked(&self, id: &str) -> bool {
        self.outgoing
            .get(id)
            .is_some_and(|outgoing| matches!(outgoing.stage, Stage::Parked { .. }))
    }

    /// Does what the state machine says.
    fn carry_out(&mut self, now: f64, effects: Vec<Effect>, output: Option<&str>, todo: &mut Todo) {
        // First notify the workers, while it is known which ones.
        for effect in &effects {
            if let Effect::SendAborted(id) = effect
                && let Some(Outgoing {
                    stage: Stage::Taken { worker },
                    ..
                }) = self.outgoing.get(id)
            {
                let worker = Arc::clone(worker);
                self.send_aborted(&worker, id, todo);
            }
        }
        for effect in effects {
            let output = output.unwrap_or("null");
            match effect {
                Effect::Deliver(id) => todo.deliver(Item::event(&id, output)),
                Effect::Resolve(id) => {
                    todo.deliver(Item::done(&id, output));
                    self.forget(now, &id, todo);
                }
                Effect::Fail(id, error) => {
                    // A request that is here was never begun with, wherever it has been before.
                    let delivery = if self.is_parked(&id) {
                        "none"
                    } else {
                        "unknown"
                    };
                    let error = errors::with_delivery(error, delivery);
                    todo.deliver(Item::failed(&id, &error));
                    self.forget(now, &id, todo);
                }
                Effect::End(id) => {
                    todo.deliver(Item::ended(&id));
                    self.forget(now, &id, todo);
                }
                Effect::SendAborted(id) => {
                    if !self.pending.contains(&id) {
                        self.forget(now, &id, todo);
                    }
                }
            }
        }
    }

    fn send_aborted(&self, worker: &str, id: &str, todo: &mut Todo) {
        let subject = self.subjects.to_peer(worker, "note");
        todo.publish(subject, None, wire::aborted(id, &self.me));
    }

    /// A worker does not have this request (any more).
    fn let_go(&mut self, worker: &str, id: &str) {
        if let Some(held) = self.held.get_mut(worker) {
            held.ids.remove(id);
            if held.ids.is_empty() {
                self.held.remove(worker);
            }
        }
    }

    /// A request is over.
    fn forget(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let Some(outgoing) = self.outgoing.remove(id) else {
            return;
        };
        if let Some(lane) = self.lanes.get_mut(&outgoing.operation) {
            match outgoing.stage {
                Stage::Parked { .. } => lane.waiting = lane.waiting.saturating_sub(1),
                Stage::Sent { .. } => lane.sent = lane.sent.saturating_sub(1),
                Stage::Offered { .. } | Stage::Taken { .. } => {}
            }
        }
        if let Stage::Taken { worker } = &outgoing.stage {
            self.let_go(worker, id);
        }
        if self.outgoing.is_empty() {
            self.unconfirmed.clear();
        } else {
            // Most of what was sent is answered long before its time: let it not pile up.
            while let Some((_, first)) = self.unconfirmed.front()
                && !self.outgoing.contains_key(first)
            {
                self.unconfirmed.pop_front();
            }
        }
        self.pump(now, &outgoing.operation, todo);
    }
}

//! The side that calls: where each request is on its way to a worker. What becomes of it in the end is decided by
//! `operations_core::call`; here is only how it travels.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use operations_core::call::{Answer, CallEvent, Effect, Kind, PendingRequests, Request};
use operations_core::error::CallError;

use crate::delivery::Item;
use crate::limits::{
    CONFIRMATION, IDS_PER_PING, RECONNECTION, STREAM_WINDOW, TICK, UNCONFIRMED, WORKERS_RETURN,
};
use crate::loss;
use crate::state::Todo;
use crate::subjects::{Subjects, is_token, token_of};
use crate::wire::{self, Beside, Notice};

/// How much stands around a payload in its message, at most.
const AROUND_A_PAYLOAD: usize = 256;

/// Where a request is.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Here, until somebody has a place for it or the connection is back.
    Parked { since: f64 },
    /// On its way to whichever worker the queue group picks.
    Sent { at: f64 },
    /// On its way to a worker that promised a place.
    Offered { at: f64, worker: Arc<str> },
    /// At a worker that has confirmed it.
    Taken { worker: Arc<str> },
}

#[derive(Debug)]
struct Outgoing {
    operation: Arc<str>,
    /// The payload of the request; gone when a worker has it.
    payload: Option<String>,
    stage: Stage,
    deadline: Option<f64>,
    stream: Option<Stream>,
}

/// The flow of a subscription's events.
#[derive(Debug, Default)]
struct Stream {
    arrived: u64,
    consumed: u64,
    /// What the worker was last told.
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
    /// Somebody said that it was busy: what is parked waits for places, and is not sent at random.
    is_contended: bool,
}

/// A request of JavaScript's.
#[derive(Debug)]
pub struct NewRequest {
    /// Correlates it; a token.
    pub id: String,
    /// What is called.
    pub operation_id: String,
    /// The call that makes it.
    pub parent: Option<String>,
    /// The payload of `call.requested`, without a deadline.
    pub payload: String,
    /// How it is consumed.
    pub kind: Kind,
}

/// The requests of one connection.
#[derive(Debug)]
pub struct Caller {
    me: Arc<str>,
    subjects: Subjects,
    pending: PendingRequests,
    outgoing: HashMap<Arc<str>, Outgoing>,
    lanes: HashMap<Arc<str>, Lane>,
    /// Which requests a worker holds.
    held: HashMap<Arc<str>, HashSet<Arc<str>>>,
    /// What was sent and when, oldest first.
    unconfirmed: VecDeque<(f64, Arc<str>)>,
    /// Since when there is no connection.
    disconnected_at: Option<f64>,
    connected_at: f64,
    /// The first connection is no reconnection.
    reconnected_at: Option<f64>,
    asked_at: f64,
}

impl Caller {
    /// No requests.
    #[must_use]
    pub fn new(me: Arc<str>, subjects: Subjects) -> Self {
        let window = usize::try_from(STREAM_WINDOW).unwrap_or(usize::MAX);
        Self {
            me,
            subjects,
            pending: PendingRequests::new(window),
            outgoing: HashMap::new(),
            lanes: HashMap::new(),
            held: HashMap::new(),
            unconfirmed: VecDeque::new(),
            disconnected_at: None,
            connected_at: 0.0,
            reconnected_at: None,
            asked_at: 0.0,
        }
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

    /// How many of them wait here for a place at a worker.
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

    /// Sends a request, now or when there is a place for it.
    ///
    /// # Errors
    ///
    /// When nothing is sent at all: its deadline has passed, or it cannot be a message.
    pub fn request(
        &mut self,
        now: f64,
        request: NewRequest,
        max_payload: usize,
        todo: &mut Todo,
    ) -> Result<(), CallError> {
        let NewRequest {
            id,
            operation_id,
            parent,
            payload,
            kind,
        } = request;
        let size = payload.len() + AROUND_A_PAYLOAD;
        if size > max_payload {
            return Err(loss::too_large("input", &operation_id, size, max_payload));
        }
        debug_assert!(is_token(&id), "request ids are made here");
        let operation: Arc<str> = operation_id.into();
        let token = match self.lanes.get(&operation) {
            Some(_) => String::new(),
            None => token_of(&operation)?,
        };
        let id: Arc<str> = id.into();
        self.pending.open(
            now,
            Request {
                id: Arc::clone(&id),
                operation_id: Arc::clone(&operation),
                parent: parent.map(Into::into),
                kind,
            },
        )?;
        let deadline = match kind {
            Kind::Call { deadline } => deadline,
            Kind::Subscription { .. } => None,
        };
        let stream = matches!(kind, Kind::Subscription { .. }).then(Stream::default);
        self.outgoing.insert(
            Arc::clone(&id),
            Outgoing {
                operation: Arc::clone(&operation),
                payload: Some(payload),
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

    /// Sends what is parked to the queue group, unless all are known to be busy.
    fn pump(&mut self, now: f64, operation: &Arc<str>, todo: &mut Todo) {
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
            self.send(now, &id, subject, Stage::Sent { at: now }, false, 0, todo);
        }
        self.tidy(operation);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the one place that sends requests"
    )]
    fn send(
        &mut self,
        now: f64,
        id: &Arc<str>,
        subject: String,
        stage: Stage,
        offered: bool,
        more: usize,
        todo: &mut Todo,
    ) {
        let Some(outgoing) = self.outgoing.get_mut(id) else {
            return;
        };
        outgoing.stage = stage;
        let beside = Beside {
            remaining: outgoing.deadline.map(|deadline| (deadline - now).max(0.0)),
            window: outgoing.stream.as_ref().map(|_| STREAM_WINDOW),
            offered,
            more,
        };
        if let Some(stream) = &mut outgoing.stream {
            stream.up_to = STREAM_WINDOW;
        }
        let payload = outgoing.payload.as_deref().unwrap_or("{}");
        let message = wire::request(&self.me, payload, beside);
        let reply = self.subjects.to_peer(&self.me, id);
        todo.publish(subject, Some(reply), message);
        self.unconfirmed.push_back((now, Arc::clone(id)));
    }

    /// Nobody listens where this request was sent to.
    pub fn no_responders(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let Some((id, outgoing)) = self.outgoing.get_key_value(id) else {
            return;
        };
        let id = Arc::clone(id);
        let operation = Arc::clone(&outgoing.operation);
        match &outgoing.stage {
            Stage::Sent { .. } if !self.workers_may_return(now) => {
                let error = loss::nobody_serves(&operation);
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
    pub fn nobody_serves(&mut self, now: f64, token: &str, todo: &mut Todo) {
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
                let error = loss::nobody_serves(&operation);
                let effects = self.pending.answer(now, &id, Answer::Failed(error));
                self.carry_out(now, effects, None, todo);
            }
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

    /// From now on what is parked waits for a promise; everybody is asked for one.
    fn contend(&mut self, operation: &Arc<str>, todo: &mut Todo) {
        let Some(lane) = self.lanes.get_mut(operation) else {
            return;
        };
        let was_contended = std::mem::replace(&mut lane.is_contended, true);
        if !was_contended {
            self.ask(operation, todo);
        }
    }

    fn ask(&self, operation: &Arc<str>, todo: &mut Todo) {
        let Some(lane) = self.lanes.get(operation) else {
            return;
        };
        let notice = Notice::Who {
            from: Arc::clone(&self.me),
            operation: Arc::clone(operation),
            count: lane.waiting as u64,
        };
        let reply = self
            .subjects
            .to_peer(&self.me, &format!("who-{}", lane.token));
        todo.notify(self.subjects.who(&lane.token), Some(reply), &notice);
    }

    /// A worker keeps places free for requests of this operation.
    pub fn slots(
        &mut self,
        now: f64,
        worker: &Arc<str>,
        operation: &Arc<str>,
        count: u64,
        todo: &mut Todo,
    ) {
        let mut left = count;
        while left > 0
            && let Some(lane) = self.lanes.get_mut(operation)
            && let Some(id) = next_parked(lane, &self.outgoing)
        {
            left -= 1;
            let more = lane.waiting;
            let stage = Stage::Offered {
                at: now,
                worker: Arc::clone(worker),
            };
            let subject = self.subjects.to_peer(worker, "call");
            self.send(now, &id, subject, stage, true, more, todo);
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

    /// A worker had no place.
    pub fn busy(&mut self, now: f64, worker: &str, id: &str, todo: &mut Todo) {
        let Some((id, outgoing)) = self.outgoing.get_key_value(id) else {
            return;
        };
        let is_its = match &outgoing.stage {
            Stage::Sent { .. } => true,
            Stage::Offered { worker: asked, .. } => &**asked == worker,
            Stage::Parked { .. } | Stage::Taken { .. } => false,
        };
        if is_its {
            let (id, operation) = (Arc::clone(id), Arc::clone(&outgoing.operation));
            self.park(now, &id);
            self.contend(&operation, todo);
        }
    }

    /// A worker has these. Those that nobody waits for any more it need not do.
    pub fn taken(&mut self, now: f64, worker: &Arc<str>, ids: &[Arc<str>], todo: &mut Todo) {
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
            outgoing.payload = None;
            todo.watch(worker);
            self.held
                .entry(Arc::clone(worker))
                .or_default()
                .insert(Arc::clone(id));
            let operation = Arc::clone(&outgoing.operation);
            if was_sent && let Some(lane) = self.lanes.get_mut(&operation) {
                lane.sent = lane.sent.saturating_sub(1);
            }
            self.pump(now, &operation, todo);
        }
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
                lost = Some(loss::events_lost(&outgoing.operation, expected, number));
            }
            stream.arrived = number;
        }
        if let Some(error) = lost {
            let effects = self.pending.give_up(&id, error);
            self.carry_out(now, effects, None, todo);
            return;
        }
        let (answer, output) = match event {
            CallEvent::Responded {
                output: Some(output),
                ..
            } => (Answer::Responded, Some(output)),
            CallEvent::Responded { output: None, .. } => (Answer::Malformed, None),
            CallEvent::Completed { .. } => (Answer::Completed, None),
            CallEvent::Aborted { .. } => (Answer::Aborted, None),
            CallEvent::Error { error, .. } => (Answer::Failed(error), None),
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

    /// Deadlines and idle time-outs.
    pub fn due(&mut self, now: f64, todo: &mut Todo) {
        let effects = self.pending.tick(now);
        self.carry_out(now, effects, None, todo);
    }

    /// Every half second: what nobody confirmed, what waits too long for a connection, what is still parked.
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
                self.fail(now, &id, loss::unconfirmed, todo);
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
                self.fail(now, &id, loss::not_connected, todo);
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

    /// A worker has come: it may have places.
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
        let Some(ids) = self.held.get(worker) else {
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
            let is_there = self.held.get(worker).is_some_and(|held| held.contains(id));
            if is_there {
                self.fail(
                    now,
                    id,
                    |operation| loss::answer_lost(operation, worker),
                    todo,
                );
            }
        }
    }

    /// A worker has disappeared.
    pub fn worker_gone(&mut self, now: f64, worker: &str, todo: &mut Todo) {
        for id in self.held.remove(worker).unwrap_or_default() {
            self.fail(
                now,
                &id,
                |operation| loss::worker_lost(operation, worker),
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
                |operation| loss::closed(operation, was_sent),
                todo,
            );
        }
    }

    fn fail(&mut self, now: f64, id: &str, error: impl FnOnce(&str) -> CallError, todo: &mut Todo) {
        let Some(outgoing) = self.outgoing.get(id) else {
            return;
        };
        let error = error(&outgoing.operation);
        let effects = self.pending.give_up(id, error);
        self.carry_out(now, effects, None, todo);
    }

    fn is_parked(&self, id: &str) -> bool {
        self.outgoing
            .get(id)
            .is_some_and(|outgoing| matches!(outgoing.stage, Stage::Parked { .. }))
    }

    /// Does what the state machine says.
    fn carry_out(&mut self, now: f64, effects: Vec<Effect>, output: Option<&str>, todo: &mut Todo) {
        // First tell the workers, while it is known which ones.
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
                    todo.deliver(Item::resolved(&id, output));
                    self.forget(now, &id, todo);
                }
                Effect::Fail(id, error) => {
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
        if let Stage::Taken { worker } = &outgoing.stage
            && let Some(held) = self.held.get_mut(worker)
        {
            held.remove(id);
            if held.is_empty() {
                self.held.remove(worker);
            }
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
fn next_parked(lane: &mut Lane, outgoing: &HashMap<Arc<str>, Outgoing>) -> Option<Arc<str>> {
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

//! One connection without its I/O: a message, a call of JavaScript's or the passing of time goes in, and what is to
//! be done about it comes out.

use std::borrow::Cow;
use std::sync::Arc;

use operations_core::access::Identity;
use operations_core::call::{CallEvent, EventType, Refusal, cannot_be_sent};
use operations_core::error::CallError;
use operations_core::json::{self, Object};
use operations_core::mailbox::Item;
use operations_core::table::Table;
use serde_json::{Value, json};

use crate::caller::{Caller, NewRequest, Slots};
use crate::limits::{LIST_BYTES, LIST_HEAD, MAX_LISTED_BYTES, MOST_VERIFYING, TICK};
use crate::peers::Peers;
use crate::stats::Stats;
use crate::status::{Link, Status};
use crate::subjects::{ANSWERS, Public, Subjects, is_token_of, peer_gone};
use crate::wire::{self, Arrival, Notice, Served};
use crate::worker::Worker;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Where to.
    pub subject: String,
    /// Where the broker reports that the message had no receivers.
    pub reply: Option<String>,
    /// What.
    pub payload: String,
    /// The trace that it belongs to, for the headers: a JSON object.
    pub trace: Option<String>,
    /// It may be dropped when too much waits: it is repeated, or made up for.
    pub is_notice: bool,
}

/// Who works on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doer {
    /// JavaScript.
    Host,
    /// The registry, on this side.
    Registry,
}

/// Something about a call, for the side that works on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallUpdate {
    /// It is to be served; this is its payload.
    Requested(Arc<str>, String),
    /// It is no longer wanted.
    Aborted(Arc<str>),
    /// It is a stream, and may go on.
    MayGoOn(Arc<str>),
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Todo {
    /// Messages, in their order.
    pub publish: Vec<Publication>,
    /// For JavaScript, in its order.
    pub deliver: Vec<Item>,
    /// For the registry, in its order.
    pub native: Vec<CallUpdate>,
    /// What discovery has found.
    pub found: Vec<Notice>,
    /// Warnings for the log.
    pub warn: Vec<String>,
    /// What workers serve may have changed.
    pub came: bool,
    watch: Vec<Arc<str>>,
}

impl Todo {
    /// A message that matters.
    pub fn publish(&mut self, subject: String, reply: Option<String>, payload: String) {
        self.publish.push(Publication {
            subject,
            reply,
            payload,
            trace: None,
            is_notice: false,
        });
    }

    /// A request, with its trace where whatever is between us and the worker can see it.
    pub fn request(&mut self, subject: String, reply: String, payload: String) {
        self.publish.push(Publication {
            subject,
            reply: Some(reply),
            trace: wire::trace_of(&payload),
            payload,
            is_notice: false,
        });
    }

    /// A notice.
    pub fn notify(&mut self, subject: String, reply: Option<String>, notice: &Notice) {
        self.publish.push(Publication {
            subject,
            reply,
            payload: notice.to_json(),
            trace: None,
            is_notice: true,
        });
    }

    /// A notice that is not repeated.
    pub fn notify_reliably(&mut self, subject: String, notice: &Notice) {
        self.publish(subject, None, notice.to_json());
    }

    /// Something for JavaScript.
    pub fn deliver(&mut self, item: Item) {
        self.deliver.push(item);
    }

    /// Hands an update to the side that works on a call.
    pub fn update(&mut self, doer: Doer, update: CallUpdate) {
        if doer == Doer::Registry {
            self.native.push(update);
            return;
        }
        self.deliver(match update {
            CallUpdate::Requested(id, payload) => Item::asked(&*id, &payload),
            CallUpdate::Aborted(id) => Item::aborted(&*id),
            CallUpdate::MayGoOn(id) => Item::go_on(&*id),
        });
    }

    /// Has a peer watched for signs of life.
    pub fn watch(&mut self, peer: &Arc<str>) {
        self.watch.push(Arc::clone(peer));
    }
}

/// One connection.
#[derive(Debug)]
pub struct State {
    me: Arc<str>,
    subjects: Subjects,
    /// The side that calls.
    pub caller: Caller,
    /// The side that works.
    pub worker: Worker,
    /// What was counted.
    pub stats: Stats,
    /// What is with the connection.
    pub status: Status,
    peers: Peers,
    /// Since the connection was lost: those who were not heard of since, and what waits for them. They may be on their way
    /// back too, and a broker keeps nothing for those who are away.
    returning: Table<Arc<str>, Vec<Publication>>,
    ticked_at: f64,
    rounds: usize,
    /// Questions what is served here whose senders JavaScript is to verify.
    verifying: usize,
    /// What was sent about operations since the last tick.
    listed_bytes: usize,
}

impl State {
    /// A connection that is being made.
    #[must_use]
    pub fn new(
        now: f64,
        me: Arc<str>,
        subjects: Subjects,
        name: String,
        max_payload: usize,
    ) -> Self {
        Self {
            caller: Caller::new(Arc::clone(&me), subjects.clone()),
            worker: Worker::new(Arc::clone(&me), subjects.clone(), name, max_payload),
            stats: Stats::default(),
            status: Status::new(now),
            peers: Peers::default(),
            returning: Table::default(),
            me,
            subjects,
            ticked_at: now,
            rounds: 0,
            verifying: 0,
            listed_bytes: 0,
        }
    }

    /// Whether there is a connection, as far as it was reported.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.status.link() == Link::Connected
    }

    /// When [`State::time`] has something to do next.
    #[must_use]
    pub fn next_due(&self) -> f64 {
        [self.caller.next_due(), self.worker.next_due()]
            .into_iter()
            .flatten()
            .fold(self.ticked_at + TICK, f64::min)
    }

    /// A request of JavaScript's.
    ///
    /// # Errors
    ///
    /// When nothing was sent.
    pub fn request(
        &mut self,
        now: f64,
        request: NewRequest,
        todo: &mut Todo,
    ) -> Result<(), CallError> {
        // Checked here in the same way as by the worker, so that the sender learns of what the worker would drop.
        let event = Object::read_inner(&request.payload)
            .map_err(Refusal::from)
            .and_then(|payload| CallEvent::read_payload(EventType::Requested, &payload))
            .map_err(|refusal| cannot_be_sent(&request.operation_id, &refusal))?;
        let parent = match event {
            CallEvent::Requested(event) => event.parent_request_id,
            _ => None,
        };
        self.caller
            .request(now, request, parent, self.worker.max_payload, todo)
    }

    /// A message on a subject that is for many (`call`, `who`, `hello`, `discover`), with the trace in its headers, as JSON.
    pub fn on_public(
        &mut self,
        now: f64,
        subject: &str,
        payload: &[u8],
        trace: Option<&str>,
        todo: &mut Todo,
    ) {
        let result = read(payload).and_then(|text| match self.subjects.about(subject) {
            Some(Public::Call(token)) => self.on_request(now, Some(token), text, trace, todo),
            about => self.public_notice(now, about, text, todo),
        });
        if let Err(refusal) = result {
            self.stats.refuse(&refusal);
        }
        self.watch(now, todo);
    }

    /// A request, for the operation with this token, or, without one, for a slot that was promised. Who may publish on
    /// the subject of one operation may call that one, and no other.
    fn on_request(
        &mut self,
        now: f64,
        token: Option<&str>,
        text: &str,
        trace: Option<&str>,
        todo: &mut Todo,
    ) -> Result<(), Refusal> {
        let mut arrival = Arrival::read(text)?;
        arrival.event.trace = arrival.event.trace.or(trace.map(Cow::Borrowed));
        if token.is_some_and(|token| !is_token_of(token, &arrival.event.operation_id)) {
            return Err(Refusal::Field("operationId"));
        }
        self.heard(now, &arrival.from, todo);
        self.worker.arrived(now, arrival, token.is_none(), todo)
    }

    fn public_notice(
        &mut self,
        now: f64,
        about: Option<Public<'_>>,
        text: &str,
        todo: &mut Todo,
    ) -> Result<(), Refusal> {
        let notice = Notice::read(text)?;
        let agrees = match (&notice, about) {
            (Notice::Who { operation, .. }, Some(Public::Who(token))) => {
                is_token_of(token, operation)
            }
            (Notice::Hello { .. }, Some(Public::Hello))
            | (Notice::Discover { .. }, Some(Public::Discover)) => true,
            _ => false,
        };
        if !agrees {
            return Err(Refusal::OtherType);
        }
        self.notice(now, notice, todo);
        Ok(())
    }

    /// A message to this connection; `about` is the last token of its subject.
    pub fn on_inbox(
        &mut self,
        now: f64,
        about: &str,
        payload: &[u8],
        trace: Option<&str>,
        todo: &mut Todo,
    ) {
        let result = read(payload).and_then(|text| match about {
            "call" => self.on_request(now, None, text, trace, todo),
            "note" => self.note(now, text, todo),
            _ => {
                let message = Object::read_levels(text, CallEvent::LEVELS)?;
                let event = CallEvent::read(None, &message)?;
                let number = message.count("number");
                let agrees = about == ANSWERS || event.request_id() == about;
                if !agrees || matches!(event, CallEvent::Requested(_)) {
                    return Err(Refusal::Field("requestId"));
                }
                self.caller.event(now, event, number, todo);
                Ok(())
            }
        });
        if let Err(refusal) = result {
            self.stats.refuse(&refusal);
        }
        self.watch(now, todo);
    }

    /// The broker has refused a message that was published on this subject.
    pub fn on_forbidden(&mut self, now: f64, subject: &str, todo: &mut Todo) {
        if let Some(Public::Call(token) | Public::Who(token)) = self.subjects.about(subject) {
            self.caller.forbidden(now, token, todo);
        }
    }

    /// The broker reports that a message had no receiver.
    pub fn on_no_receivers(&mut self, now: f64, about: &str, todo: &mut Todo) {
        if let Some(token) = about.strip_prefix("who-") {
            self.caller.no_receivers(now, token, todo);
        } else if let Some(peer) = peer_gone(about) {
            self.peers.absent(now, &peer);
            self.worker.caller_absent(now, &peer, todo);
        } else {
            self.caller.no_responders(now, about, todo);
        }
        self.watch(now, todo);
    }

    fn note(&mut self, now: f64, text: &str, todo: &mut Todo) -> Result<(), Refusal> {
        let message = Object::read(text)?;
        if message.text("type").as_deref() != Some(EventType::Aborted.as_str()) {
            let notice = Notice::read(text)?;
            // What is asked of all workers is asked where the broker can see what it is about.
            let is_public = matches!(
                notice,
                Notice::Who { .. } | Notice::Hello { .. } | Notice::Discover { .. }
            );
            if is_public {
                return Err(Refusal::OtherType);
            }
            self.notice(now, notice, todo);
            return Ok(());
        }
        let event = CallEvent::read(None, &message)?;
        let from = message.string("from").ok_or(Refusal::Field("from"))?;
        self.heard(now, &from, todo);
        self.work_aborted(now, &from, event.request_id(), todo);
        Ok(())
    }

    fn work_aborted(&mut self, now: f64, caller: &str, id: &str, todo: &mut Todo) {
        if self.worker.aborted(caller, id, todo) {
            self.caller.parent_aborted(now, id, todo);
        }
    }

    fn notice(&mut self, now: f64, notice: Notice, todo: &mut Todo) {
        self.heard(now, notice.from(), todo);
        match notice {
            Notice::Taken { from, name, ids } => self.caller.taken(now, &from, &name, &ids, todo),
            Notice::Busy { from, id } => self.caller.busy(now, &from, &id, todo),
            Notice::Slots {
                from,
                operation,
                count,
                slot,
            } => {
                let slots = Slots { count, slot };
                self.caller.slots(now, &from, &operation, slots, todo);
            }
            Notice::Who {
                from,
                operation,
                count,
                key,
            } => self
                .worker
                .request_slots(now, &from, &operation, count, key, todo),
            Notice::Pass {
                from,
                operation,
                count,
            } => self.worker.passed(now, &from, &operation, count, todo),
            Notice::Credit { from, id, up_to } => self.worker.credit(&from, &id, up_to, todo),
            Notice::Ping {
                from,
                calls,
                serving,
            } => {
                let calls = unknown(calls, |id| self.worker.knows(id));
                let serving = unknown(serving, |id| self.caller.knows(id));
                let notice = Notice::Pong {
                    from: Arc::clone(&self.me),
                    calls,
                    serving,
                };
                todo.notify(self.subjects.to_peer(&from, "note"), None, &notice);
            }
            Notice::Pong {
                from,
                calls,
                serving,
            } => {
                self.caller.answers_lost(now, &from, &calls, todo);
                for id in serving {
                    self.work_aborted(now, &from, &id, todo);
                }
            }
            Notice::Hello { from } => {
                todo.came = *from != *self.me;
                self.caller.worker_came(todo);
            }
            Notice::Discover {
                from,
                question,
                identity,
                metadata,
            } => self.on_discover(&from, &question, identity, metadata.as_ref(), todo),
            notice @ Notice::Worker { .. } => todo.found.push(notice),
        }
    }

    /// A peer asks what is served here.
    fn on_discover(
        &mut self,
        from: &str,
        question: &str,
        identity: Option<Value>,
        metadata: Option<&Value>,
        todo: &mut Todo,
    ) {
        if !self.worker.has_host_verify() {
            let identity = identity.and_then(|identity| serde_json::from_value(identity).ok());
            self.introduce(from, question, identity.as_ref(), todo);
        } else if self.verifying < MOST_VERIFYING {
            self.verifying += 1;
            let asked = json!({ "introduce": { "from": from, "question": question, "identity": identity, "metadata": metadata } });
            todo.deliver(Item::asked("", &asked.to_string()));
        }
    }

    /// JavaScript has verified the peer that asks what is served here.
    pub fn verified(
        &mut self,
        to: &str,
        question: &str,
        identity: Option<&Identity>,
        todo: &mut Todo,
    ) {
        self.verifying = self.verifying.saturating_sub(1);
        self.introduce(to, question, identity, todo);
    }

    /// Sends what is served here and the requesting peer may call.
    fn introduce(
        &mut self,
        to: &str,
        question: &str,
        identity: Option<&Identity>,
        todo: &mut Todo,
    ) {
        if self.worker.operations().len() == 0 || self.listed_bytes > MAX_LISTED_BYTES {
            return;
        }
        // Of many operations, some at a time; one that is larger has a message of its own.
        let most = LIST_BYTES.min(self.worker.max_payload.saturating_sub(LIST_HEAD));
        let mut part = Vec::new();
        let mut bytes = 0;
        let mut parts = Vec::new();
        for (served, size) in self.worker.shown_to(identity) {
            if bytes + size > most && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
                bytes = 0;
            }
            bytes += size;
            self.listed_bytes += size;
            part.push(served);
        }
        // One at least: a worker is there, whether or not it has something for the requesting peer.
        parts.push(part);
        for operations in parts {
            let notice = Notice::Worker {
                from: Arc::clone(&self.me),
                question: question.into(),
                name: self.worker.name().to_owned(),
                concurrency: self.worker.concurrency() as u64,
                running: self.worker.len() as u64,
                operations,
            };
            todo.notify(self.subjects.to_peer(to, "note"), None, &notice);
        }
    }

    /// Serves these operations too.
    pub fn serve(&mut self, operations: Vec<Served>, concurrency: usize) {
        self.worker.serve(operations, concurrency);
    }

    /// Says that there is a worker here.
    pub fn say_hello(&self, todo: &mut Todo) {
        if self.worker.operations().len() > 0 {
            self.say_changed(todo);
        }
    }

    /// Says that what is served here has changed: those who follow it look again.
    pub fn say_changed(&self, todo: &mut Todo) {
        let notice = Notice::Hello {
            from: Arc::clone(&self.me),
        };
        todo.notify(self.subjects.hello(), None, &notice);
    }

    /// Time has passed.
    pub fn time(&mut self, now: f64, todo: &mut Todo) {
        self.caller.due(now, todo);
        if self.worker.next_due().is_some_and(|due| due <= now) {
            self.worker.confirm_taken(todo);
        }
        if now - self.ticked_at >= TICK || now < self.ticked_at {
            self.ticked_at = now;
            self.listed_bytes = 0;
            self.tick(now, todo);
        }
        self.watch(now, todo);
    }

    fn tick(&mut self, now: f64, todo: &mut Todo) {
        self.caller.tick(now, todo);
        if !self.is_connected() {
            return;
        }
        self.worker.tick(now, todo);
        for peer in self.peers.take_gone(now) {
            self.returning.remove(&peer);
            self.caller.worker_gone(now, &peer, todo);
            let aborted = self.worker.caller_gone(now, &peer, todo);
            if !aborted.is_empty() {
                let count = aborted.len();
                todo.warn.push(format!(
                    "The caller {peer} has disappeared (calls aborted here: {count})"
                ));
            }
            for id in aborted {
                self.caller.parent_aborted(now, &id, todo);
            }
        }
        self.rounds = self.rounds.wrapping_add(1);
        let (caller, worker, returning) = (&self.caller, &self.worker, &self.returning);
        for peer in self.peers.keep(|peer| {
            caller.waits_for(peer) || worker.works_for(peer) || returning.contains_key(peer)
        }) {
            let calls = self.caller.ask_about(&peer, self.rounds, todo);
            let notice = Notice::Ping {
                from: Arc::clone(&self.me),
                calls,
                serving: self.worker.ask_about(&peer, self.rounds),
            };
            let reply = self.subjects.gone(&self.me, &peer);
            todo.notify(self.subjects.to_peer(&peer, "note"), Some(reply), &notice);
        }
    }

    /// The connection to the broker is lost.
    pub fn disconnected(&mut self, now: f64) {
        if self.is_connected() {
            self.status.change(now, Link::Disconnected);
        }
        self.caller.disconnected(now);
        self.expect_return();
    }

    /// From now on, what is for those who are watched waits until they are heard of.
    fn expect_return(&mut self) {
        for peer in self.peers.ids() {
            self.returning.entry(Arc::clone(peer)).or_default();
        }
    }

    /// The connection to the broker is back.
    pub fn connected(&mut self, now: f64, max_payload: usize, todo: &mut Todo) {
        self.status.change(now, Link::Connected);
        self.worker.max_payload = max_payload;
        self.stats.reconnections = self.status.reconnections();
        self.peers.forgive(now);
        self.expect_return();
        self.caller.connected(now, todo);
        self.say_hello(todo);
        // Ask at once who is back.
        self.ticked_at = now;
        self.tick(now, todo);
        self.watch(now, todo);
    }

    /// A peer has sent something: what waited for it goes out, before anything that follows from this message.
    fn heard(&mut self, now: f64, peer: &str, todo: &mut Todo) {
        self.peers.heard(now, peer);
        if let Some(waiting) = self.returning.remove(peer) {
            todo.publish.extend(waiting);
        }
    }

    /// Keeps back answers, events and aborts for those who may be on their way back. Notices are repeated, and
    /// what has a reply is answered for by the broker. To be called when a step is done.
    pub fn hold_back(&mut self, todo: &mut Todo) {
        if self.returning.is_empty() {
            return;
        }
        for publication in std::mem::take(&mut todo.publish) {
            let waiting = if publication.is_notice || publication.reply.is_some() {
                None
            } else {
                self.subjects
                    .peer_of(&publication.subject)
                    .and_then(|peer| self.returning.get_mut(peer))
            };
            match waiting {
                Some(waiting) => waiting.push(publication),
                None => todo.publish.push(publication),
            }
        }
    }

    fn watch(&mut self, now: f64, todo: &mut Todo) {
        for peer in todo.watch.drain(..) {
            self.peers.watch(now, &peer);
        }
    }
}

fn read(payload: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(payload).map_err(|_| Refusal::Malformed(json::Malformed::Encoding))
}

fn unknown(ids: Vec<Arc<str>>, is_known: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
    ids.into_iter().filter(|id| !is_known(id)).collect()
}

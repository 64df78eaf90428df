//! The other end of a connection, to whoever calls it: what was asked, what waits to be written, who waits for what.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use operations_core::call::submission::{self, NewRequest};
use operations_core::call::{
    Answer, CallEvent, Effect, EventType, Kind, PendingRequests, Refusal, Refused, Request,
    RequestedEvent, answered, with_delivery,
};
use operations_core::clock::{self, now};
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::frame;
use crate::limits::{
    MOST_BYTES_WAITING, MOST_WAITING, PAGE_BYTES, PATIENCE, STREAM_WINDOW, STREAMS_WAIT,
    WAITING_EVENTS,
};
use crate::loss;

/// What a consumer in Rust is given.
pub type Told = Result<String, CallError>;

/// Who waits for a request.
enum To {
    /// JavaScript.
    Host(Arc<Mailbox>),
    /// Somebody here who wants one answer.
    Call(oneshot::Sender<Told>),
    /// Somebody here who wants many. What waits is bounded by the state machine.
    Stream(mpsc::UnboundedSender<Told>),
}

struct Entry {
    operation: Arc<str>,
    to: To,
    /// The other end may have seen it.
    is_sent: bool,
    stream: Option<Flow>,
}

/// The flow of a subscription's events.
#[derive(Debug, Default)]
struct Flow {
    arrived: u64,
    consumed: u64,
    /// What the other end was last told.
    up_to: u64,
}

struct Outgoing {
    text: String,
    /// The request that it is.
    request: Option<Arc<str>>,
}

/// Whether there is a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    Up,
    /// Another one is being made.
    Down,
    /// For good, and why.
    Over(String),
}

struct State {
    name: String,
    pending: PendingRequests,
    entries: HashMap<Arc<str>, Entry>,
    outbox: VecDeque<Outgoing>,
    bytes: usize,
    /// Requests in the outbox.
    waiting: usize,
    max_waiting: usize,
    link: Link,
    /// The other end knows of flow control.
    is_paced: bool,
    max_frame_bytes: usize,
    questions: HashMap<String, Question>,
    refused: Refused,
    asked: u64,
}

/// A question about the other end.
struct Question {
    answer: oneshot::Sender<Result<String, CallError>>,
    /// The parts of a list that have arrived.
    parts: String,
}

/// The other end of a connection.
pub struct Peer {
    state: Mutex<State>,
    /// There is something to write.
    outgoing: Notify,
    /// There is room for streams again.
    room: Notify,
    /// Something is due earlier than the clock knows.
    clock: Notify,
    over: CancellationToken,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

/// A call that begins here.
#[derive(Debug, Clone, Default)]
pub struct Outbound {
    /// What is called.
    pub operation_id: String,
    /// What it takes, as JSON; nothing for `undefined`.
    pub input: Option<String>,
    /// Who calls, as JSON.
    pub identity: Option<String>,
    /// Whatever the caller adds, as JSON: an object.
    pub metadata: Option<String>,
    /// The call that makes this one.
    pub parent_request_id: Option<String>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// The trace that it belongs to, as JSON: an object.
    pub trace: Option<String>,
}

impl Peer {
    /// A peer to whom there is no connection yet. `name` is for messages.
    #[must_use]
    pub fn new(name: &str) -> Arc<Self> {
        let peer = Arc::new(Self {
            state: Mutex::new(State {
                name: name.to_owned(),
                pending: PendingRequests::new(WAITING_EVENTS),
                entries: HashMap::new(),
                outbox: VecDeque::new(),
                bytes: 0,
                waiting: 0,
                max_waiting: MOST_WAITING,
                link: Link::Down,
                is_paced: false,
                max_frame_bytes: usize::MAX,
                questions: HashMap::new(),
                refused: Refused::default(),
                asked: 0,
            }),
            outgoing: Notify::new(),
            room: Notify::new(),
            clock: Notify::new(),
            over: CancellationToken::new(),
        });
        let clock = Arc::downgrade(&peer);
        let over = peer.over.clone();
        tokio::spawn(async move {
            let ticking = async {
                while let Some(peer) = clock.upgrade() {
                    let due = locked(&peer.state).pending.next_due();
                    match due {
                        None => peer.clock.notified().await,
                        Some(due) => tokio::select! {
                            () = peer.clock.notified() => {}
                            () = sleep(clock::until(due)) => peer.act(|now, state, waking| {
                                let effects = state.pending.tick(now);
                                state.carry_out(effects, None, waking);
                            }),
                        },
                    }
                }
            };
            tokio::select! {
                () = over.cancelled() => {}
                () = ticking => {}
            }
        });
        peer
    }

    /// How many calls may wait for a connection.
    pub fn limit_waiting(&self, max: usize) {
        locked(&self.state).max_waiting = max;
    }

    /// Runs something on the state, and does what comes of it.
    fn act<T>(&self, work: impl FnOnce(f64, &mut State, &mut Vec<Arc<Mailbox>>) -> T) -> T {
        let mut waking = Vec::new();
        let mut state = locked(&self.state);
        let due = state.pending.next_due();
        let result = work(now(), &mut state, &mut waking);
        let is_due_earlier = match (due, state.pending.next_due()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => after < before,
        };
        let has_something = !state.outbox.is_empty();
        drop(state);
        if is_due_earlier {
            self.clock.notify_one();
        }
        if has_something {
            self.outgoing.notify_one();
        }
        for mailbox in waking {
            mailbox.wake();
        }
        result
    }

    // What users want.

    /// Sends the calls of one turn of JavaScript's ([`submission::calls`]). One that cannot be sent fails as one that was.
    pub fn call_all(&self, mailbox: &Arc<Mailbox>, text: &str) {
        self.act(|now, state, waking| {
            for request in submission::calls(text) {
                let id = request.id.clone();
                let to = To::Host(Arc::clone(mailbox));
                if let Err(error) = state.request(now, request, to) {
                    let items = vec![Item::failed(&id, &error)];
                    if mailbox.add(items) {
                        waking.push(Arc::clone(mailbox));
                    }
                }
            }
        });
    }

    /// Sends a subscription of JavaScript's.
    ///
    /// # Errors
    ///
    /// When nothing was sent.
    pub fn subscribe_host(
        &self,
        mailbox: &Arc<Mailbox>,
        request: NewRequest,
    ) -> Result<(), CallError> {
        let to = To::Host(Arc::clone(mailbox));
        self.act(|now, state, _| state.request(now, request, to))
    }

    /// Calls an operation that gives one answer. Dropping this ends the call.
    ///
    /// # Errors
    ///
    /// As the other end has it, or the connection.
    pub async fn call(self: &Arc<Self>, outbound: Outbound) -> Told {
        let (told, answer) = oneshot::channel();
        let kind = Kind::Call {
            deadline: outbound.deadline,
        };
        let request = outbound.request(kind);
        let mut calling = Calling {
            peer: Arc::clone(self),
            id: request.id.clone(),
            is_over: false,
        };
        let opened = self.act(|now, state, _| state.request(now, request, To::Call(told)));
        if let Err(error) = opened {
            calling.is_over = true;
            return Err(error);
        }
        let answer = answer.await;
        calling.is_over = true;
        answer.unwrap_or_else(|_| Err(loss::closed(&outbound.operation_id, true)))
    }

    /// Subscribes to an operation. Dropping what this gives ends the subscription.
    ///
    /// # Errors
    ///
    /// When nothing was sent.
    pub fn subscribe(self: &Arc<Self>, outbound: &Outbound) -> Result<Subscription, CallError> {
        let (told, events) = mpsc::unbounded_channel();
        let request = outbound.request(Kind::Subscription {
            idle_timeout: None,
            paced: true,
        });
        let calling = Calling {
            peer: Arc::clone(self),
            id: request.id.clone(),
            is_over: false,
        };
        self.act(|now, state, _| state.request(now, request, To::Stream(told)))?;
        Ok(Subscription { events, calling })
    }

    /// Ends a request, as either side may.
    pub fn abort(&self, id: &str) {
        self.act(|_, state, waking| {
            let effects = state.pending.abort(id);
            state.carry_out(effects, None, waking);
        });
    }

    /// Ends a request because its caller's signal says so.
    pub fn cancel(&self, id: &str) {
        self.act(|_, state, waking| {
            let effects = state.pending.cancel(id);
            state.carry_out(effects, None, waking);
        });
    }

    /// The consumer of a request has left.
    pub fn leave(&self, id: &str) {
        self.act(|_, state, waking| {
            let effects = state.pending.leave(id);
            state.carry_out(effects, None, waking);
        });
    }

    /// The consumer of a stream has read so many events.
    pub fn consumed(&self, id: &str, count: u64) {
        self.act(|now, state, _| state.consumed(now, id, count));
    }

    /// How many requests have no final answer.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        locked(&self.state).pending.len()
    }

    /// Frames that were dropped because they follow no protocol of ours.
    #[must_use]
    pub fn refused(&self) -> Refused {
        locked(&self.state).refused.clone()
    }

    /// Bytes that wait to be written.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        locked(&self.state).bytes
    }

    /// What the other end serves, as a JSON list.
    ///
    /// # Errors
    ///
    /// When it does not say.
    pub async fn discover(&self) -> Result<String, CallError> {
        self.ask("The question what is served there", |id| {
            vec![frame::write("hub.discover", id, "{}")]
        })
        .await
    }

    /// Offers operations, each of which is JSON. Gives what the other end makes of it, a JSON object.
    ///
    /// # Errors
    ///
    /// When it does not take them.
    pub async fn offer(&self, operations: &[String]) -> Result<String, CallError> {
        self.ask("The offer of operations", |id| {
            frame::list("hub.offer", id, operations, PAGE_BYTES)
        })
        .await
    }

    async fn ask(
        &self,
        what: &str,
        question: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<String, CallError> {
        let (answer, answered) = oneshot::channel();
        let id = self.act(|_, state, _| {
            if state.link != Link::Up {
                return Err(loss::unanswered(what, "there is no connection"));
            }
            state.asked += 1;
            let id = state.asked.to_string();
            for text in question(&id) {
                state.write(text, None);
            }
            let question = Question {
                answer,
                parts: String::new(),
            };
            state.questions.insert(id.clone(), question);
            Ok(id)
        })?;
        let told = timeout(PATIENCE, answered).await;
        locked(&self.state).questions.remove(&id);
        match told {
            Ok(Ok(told)) => told,
            Ok(Err(_)) => Err(loss::unanswered(what, "the connection is lost")),
            Err(_) => Err(loss::unanswered(
                what,
                "the other side says nothing. It may not know this question",
            )),
        }
    }

    // What a session wants.

    /// There is a connection.
    pub fn connected(&self) {
        self.act(|_, state, _| {
            if state.link == Link::Down {
                state.link = Link::Up;
                state.is_paced = false;
            }
        });
    }

    /// The connection is lost. What was sent fails; what was not waits for the next one.
    pub fn disconnected(&self, why: &str) {
        self.act(|_, state, waking| {
            if state.link == Link::Up {
                state.link = Link::Down;
            }
            state.drop_connection(why, waking);
        });
        self.room.notify_waiters();
    }

    /// There will be no connection any more. Everything fails.
    pub fn end(&self, error: impl Fn(&str, bool) -> CallError, why: &str) {
        self.act(|_, state, waking| {
            state.link = Link::Over(why.to_owned());
            for id in state.entries.keys().cloned().collect::<Vec<_>>() {
                state.fail(&id, &error, waking);
            }
            state.drop_connection(why, waking);
            state.outbox.clear();
            state.bytes = 0;
            state.waiting = 0;
        });
        self.over.cancel();
        self.outgoing.notify_one();
        self.room.notify_waiters();
    }

    /// The peer is gone, for good.
    pub fn lost(&self, why: &str) {
        let name = locked(&self.state).name.clone();
        self.end(
            |operation, was_sent| loss::peer_lost(operation, &name, why, was_sent),
            why,
        );
    }

    /// Whether there will never be a connection again.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// The other end knows frames of type `hub.*`.
    pub(crate) fn hello(&self, max_frame_bytes: Option<u64>) {
        let mut state = locked(&self.state);
        state.is_paced = true;
        if let Some(bytes) = max_frame_bytes {
            state.max_frame_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
    }

    /// Whether the other end knows frames of type `hub.*`.
    pub(crate) fn is_paced(&self) -> bool {
        locked(&self.state).is_paced
    }

    /// The largest frame that the other end takes, as far as it has said so.
    pub(crate) fn max_frame_bytes(&self) -> usize {
        locked(&self.state).max_frame_bytes
    }

    /// A frame that is none.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> u64 {
        let mut state = locked(&self.state);
        state.refused.count(refusal);
        state.refused.total()
    }

    /// Something for a request of ours. Says whether the other end reads fast enough what it is told in turn.
    pub(crate) fn event(&self, event: CallEvent<'_>) -> bool {
        self.act(|now, state, waking| state.event(now, event, waking))
    }

    /// Work for the other end was aborted: so is what was called for it.
    pub(crate) fn parent_aborted(&self, id: &str) {
        self.act(|now, state, waking| {
            let effects = state.pending.answer(now, id, Answer::Aborted);
            state.carry_out(effects, None, waking);
        });
    }

    /// A part of a list that was asked for.
    pub(crate) fn listed(&self, id: &str, part: &str, has_more: bool, most: usize) {
        let mut state = locked(&self.state);
        let Some(question) = state.questions.get_mut(id) else {
            return;
        };
        let inner = frame::items(part);
        if question.parts.len() + inner.len() > most {
            state.questions.remove(id);
            return;
        }
        if !question.parts.is_empty() && !inner.is_empty() {
            question.parts.push(',');
        }
        question.parts.push_str(inner);
        if !has_more && let Some(question) = state.questions.remove(id) {
            let _ = question.answer.send(Ok(format!("[{}]", question.parts)));
        }
    }

    /// The answer to a question.
    pub(crate) fn answered(&self, id: &str, answer: Result<String, CallError>) {
        let question = locked(&self.state).questions.remove(id);
        if let Some(question) = question {
            let _ = question.answer.send(answer);
        }
    }

    /// Writes a frame that is no request. Says whether the other end reads fast enough.
    pub(crate) fn write(&self, text: String) -> bool {
        self.act(|_, state, _| {
            state.write(text, None);
            state.bytes <= MOST_BYTES_WAITING
        })
    }

    /// Waits until there is room for an event of a stream.
    pub(crate) async fn room(&self) {
        loop {
            let waiting = self.room.notified();
            if locked(&self.state).bytes < STREAMS_WAIT {
                return;
            }
            waiting.await;
        }
    }

    /// What is to be written next; nothing while there is nothing. What it gives counts as sent.
    pub(crate) async fn next_frames(&self, bytes: usize) -> Vec<String> {
        loop {
            let more = self.outgoing.notified();
            let frames = self.take(bytes);
            if !frames.is_empty() {
                return frames;
            }
            more.await;
        }
    }

    /// Whether nothing waits to be written.
    pub(crate) fn is_written(&self) -> bool {
        locked(&self.state).outbox.is_empty()
    }

    fn take(&self, bytes: usize) -> Vec<String> {
        let mut state = locked(&self.state);
        let mut taken = Vec::new();
        let mut size = 0;
        while size < bytes
            && let Some(next) = state.outbox.pop_front()
        {
            state.bytes -= next.text.len();
            if let Some(id) = next.request {
                state.waiting = state.waiting.saturating_sub(1);
                // It may be over by now: then nobody needs to hear of it.
                let Some(entry) = state.entries.get_mut(&id) else {
                    continue;
                };
                entry.is_sent = true;
            }
            size += next.text.len();
            taken.push(next.text);
        }
        if state.bytes < STREAMS_WAIT {
            self.room.notify_waiters();
        }
        taken
    }
}

impl State {
    fn write(&mut self, text: String, request: Option<Arc<str>>) {
        if matches!(self.link, Link::Over(_)) || (request.is_none() && self.link != Link::Up) {
            return;
        }
        self.bytes += text.len();
        self.waiting += usize::from(request.is_some());
        self.outbox.push_back(Outgoing { text, request });
    }

    fn request(&mut self, now: f64, request: NewRequest, to: To) -> Result<(), CallError> {
        let NewRequest {
            id,
            operation_id,
            payload,
            kind,
        } = request;
        if let Link::Over(why) = &self.link {
            return Err(loss::peer_lost(&operation_id, &self.name, why, false));
        }
        if self.waiting >= self.max_waiting || self.bytes > MOST_BYTES_WAITING {
            return Err(loss::overloaded(&operation_id, self.waiting));
        }
        // It was written by JavaScript, or here; half a surrogate pair is no text for the other end.
        let read = Object::read(&payload)
            .map_err(|why| loss::cannot_be_sent(&operation_id, &why.to_string()))?;
        CallEvent::read_payload(EventType::Requested, &read)
            .map_err(|why| loss::cannot_be_sent(&operation_id, &why.to_string()))?;
        let parent = read.string("parentRequestId").map(Into::into);
        let deadline = match kind {
            Kind::Call { deadline } => deadline,
            Kind::Subscription { .. } => None,
        };
        let text = frame::requested(&payload, deadline);
        if text.len() > self.max_frame_bytes {
            let limit = self.max_frame_bytes;
            return Err(loss::too_large("input", &operation_id, text.len(), limit));
        }
        let id: Arc<str> = id.into();
        let operation: Arc<str> = operation_id.into();
        let opened = Request {
            id: Arc::clone(&id),
            operation_id: Arc::clone(&operation),
            parent,
            kind,
        };
        self.pending
            .open(now, opened)
            .map_err(|error| with_delivery(error, "none"))?;
        let stream = matches!(kind, Kind::Subscription { .. }).then(Flow::default);
        let entry = Entry {
            operation,
            to,
            is_sent: false,
            stream,
        };
        self.entries.insert(Arc::clone(&id), entry);
        self.write(text, Some(id));
        Ok(())
    }

    fn event(&mut self, now: f64, event: CallEvent<'_>, waking: &mut Vec<Arc<Mailbox>>) -> bool {
        let id = event.request_id().to_owned();
        let Some(entry) = self.entries.get_mut(&*id) else {
            // Whoever sends it should know that nobody listens: `call` of a subscription wants the first event only.
            if matches!(event, CallEvent::Responded { .. }) {
                self.write(frame::aborted(&id), None);
                return self.bytes <= MOST_BYTES_WAITING;
            }
            return true;
        };
        let (answer, output) = match event {
            CallEvent::Responded {
                output: Some(output),
                ..
            } => {
                if let Some(flow) = &mut entry.stream {
                    flow.arrived += 1;
                }
                (Answer::Responded, Some(output))
            }
            CallEvent::Responded { output: None, .. } => (Answer::Malformed, None),
            CallEvent::Completed { .. } => (Answer::Completed, None),
            CallEvent::Aborted { .. } => (Answer::Aborted, None),
            CallEvent::Error { error, .. } => {
                let error = answered(&entry.operation, error);
                (Answer::Failed(error), None)
            }
            CallEvent::Requested(_) => return true,
        };
        let effects = self.pending.answer(now, &id, answer);
        self.carry_out(effects, output, waking);
        true
    }

    fn consumed(&mut self, now: f64, id: &str, count: u64) {
        let Some(flow) = self
            .entries
            .get_mut(id)
            .and_then(|entry| entry.stream.as_mut())
        else {
            return;
        };
        let count = count.min(flow.arrived.saturating_sub(flow.consumed));
        flow.consumed += count;
        for _ in 0..count {
            self.pending.ask(now, id);
        }
        let up_to = flow.consumed + STREAM_WINDOW;
        if self.is_paced && up_to - flow.up_to.max(STREAM_WINDOW) >= STREAM_WINDOW / 2 {
            flow.up_to = up_to;
            let payload = serde_json::json!({ "requestId": id, "upTo": up_to });
            self.write(frame::write("hub.credit", "", &payload.to_string()), None);
        }
    }

    /// Does what the state machine says.
    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        output: Option<&str>,
        waking: &mut Vec<Arc<Mailbox>>,
    ) {
        // First tell the other end, while it is known what it has seen.
        for effect in &effects {
            if let Effect::SendAborted(id) = effect
                && self.entries.get(id).is_some_and(|entry| entry.is_sent)
            {
                self.write(frame::aborted(id), None);
            }
        }
        for effect in effects {
            let output = output.unwrap_or("null");
            match effect {
                Effect::Deliver(id) => match self.entries.get(&id).map(|entry| &entry.to) {
                    Some(To::Host(mailbox)) => {
                        post(mailbox, Item::event(&id, output), waking);
                    }
                    Some(To::Stream(events)) => drop(events.send(Ok(output.to_owned()))),
                    Some(To::Call(_)) | None => {}
                },
                Effect::Resolve(id) => match self.entries.remove(&id).map(|entry| entry.to) {
                    Some(To::Host(mailbox)) => post(&mailbox, Item::done(&id, output), waking),
                    Some(To::Call(told)) => drop(told.send(Ok(output.to_owned()))),
                    Some(To::Stream(_)) | None => {}
                },
                Effect::Fail(id, error) => {
                    let Some(entry) = self.entries.remove(&id) else {
                        continue;
                    };
                    let delivery = if entry.is_sent { "unknown" } else { "none" };
                    let error = with_delivery(error, delivery);
                    match entry.to {
                        To::Host(mailbox) => post(&mailbox, Item::failed(&id, &error), waking),
                        To::Call(told) => drop(told.send(Err(error))),
                        To::Stream(events) => drop(events.send(Err(error))),
                    }
                }
                Effect::End(id) => {
                    if let Some(entry) = self.entries.remove(&id)
                        && let To::Host(mailbox) = entry.to
                    {
                        post(&mailbox, Item::ended(&id), waking);
                    }
                }
                Effect::SendAborted(id) => {
                    if !self.pending.contains(&id) {
                        self.entries.remove(&id);
                    }
                }
            }
        }
    }

    /// The connection is gone: what was written into it, and what was for it alone.
    fn drop_connection(&mut self, why: &str, waking: &mut Vec<Arc<Mailbox>>) {
        self.is_paced = false;
        self.max_frame_bytes = usize::MAX;
        self.questions.clear();
        self.outbox.retain(|frame| frame.request.is_some());
        self.bytes = self.outbox.iter().map(|frame| frame.text.len()).sum();
        let sent: Vec<Arc<str>> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_sent)
            .map(|(id, _)| Arc::clone(id))
            .collect();
        let name = self.name.clone();
        for id in sent {
            self.fail(
                &id,
                |operation, was_sent| loss::peer_lost(operation, &name, why, was_sent),
                waking,
            );
        }
    }

    fn fail(
        &mut self,
        id: &str,
        error: impl Fn(&str, bool) -> CallError,
        waking: &mut Vec<Arc<Mailbox>>,
    ) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        let error = error(&entry.operation, entry.is_sent);
        let effects = self.pending.give_up(id, error);
        self.carry_out(effects, None, waking);
    }
}

/// Puts an item into a mailbox, whose owner is woken when the lock is free.
fn post(mailbox: &Arc<Mailbox>, item: Item, waking: &mut Vec<Arc<Mailbox>>) {
    if mailbox.add(vec![item]) {
        waking.push(Arc::clone(mailbox));
    }
}

impl Outbound {
    fn request(&self, kind: Kind) -> NewRequest {
        let id = Uuid::new_v4().to_string();
        let event = RequestedEvent {
            request_id: id.clone(),
            operation_id: self.operation_id.clone(),
            input: self.input.as_deref(),
            parent_request_id: self.parent_request_id.clone(),
            deadline: None,
            idle_timeout: None,
            identity: self.identity.as_deref(),
            metadata: self.metadata.as_deref(),
            trace: self.trace.as_deref().map(Cow::Borrowed),
        };
        NewRequest {
            id,
            operation_id: self.operation_id.clone(),
            payload: event.to_json(),
            kind,
        }
    }
}

/// A request of somebody here. Dropping it ends it.
#[derive(Debug)]
struct Calling {
    peer: Arc<Peer>,
    id: String,
    is_over: bool,
}

impl Drop for Calling {
    fn drop(&mut self) {
        if !self.is_over {
            self.peer.leave(&self.id);
        }
    }
}

/// The events of a subscription.
#[derive(Debug)]
pub struct Subscription {
    events: mpsc::UnboundedReceiver<Told>,
    calling: Calling,
}

impl Subscription {
    /// The next event. An error is the last.
    pub async fn next(&mut self) -> Option<Told> {
        let next = self.events.recv().await;
        match &next {
            Some(Ok(_)) => self.calling.peer.consumed(&self.calling.id, 1),
            Some(Err(_)) | None => self.calling.is_over = true,
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_answers_what_nobody_asked_has_to_read_what_it_is_told() {
        let peer = Peer::new("mallory");
        peer.connected();
        let id = "x".repeat(256);
        let mut answers = 0;
        let never_asked = || CallEvent::Responded {
            request_id: id.clone(),
            output: None,
        };
        while peer.event(never_asked()) {
            answers += id.len();
            assert!(answers < 2 * MOST_BYTES_WAITING, "it is kept without end");
        }
        assert!(peer.waiting_bytes() < MOST_BYTES_WAITING + 1_024);
    }
}

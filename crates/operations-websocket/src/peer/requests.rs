//! Requests to the other end, and who waits for the responses.

use std::collections::HashMap;
use std::sync::Arc;

use operations_core::byte_budget::{Held, Share, stream_exhausted};
use operations_core::call::submission::NewRequest;
use operations_core::call::{
    Answer, CallEvent, Effect, EventType, Kind, PendingRequests, Refused, Request, TooLarge,
    answered, cannot_be_sent, with_delivery,
};
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::mailbox::{Item, Mailbox};
use tokio::sync::{mpsc, oneshot};

use super::control_requests::ControlRequests;
use super::outbound::CallResult;
use super::outbox::{Outbox, Unsent, Waiting};
use crate::errors;
use crate::frame;
use crate::limits::{
    MOST_BYTES_WAITING, MOST_WAITING, STREAM_WINDOW, WAITING_BYTES, WAITING_EVENTS,
};

/// Who waits for a request.
pub(super) enum To {
    /// JavaScript.
    Host(Arc<Mailbox>),
    /// A caller on this side that wants one response.
    Call(oneshot::Sender<CallResult>),
    /// A caller on this side that wants many. What waits is bounded by the state machine, and counted where there is a share.
    Stream(
        mpsc::UnboundedSender<(CallResult, Option<Held>)>,
        Option<Arc<Share>>,
    ),
}

struct Entry {
    operation: Arc<str>,
    to: To,
    /// Separates it from another one of the same id.
    number: u64,
    /// The other end may have seen it.
    is_sent: bool,
    stream: Option<Flow>,
}

/// The flow of a subscription's events.
#[derive(Debug, Default)]
struct Flow {
    arrived: u64,
    consumed: u64,
    /// What was last sent to the other end.
    up_to: u64,
    /// Bytes that were consumed since then.
    bytes: usize,
}

/// Whether there is a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    Up,
    /// Another one is being made.
    Down,
    /// For good, and why.
    Over(Ending),
}

/// Why there will be no connection any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was closed on this side.
    Closed,
    /// The other end is gone.
    Lost(String),
}

impl Ending {
    fn error(&self, operation_id: &str, peer: &str, was_sent: bool) -> CallError {
        match self {
            Self::Closed => errors::closed(operation_id, was_sent),
            Self::Lost(why) => errors::peer_lost(operation_id, peer, why, was_sent),
        }
    }
}

/// Everything about the other end.
pub(super) struct State {
    pub(super) name: String,
    pub(super) pending: PendingRequests,
    entries: HashMap<Arc<str>, Entry>,
    /// Requests that were made.
    made: u64,
    pub(super) outbox: Outbox,
    pub(super) max_waiting: usize,
    pub(super) link: Link,
    /// The other end knows of flow control.
    pub(super) is_paced: bool,
    pub(super) max_frame_bytes: usize,
    /// Bytes of a stream's events that the other end lets wait for its consumer.
    pub(super) max_stream_bytes: usize,
    pub(super) control_requests: ControlRequests,
    pub(super) refused: Refused,
}

impl State {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            pending: PendingRequests::new(WAITING_EVENTS).with_max_bytes(WAITING_BYTES),
            entries: HashMap::new(),
            made: 0,
            outbox: Outbox::default(),
            max_waiting: MOST_WAITING,
            link: Link::Down,
            is_paced: false,
            max_frame_bytes: usize::MAX,
            max_stream_bytes: usize::MAX,
            control_requests: ControlRequests::default(),
            refused: Refused::default(),
        }
    }

    /// Writes a frame that is no request; nowhere if there is no connection.
    pub(super) fn write(&mut self, frame: impl Into<Unsent>) {
        if self.link == Link::Up {
            self.outbox.push(frame, None);
        }
    }

    /// Writes the first frame of a connection, before the requests that have waited for it.
    pub(super) fn write_first(&mut self, text: String) {
        if self.link == Link::Up {
            self.outbox.push_first(text);
        }
    }

    /// Whether the other end reads fast enough.
    pub(super) fn is_read(&self) -> bool {
        self.outbox.bytes() <= MOST_BYTES_WAITING
    }

    /// What is to be written next. It counts as sent.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<Unsent> {
        let Self {
            outbox, entries, ..
        } = self;
        outbox.take(bytes, |request| {
            let entry = entries.get_mut(&request.id);
            // It may be over by now: then there is nothing to send.
            entry
                .filter(|entry| entry.number == request.number)
                .map(|entry| entry.is_sent = true)
                .is_some()
        })
    }

    pub(super) fn request(
        &mut self,
        now: f64,
        request: NewRequest,
        to: To,
    ) -> Result<(), CallError> {
        let NewRequest {
            id,
            operation_id,
            payload,
            kind,
        } = request;
        if let Link::Over(ending) = &self.link {
            return Err(ending.error(&operation_id, &self.name, false));
        }
        if !self.is_read() {
            let entries = &self.entries;
            self.outbox
                .remove_ended(|request| is_waiting(entries, request));
        }
        let waiting = self.outbox.waiting();
        if waiting >= self.max_waiting || !self.is_read() {
            return Err(errors::overloaded(&operation_id, waiting));
        }
        // It was written by JavaScript, or in Rust; a lone surrogate is not valid text for the other end.
        let read =
            Object::read_inner(&payload).map_err(|why| cannot_be_sent(&operation_id, &why))?;
        CallEvent::read_payload(EventType::Requested, &read)
            .map_err(|why| cannot_be_sent(&operation_id, &why))?;
        let parent = read.string("parentRequestId").map(Into::into);
        let deadline = match kind {
            Kind::Call { deadline } => deadline,
            Kind::Subscription { .. } => None,
        };
        let text = frame::requested(&payload, deadline);
        if text.len() > self.max_frame_bytes {
            let limit = self.max_frame_bytes;
            return Err(errors::too_large(
                TooLarge::Input,
                &operation_id,
                text.len(),
                limit,
            ));
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
        self.made += 1;
        let number = self.made;
        let entry = Entry {
            operation,
            to,
            number,
            is_sent: false,
            stream,
        };
        self.entries.insert(Arc::clone(&id), entry);
        self.outbox.push(text, Some(Waiting { id, number }));
        Ok(())
    }

    pub(super) fn event(
        &mut self,
        now: f64,
        event: CallEvent<'_>,
        waking: &mut Vec<Arc<Mailbox>>,
    ) -> bool {
        let id = event.request_id().to_owned();
        let Some(entry) = self.entries.get_mut(&*id) else {
            // The sender should know that there is no subscriber: `call` of a subscription wants the first event only.
            if matches!(event, CallEvent::Responded { .. }) {
                self.write(frame::aborted(&id));
                return self.is_read();
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
                (Answer::Responded(output.len()), Some(output))
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

    pub(super) fn consumed(&mut self, now: f64, id: &str, count: u64) {
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
            flow.bytes += self.pending.ask(now, id);
        }
        let up_to = flow.consumed + STREAM_WINDOW;
        let is_due = up_to - flow.up_to.max(STREAM_WINDOW) >= STREAM_WINDOW / 2
            || flow.bytes >= WAITING_BYTES / 4;
        if self.is_paced && is_due {
            flow.up_to = up_to;
            flow.bytes = 0;
            let payload = serde_json::json!({ "requestId": id, "upTo": up_to });
            self.write(frame::write("hub.credit", "", &payload.to_string()));
        }
    }

    /// Does what the state machine says.
    pub(super) fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        output: Option<&str>,
        waking: &mut Vec<Arc<Mailbox>>,
    ) {
        // First notify the other end, while it is known what it has seen.
        for effect in &effects {
            if let Effect::SendAborted(id) = effect
                && self.entries.get(id).is_some_and(|entry| entry.is_sent)
            {
                self.write(frame::aborted(id));
            }
        }
        // Receivers that are gone are removed after the others were notified.
        let (mut left, mut exhausted) = (Vec::new(), Vec::new());
        for effect in effects {
            let output = output.unwrap_or("null");
            match effect {
                Effect::Deliver(id) => match self.entries.get(&id).map(|entry| &entry.to) {
                    Some(To::Host(mailbox)) => {
                        post(mailbox, Item::event(&id, output), waking);
                    }
                    Some(To::Stream(events, share)) => {
                        let held = share.as_ref().map(|share| share.try_hold(output.len()));
                        let event = match held {
                            Some(None) => {
                                exhausted.push(id);
                                (Err(stream_exhausted()), None)
                            }
                            held => (Ok(output.to_owned()), held.flatten()),
                        };
                        drop(events.send(event));
                    }
                    Some(To::Call(_)) | None => {}
                },
                Effect::Resolve(id) => match self.remove(&id).map(|entry| entry.to) {
                    Some(To::Host(mailbox)) => post(&mailbox, Item::done(&id, output), waking),
                    Some(To::Call(sender)) => drop(sender.send(Ok(output.to_owned()))),
                    Some(To::Stream(..)) | None => {}
                },
                Effect::Fail(id, error) => {
                    let Some(entry) = self.remove(&id) else {
                        continue;
                    };
                    let delivery = if entry.is_sent { "unknown" } else { "none" };
                    let error = with_delivery(error, delivery);
                    match entry.to {
                        To::Host(mailbox) => post(&mailbox, Item::failed(&id, &error), waking),
                        To::Call(sender) => drop(sender.send(Err(error))),
                        To::Stream(events, _) => drop(events.send((Err(error), None))),
                    }
                }
                Effect::End(id) => {
                    if let Some(entry) = self.remove(&id)
                        && let To::Host(mailbox) = entry.to
                    {
                        post(&mailbox, Item::ended(&id), waking);
                    }
                }
                Effect::SendAborted(id) => left.push(id),
            }
        }
        for id in left {
            if !self.pending.contains(&id) {
                self.remove(&id);
            }
        }
        for id in exhausted {
            let effects = self.pending.leave(&id);
            self.carry_out(effects, None, waking);
        }
    }

    fn remove(&mut self, id: &str) -> Option<Entry> {
        let entry = self.entries.remove(id)?;
        if !entry.is_sent {
            let entries = &self.entries;
            self.outbox
                .request_ended(|request| is_waiting(entries, request));
        }
        Some(entry)
    }

    /// The connection is gone: what was written into it, and what was for it alone.
    pub(super) fn drop_connection(&mut self, why: &str, waking: &mut Vec<Arc<Mailbox>>) {
        self.is_paced = false;
        self.max_frame_bytes = usize::MAX;
        self.max_stream_bytes = usize::MAX;
        self.control_requests.clear();
        self.outbox.keep_requests();
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
                |operation, was_sent| errors::peer_lost(operation, &name, why, was_sent),
                waking,
            );
        }
    }

    /// What was not sent fails with this.
    pub(super) fn fail_waiting(&mut self, refusal: &CallError, waking: &mut Vec<Arc<Mailbox>>) {
        let waiting = self.entries.iter().filter(|(_, entry)| !entry.is_sent);
        for id in waiting.map(|(id, _)| Arc::clone(id)).collect::<Vec<_>>() {
            let error = |operation: &str, _| errors::not_let_in(operation, refusal);
            self.fail(&id, error, waking);
        }
    }

    /// There will be no connection any more: everything fails. What ended it first is the error that callers get from then on.
    pub(super) fn end(&mut self, ending: Ending, waking: &mut Vec<Arc<Mailbox>>) {
        let name = self.name.clone();
        for id in self.entries.keys().cloned().collect::<Vec<_>>() {
            self.fail(
                &id,
                |operation, was_sent| ending.error(operation, &name, was_sent),
                waking,
            );
        }
        self.drop_connection("", waking);
        self.outbox.clear();
        if !matches!(self.link, Link::Over(_)) {
            self.link = Link::Over(ending);
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

/// Whether a request that was not written yet is still waited for.
fn is_waiting(entries: &HashMap<Arc<str>, Entry>, request: &Waiting) -> bool {
    entries
        .get(&request.id)
        .is_some_and(|entry| entry.number == request.number)
}

/// Puts an item into a mailbox, whose owner is woken when the lock is free.
pub(super) fn post(mailbox: &Arc<Mailbox>, item: Item, waking: &mut Vec<Arc<Mailbox>>) {
    if mailbox.add(vec![item]) {
        waking.push(Arc::clone(mailbox));
    }
}

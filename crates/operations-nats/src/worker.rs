//! The side that works: which calls it has, and for whom it keeps a slot.
//!
//! The queue group picks a worker at random, and perhaps a busy one. A worker without a free slot says so, forgets
//! the request (the caller has kept it) and remembers the caller. When a slot is free again, it is promised to the
//! one that has waited longest, and kept until that one sends its request or passes. So a request waits only while
//! no worker of its operation has a slot.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use operations_core::access::Identity;
use operations_core::call::{Refusal, check_input};
use operations_core::listed::Listed;
use operations_core::registry::Registry;
use operations_core::table::Table;
use serde_json::Value;

use crate::errors;
use crate::limits::{IDS_PER_PING, LIST_HEAD, STREAM_WINDOW, TAKEN_DELAY};
use crate::state::{CallUpdate, Doer, Todo};
use crate::subjects::Subjects;
use crate::wire::{self, Arrival, Notice, Served};

mod answers;
mod host;
mod slots;

/// A caller and an operation that it wants to call.
type Want = (Arc<str>, Arc<str>);

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each can be so without the others"
)]
struct Running {
    from: Arc<str>,
    operation: Arc<str>,
    doer: Doer,
    /// The caller knows that it is here.
    is_confirmed: bool,
    /// Its caller takes all answers on one subject.
    shares_answers: bool,
    is_aborted: bool,
    is_answered: bool,
    /// JavaScript has begun with it.
    is_begun: bool,
    deadline: Option<f64>,
    stream: Option<Stream>,
}

#[derive(Debug)]
struct Stream {
    sent: u64,
    up_to: u64,
    /// The work waits until more may be sent.
    is_waiting: bool,
}

/// A caller that waits for slots.
#[derive(Debug)]
struct Waiting {
    want: Want,
    count: usize,
    /// What its requests are signed with, where the caller signs them.
    key: Option<Arc<str>>,
}

/// A slot that was promised and is used now.
#[derive(Debug)]
struct Redeemed {
    key: Option<Arc<str>>,
}

#[derive(Debug)]
struct Reserved {
    /// The numbers of the slots, each good for one request.
    slots: Vec<u64>,
    key: Option<Arc<str>>,
    at: f64,
}

/// An operation as it is described to others.
#[derive(Debug)]
struct Described {
    listed: Listed,
    served: Served,
    size: usize,
}

impl Described {
    fn new(mut listed: Listed, most: usize) -> Self {
        let spec = std::mem::take(&mut listed.spec);
        let served = Served {
            id: listed.id.as_str().into(),
            kind: spec
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            description: None,
            spec: Some(spec),
        };
        let (served, size) = served.within(most);
        Self {
            listed,
            served,
            size,
        }
    }
}

/// The calls that one connection works on.
#[derive(Debug)]
pub struct Worker {
    me: Arc<str>,
    subjects: Subjects,
    name: String,
    /// The largest message that the broker takes.
    pub(crate) max_payload: usize,
    concurrency: usize,
    operations: BTreeMap<Arc<str>, Served>,
    /// Their descriptions.
    described: Vec<Described>,
    /// Does what needs no JavaScript.
    registry: Option<Arc<Registry>>,
    /// JavaScript verifies callers, and gets the claimed identity of each.
    host_verifies: bool,
    is_draining: bool,
    running: Table<Arc<str>, Running>,
    /// How many calls of each caller run here.
    callers: Table<Arc<str>, usize>,
    wanting: VecDeque<Waiting>,
    reserved: Table<Want, Reserved>,
    reserved_count: usize,
    /// The number of the next slot that is promised.
    next_slot: u64,
    /// How many slots are kept for each caller, whatever it wants to call.
    reserved_for: Table<Arc<str>, usize>,
    /// When the event loop of JavaScript last turned; `None` until it was reported once.
    host_turned_at: Option<f64>,
    /// Calls whose arrival is still to be confirmed to the caller, and when.
    unconfirmed: Vec<Arc<str>>,
    confirm_at: Option<f64>,
}

impl Worker {
    /// A worker that serves nothing yet.
    #[must_use]
    pub fn new(me: Arc<str>, subjects: Subjects, name: String, max_payload: usize) -> Self {
        Self {
            me,
            subjects,
            name,
            max_payload,
            concurrency: 0,
            operations: BTreeMap::new(),
            described: Vec::new(),
            registry: None,
            host_verifies: false,
            is_draining: false,
            running: Table::default(),
            callers: Table::default(),
            wanting: VecDeque::new(),
            reserved: Table::default(),
            reserved_count: 0,
            next_slot: 0,
            reserved_for: Table::default(),
            host_turned_at: None,
            unconfirmed: Vec::new(),
            confirm_at: None,
        }
    }

    /// Serves these operations too, this many calls at a time.
    pub fn serve(&mut self, operations: Vec<Served>, concurrency: usize) {
        self.concurrency = concurrency;
        for operation in operations {
            self.operations.insert(Arc::clone(&operation.id), operation);
        }
    }

    /// Does not serve these after all.
    pub fn do_not_serve(&mut self, ids: &[Arc<str>]) {
        for id in ids {
            self.operations.remove(id);
        }
    }

    /// The descriptions of the operations that are served.
    pub fn list(&mut self, listed: Vec<Listed>) {
        let most = self.max_payload.saturating_sub(LIST_HEAD);
        let described = listed
            .into_iter()
            .map(|listed| Described::new(listed, most));
        self.described = described.collect();
    }

    /// The operations that an identity may call, with their descriptions, and how many bytes that takes.
    pub fn shown_to(&self, identity: Option<&Identity>) -> impl Iterator<Item = (Served, usize)> {
        let is_shown = move |described: &&Described| {
            described.listed.is_shown_to(identity) && self.serves(&described.listed.id)
        };
        let shown = self.described.iter().filter(is_shown);
        shown.map(|described| (described.served.clone(), described.size))
    }

    /// Whether JavaScript verifies senders.
    #[must_use]
    pub fn has_host_verify(&self) -> bool {
        self.host_verifies
    }

    /// From now on, calls that need no JavaScript go to this registry.
    pub fn serve_natively(&mut self, registry: Arc<Registry>) {
        self.registry = Some(registry);
    }

    /// From now on, all calls go to JavaScript, which verifies who calls.
    pub fn have_host_verify(&mut self) {
        self.registry = None;
        self.host_verifies = true;
    }

    /// Whether an operation is served already.
    #[must_use]
    pub fn serves(&self, operation: &str) -> bool {
        self.operations.contains_key(operation)
    }

    /// What is served.
    #[must_use]
    pub fn operations(&self) -> impl ExactSizeIterator<Item = &Served> {
        self.operations.values()
    }

    /// How many calls run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Whether no call runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// How many calls may run.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// The name that the user gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When [`Worker::confirm_taken`] has something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<f64> {
        self.confirm_at
    }

    /// Whether a call runs here.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.running.contains_key(id)
    }

    /// Whether calls of this caller run here.
    #[must_use]
    pub fn works_for(&self, caller: &str) -> bool {
        self.callers.contains_key(caller)
    }

    /// A request has arrived, for a slot that was promised, or for any.
    ///
    /// # Errors
    ///
    /// When the operation is not served here.
    pub fn arrived(
        &mut self,
        now: f64,
        arrival: Arrival<'_>,
        is_promised: bool,
        todo: &mut Todo,
    ) -> Result<(), Refusal> {
        let Arrival {
            mut event,
            from,
            remaining,
            window,
            more,
            shares_answers,
            signed,
        } = arrival;
        let id: Arc<str> = event.request_id.as_str().into();
        let operation = match self.operations.get_key_value(&*event.operation_id) {
            Some((operation, _)) => Arc::clone(operation),
            None if self.is_draining => event.operation_id.as_str().into(),
            None => return Err(Refusal::Field("operationId")),
        };
        if self.running.contains_key(&id) {
            // Our callers never send a request twice.
            return Ok(());
        }
        let want = (Arc::clone(&from), Arc::clone(&operation));
        let redeemed = if is_promised {
            self.redeem(&want, &signed)
        } else {
            None
        };
        let has_place = if is_promised {
            redeemed.is_some()
        } else {
            self.free() > 0 && self.can_do(now, &operation)
        };
        if !has_place {
            // Not remembered: only a question on the operation's own subject, or a slot that was promised because of
            // one, shows that the broker lets the caller run the operation.
            let notice = Notice::Busy {
                from: Arc::clone(&self.me),
                id,
            };
            todo.notify(self.subjects.to_peer(&from, "note"), None, &notice);
            return Ok(());
        }
        event.deadline = remaining.map(|remaining| now + remaining);
        event.idle_timeout = None;
        todo.watch(&from);
        *self.callers.entry(Arc::clone(&from)).or_default() += 1;
        let stream = window.map(|window| Stream {
            sent: 0,
            up_to: window.min(STREAM_WINDOW),
            is_waiting: false,
        });
        let is_stream = stream.is_some();
        let doer = self.doer_of(&operation);
        let payload = if self.host_verifies {
            wire::with_sender(&from, &event.to_json())
        } else {
            event.to_json()
        };
        self.running.insert(
            Arc::clone(&id),
            Running {
                from,
                operation,
                doer,
                is_confirmed: false,
                shares_answers,
                is_aborted: false,
                is_answered: false,
                is_begun: false,
                deadline: event.deadline,
                stream,
            },
        );
        self.unconfirmed.push(Arc::clone(&id));
        if is_stream {
            // Its consumer needs to know whom to ask for more.
            self.confirm_taken(todo);
        } else {
            self.confirm_at.get_or_insert(now + TAKEN_DELAY);
        }
        match event
            .input
            .map_or(Ok(()), |input| check_input(&event.operation_id, input))
        {
            Ok(()) => todo.update(doer, CallUpdate::Requested(id, payload)),
            Err(error) => {
                self.fail(&id, &error, todo);
                self.finished(now, &id, todo);
            }
        }
        if let Some(Redeemed { key }) = redeemed {
            if more > 0 {
                self.remember(want, usize::try_from(more).unwrap_or(usize::MAX), key);
            }
            self.grant(now, todo);
        }
        Ok(())
    }

    fn doer_of(&self, operation: &str) -> Doer {
        match &self.registry {
            Some(registry) if registry.is_native(operation) => Doer::Registry,
            _ => Doer::Host,
        }
    }

    /// Confirms to callers which calls are here and not answered yet.
    pub fn confirm_taken(&mut self, todo: &mut Todo) {
        self.confirm_at = None;
        let mut by_caller: Table<Arc<str>, Vec<Arc<str>>> = Table::default();
        for id in self.unconfirmed.drain(..) {
            if let Some(running) = self.running.get_mut(&id)
                && !running.is_answered
            {
                running.is_confirmed = true;
                by_caller
                    .entry(Arc::clone(&running.from))
                    .or_default()
                    .push(id);
            }
        }
        for (caller, ids) in by_caller {
            for part in ids.chunks(IDS_PER_PING) {
                let notice = Notice::Taken {
                    from: Arc::clone(&self.me),
                    name: self.name.clone(),
                    ids: part.to_vec(),
                };
                todo.notify_reliably(self.subjects.to_peer(&caller, "note"), &notice);
            }
        }
    }

    /// The caller does not want this any more. Says whether it was running.
    pub fn aborted(&mut self, caller: &str, id: &str, todo: &mut Todo) -> bool {
        let Some(running) = self.running.get_mut(id) else {
            return false;
        };
        if &*running.from != caller || running.is_aborted {
            return false;
        }
        running.is_aborted = true;
        todo.update(running.doer, CallUpdate::Aborted(id.into()));
        true
    }

    /// The calls of a caller, to ask it whether it still waits for them.
    #[must_use]
    pub fn ask_about(&self, caller: &str, round: usize) -> Vec<Arc<str>> {
        let Some(count) = self.callers.get(caller) else {
            return Vec::new();
        };
        let rounds = count.div_ceil(IDS_PER_PING).max(1);
        let skipped = round % rounds * IDS_PER_PING;
        self.running
            .iter()
            .filter(|(_, running)| &*running.from == caller && !running.is_aborted)
            .skip(skipped)
            .take(IDS_PER_PING)
            .map(|(id, _)| Arc::clone(id))
            .collect()
    }

    /// A caller has disappeared: these of its calls were running.
    pub fn caller_gone(&mut self, now: f64, caller: &str, todo: &mut Todo) -> Vec<Arc<str>> {
        self.caller_absent(now, caller, todo);
        let ids: Vec<Arc<str>> = self
            .running
            .iter()
            .filter(|(_, running)| &*running.from == caller)
            .map(|(id, _)| Arc::clone(id))
            .collect();
        ids.into_iter()
            .filter(|id| self.aborted(caller, id, todo))
            .collect()
    }

    /// Takes nothing new.
    pub fn drain(&mut self) {
        self.is_draining = true;
        self.wanting.clear();
        self.operations.clear();
    }

    /// Gives up what is still running: the callers are notified.
    pub fn close(&mut self, todo: &mut Todo) -> Vec<Arc<str>> {
        let ids: Vec<Arc<str>> = self.running.keys().cloned().collect();
        for id in &ids {
            let Some(running) = self.running.get(id) else {
                continue;
            };
            let error = errors::worker_closed(&running.operation, &self.name);
            self.fail(id, &error, todo);
            if let Some(running) = self.running.get_mut(id)
                && !std::mem::replace(&mut running.is_aborted, true)
            {
                todo.update(running.doer, CallUpdate::Aborted(Arc::clone(id)));
            }
        }
        ids
    }
}

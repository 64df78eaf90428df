//! The part that waits: a connection to the broker, the tasks that read and write it, and its clock.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::connection::State as Link;
use async_nats::{Client, HeaderMap, HeaderValue, Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use operations_core::clock::now;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::listed::Listed;
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use operations_core::mailbox::Mailbox;
use operations_core::registry::Registry;
use operations_core::trace;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::caller::NewRequest;
use crate::limits::WAITING_NOTICES;
use crate::options::{Options, Plan, connect_failure};
use crate::serving;
use crate::state::{Publication, State, Todo};
use crate::status;
use crate::subjects::{Subjects, token_of};
use crate::wire::Notice;

mod native;
mod submitted;
mod tasks;
mod thread;

use native::Natives;
use submitted::Submitted;

/// How long closing waits for a broker that does not take what is left.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How many messages of workers about themselves one discovery reads.
const MOST_ANSWERS: usize = 10_000;

/// The largest message of a server that was not configured otherwise.
const DEFAULT_PAYLOAD: usize = 1_048_576;

/// How many messages that have arrived are handled in one step.
const READ_CHUNK: usize = 256;

/// What a message to ourselves is about, which only shows that the broker has read everything before it.
const ECHO: &str = "echo";

/// The module under which log lines appear.
const MODULE: &str = "nats";

/// How the operations that are served are listed.
#[derive(Debug, Default)]
pub struct Listing {
    /// Their descriptions.
    pub listed: Vec<Listed>,
    /// The ids of those that are not served: they were imported over this very connection.
    pub except: Vec<String>,
}

/// The sender of a discovery request.
#[derive(Debug, Default, Deserialize)]
pub struct Requester {
    /// Who they say they are.
    pub identity: Option<Value>,
    /// What else they say.
    pub metadata: Option<Value>,
}

/// A connection. Dropping it ends it at once; [`Connection::close`] ends it in good order.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    me: Arc<str>,
    subjects: Subjects,
    queue: String,
    client: Client,
    state: Mutex<State>,
    /// What JavaScript has handed over and was not processed yet. Code that locks the state processes it first: the thread of
    /// JavaScript need not wait for a thread that reads messages.
    submitted: Mutex<Vec<Submitted>>,
    /// Where JavaScript finds what there is for it. Nothing in it is unbounded: answers belong to requests that it made,
    /// events of streams are asked for, and requests are taken only while there is a slot for them.
    mailbox: Arc<Mailbox>,
    /// What is to be sent, in its order.
    outbox: Mutex<Vec<Outbound>>,
    /// There is something to be sent.
    outgoing: Notify,
    runtime: Handle,
    /// Something is due earlier than the clock knows.
    clock: Notify,
    /// A call that was worked on is over.
    finished: Notify,
    /// Calls that are served without JavaScript.
    natives: Natives,
    discoveries: Mutex<HashMap<String, mpsc::UnboundedSender<Notice>>>,
    /// Subjects that this account may not subscribe to, as far as was tried.
    forbidden: Mutex<HashSet<String>>,
    /// Ends the subscriptions of the worker; what has arrived is still read.
    draining: CancellationToken,
    /// Ends everything.
    closed: CancellationToken,
    logger: Logger,
}

/// A message as the client takes it.
struct Outgoing {
    subject: String,
    reply: Option<String>,
    payload: Bytes,
    headers: Option<HeaderMap>,
}

impl From<Publication> for Outgoing {
    fn from(publication: Publication) -> Self {
        Self {
            subject: publication.subject,
            reply: publication.reply,
            payload: publication.payload.into_bytes().into(),
            headers: publication.trace.as_deref().map(headers_of),
        }
    }
}

/// A trace as headers. A value that no header can hold is left out: the payload has it too.
fn headers_of(trace: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in trace::fields(trace) {
        if let Ok(value) = value.parse::<HeaderValue>() {
            headers.insert(name, value);
        }
    }
    headers
}

/// The trace in the headers of a message, for requests whose payload has none: whatever is between us and the caller may have
/// added it there.
fn trace_in(message: &Message) -> Option<String> {
    let headers = message.headers.as_ref()?;
    trace::carried(|name| headers.get(name).map(|value| value.as_str().to_owned()))
}

/// Hands a message to the client. It fails when the connection is over, or when a new broker takes less than the
/// old one; then what was asked for is found to be missing, and fails with a reason.
async fn send(client: &Client, message: Outgoing) {
    let Outgoing {
        subject,
        reply,
        payload,
        headers,
    } = message;
    let _ = match (reply, headers) {
        (Some(reply), None) => client.publish_with_reply(subject, reply, payload).await,
        (Some(reply), Some(headers)) => {
            let sent = client.publish_with_reply_and_headers(subject, reply, headers, payload);
            sent.await
        }
        (None, _) => client.publish(subject, payload).await,
    };
}

enum Outbound {
    Message(Outgoing),
    /// Everything before this was handed to the broker.
    Flush(oneshot::Sender<()>),
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("me", &self.me)
            .finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closed.cancel();
    }
}

impl Connection {
    /// Connects. What there is for JavaScript goes to the mailbox.
    ///
    /// # Errors
    ///
    /// When the options are wrong or no server can be reached.
    pub async fn open(
        options: Options,
        logger: Logger,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, CallError> {
        thread::run(move || Self::open_here(options, logger, mailbox)).await
    }

    async fn open_here(
        options: Options,
        logger: Logger,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, CallError> {
        // One provider for the process; another part of this library may have been first.
        let _ = async_nats::rustls::crypto::ring::default_provider().install_default();
        let Plan {
            subjects,
            name,
            queue,
            servers,
            connect,
            max_waiting,
            inbox,
        } = options.plan()?;
        let (events_in, events) = mpsc::unbounded_channel();
        let connect = connect.event_callback(move |event| {
            let _ = events_in.send(event);
            async {}
        });
        let client = connect
            .connect(servers.clone())
            .await
            .map_err(|error| connect_failure(&error, &servers))?;
        let unique = uuid::Uuid::new_v4().simple();
        let me: Arc<str> = match inbox {
            Some(inbox) => format!("{inbox}.{unique}").into(),
            None => unique.to_string().into(),
        };
        // Before the first connection, the limit of the server is not known.
        let max_payload = match client.max_payload() {
            0 => DEFAULT_PAYLOAD,
            known => known,
        };
        let mut state = State::new(now(), Arc::clone(&me), subjects.clone(), name, max_payload);
        state.caller.limit_waiting(max_waiting);
        if client.connection_state() == Link::Connected {
            state.status.change(now(), status::Link::Connected);
        } else {
            state.disconnected(now());
        }
        let shared = Arc::new(Shared {
            me,
            subjects,
            queue,
            client,
            state: Mutex::new(state),
            submitted: Mutex::default(),
            mailbox,
            outbox: Mutex::default(),
            outgoing: Notify::new(),
            runtime: Handle::current(),
            clock: Notify::new(),
            finished: Notify::new(),
            natives: Natives::default(),
            discoveries: Mutex::default(),
            forbidden: Mutex::default(),
            draining: CancellationToken::new(),
            closed: CancellationToken::new(),
            logger,
        });
        let connection = Self {
            shared: Arc::clone(&shared),
        };
        let inbox = shared.subscribe(shared.subjects.inbox(&shared.me)).await?;
        let hello = shared.subscribe(shared.subjects.hello()).await?;
        let never = CancellationToken::new();
        shared.read(inbox, never.clone(), Shared::on_inbox);
        shared.read(hello, never, on_public);
        shared.spawn(tasks::publish(Arc::clone(&shared)));
        shared.spawn(tasks::keep_time(Arc::clone(&shared)));
        shared.spawn(tasks::follow(Arc::clone(&shared), events));
        Ok(connection)
    }

    /// The id of this connection.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.me
    }

    /// Runs something on the state, and does what comes of it.
    pub fn act<T>(&self, work: impl FnOnce(f64, &mut State, &mut Todo) -> T) -> T {
        self.shared.act(work)
    }

    /// Sends a request of JavaScript's.
    ///
    /// # Errors
    ///
    /// When nothing was sent: the connection is closed, the deadline has passed, or the request cannot be a message.
    pub fn request(&self, request: NewRequest) -> Result<(), CallError> {
        if self.shared.closed.is_cancelled() {
            return Err(closed());
        }
        self.act(|now, state, todo| state.request(now, request, todo))
    }

    /// Sends the calls of one turn of JavaScript's ([`crate::submission::calls`]). One that cannot be sent fails as one that
    /// was: with an item for JavaScript.
    pub fn call_all(&self, text: String) {
        self.shared.submit(Submitted::Calls(text));
    }

    /// What came of the calls that were served in one turn of JavaScript's ([`crate::submission::outcomes`]). An answer that
    /// cannot be sent becomes the error that says so.
    pub fn answer_all(&self, text: String) {
        self.shared.submit(Submitted::Outcomes(text));
    }

    /// Serves the operations that a registry has now, from when the broker knows of it. Calls that the registry can do
    /// are done on `runtime`; the others go to JavaScript, and so do all if it `verifies` who calls.
    ///
    /// # Errors
    ///
    /// When an id cannot be a subject, or the connection is closed.
    pub async fn serve(
        &self,
        registry: Arc<Registry>,
        concurrency: usize,
        verifies: bool,
        listing: Listing,
        runtime: Handle,
    ) -> Result<(), CallError> {
        let shared = &self.shared;
        if shared.draining.is_cancelled() {
            return Err(closed());
        }
        let mut operations = serving::operations(&registry);
        operations.retain(|operation| !listing.except.iter().any(|id| **id == *operation.id));
        let (new, is_first) = shared.act(|_, state, _| {
            let is_first = state.worker.operations().len() == 0;
            let new: Vec<Arc<str>> = operations
                .iter()
                .filter(|operation| !state.worker.serves(&operation.id))
                .map(|operation| Arc::clone(&operation.id))
                .collect();
            (new, is_first)
        });
        let tokens = new
            .iter()
            .map(|id| token_of(id))
            .collect::<Result<Vec<_>, _>>()?;
        shared.natives.serve(Arc::clone(&registry), runtime);
        shared.act(|_, state, _| {
            state.serve(operations, concurrency);
            state.worker.list(listing.listed);
            if verifies {
                state.worker.have_host_verify();
            } else {
                state.worker.serve_natively(registry);
            }
        });
        if is_first {
            let discover = shared.subscribe(shared.subjects.discover()).await?;
            shared.read(discover, shared.draining.clone(), on_public);
        }
        let mut subjects = Vec::with_capacity(tokens.len() * 2);
        for token in tokens {
            let (who, call) = (shared.subjects.who(&token), shared.subjects.call(&token));
            subjects.extend([who.clone(), call.clone()]);
            let who = shared.subscribe(who).await?;
            shared.read(who, shared.draining.clone(), on_public);
            let calls = shared
                .client
                .queue_subscribe(call, shared.queue.clone())
                .await
                .map_err(|_| closed())?;
            shared.read(calls, shared.draining.clone(), on_public);
        }
        // What the broker refuses, it says before it answers this; what it said is read by another task, so twice.
        shared.round_trip().await;
        shared.round_trip().await;
        let refused = subjects
            .into_iter()
            .find(|subject| locked(&shared.forbidden).contains(subject));
        if let Some(subject) = refused {
            shared.act(|_, state, _| state.worker.do_not_serve(&new));
            return Err(may_not_serve(&subject));
        }
        shared.act(|_, state, todo| state.say_hello(todo));
        Ok(())
    }

    /// Asks who is there, and listens for as long as it is given.
    ///
    /// # Errors
    ///
    /// When the connection is closed.
    pub async fn discover(
        &self,
        patience: Duration,
        requester: Requester,
    ) -> Result<Vec<Notice>, CallError> {
        let shared = &self.shared;
        if shared.closed.is_cancelled() {
            return Err(closed());
        }
        let question = uuid::Uuid::new_v4().simple().to_string();
        let (sender, mut answers) = mpsc::unbounded_channel();
        locked(&shared.discoveries).insert(question.clone(), sender);
        let notice = Notice::Discover {
            from: Arc::clone(&shared.me),
            question: question.as_str().into(),
            identity: requester.identity,
            metadata: requester.metadata,
        };
        shared.act(|_, _, todo| {
            let reply = shared
                .subjects
                .to_peer(&shared.me, &format!("discover-{question}"));
            todo.publish(shared.subjects.discover(), Some(reply), notice.to_json());
        });
        let mut found = Vec::new();
        let _ = timeout(patience, async {
            while found.len() < MOST_ANSWERS
                && let Some(notice) = answers.recv().await
            {
                found.push(notice);
            }
        })
        .await;
        locked(&shared.discoveries).remove(&question);
        Ok(found)
    }

    /// Ends it: what is being worked on may finish for as long as `patience` lasts, nothing new is taken, and
    /// requests of ours that have no answer yet fail.
    pub async fn close(&self, patience: Duration) {
        let shared = &self.shared;
        if shared.closed.is_cancelled() {
            return;
        }
        shared.act(|_, state, todo| {
            let served = state.worker.operations().len() > 0;
            state.worker.drain();
            if served {
                state.say_changed(todo);
            }
        });
        shared.draining.cancel();
        let _ = timeout(patience, async {
            loop {
                let finished = shared.finished.notified();
                if shared.act(|_, state, _| state.worker.is_empty()) {
                    break;
                }
                finished.await;
            }
        })
        .await;
        shared.act(|now, state, todo| {
            for id in state.worker.close(todo) {
                state.caller.parent_aborted(now, &id, todo);
            }
            state.caller.close(now, todo);
        });
        let (sender, flushed) = oneshot::channel();
        locked(&shared.outbox).push(Outbound::Flush(sender));
        shared.outgoing.notify_one();
        let _ = timeout(LAST_WORDS, flushed).await;
        shared.act(|now, state, _| state.status.change(now, status::Link::Closed));
        shared.closed.cancel();
        // What was submitted before that, and not processed yet, fails.
        shared.act(|_, _, _| ());
    }
}

/// A message that is not for this connection alone.
fn on_public(_: &Shared, message: &Message, now: f64, state: &mut State, todo: &mut Todo) {
    let trace = trace_in(message);
    let trace = trace.as_deref();
    state.on_public(now, &message.subject, &message.payload, trace, todo);
}

fn may_not_serve(subject: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::AccessDenied,
        format!("serve: this account of the NATS server may not subscribe to {subject}"),
    )
    .with_details(json!({ "subject": subject, "reason": "forbidden", "delivery": "none" }))
}

/// The error of a connection that is no more.
#[must_use]
pub fn closed() -> CallError {
    CallError::failed("The NATS connection is closed")
        .with_details(json!({ "reason": "closed", "delivery": "none" }))
}

impl Shared {
    fn act<T>(self: &Arc<Self>, work: impl FnOnce(f64, &mut State, &mut Todo) -> T) -> T {
        let mut todo = Todo::default();
        let mut state = locked(&self.state);
        let due_before = state.next_due();
        let has_finished = self.take_submitted(&mut state, &mut todo);
        let result = work(now(), &mut state, &mut todo);
        state.hold_back(&mut todo);
        // Queued while the state is still locked, so that the order is kept. Tasks are woken after the lock is released.
        let must_send = !todo.publish.is_empty() && self.publish(todo.publish, &mut state);
        let must_wake = self.mailbox.add(todo.deliver);
        let is_due_earlier = state.next_due() < due_before;
        drop(state);
        if must_send {
            self.outgoing.notify_one();
        }
        if is_due_earlier {
            self.clock.notify_one();
        }
        if must_wake {
            self.mailbox.wake();
        }
        if todo.came {
            self.mailbox.set("workers", &now().to_string());
        }
        if has_finished {
            self.finished.notify_waiters();
        }
        for update in todo.native {
            native::take(self, update);
        }
        for warning in todo.warn {
            self.logger.log(Level::Warning, MODULE, warning, []);
        }
        for notice in todo.found {
            if let Notice::Worker { question, .. } = &notice
                && let Some(sender) = locked(&self.discoveries).get(&**question)
            {
                let _ = sender.send(notice);
            }
        }
        result
    }

    /// Adds messages to those that wait to be sent, but not a notice when too much waits. Says whether nothing
    /// waited before.
    fn publish(&self, publications: Vec<Publication>, state: &mut State) -> bool {
        let mut outbox = locked(&self.outbox);
        let was_empty = outbox.is_empty();
        for publication in publications {
            if publication.is_notice && outbox.len() >= WAITING_NOTICES {
                state.stats.dropped_notices += 1;
            } else {
                outbox.push(Outbound::Message(publication.into()));
            }
        }
        was_empty
    }

    /// Has JavaScript hear of a change.
    fn report_status(&self, state: &State) {
        self.mailbox
            .set("connection", &state.status.to_json().to_string());
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closed = self.closed.clone();
        self.runtime.spawn(async move {
            tokio::select! {
                () = closed.cancelled() => {}
                () = task => {}
            }
        });
    }

    async fn subscribe(&self, subject: String) -> Result<Subscriber, CallError> {
        self.client.subscribe(subject).await.map_err(|_| closed())
    }

    /// Reads a subscription until the end, or, when `stop` is cancelled, until what has arrived is read.
    fn read(
        self: &Arc<Self>,
        mut subscriber: Subscriber,
        stop: CancellationToken,
        receive: fn(&Self, &Message, f64, &mut State, &mut Todo),
    ) {
        let shared = Arc::clone(self);
        self.spawn(async move {
            let mut is_stopping = false;
            let mut messages = Vec::new();
            loop {
                tokio::select! {
                    () = stop.cancelled(), if !is_stopping => {
                        is_stopping = true;
                        let _ = subscriber.drain().await;
                    }
                    message = subscriber.next() => match message {
                        Some(message) => messages.push(message),
                        None => break,
                    }
                }
                // Whatever else is there goes with it: one lock, and one wake-up of JavaScript.
                while messages.len() < READ_CHUNK
                    && let Some(Some(message)) = subscriber.next().now_or_never()
                {
                    messages.push(message);
                }
                shared.act(|now, state, todo| {
                    for message in messages.drain(..) {
                        receive(&shared, &message, now, state, todo);
                        state.hold_back(todo);
                    }
                });
            }
        });
    }

    fn on_inbox(&self, message: &Message, now: f64, state: &mut State, todo: &mut Todo) {
        let subject = message.subject.as_str();
        let about = subject.rsplit('.').next().unwrap_or_default();
        if about == ECHO {
            return;
        }
        if message.status != Some(StatusCode::NO_RESPONDERS) {
            let trace = trace_in(message);
            state.on_inbox(now, about, &message.payload, trace.as_deref(), todo);
        } else if let Some(question) = about.strip_prefix("discover-") {
            locked(&self.discoveries).remove(question);
        } else {
            state.on_no_receivers(now, about, todo);
        }
    }

    /// Waits until the broker has seen everything that was sent so far.
    async fn round_trip(&self) {
        let subject = self.subjects.to_peer(&self.me, ECHO);
        if let Ok(mut echo) = self.client.subscribe(subject.clone()).await {
            let _ = self.client.publish(subject, Vec::new().into()).await;
            let _ = timeout(LAST_WORDS, echo.next()).await;
        }
    }
}

//! What doors want done: calls of operations, by whoever sent the request. The registry does them, or the host.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, RwLock};
use std::task::Poll;

use futures::future::Either;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use operations_core::access::enforce_access;
use operations_core::byte_budget::{Held, exhausted};
use operations_core::call::{OUTPUT_REFUSED, check_input, holds_bytes, timed_out};
use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::{Document, push_string};
use operations_core::lock::{reading, writing};
use operations_core::registry::{
    Answer, Call, Context, Operation, Pieces, PiecesSlot, Registry, Route, Schema, Work,
};
use operations_core::spec::{OperationSpec, OperationType};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::host::{Answers, Asking, Host, Wanted};
use crate::identity::Caller;
use crate::limits::{Place, Places};
use crate::line::Line;
use crate::metrics::Metrics;
use crate::options::Limits;
use crate::upstream::AllowedHeaders;

/// The operations that are served, and those who do them.
#[derive(Debug)]
pub struct Calls {
    registry: Arc<Registry>,
    host: Arc<Host>,
    places: Arc<Places>,
    /// Streams may never end, so they leave the permits of calls alone.
    streams: Arc<Places>,
    /// What became of calls.
    pub metrics: Metrics,
    /// What clients learn of the headers of upstream servers.
    pub headers: AllowedHeaders,
    /// The only ones that are served; nothing for all.
    shown: RwLock<Option<HashSet<String>>>,
    /// Operations that are tools of the MCP door and nothing else: the host has them, and no registry.
    tools: RwLock<HashMap<String, Arc<Operation>>>,
}

/// A call that somebody wants done.
#[derive(Debug, Clone)]
pub struct NewCall {
    /// What is called.
    pub operation: Arc<Operation>,
    /// What it takes: JSON, which was looked at; nothing for `undefined`.
    pub input: Option<String>,
    /// Who calls.
    pub caller: Arc<Caller>,
    /// The name of the call. One that is taken is replaced.
    pub request_id: Arc<str>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// What handlers learn of the request: a JSON object.
    pub metadata: Option<String>,
    /// The trace that it belongs to: a JSON object ([`operations_core::trace`]).
    pub trace: Option<String>,
    /// How it came, for those who watch: a JSON object.
    pub via: Option<String>,
    /// Where the host talks with whoever called.
    pub line: Option<Line>,
    /// Whether a large result may be a file, which the door hands out.
    pub takes_files: bool,
    /// Whether binary data may be handed on while it is still on its way.
    pub takes_pieces: bool,
    /// The call that makes this one, where the protocol can say so.
    pub parent_request_id: Option<String>,
    /// What the bytes of its request are counted by.
    pub held: Option<Arc<Held>>,
}

/// What a subscription gives: envelopes, and an error as the last item.
pub type Events = BoxStream<'static, Result<String, CallError>>;

impl Calls {
    /// The operations of a registry.
    #[must_use]
    pub fn new(
        registry: Arc<Registry>,
        host: Arc<Host>,
        limits: &Limits,
        headers: AllowedHeaders,
    ) -> Self {
        Self {
            registry,
            host,
            places: Places::new(limits.clone()),
            streams: Places::new(limits.of_streams()),
            metrics: Metrics::default(),
            headers,
            shown: RwLock::default(),
            tools: RwLock::default(),
        }
    }

    /// Serves these operations only.
    pub fn show_only(&self, ids: HashSet<String>) {
        *writing(&self.shown) = Some(ids);
    }

    /// Has the MCP door offer these as well. The host does them.
    pub fn add_tools(&self, specs: Vec<OperationSpec>) {
        let mut tools = writing(&self.tools);
        tools.extend(specs.into_iter().map(|spec| {
            let operation = Operation {
                input: Schema::ready(None),
                output: Schema::ready(None),
                work: Work::Host,
                spec,
            };
            (operation.spec.id(), Arc::new(operation))
        }));
    }

    /// An operation that the MCP door offers.
    #[must_use]
    pub fn tool(&self, id: &str) -> Option<Arc<Operation>> {
        let own = reading(&self.tools).get(id).map(Arc::clone);
        own.or_else(|| self.operation(id))
    }

    /// Serves this one too, or not any more, where not all are served.
    pub fn show(&self, id: &str, is_shown: bool) {
        if let Some(shown) = writing(&self.shown).as_mut() {
            if is_shown {
                shown.insert(id.to_owned());
            } else {
                shown.remove(id);
            }
        }
    }

    fn is_shown(&self, id: &str) -> bool {
        reading(&self.shown)
            .as_ref()
            .is_none_or(|shown| shown.contains(id))
    }

    /// An operation that is served.
    #[must_use]
    pub fn operation(&self, id: &str) -> Option<Arc<Operation>> {
        self.registry.get(id).filter(|_| self.is_shown(id))
    }

    /// Every operation that is served, in the order of registration.
    #[must_use]
    pub fn operations(&self) -> Vec<Arc<Operation>> {
        let mut all = self.registry.list();
        all.retain(|operation| self.is_shown(&operation.spec.id()));
        all
    }

    /// How often what is served has changed.
    #[must_use]
    pub fn revision(&self) -> u64 {
        *self.registry.revision().borrow()
    }

    /// The same, for those who wait for a change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.revision()
    }

    /// How many calls hold a place, and how many wait for one.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.places.counts()
    }

    /// Calls a QUERY or a MUTATION: its envelope, as JSON. Dropping this ends the work.
    ///
    /// # Errors
    ///
    /// As the operation has it; `TIMEOUT` at the deadline.
    pub async fn call(&self, call: NewCall) -> Result<String, CallError> {
        let (envelope, _) = self.call_in_pieces(call).await?;
        Ok(envelope)
    }

    /// The same, for somebody who hands on binary data while it is on its way. The envelope has no data then.
    ///
    /// # Errors
    ///
    /// As for [`Calls::call`].
    pub async fn call_in_pieces(
        &self,
        call: NewCall,
    ) -> Result<(String, Option<Pieces>), CallError> {
        let id = call.operation.spec.id();
        let timed = self.metrics.call(&id);
        let answer = self.answer(&id, &call).await;
        let answer = answer.map_err(|error| shown(&self.headers, error));
        timed.end(&answer);
        answer
    }

    async fn answer(
        &self,
        id: &str,
        call: &NewCall,
    ) -> Result<(String, Option<Pieces>), CallError> {
        let began = clock::now();
        call.check_input(id)?;
        let place = self.place(id, call).await?;
        // It may have waited for long.
        let is_full = |held: &Arc<Held>| !held.has_room_for_response();
        if call.held.as_ref().is_some_and(is_full) {
            return Err(exhausted("none"));
        }
        let slot = call.takes_pieces.then(PiecesSlot::default);
        // Boxed, so that calls of the host's do not carry its size about.
        if self.may_be_native(id, call)
            && let Some(answer) = Box::pin(self.here(call, slot.as_ref())).await
        {
            // A body that is on its way keeps the place of its call.
            let pieces = slot.and_then(|slot| slot.take());
            return answer.map(|answer| (answer, pieces.map(|pieces| pieces.holding(place))));
        }
        let answers = self.ask(id, call, Wanted::One, place)?;
        let answer = in_time(id, call.deadline, answers.first()).await?;
        let answer = answer.map(|answer| (answer, None));
        answer.map_err(|error| match call.deadline {
            // The host gives up at the deadline too, without a word, and its clock may be the faster one.
            Some(deadline) if error.is(Code::Aborted) && is_due(deadline) => {
                timed_out(id, deadline, Some(clock::now() - began))
            }
            _ => error,
        })
    }

    /// Decides whether the caller may make a call, without making it. A rule of the program is evaluated by the host.
    ///
    /// # Errors
    ///
    /// `ACCESS_DENIED` where the caller may not; other errors where the host could not decide.
    pub async fn authorize(&self, call: &NewCall) -> Result<(), CallError> {
        let spec = &call.operation.spec;
        let id = spec.id();
        if spec.access_control.custom_auth.is_none() {
            let identity = call.caller.identity.as_ref();
            return enforce_access(&spec.access_control, identity, &id);
        }
        let question =
            |request_id: &str| format!(r#"{{"authorize":{}}}"#, call.event(&id, request_id));
        let request_id = Uuid::new_v4().to_string().into();
        let answers = self
            .host
            .ask(&request_id, &id, Wanted::One, None, question)?;
        in_time(&id, call.deadline, answers.first())
            .await?
            .map(drop)
    }

    /// Calls a SUBSCRIPTION. Nothing is known of it before its first item is there. Dropping this ends the work.
    ///
    /// # Errors
    ///
    /// When it cannot begin.
    pub async fn subscribe(&self, call: NewCall) -> Result<Events, CallError> {
        let mut timed = self.metrics.call(&call.operation.spec.id());
        let opened = self.open(call).await;
        timed.ended(opened.as_ref().err());
        let (events, place, cancel) = opened?;
        let held = (place, cancel.drop_guard(), self.headers.clone(), timed);
        let held = stream::unfold((events, held), |(mut events, mut held)| async move {
            let next = events.next().await?;
            let next = next.map_err(|error| shown(&held.2, error));
            held.3.ended(next.as_ref().err());
            Some((next, (events, held)))
        });
        Ok(held.boxed())
    }

    async fn open(
        &self,
        call: NewCall,
    ) -> Result<(Events, Option<Place>, CancellationToken), CallError> {
        let id = call.operation.spec.id();
        call.check_input(&id)?;
        let place = self.stream_permit(&id, &call.caller).await?;
        let share = call.held.as_ref().map(|held| held.share().of_streams());
        if share.is_some_and(|share| share.is_exhausted()) {
            return Err(exhausted("none"));
        }
        let cancel = CancellationToken::new();
        let (events, place) = if self.may_be_native(&id, &call)
            && let Some(events) = self.stream_here(&call, &cancel)
        {
            (events, place)
        } else {
            (self.ask(&id, &call, Wanted::Many, place)?.boxed(), None)
        };
        Ok((events, place, cancel))
    }

    /// A permit for a stream. One that belongs to no operation has an empty one.
    ///
    /// # Errors
    ///
    /// When there are as many streams as there may be, in all or of this caller.
    pub async fn stream_permit(
        &self,
        operation_id: &str,
        caller: &Caller,
    ) -> Result<Option<Place>, CallError> {
        let permit = self.streams.enter(operation_id, caller.id()).await;
        permit.map_err(|_| {
            CallError::failed("Too many streams are open already. Close one, or try again later")
                .with_details(json!({ "reason": "overloaded", "delivery": "none" }))
        })
    }

    /// Waits for a place, but no longer than to the deadline. Most calls need not wait, nor look at a clock.
    async fn place(&self, id: &str, call: &NewCall) -> Result<Option<Place>, CallError> {
        let mut entering = pin!(self.places.enter(id, call.caller.id()));
        let at_once = poll_fn(|cx| Poll::Ready(entering.as_mut().poll(cx)));
        match at_once.await {
            Poll::Ready(place) => place,
            Poll::Pending => in_time(id, call.deadline, entering).await?,
        }
    }

    /// The limits whose breakers refuse calls now: where they were set, and their names. A single operation is not named, because
    /// not everyone may know of it.
    pub(crate) fn open_breakers(&self) -> impl Iterator<Item = (String, String)> {
        let limiters = self.registry.limiters().into_iter();
        let stats = limiters.map(|limiter| limiter.stats());
        let open = stats.filter(|stats| stats.breaker == Some("open"));
        open.map(|stats| match stats.scope.as_str() {
            "operation" => (stats.scope, "an operation".to_owned()),
            _ => (stats.scope, stats.name),
        })
    }

    /// Everything about calls and limits, for Prometheus. Of the operations, only those of `visible` are named, and the tools
    /// of the MCP door that every client has.
    pub fn write_metrics(&self, text: &mut String, visible: &HashSet<String>) {
        let limits = self.registry.limiters();
        let limits = limits.iter().map(|limiter| limiter.stats()).collect();
        let tools = reading(&self.tools);
        let is_visible = |id: &str| visible.contains(id) || tools.contains_key(id);
        self.metrics.write(text, limits, is_visible);
    }

    /// Binary data is the host's to restore.
    fn may_be_native(&self, id: &str, call: &NewCall) -> bool {
        matches!(call.operation.work, Work::Native(_))
            && self.registry.is_native(id)
            && !call.input.as_deref().is_some_and(holds_bytes)
    }

    /// Does a call here; nothing if only the host can. It goes on to its end when nobody waits any more, because it may have
    /// somebody to tell that it was cancelled.
    async fn here(
        &self,
        call: &NewCall,
        slot: Option<&PiecesSlot>,
    ) -> Option<Result<String, CallError>> {
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        let registry = Arc::clone(&self.registry);
        let mut call = native_call(call, &cancel);
        call.context.pieces = slot.cloned();
        // Not on the task of the connection: compiling a schema takes its time.
        let work = tokio::spawn(async move {
            match registry.route(call) {
                Route::Host => None,
                Route::Here(served) => {
                    let answer = match served.answer() {
                        Answer::One(answer) => Some(answer.await),
                        Answer::Many(mut events) => events.next().await,
                    };
                    answer.map(|answer| answer.and_then(as_by_the_host))
                }
            }
        });
        match work.await {
            Ok(answer) => answer,
            Err(failure) => match failure.try_into_panic() {
                Ok(panic) => Some(Err(CallError::from_panic(&*panic))),
                Err(_) => None,
            },
        }
    }

    fn stream_here(&self, call: &NewCall, cancel: &CancellationToken) -> Option<Events> {
        match self.registry.route(native_call(call, cancel)) {
            Route::Host => None,
            Route::Here(served) => Some(match served.answer() {
                Answer::One(answer) => stream::once(answer).boxed(),
                Answer::Many(events) => {
                    let events = events.map(|answer| answer.and_then(as_by_the_host));
                    events.boxed()
                }
            }),
        }
    }

    fn ask(
        &self,
        id: &str,
        call: &NewCall,
        wanted: Wanted,
        place: Option<Place>,
    ) -> Result<Answers, CallError> {
        let asking = Asking {
            preferred: &call.request_id,
            about: id,
            wanted,
            place,
            line: call.line.clone(),
        };
        self.host
            .ask_about(asking, |request_id| call.event(id, request_id))
    }
}

/// An error as it leaves. That an output cannot be written as JSON is no mistake of the caller's.
fn shown(headers: &AllowedHeaders, error: CallError) -> CallError {
    if error.is(Code::ValidationError) && error.message.starts_with(OUTPUT_REFUSED) {
        return CallError::unknown(error.message).with_details(json!({ "delivery": "done" }));
    }
    headers.in_error(error)
}

/// An envelope as the host would have written it: clients get the same bytes, whoever answers.
fn as_by_the_host(envelope: String) -> Result<String, CallError> {
    match Document::parse(envelope) {
        Ok(envelope) => Ok(envelope.root().stringify()),
        Err(why) => Err(CallError::unknown(format!(
            "The answer cannot be read: {why}"
        ))),
    }
}

fn native_call(call: &NewCall, cancel: &CancellationToken) -> Call {
    Call {
        operation_id: call.operation.spec.id(),
        input: call.input.clone(),
        context: Context {
            identity: call.caller.identity.clone(),
            request_id: Some(call.request_id.to_string()),
            parent_request_id: call.parent_request_id.clone(),
            trace: call.trace.clone(),
            via: call.via.clone(),
            passed_on: call.metadata.clone(),
            // To handlers it is data, and those that are done here look at no data.
            metadata: None,
            deadline: call.deadline,
            cancel: cancel.clone(),
            takes_files: call.takes_files,
            target: None,
            pieces: None,
        },
    }
}

impl NewCall {
    /// Whether it wants many answers.
    #[must_use]
    pub fn is_subscription(&self) -> bool {
        self.operation.spec.operation_type == OperationType::Subscription
    }

    /// Refuses what would change on its way to the handler.
    fn check_input(&self, id: &str) -> Result<(), CallError> {
        let input = self.input.as_deref();
        input.map_or(Ok(()), |text| check_input(id, text))
    }

    /// The payload of `call.requested`.
    fn event(&self, id: &str, request_id: &str) -> String {
        let mut event = String::from("{\"requestId\":");
        push_string(&mut event, request_id);
        event.push_str(",\"operationId\":");
        push_string(&mut event, id);
        let mut add = |name: &str, json: Option<&str>| {
            if let Some(json) = json {
                event.push_str(",\"");
                event.push_str(name);
                event.push_str("\":");
                event.push_str(json);
            }
        };
        add("input", self.input.as_deref());
        add("identity", self.caller.text.as_deref());
        let parent = self.parent_request_id.as_deref().map(|parent| {
            let mut text = String::new();
            push_string(&mut text, parent);
            text
        });
        add("parentRequestId", parent.as_deref());
        add("metadata", self.metadata.as_deref());
        add("trace", self.trace.as_deref());
        add("via", self.via.as_deref());
        let deadline = self.deadline.map(|deadline| deadline.to_string());
        add("deadline", deadline.as_deref());
        add(
            "client",
            self.line.as_ref().map(|line| line.offers.as_str()),
        );
        if self.takes_files {
            event.push_str(",\"files\":true");
        }
        event.push('}');
        event
    }
}

/// Whether a deadline is reached, by a clock that counts whole milliseconds.
fn is_due(deadline: f64) -> bool {
    clock::now() + 1.0 >= deadline
}

/// Waits, but no longer than to the deadline. No `async fn`: that would have room for the work twice.
fn in_time<T>(
    id: &str,
    deadline: Option<f64>,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, CallError>> {
    let Some(deadline) = deadline else {
        return Either::Left(work.map(Ok));
    };
    let began = clock::now();
    let waiting = timeout(clock::until(deadline), work);
    Either::Right(
        waiting
            .map(move |done| done.map_err(|_| timed_out(id, deadline, Some(clock::now() - began)))),
    )
}

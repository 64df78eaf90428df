//! Calls of operations for the doors, on behalf of a caller. The registry does them, or JavaScript.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, RwLock};
use std::task::Poll;

use futures::future::Either;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use operations_core::access::{CallInput, enforce_access};
use operations_core::byte_budget::{Held, Share, exhausted, stream_exhausted};
use operations_core::call::{OUTPUT_REFUSED, check_input, holds_bytes, timed_out};
use operations_core::clock;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::push_string;
use operations_core::lock::{reading, writing};
use operations_core::registry::{
    Answer, BodyStream, BodyStreamSlot, Call, Context, Operation, Registry, Route, Schema, Work,
};
use operations_core::spec::{OperationSpec, OperationType};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::client_channel::ClientChannel;
use crate::identity::Caller;
use crate::js_bridge::{Expect, JsBridge, RequestOptions, Responses};
use crate::limits::{ConcurrencyLimit, Permit};
use crate::metrics::Metrics;
use crate::options::Limits;
use crate::upstream::AllowedHeaders;

/// The operations that are served, and what runs them.
#[derive(Debug)]
pub struct Calls {
    registry: Arc<Registry>,
    js: Arc<JsBridge>,
    limit: Arc<ConcurrencyLimit>,
    /// Streams may never end, so they have permits of their own.
    streams: Arc<ConcurrencyLimit>,
    /// What became of calls.
    pub metrics: Metrics,
    /// What clients learn of the headers of upstream servers.
    pub headers: AllowedHeaders,
    /// The only ones that are served; `None` for all.
    shown: RwLock<Option<HashSet<String>>>,
    /// Operations that are tools of the MCP door and nothing else: JavaScript has them, and no registry.
    tools: RwLock<HashMap<String, Arc<Operation>>>,
}

/// A call to be done.
#[derive(Debug, Clone)]
pub struct NewCall {
    /// What is called.
    pub operation: Arc<Operation>,
    /// Its input: JSON that was checked; `None` for `undefined`.
    pub input: Option<String>,
    /// Who calls.
    pub caller: Arc<Caller>,
    /// The id of the call. One that is in use is replaced.
    pub request_id: Arc<str>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// What handlers learn of the request: a JSON object.
    pub metadata: Option<String>,
    /// The trace that it belongs to: a JSON object ([`operations_core::trace`]).
    pub trace: Option<String>,
    /// How it arrived, for observers: a JSON object.
    pub via: Option<String>,
    /// Where JavaScript talks with the caller.
    pub channel: Option<ClientChannel>,
    /// Whether a large result may be a file, which the door hands out.
    pub takes_files: bool,
    /// Whether binary data may be passed on while it is still arriving.
    pub takes_pieces: bool,
    /// The call that makes this one, where the protocol can say so.
    pub parent_request_id: Option<String>,
    /// The budget share that counts the bytes of its request.
    pub held: Option<Arc<Held>>,
}

/// What a subscription gives: envelopes, and an error as the last item.
pub type Events = BoxStream<'static, Result<ResponseEnvelope, CallError>>;

/// What a QUERY or a MUTATION gives.
#[derive(Debug)]
pub struct Done {
    /// Has no data where that is still arriving.
    pub envelope: ResponseEnvelope,
    /// Binary data that is still arriving.
    pub pieces: Option<BodyStream>,
}

impl Calls {
    /// The operations of a registry.
    #[must_use]
    pub fn new(
        registry: Arc<Registry>,
        js: Arc<JsBridge>,
        limits: &Limits,
        headers: AllowedHeaders,
    ) -> Self {
        Self {
            registry,
            js,
            limit: ConcurrencyLimit::new(limits.clone()),
            streams: ConcurrencyLimit::new(limits.of_streams()),
            metrics: Metrics::default(),
            headers,
            shown: RwLock::default(),
            tools: RwLock::default(),
        }
    }

    /// Whether an operation trades the tokens of callers.
    pub(crate) fn wants_caller_tokens(&self) -> bool {
        self.registry.wants_caller_tokens()
    }

    /// Serves these operations only.
    pub fn show_only(&self, ids: HashSet<String>) {
        *writing(&self.shown) = Some(ids);
    }

    /// Has the MCP door offer these as well. JavaScript does them.
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

    /// The same, as a receiver to wait for changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.revision()
    }

    /// How many calls hold a permit, and how many wait for one.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.limit.counts()
    }

    /// Calls a QUERY or a MUTATION. Dropping this ends the work.
    ///
    /// # Errors
    ///
    /// As the operation has it; `TIMEOUT` at the deadline.
    pub async fn call(&self, call: NewCall) -> Result<Done, CallError> {
        let id = call.operation.spec.id();
        let timed = self.metrics.call(&id);
        let done = self.dispatch(&id, &call).await;
        let done = done.map_err(|error| shown(&self.headers, error));
        timed.end(&done);
        done
    }

    /// Has the registry or JavaScript do a call.
    async fn dispatch(&self, id: &str, call: &NewCall) -> Result<Done, CallError> {
        let began = clock::now();
        call.check_input(id)?;
        let permit = self.permit(id, call).await?;
        // It may have waited for long.
        let is_full = |held: &Arc<Held>| !held.has_room_for_response();
        if call.held.as_ref().is_some_and(is_full) {
            return Err(exhausted("none"));
        }
        let slot = call.takes_pieces.then(BodyStreamSlot::default);
        // Boxed, so that the futures of calls of JavaScript stay small.
        if self.may_be_native(id, call)
            && let Some(answer) = Box::pin(self.here(call, slot.as_ref())).await
        {
            // A body that is on its way keeps the permit of its call.
            let pieces = slot.and_then(|slot| slot.take());
            let pieces = pieces.map(|pieces| pieces.holding(permit));
            return answer.map(|envelope| Done { envelope, pieces });
        }
        let answers = self.request(id, call, Expect::One, permit)?;
        let answer = in_time(id, call.deadline, answers.first()).await?;
        let done = answer.map(|text| Done {
            envelope: text.into(),
            pieces: None,
        });
        done.map_err(|error| match call.deadline {
            // JavaScript stops at the deadline too, silently, and its clock may be faster.
            Some(deadline) if error.is(Code::Aborted) && is_due(deadline) => {
                timed_out(id, deadline, Some(clock::now() - began))
            }
            _ => error,
        })
    }

    /// Decides whether the caller may make a call, without making it. A rule of the program is evaluated by JavaScript.
    ///
    /// # Errors
    ///
    /// `ACCESS_DENIED` where the caller may not; other errors where JavaScript could not decide.
    pub async fn authorize(&self, call: &NewCall) -> Result<(), CallError> {
        let spec = &call.operation.spec;
        let id = spec.id();
        if spec.access_control.custom_auth.is_none() {
            let identity = call.caller.identity.as_ref();
            let input = CallInput::Json(call.input.as_deref());
            return enforce_access(&spec.access_control, identity, &id, input);
        }
        let question =
            |request_id: &str| format!(r#"{{"authorize":{}}}"#, call.event(&id, request_id));
        let request_id = Uuid::new_v4().to_string().into();
        let answers = self
            .js
            .request(&request_id, &id, Expect::One, None, question)?;
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
        let share = call.share_of_streams();
        let opened = self.open(call).await;
        timed.ended(opened.as_ref().err());
        let (events, permit, cancel) = opened?;
        let held = (permit, cancel.drop_guard(), self.headers.clone(), timed);
        let held = stream::unfold((Some(events), held), move |(events, mut held)| {
            let share = share.clone();
            async move {
                let mut events = events?;
                let next = events.next().await?;
                // Their reader counts them from here on.
                let has_room = |event: &ResponseEnvelope| {
                    let held = share.map(|share| share.try_hold(event.text().len()).is_some());
                    held.unwrap_or(true)
                };
                let next = match next {
                    Ok(event) if !has_room(&event) => Err(stream_exhausted()),
                    next => next.map_err(|error| shown(&held.2, error)),
                };
                held.3.ended(next.as_ref().err());
                let events = next.is_ok().then_some(events);
                Some((next, (events, held)))
            }
        });
        Ok(held.boxed())
    }

    async fn open(
        &self,
        call: NewCall,
    ) -> Result<(Events, Option<Permit>, CancellationToken), CallError> {
        let id = call.operation.spec.id();
        call.check_input(&id)?;
        let permit = self.stream_permit(&id, &call.caller).await?;
        let share = call.share_of_streams();
        if share.is_some_and(|share| share.is_exhausted()) {
            return Err(exhausted("none"));
        }
        let cancel = CancellationToken::new();
        let (events, permit) = if self.may_be_native(&id, &call)
            && let Some(events) = self.stream_here(&call, &cancel)
        {
            (events, permit)
        } else {
            let answers = self.request(&id, &call, Expect::Many, permit)?;
            (answers.map(|text| text.map(Into::into)).boxed(), None)
        };
        Ok((events, permit, cancel))
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
    ) -> Result<Option<Permit>, CallError> {
        let permit = self.streams.enter(operation_id, caller.id()).await;
        permit.map_err(|_| {
            CallError::failed("Too many streams are open already. Close one, or try again later")
                .with_details(json!({ "reason": "overloaded", "delivery": "none" }))
        })
    }

    /// Waits for a permit, but no longer than to the deadline. Most calls need neither wait nor read the clock.
    async fn permit(&self, id: &str, call: &NewCall) -> Result<Option<Permit>, CallError> {
        let mut entering = pin!(self.limit.enter(id, call.caller.id()));
        let at_once = poll_fn(|cx| Poll::Ready(entering.as_mut().poll(cx)));
        match at_once.await {
            Poll::Ready(permit) => permit,
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

    /// JavaScript restores binary data.
    fn may_be_native(&self, id: &str, call: &NewCall) -> bool {
        matches!(call.operation.work, Work::Native(_))
            && self.registry.is_native(id)
            && !call.input.as_deref().is_some_and(holds_bytes)
    }

    /// Does a call here; `None` if only JavaScript can. It goes on to its end when it is no longer waited for, because it may have
    /// to pass on that it was cancelled.
    async fn here(
        &self,
        call: &NewCall,
        slot: Option<&BodyStreamSlot>,
    ) -> Option<Result<ResponseEnvelope, CallError>> {
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        let registry = Arc::clone(&self.registry);
        let mut call = native_call(call, &cancel);
        call.context.pieces = slot.cloned();
        // Not on the task of the connection: compiling a schema takes long.
        let work = tokio::spawn(async move {
            match registry.route(call) {
                Route::Host => None,
                Route::Here(served) => match served.answer() {
                    Answer::One(answer) => Some(answer.await),
                    Answer::Many(mut events) => events.next().await,
                },
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
                Answer::Many(events) => events,
            }),
        }
    }

    fn request(
        &self,
        id: &str,
        call: &NewCall,
        expect: Expect,
        permit: Option<Permit>,
    ) -> Result<Responses, CallError> {
        let asking = RequestOptions {
            preferred: &call.request_id,
            about: id,
            expect,
            permit,
            channel: call.channel.clone(),
            bytes: match expect {
                Expect::One => None,
                Expect::Many => call.share_of_streams(),
            },
        };
        self.js
            .request_with(asking, |request_id| call.event(id, request_id))
    }
}

/// An error as it leaves. That an output cannot be written as JSON is no mistake of the caller's.
fn shown(headers: &AllowedHeaders, error: CallError) -> CallError {
    if error.is(Code::ValidationError) && error.message.starts_with(OUTPUT_REFUSED) {
        return CallError::unknown(error.message).with_details(json!({ "delivery": "done" }));
    }
    headers.in_error(error)
}

fn native_call(call: &NewCall, cancel: &CancellationToken) -> Call {
    Call {
        operation_id: call.operation.spec.id(),
        input: call.input.clone(),
        context: Context {
            identity: call.caller.identity.clone(),
            caller_token: call.caller.token.clone(),
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
            bytes: call.share_of_streams(),
        },
    }
}

impl NewCall {
    /// Whether it wants many answers.
    #[must_use]
    pub fn is_subscription(&self) -> bool {
        self.operation.spec.operation_type == OperationType::Subscription
    }

    /// The budget share that counts events for its caller.
    fn share_of_streams(&self) -> Option<Arc<Share>> {
        let held = self.held.as_ref().filter(|_| self.is_subscription());
        held.map(|held| held.share().of_streams())
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
        let identified_by = self.caller.identified_by.as_ref();
        let identified_by = identified_by.map(|request| format!("\"{}\"", request.id()));
        add("identifiedBy", identified_by.as_deref());
        let token = self.caller.token.as_ref().map(|token| {
            let mut text = String::new();
            push_string(&mut text, token.expose());
            text
        });
        add("callerToken", token.as_deref());
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
            self.channel.as_ref().map(|channel| channel.offers.as_str()),
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

/// Waits, but no longer than to the deadline. No `async fn`: its future would hold the work twice.
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

//! Requests to JavaScript, for what only it can do. They go to its mailbox, and it responds under the id of the request; a
//! request whose response is not wanted any more is aborted.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::{Stream, StreamExt};
use operations_core::byte_budget::{Held, Share, stream_exhausted};
use operations_core::call::submission::{self, Outcome};
use operations_core::call::{is_request_id, without_response};
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use operations_core::table::Table;
use serde_json::json;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::client_channel::{CallerMessage, ClientChannel, ClientRequests};
use crate::limits::{Permit, WantedPermit};

/// Events of one stream that wait for their reader. JavaScript is paused when there are so many, and resumed when
/// half of them are gone.
const WAITING_EVENTS: usize = 64;
/// The same in bytes.
const WAITING_BYTES: usize = 256 * 1024;

/// The pending requests to JavaScript.
pub struct JsBridge {
    mailbox: Arc<Mailbox>,
    pending: Mutex<Table<Arc<str>, Arc<PendingRequest>>>,
    /// The permits of requests that were aborted, and that JavaScript may still work on. It says when they are free.
    lingering: Mutex<Table<Arc<str>, Permit>>,
    handed_over: Mutex<HandedOver>,
}

/// Responses that were not delivered yet.
#[derive(Default)]
struct HandedOver {
    lines: VecDeque<String>,
    /// A task delivers them.
    is_running: bool,
}

impl fmt::Debug for JsBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsBridge").finish_non_exhaustive()
    }
}

/// How many responses are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The first.
    One,
    /// All.
    Many,
}

/// A request, except for its text.
#[derive(Debug)]
pub struct RequestOptions<'a> {
    /// The id, unless another request has it.
    pub preferred: &'a Arc<str>,
    /// Names the request in errors.
    pub about: &'a str,
    /// How many responses are expected.
    pub expect: Expect,
    /// Free when JavaScript has done the work.
    pub permit: Option<Permit>,
    /// Where JavaScript talks with the caller.
    pub channel: Option<ClientChannel>,
    /// Counts responses while they wait for their reader.
    pub bytes: Option<Arc<Share>>,
}

#[derive(Debug)]
struct PendingRequest {
    expect: Expect,
    channel: Option<ClientChannel>,
    bytes: Option<Arc<Share>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    responses: VecDeque<(String, Option<Held>)>,
    /// Those of `responses`.
    bytes: usize,
    end: Option<Result<(), CallError>>,
    /// It was ended here, and JavaScript was sent an abort.
    is_cut_off: bool,
    /// JavaScript is paused.
    is_paused: bool,
    reader: Option<Waker>,
    /// Released when JavaScript has done the work.
    permit: Option<Permit>,
    /// The one that was released while the call waits for a person.
    released: Option<WantedPermit>,
}

impl PendingRequest {
    /// Changes the state, and wakes the reader.
    fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = locked(&self.state);
        let result = change(&mut state);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        result
    }

    /// Counts a response until it is read.
    fn hold(&self, response: &str) -> Result<Option<Held>, CallError> {
        let Some(share) = &self.bytes else {
            return Ok(None);
        };
        let held = share.try_hold(response.len());
        held.map(Some).ok_or_else(stream_exhausted)
    }
}

impl JsBridge {
    /// For the JavaScript that reads this mailbox.
    #[must_use]
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            pending: Mutex::default(),
            lingering: Mutex::default(),
            handed_over: Mutex::default(),
        }
    }

    /// JavaScript is about to begin with a request. Returns whether its response is still wanted.
    pub fn begin(&self, id: &str) -> bool {
        let is_pending = locked(&self.pending).contains_key(id);
        if !is_pending {
            self.free(id);
        }
        is_pending
    }

    /// JavaScript does not work any more on a request that was aborted.
    fn free(&self, id: &str) {
        // Not under the lock: dropping the permit wakes the next in the queue.
        let mut lingering = locked(&self.lingering);
        // Almost always.
        if lingering.is_empty() {
            return;
        }
        let permit = lingering.remove(id);
        drop(lingering);
        drop(permit);
    }

    /// Sends a request. `about` names it in errors; `request` writes it, as JSON, for an id: the preferred one, unless another
    /// request has it or it cannot stand in a line. The permit is released when JavaScript has done the work, even if the response is not wanted any more.
    ///
    /// # Errors
    ///
    /// When the mailbox is full.
    pub fn request(
        self: &Arc<Self>,
        preferred: &Arc<str>,
        about: &str,
        expect: Expect,
        permit: Option<Permit>,
        request: impl FnOnce(&str) -> String,
    ) -> Result<Responses, CallError> {
        let options = RequestOptions {
            preferred,
            about,
            expect,
            permit,
            channel: None,
            bytes: None,
        };
        self.request_with(options, request)
    }

    /// The same, with all options.
    ///
    /// # Errors
    ///
    /// As for [`JsBridge::request`].
    pub fn request_with(
        self: &Arc<Self>,
        options: RequestOptions<'_>,
        request: impl FnOnce(&str) -> String,
    ) -> Result<Responses, CallError> {
        let RequestOptions {
            preferred,
            about,
            expect,
            permit,
            channel,
            bytes,
        } = options;
        if self.mailbox.is_full() {
            return Err(overloaded(about));
        }
        let state = Arc::new(PendingRequest {
            expect,
            channel,
            bytes,
            state: Mutex::new(State {
                permit,
                ..State::default()
            }),
        });
        let mut id = Arc::clone(preferred);
        let mut pending = locked(&self.pending);
        while !is_request_id(&id)
            || pending.contains_key(&id)
            || locked(&self.lingering).contains_key(&id)
        {
            id = Uuid::new_v4().to_string().into();
        }
        pending.insert(Arc::clone(&id), Arc::clone(&state));
        drop(pending);
        self.mailbox.push(Item::asked(&*id, &request(&id)));
        Ok(Responses {
            js: Arc::clone(self),
            id,
            about: about.to_owned(),
            request: state,
        })
    }

    /// Sends JavaScript a notification: JSON.
    pub fn notify(&self, news: &str) {
        self.mailbox.push(Item::asked("", news));
    }

    fn pending_request(&self, id: &str) -> Option<Arc<PendingRequest>> {
        locked(&self.pending).get(id).map(Arc::clone)
    }

    /// JavaScript responds, for the first time or again. Returns whether it may go on at once.
    pub fn respond(&self, id: &str, response: &str) -> bool {
        // The abort of a stream that is not wanted any more is on its way: it makes no more events until then.
        let Some(request) = self.pending_request(id) else {
            return false;
        };
        let (goes_on, is_cut_off) = request.update(|state| {
            if state.end.is_some() {
                return (!state.is_cut_off, false);
            }
            let held = match request.hold(response) {
                Ok(held) => held,
                Err(error) => {
                    state.end = Some(Err(error));
                    state.is_cut_off = true;
                    return (false, true);
                }
            };
            state.bytes += response.len();
            state.responses.push_back((response.to_owned(), held));
            if request.expect == Expect::One {
                // There is nothing that could wait.
                state.end = Some(Ok(()));
                return (true, false);
            }
            state.is_paused =
                state.responses.len() >= WAITING_EVENTS || state.bytes >= WAITING_BYTES;
            (!state.is_paused, false)
        });
        // At once: the reader may not come for long.
        if is_cut_off {
            self.mailbox.push(Item::aborted(id));
        }
        goes_on
    }

    /// The last response of JavaScript: as [`JsBridge::respond`] and [`JsBridge::finish`], in one step.
    fn respond_last(&self, id: &str, response: &str) {
        if let Some(request) = self.pending_request(id) {
            request.update(|state| {
                if state.end.is_none() {
                    state.bytes += response.len();
                    state.responses.push_back((response.to_owned(), None));
                    state.end = Some(Ok(()));
                }
                state.is_cut_off = false;
            });
        }
        self.free(id);
    }

    /// Progress for the caller: a JSON object. It is dropped if the client reads too slowly.
    pub fn send_progress(&self, id: &str, progress: &str) {
        self.send(id, CallerMessage::Progress(progress.to_owned()));
    }

    /// A log line for the caller: a JSON object.
    pub fn send_log(&self, id: &str, line: &str) {
        self.send(id, CallerMessage::Log(line.to_owned()));
    }

    /// Requests to the caller: a JSON list. Responses arrive as events under the id of the call.
    pub fn request_from_caller(&self, id: &str, list: &str) {
        let requests = ClientRequests {
            id: id.into(),
            list: list.to_owned(),
        };
        let is_sent = |channel: &ClientChannel| channel.requests.send(requests).is_ok();
        if !self.on_channel(id, is_sent).unwrap_or_default() {
            let response = json!({ "error": { "message": "There is no client to ask" } });
            self.respond_to_js(id, &response.to_string());
        }
    }

    /// The client's response to a request of JavaScript: a JSON object.
    pub fn respond_to_js(&self, id: &str, response: &str) {
        self.mailbox.push(Item::event(id, response));
    }

    fn send(&self, id: &str, message: CallerMessage) {
        let _ = self.on_channel(id, |channel| channel.messages.try_send(message).is_ok());
    }

    /// Does something with the channel of a request; `None` where it has no channel.
    fn on_channel<T>(&self, id: &str, what: impl FnOnce(&ClientChannel) -> T) -> Option<T> {
        let request = self.pending_request(id)?;
        request.channel.as_ref().map(what)
    }

    /// JavaScript has no more responses.
    pub fn finish(&self, id: &str) {
        // In this order: a request that is aborted in between leaves its permit to be freed.
        self.end(id, Ok(()));
        self.free(id);
    }

    /// A call waits for a person, and needs no permit meanwhile.
    pub fn release_permit(&self, id: &str) {
        let Some(request) = self.pending_request(id) else {
            return;
        };
        let mut state = locked(&request.state);
        // Not under the lock: dropping the permit wakes the next in the queue.
        let permit = state.permit.take();
        if let Some(permit) = &permit {
            state.released = Some(permit.wanted());
        }
        drop(state);
        drop(permit);
    }

    /// The call goes on: it waits for its permit.
    ///
    /// # Errors
    ///
    /// When too many wait already.
    pub async fn regain_permit(&self, id: &str) -> Result<(), CallError> {
        let Some(request) = self.pending_request(id) else {
            return Ok(());
        };
        let wanted = locked(&request.state).released.take();
        if let Some(wanted) = wanted {
            let permit = wanted.enter().await?;
            // Where the call has ended meanwhile, nothing else knows the request, and the permit is dropped with it.
            locked(&request.state).permit = permit;
        }
        Ok(())
    }

    /// JavaScript could not do it.
    pub fn fail(&self, id: &str, error: CallError) {
        self.end(id, Err(error));
    }

    fn end(&self, id: &str, end: Result<(), CallError>) {
        if let Some(request) = self.pending_request(id) {
            request.update(|state| {
                state.end.get_or_insert(end);
                state.is_cut_off = false;
            });
        }
    }

    /// The responses of JavaScript in one turn ([`submission::outcomes`]).
    pub fn respond_all(&self, lines: &str) {
        for (id, outcome) in submission::outcomes(lines) {
            match outcome {
                Outcome::Answer(response) => drop(self.respond(id, response)),
                Outcome::Last(response) => self.respond_last(id, response),
                Outcome::Finished => self.finish(id),
            }
        }
    }

    /// The same, on another thread if there is more than one response: each wakes a task, which takes time of JavaScript's own
    /// thread. The order stays.
    pub fn respond_soon(self: &Arc<Self>, lines: String, runtime: &Handle) {
        let mut handed_over = locked(&self.handed_over);
        if !handed_over.is_running && !lines.contains('\n') {
            drop(handed_over);
            self.respond_all(&lines);
            return;
        }
        handed_over.lines.push_back(lines);
        let is_running = std::mem::replace(&mut handed_over.is_running, true);
        drop(handed_over);
        if !is_running {
            let js = Arc::clone(self);
            runtime.spawn(async move { js.respond_handed_over() });
        }
    }

    fn respond_handed_over(&self) {
        loop {
            let mut handed_over = locked(&self.handed_over);
            let Some(lines) = handed_over.lines.pop_front() else {
                handed_over.is_running = false;
                return;
            };
            drop(handed_over);
            self.respond_all(&lines);
        }
    }

    /// How many requests have no final response.
    #[must_use]
    pub fn pending(&self) -> usize {
        locked(&self.pending).len()
    }
}

/// Too many calls are running already.
#[must_use]
pub fn overloaded(operation_id: &str) -> CallError {
    let message = format!(
        "The call of {operation_id} was refused: too many calls are running or waiting already. Try again later"
    );
    CallError::failed(message).with_details(
        json!({ "reason": "overloaded", "delivery": "none", "operationId": operation_id }),
    )
}

/// The responses of JavaScript. Dropping this aborts the request.
#[derive(Debug)]
pub struct Responses {
    js: Arc<JsBridge>,
    id: Arc<str>,
    about: String,
    request: Arc<PendingRequest>,
}

impl Responses {
    /// The id of the request.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The first response.
    ///
    /// # Errors
    ///
    /// When JavaScript failed, or ended without a response.
    pub async fn first(mut self) -> Result<String, CallError> {
        self.one().await
    }

    /// The next response, where the request stays open after it.
    ///
    /// # Errors
    ///
    /// As for [`Responses::first`].
    pub async fn one(&mut self) -> Result<String, CallError> {
        match self.next().await {
            Some(response) => response,
            None => Err(without_response(&self.about)),
        }
    }
}

impl Stream for Responses {
    type Item = Result<String, CallError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = locked(&self.request.state);
        if let Some((response, _)) = state.responses.pop_front() {
            state.bytes = state.bytes.saturating_sub(response.len());
            let goes_on = state.is_paused
                && state.responses.len() <= WAITING_EVENTS / 2
                && state.bytes <= WAITING_BYTES / 2;
            if goes_on {
                state.is_paused = false;
            }
            drop(state);
            if goes_on {
                self.js.mailbox.push(Item::go_on(&*self.id));
            }
            return Poll::Ready(Some(Ok(response)));
        }
        match &mut state.end {
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            // The error is returned once; after that the stream is over.
            Some(end) => Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err)),
        }
    }
}

impl Drop for Responses {
    fn drop(&mut self) {
        // In one step: JavaScript, which may be about to begin or has just ended, finds the request or its permit.
        let mut pending = locked(&self.js.pending);
        pending.remove(&self.id);
        let mut state = locked(&self.request.state);
        let (is_over, is_cut_off) = (state.end.is_some(), state.is_cut_off);
        let permit = state.permit.take();
        drop(state);
        if is_over && !is_cut_off {
            // Not under the lock: dropping the permit wakes the next in the queue.
            drop(pending);
            return;
        }
        if let Some(permit) = permit {
            let lingering = &self.js.lingering;
            locked(lingering).insert(Arc::clone(&self.id), permit);
        }
        drop(pending);
        if !is_cut_off {
            self.js.mailbox.push(Item::aborted(&*self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use std::sync::Barrier;
    use std::thread;

    use futures::FutureExt;

    use super::*;
    use crate::limits::ConcurrencyLimit;
    use crate::options::Limits;

    #[test]
    fn a_permit_is_released_however_a_response_and_a_disconnect_meet() {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        let js = Arc::new(JsBridge::new(Arc::clone(&mailbox)));
        let limit = ConcurrencyLimit::new(Limits {
            concurrency: Some(1),
            ..Limits::default()
        });
        for round in 0..3_000_usize {
            let entered = limit.enter("t.a", "").now_or_never();
            let permit = entered.expect("a free permit").expect("not refused");
            let id: Arc<str> = "request".into();
            let responses = js.request(&id, "t.a", Expect::One, permit, |_| "{}".to_owned());
            let responses = responses.expect("an empty mailbox");
            assert!(js.begin(&responses.id));
            let both = Barrier::new(2);
            thread::scope(|threads| {
                threads.spawn(|| {
                    both.wait();
                    // At one moment or another.
                    for _ in 0..round % 50 {
                        std::hint::spin_loop();
                    }
                    drop(responses);
                });
                both.wait();
                js.finish(&id);
            });
            assert_eq!(limit.counts(), (0, 0), "round {round}");
            while mailbox.take().is_some() {}
        }
    }

    #[test]
    fn a_call_that_waits_for_a_person_holds_no_permit() {
        let js = Arc::new(JsBridge::new(Arc::new(Mailbox::new(|| {}))));
        let limit = ConcurrencyLimit::new(Limits {
            concurrency: Some(1),
            queue: Some(1),
            ..Limits::default()
        });
        let begin = |id: &str| {
            let permit = limit.enter("t.a", "").now_or_never();
            let permit = permit.expect("a free permit").expect("not refused");
            let begun = js.request(&id.into(), "t.a", Expect::One, permit, |_| "{}".to_owned());
            begun.expect("an empty mailbox")
        };
        let first = begin("first");
        js.release_permit("first");
        js.release_permit("first");
        assert_eq!(limit.counts(), (0, 0));
        let second = begin("second");
        let mut regaining = Box::pin(js.regain_permit("first"));
        assert!(regaining.as_mut().now_or_never().is_none());
        js.finish("second");
        drop(second);
        assert_eq!(regaining.as_mut().now_or_never(), Some(Ok(())));
        drop(regaining);
        assert_eq!(limit.counts(), (1, 0));
        assert_eq!(js.regain_permit("first").now_or_never(), Some(Ok(())));
        // A call that ends while it waits for its permit leaves none behind.
        js.release_permit("first");
        let third = begin("third");
        let mut regaining = Box::pin(js.regain_permit("first"));
        assert!(regaining.as_mut().now_or_never().is_none());
        drop(first);
        js.finish("third");
        drop(third);
        assert_eq!(regaining.as_mut().now_or_never(), Some(Ok(())));
        drop(regaining);
        assert_eq!(limit.counts(), (0, 0));
    }
}

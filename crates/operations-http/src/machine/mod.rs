//! The HTTP machine: a call or a stream from its request to its end, without I/O.
//!
//! A machine says what to do next ([`Step`]). The driver, which has a network, does it and reports the result
//! ([`Input`]), and takes what is ready ([`Output`]). [`crate::Service`] drives it with reqwest;
//! `facade/openapi/fetch-driver.ts` drives it with a `fetch` of the user's. When to try again, where a
//! redirect leads, how a stream goes on, what is too large or too late, and how each of these reads
//! as an error: that is decided here, once, for both.
//!
//! | file | idea |
//! |---|---|
//! | `exchange` | what a machine takes and gives |
//! | `outgoing` | the request, and what redirects make of it |
//! | `redirect` | where a redirect leads, and what goes along |
//! | `retry` | which failures are worth another try, and when |
//! | `body` | a response that is read as a whole, or goes to a file |
//! | `stream` | a response that is a stream, and how it is opened again |
//! | `attempts` | failures and time limits, and what is tried after them |
//! | `feed` | many events as one JSON text |
//! | `lines` | one JSON value per line |

mod attempts;
mod body;
mod exchange;
mod feed;
mod lines;
mod outgoing;
pub mod redirect;
pub mod retry;
mod stream;

use std::sync::Arc;
use std::time::Instant;

use operations_core::error::CallError;

pub use self::exchange::{About, Input, NetworkError, Output, Rules, Step, StreamItem};
use self::feed::Feed;
pub use self::feed::StreamKind;
pub use self::outgoing::Outgoing;
use crate::message::{
    Failure, Int64, JsonForm, Reach, Request, ResponseHead, ResponseKind, Secret, errors,
};

/// A running call or stream.
#[derive(Debug)]
pub struct Machine {
    outgoing: Outgoing,
    reach: Arc<Reach>,
    about: Option<Box<About>>,
    secrets: Vec<Secret>,
    wants_token: bool,
    caller_token: Option<Secret>,
    rules: Rules,
    /// What was promised, where a stream was asked for.
    promised: Option<ResponseKind>,
    last_event_id: String,
    /// Bytes beyond which the body of a success goes to a file.
    spill_over: Option<usize>,
    /// It is forwarded instead, if it is binary data.
    passes_on: bool,
    json_form: JsonForm,
    state: State,
    /// When the time limit passes.
    limit: Option<Instant>,
    /// How often the request was sent; of a stream, since one has held.
    tries: u32,
    /// Whether the server may have seen any of it.
    may_have_arrived: bool,
    opened: Option<OpenStream>,
    /// There from the first response on that is a stream.
    feed: Option<Box<Feed>>,
    /// What is ready, in this order; events of the feed come before the last.
    head: Option<(ResponseHead, StreamKind)>,
    value: Option<String>,
    last: Option<Output>,
}

/// A stream that has begun.
#[derive(Debug)]
struct OpenStream {
    since: Instant,
    had_event: bool,
}

#[derive(Debug)]
enum State {
    /// A request is on its way.
    Sending,
    /// A body is read as a whole.
    Collecting(ResponseHead, Vec<u8>),
    /// A body goes to a file. This is its beginning.
    Spilling(ResponseHead, Vec<u8>),
    /// A body is read as a stream.
    Streaming,
    /// Until then, nothing happens.
    Pausing(Instant),
    Over,
}

impl Machine {
    /// A call, which begins now. `secrets` are what no error may show.
    #[must_use]
    pub fn call(request: Request, secrets: Vec<Secret>, rules: Rules, now: Instant) -> Self {
        let mut machine = Self {
            outgoing: Outgoing::new(request),
            reach: Arc::default(),
            about: None,
            secrets,
            wants_token: false,
            caller_token: None,
            rules,
            promised: None,
            last_event_id: String::new(),
            spill_over: None,
            passes_on: false,
            json_form: JsonForm::Text,
            state: State::Sending,
            limit: None,
            tries: 1,
            may_have_arrived: false,
            opened: None,
            feed: None,
            head: None,
            value: None,
            last: None,
        };
        machine.start_clock(now);
        machine
    }

    /// A stream, which begins now, after the event with this id.
    #[must_use]
    pub fn stream(
        request: Request,
        secrets: Vec<Secret>,
        rules: Rules,
        promised: ResponseKind,
        last_event_id: &str,
        now: Instant,
    ) -> Self {
        let mut machine = Self::call(request, secrets, rules, now);
        machine.promised = Some(promised);
        machine.outgoing.begin_after(last_event_id);
        last_event_id.clone_into(&mut machine.last_event_id);
        machine
    }

    /// The same, within bounds, and about an operation.
    #[must_use]
    pub fn of_service(mut self, reach: &Arc<Reach>, about: Option<About>) -> Self {
        self.reach = Arc::clone(reach);
        self.about = about.map(Box::new);
        self
    }

    /// The same, for a caller that can put the body of a success into a file if it has more bytes than this.
    #[must_use]
    pub fn spilling_over(mut self, bytes: Option<usize>) -> Self {
        self.spill_over = bytes.filter(|_| self.promised.is_none());
        self
    }

    /// The same, for a caller that forwards binary data chunk by chunk if it has more bytes than this.
    #[must_use]
    pub fn passing_over(mut self, bytes: usize) -> Self {
        self.passes_on = true;
        self.spilling_over(Some(bytes))
    }

    /// The same, for a caller that reads JSON in this form.
    #[must_use]
    pub fn with_json(mut self, form: JsonForm) -> Self {
        self.json_form = form;
        self
    }

    /// The same, for a service that gets its tokens itself. A request that has credentials of its own keeps them.
    #[must_use]
    pub fn wanting_token(mut self, wants_token: bool, caller_token: Option<Secret>) -> Self {
        self.wants_token = wants_token && !self.outgoing.has_credentials();
        self.secrets.extend(caller_token.clone());
        self.caller_token = caller_token;
        self
    }

    /// The token of the call that is served, which may be traded for that of the service.
    #[must_use]
    pub fn caller_token(&self) -> Option<&Secret> {
        self.caller_token.as_ref()
    }

    /// Whether a token goes along. Not after a redirect to another origin.
    #[must_use]
    pub fn wants_token(&self) -> bool {
        self.wants_token && !self.outgoing.is_elsewhere()
    }

    /// Puts a token into the request.
    ///
    /// # Errors
    /// When no header can carry it; it is not quoted.
    pub fn authorize(&mut self, token: &Secret) -> Result<(), CallError> {
        if !self.secrets.contains(token) {
            self.secrets.push(token.clone());
        }
        self.outgoing.authorize(token)
    }

    /// What to send.
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// When to say [`Input::Tick`], whatever else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match (&self.state, self.limit) {
            (State::Over, _) => None,
            (State::Pausing(until), Some(limit)) => Some(limit.min(*until)),
            (State::Pausing(until), None) => Some(*until),
            (_, limit) => limit,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn step(&self) -> Step {
        let has_events = || self.feed.as_ref().is_some_and(|feed| feed.has_events());
        if self.last.is_some() || self.head.is_some() || self.value.is_some() || has_events() {
            return Step::Deliver;
        }
        match self.state {
            State::Sending => Step::Send,
            State::Collecting(..) | State::Spilling(..) | State::Streaming => Step::Read,
            State::Pausing(_) => Step::Sleep,
            State::Over => Step::Done,
        }
    }

    /// Whether more of the stream may be read before what is ready is taken.
    #[must_use]
    pub fn has_room(&self) -> bool {
        matches!(self.state, State::Streaming)
            && self.feed.as_ref().is_some_and(|feed| !feed.is_full())
    }

    /// What is ready, piece by piece.
    pub fn take(&mut self) -> Option<Output> {
        if let Some((head, kind)) = self.head.take() {
            return Some(Output::Item(StreamItem::Head(head, kind)));
        }
        let batch = self.value.take().or_else(|| self.feed.as_mut()?.take());
        batch
            .map(|text| Output::Item(StreamItem::Batch(text)))
            .or_else(|| self.last.take())
    }

    /// Takes in what has happened, and says what to do next. What does not fit, such as a piece of a
    /// response that is not wanted any more, changes nothing.
    pub fn handle(&mut self, input: Input<'_>, now: Instant) -> Step {
        if matches!(self.state, State::Over) {
            return self.step();
        }
        match input {
            Input::Head { head, announced } => self.on_head(head, announced, now),
            Input::Chunk(piece) => self.on_chunk(piece),
            Input::End => self.on_end(now),
            Input::Spilled(spilled) => self.on_spilled(spilled),
            Input::Failed(error) => self.on_failed(&error, now),
            Input::Refused(error) => self.fail(error.into()),
            Input::Tick => self.on_tick(now),
            Input::Cancel => {
                let failure = self.abort();
                self.last = Some(Output::Failed(failure));
            }
        }
        self.step()
    }

    /// Ends it because the caller has gone, and returns what that is as an
    /// error.
    pub fn abort(&mut self) -> Failure {
        self.note_interruption();
        self.state = State::Over;
        let error = errors::aborted(&self.outgoing.host());
        self.described(error.into())
    }

    /// It is given up while a request may be in flight.
    fn note_interruption(&mut self) {
        if !matches!(self.state, State::Pausing(_)) {
            self.may_have_arrived = true;
        }
    }

    fn int64(&self) -> Option<Arc<Int64>> {
        self.about.as_ref()?.int64.clone()
    }

    fn is_served(&self) -> bool {
        self.about.as_ref().is_some_and(|about| about.is_served)
    }

    fn start_clock(&mut self, now: Instant) {
        self.limit = self.rules.timeout.and_then(|limit| now.checked_add(limit));
    }

    fn fail(&mut self, failure: Failure) {
        let failure = self.described(failure);
        self.finish(Output::Failed(failure));
    }

    /// A failure with what is known about the call.
    fn described(&self, mut failure: Failure) -> Failure {
        let error = errors::with_tries(*failure.error, self.tries);
        let error = errors::with_delivery(error, self.may_have_arrived);
        failure.error = Box::new(match self.about.as_deref() {
            Some(about) => errors::with_operation(error, about, self.outgoing.request()),
            None => error,
        });
        failure
    }

    fn finish(&mut self, last: Output) {
        self.last = Some(last);
        self.state = State::Over;
    }
}

//! The HTTP machine: a call or a stream from its request to its end, without I/O.
//!
//! A machine says what to do next ([`Step`]). Whoever has a network does it and says what came of it
//! ([`Input`]), and takes what is ready ([`Output`]). [`crate::Service`] drives it with reqwest;
//! `facade/openapi/fetch-driver.ts` drives it with a `fetch` of the user's. When to try again, where a
//! redirect leads, how a stream goes on, what is too large or too late, and how each of these reads
//! as an error: that is decided here, once, for both.
//!
//! | file | idea |
//! |---|---|
//! | `outgoing` | the request, and what redirects make of it |
//! | `redirect` | where a redirect leads, and what goes along |
//! | `retry` | which failures are worth another try, and when |
//! | `feed` | many events as one JSON text |
//! | `lines` | one JSON value per line |

mod feed;
mod lines;
mod outgoing;
pub mod redirect;
pub mod retry;

use std::sync::Arc;
use std::time::{Duration, Instant};

use operations_core::error::CallError;

pub use self::feed::StreamKind;
use self::feed::{Feed, batch_of};
pub use self::outgoing::Outgoing;
use self::retry::{Cause, Lost, Reconnect, RetryPolicy, asked_pause, random_fraction};
use crate::message::{
    BodyKind, Decoded, Failure, Int64, Reach, Reply, Request, ResponseHead, ResponseKind, Secret,
    decoded_reply, errors, served,
};
use crate::sse::Limits;
use operations_spill::Spilled;

/// What is set aside for a body before its first byte has come, whatever the server announces.
const LARGEST_GUESS: usize = 1024 * 1024;

/// How long a stream that was opened again has to last, with an event, before the attempts are forgotten.
const HOLDS: Duration = Duration::from_secs(5);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send [`Machine::outgoing`]. A response that is still open is not wanted any more.
    Send,
    /// Read a piece of the response.
    Read,
    /// Nothing, until [`Machine::deadline`].
    Sleep,
    /// [`Machine::take`] what is ready.
    Deliver,
    /// Nothing more.
    Done,
}

/// What has happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// The head of a response has come. Where the size of its body is known, it is `announced`.
    Head {
        /// The head.
        head: ResponseHead,
        /// Bytes of the body, after decompression.
        announced: Option<u64>,
    },
    /// A piece of its body.
    Chunk(&'a [u8]),
    /// The end of its body.
    End,
    /// The end of a body that is in a file ([`Machine::spilling`]).
    Spilled(Spilled),
    /// The network failed: there is no response, or no more of it.
    Failed(NetworkError),
    /// The request could not even be tried, and never can.
    Refused(CallError),
    /// [`Machine::deadline`] has passed.
    Tick,
    /// Nobody waits any more.
    Cancel,
}

/// Why the network failed.
#[derive(Debug, Clone, Default)]
pub struct NetworkError {
    /// Whether it is certain that the server has seen nothing of the request.
    pub never_connected: bool,
    /// The reason, in words.
    pub why: String,
    /// A word that programs know from Node, such as `ECONNREFUSED`.
    pub code: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub enum Output {
    /// The answer to a call, which is over with it.
    Reply(Reply),
    /// Something of a stream.
    Item(StreamItem),
    /// It has failed, and is over with that.
    Failed(Failure),
    /// The stream is over.
    End,
}

/// What a stream consists of, on its way to whoever consumes it.
#[derive(Debug)]
pub enum StreamItem {
    /// A response begins: what follows came with it.
    Head(ResponseHead, StreamKind),
    /// Members of the stream as one JSON text, in the notation of `machine/feed.rs`.
    Batch(String),
}

/// What the configuration of a service says about all its calls and streams.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// For a call as a whole; for a stream, for the head of its response.
    pub timeout: Option<Duration>,
    /// The largest body that is read as a whole.
    pub max_response_bytes: usize,
    /// Which failures are worth another try.
    pub retry: RetryPolicy,
    /// What one event, or one line, may cost.
    pub event_limits: Limits,
    /// Whether and how a stream is opened again.
    pub reconnect: Option<Reconnect>,
}

/// What errors say about the operation that was called.
#[derive(Debug, Clone)]
pub struct About {
    /// Its id.
    pub operation_id: String,
    /// As the document writes it.
    pub path: String,
    /// The types that the document declares for its responses.
    pub types: Vec<String>,
    /// What becomes of integers that a JavaScript number cannot hold.
    pub int64: Option<Arc<Int64>>,
    /// Whether the server is one of ours.
    pub is_served: bool,
}

/// A call or a stream under way.
#[derive(Debug)]
pub struct Machine {
    outgoing: Outgoing,
    reach: Arc<Reach>,
    about: Option<Box<About>>,
    secrets: Vec<Secret>,
    rules: Rules,
    /// What was promised, where a stream was asked for.
    promised: Option<ResponseKind>,
    last_event_id: String,
    /// Bytes beyond which the body of a success goes to a file.
    spill_over: Option<usize>,
    /// It goes to somebody who hands it on, instead, if it is binary data.
    passes_on: bool,
    state: State,
    /// When the time limit passes.
    limit: Option<Instant>,
    /// How often the request was sent; of a stream, since one has held.
    tries: u32,
    /// Whether the server may have seen any of it.
    may_have_arrived: bool,
    /// When the stream began that is open, and whether it has brought an event.
    opened: Option<Instant>,
    had_event: bool,
    /// There from the first response on that is a stream.
    feed: Option<Box<Feed>>,
    /// What is ready, in this order; events of the feed come before the last.
    head: Option<(ResponseHead, StreamKind)>,
    value: Option<String>,
    last: Option<Output>,
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
            rules,
            promised: None,
            last_event_id: String::new(),
            spill_over: None,
            passes_on: false,
            state: State::Sending,
            limit: None,
            tries: 1,
            may_have_arrived: false,
            opened: None,
            had_event: false,
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

    /// The same, for somebody who can put the body of a success into a file if it has more bytes than this.
    #[must_use]
    pub fn spilling_over(mut self, bytes: Option<usize>) -> Self {
        self.spill_over = bytes.filter(|_| self.promised.is_none());
        self
    }

    /// The same, for somebody who hands on binary data piece by piece if it has more bytes than this.
    #[must_use]
    pub fn passing_over(mut self, bytes: usize) -> Self {
        self.passes_on = true;
        self.spilling_over(Some(bytes))
    }

    /// The response whose body is to be handed on, by its head and its beginning. The machine is done with it.
    pub fn passed_on(&mut self) -> Option<(ResponseHead, Vec<u8>)> {
        if !self.is_passing_on() {
            return None;
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Spilling(head, start) => Some((head, start)),
            _ => None,
        }
    }

    /// Whether a response waits to be handed on ([`Machine::passed_on`]).
    #[must_use]
    pub fn is_passing_on(&self) -> bool {
        self.passes_on && matches!(self.state, State::Spilling(..))
    }

    /// Whether the body goes to a file; its beginning, if so. Whoever reads it writes it, and says
    /// [`Input::Spilled`] at its end.
    #[must_use]
    pub fn spilling(&self) -> Option<&[u8]> {
        match &self.state {
            State::Spilling(_, start) if !self.passes_on => Some(start),
            _ => None,
        }
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

    /// Ends it, in the name of somebody who does not wait any more, and tells what that is as an
    /// error.
    pub fn abort(&mut self) -> Failure {
        self.note_interruption();
        self.state = State::Over;
        let error = errors::aborted(&self.outgoing.host());
        self.described(error.into())
    }

    /// It is given up while a request may be under way.
    fn note_interruption(&mut self) {
        if !matches!(self.state, State::Pausing(_)) {
            self.may_have_arrived = true;
        }
    }

    fn on_head(&mut self, head: ResponseHead, announced: Option<u64>, now: Instant) {
        if !matches!(self.state, State::Sending) {
            return;
        }
        self.may_have_arrived = true;
        match self.outgoing.redirect(&head, &self.reach) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return self.fail(error.into()),
        }
        if let Some(promised) = self.promised.filter(|_| head.is_success()) {
            if matches!(head.status, 204 | 205) {
                return self.finish(Output::End);
            }
            match StreamKind::of_response(promised, &head) {
                Ok(Some(kind)) => return self.begin_stream(head, kind, now),
                Ok(None) => {}
                Err(error) => return self.fail(error.into()),
            }
        }
        let announced = announced.map_or(0, |size| usize::try_from(size).unwrap_or(usize::MAX));
        let has_limit = self.passes_on || !self.may_spill(&head);
        if announced > self.rules.max_response_bytes && has_limit {
            return self.too_large();
        }
        self.state = State::Collecting(head, Vec::with_capacity(announced.min(LARGEST_GUESS)));
    }

    fn begin_stream(&mut self, head: ResponseHead, kind: StreamKind, now: Instant) {
        let int64 = self.int64();
        let is_served = self.about.as_ref().is_some_and(|about| about.is_served);
        match &mut self.feed {
            Some(feed) if feed.kind() == kind => feed.begin_again(),
            other => {
                let mut feed = Feed::new(kind, self.rules.event_limits, &self.last_event_id, int64);
                if is_served {
                    feed.open_envelopes();
                }
                // What it took to open the stream does not count against opening it again.
                if other.replace(Box::new(feed)).is_none() {
                    self.tries = 1;
                }
            }
        }
        self.head = Some((head, kind));
        self.state = State::Streaming;
        self.opened = Some(now);
        self.had_event = false;
        // The time limit of a stream is for its head.
        self.limit = None;
    }

    fn int64(&self) -> Option<Arc<Int64>> {
        self.about.as_ref()?.int64.clone()
    }

    /// Whether the body may go elsewhere: that of an error never does.
    fn may_spill(&self, head: &ResponseHead) -> bool {
        self.spill_over.is_some()
            && head.is_success()
            && (!self.passes_on || self.may_pass_on(head))
    }

    /// Whether nobody has to look at the body: it is binary data, of a type that was declared.
    fn may_pass_on(&self, head: &ResponseHead) -> bool {
        let about = self.about.as_deref();
        head.kind() == BodyKind::Bytes
            && about.is_none_or(|about| !about.is_served && head.is_of_type(&about.types))
    }

    fn on_spilled(&mut self, spilled: Spilled) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Spilling(head, start) => {
                let reply = Reply::spilled(head, &start, spilled);
                self.finish(Output::Reply(reply));
            }
            other => self.state = other,
        }
    }

    fn on_chunk(&mut self, piece: &[u8]) {
        if let (State::Collecting(head, body), Some(over)) = (&self.state, self.spill_over)
            && body.len() + piece.len() > over
            && self.may_spill(head)
        {
            if self.passes_on && body.len() + piece.len() > self.rules.max_response_bytes {
                return self.too_large();
            }
            if let State::Collecting(head, mut body) =
                std::mem::replace(&mut self.state, State::Over)
            {
                body.extend_from_slice(piece);
                self.state = State::Spilling(head, body);
            }
            return;
        }
        match (&mut self.state, &mut self.feed) {
            (State::Collecting(_, body), _) => {
                if piece.len() > self.rules.max_response_bytes - body.len() {
                    return self.too_large();
                }
                body.extend_from_slice(piece);
            }
            (State::Streaming, Some(feed)) => {
                feed.push(piece);
                self.look_at_feed();
            }
            _ => {}
        }
    }

    /// After the feed has read something: what cannot be read ends the stream.
    fn look_at_feed(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        self.had_event |= feed.has_events();
        if let Some(error) = feed.take_failure() {
            self.fail(error.into());
        }
    }

    fn on_end(&mut self, now: Instant) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Collecting(head, body) => self.on_whole_body(head, body, now),
            State::Streaming => self.on_stream_end(None, now),
            other => self.state = other,
        }
    }

    fn on_whole_body(&mut self, head: ResponseHead, body: Vec<u8>, now: Instant) {
        let cause = Cause::Status(head.status);
        let asked = asked_pause(&head);
        let is_served = self.about.as_ref().is_some_and(|about| about.is_served);
        match decoded_reply(head, body, &self.secrets) {
            Err(failure) if is_served => {
                self.on_refusal(served::told(failure), Some(cause), asked, now);
            }
            Err(failure) => self.on_refusal(failure, Some(cause), asked, now),
            Ok(mut reply) if self.promised.is_none() => {
                if is_served {
                    served::open(&mut reply);
                }
                if let (Some(about), true) = (&self.about, reply.body != Decoded::Empty) {
                    reply.head.compare_type(&about.types);
                    reply.keep_integers(about.int64.as_deref());
                }
                self.finish(Output::Reply(reply));
            }
            // One value in the place of a stream is a stream of one line.
            Ok(reply) => {
                if let Decoded::Json(text) = reply.body {
                    self.head = Some((reply.head, StreamKind::Lines));
                    self.value = batch_of(&text, self.int64());
                }
                self.finish(Output::End);
            }
        }
    }

    fn on_failed(&mut self, error: &NetworkError, now: Instant) {
        let NetworkError { why, code, .. } = error;
        self.may_have_arrived |= !error.never_connected;
        let host = self.outgoing.host();
        let failure = errors::network_failure(&host, why, code.as_deref(), &self.secrets);
        match self.state {
            State::Streaming => self.on_stream_end(Some(failure), now),
            State::Sending | State::Collecting(..) | State::Spilling(..) => {
                let cause = if error.never_connected {
                    Cause::NeverConnected
                } else {
                    Cause::ConnectionLost
                };
                self.on_refusal(failure.into(), Some(cause), None, now);
            }
            State::Pausing(_) | State::Over => {}
        }
    }

    fn on_tick(&mut self, now: Instant) {
        if self.limit.is_some_and(|limit| now >= limit) {
            self.note_interruption();
            let limit = self.rules.timeout.unwrap_or_default().as_millis();
            let failure = errors::timed_out(&self.outgoing.host(), limit);
            // A stream that is opened again does not give up at the first delay. Anything else does:
            // whoever set a limit does not want to wait for another try.
            let cause = self.feed.is_some().then_some(Cause::ConnectionLost);
            self.on_refusal(failure.into(), cause, None, now);
        } else if let State::Pausing(until) = self.state
            && now >= until
        {
            self.tries = self.tries.saturating_add(1);
            self.outgoing.restart();
            if let Some(feed) = &self.feed {
                self.outgoing.resume_after(feed.last_event_id());
            }
            self.state = State::Sending;
            if self.promised.is_some() {
                self.start_clock(now);
            }
        }
    }

    /// There was no success, this time. Without a cause, another try would not change that.
    fn on_refusal(
        &mut self,
        failure: Failure,
        cause: Option<Cause>,
        asked: Option<Duration>,
        now: Instant,
    ) {
        let pause = cause.and_then(|cause| {
            if self.feed.is_some() {
                return self.reopening_delay(Some(cause), asked);
            }
            let method = &self.outgoing.request().method;
            let retry = self.rules.retry;
            retry.delay(self.tries, method, cause, asked, random_fraction())
        });
        match pause.and_then(|pause| now.checked_add(pause)) {
            Some(until) => self.pause(until),
            None => self.fail(failure),
        }
    }

    /// The connection of a stream has ended, with an error or without.
    fn on_stream_end(&mut self, error: Option<CallError>, now: Instant) {
        if let Some(feed) = &mut self.feed {
            feed.finish();
        }
        self.look_at_feed();
        if self.last.is_some() {
            return;
        }
        let has_held = |opened: Instant| now.saturating_duration_since(opened) >= HOLDS;
        if self.had_event && self.opened.is_some_and(has_held) {
            self.tries = 1;
        }
        let pause = self.reopening_delay(None, None);
        match (pause.and_then(|pause| now.checked_add(pause)), error) {
            (Some(until), _) => self.pause(until),
            (None, Some(error)) => self.fail(error.into()),
            (None, None) => self.finish(Output::End),
        }
    }

    fn reopening_delay(&self, cause: Option<Cause>, asked: Option<Duration>) -> Option<Duration> {
        let feed = self.feed.as_ref()?;
        // A stream of lines has no ids to go on from: what was sent would be sent again.
        let policy = self.rules.reconnect?;
        if !policy.any_method && self.outgoing.first_method() != "GET" {
            return None;
        }
        let lost = Lost {
            attempts: self.tries - 1,
            cause,
            stream_asks: feed.reconnection_time(),
            server_asks: asked,
        };
        let pause = policy.delay(lost, random_fraction());
        pause.filter(|_| feed.kind() == StreamKind::Events)
    }

    fn pause(&mut self, until: Instant) {
        self.state = State::Pausing(until);
        if self.promised.is_some() {
            self.limit = None;
        }
    }

    fn start_clock(&mut self, now: Instant) {
        self.limit = self.rules.timeout.and_then(|limit| now.checked_add(limit));
    }

    fn too_large(&mut self) {
        let limit = self.rules.max_response_bytes;
        self.fail(errors::too_large(&self.outgoing.host(), limit).into());
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

//! The other end of a connection, for its callers.
//!
//! - `requests`: the requests to it, and who waits for what;
//! - `outbox`: what waits to be written;
//! - `control_requests`: discovery and offers;
//! - `outbound`: calls and subscriptions from Rust.

mod control_requests;
mod outbound;
mod outbox;
mod requests;

use std::sync::{Arc, Mutex, OnceLock};

use operations_core::call::submission::{self, NewRequest};
use operations_core::call::{Answer, CallEvent, Refusal, Refused};
use operations_core::clock::{self, now};
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

pub use outbound::{CallResult, Outbound, Subscription};
pub(crate) use outbox::Unsent;

use crate::errors;
use crate::frame;
use crate::limits::{PAGE_BYTES, PATIENCE, STREAMS_WAIT};
use requests::{Ending, Link, State, To, post};

/// The other end of a connection.
pub struct Peer {
    state: Mutex<State>,
    /// Woken when there is something to write.
    outgoing: Notify,
    /// Woken when there is room for streams again.
    room: Notify,
    /// Woken when a timer is due earlier than the clock task knows.
    clock: Arc<Notify>,
    over: CancellationToken,
    /// Acts when a timer is due.
    ticking: OnceLock<AbortOnDropHandle<()>>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

impl Peer {
    /// A peer to whom there is no connection yet. `name` is for messages.
    #[must_use]
    pub fn new(name: &str) -> Arc<Self> {
        let peer = Arc::new(Self {
            state: Mutex::new(State::new(name)),
            outgoing: Notify::new(),
            room: Notify::new(),
            clock: Arc::default(),
            over: CancellationToken::new(),
            ticking: OnceLock::new(),
        });
        let (ticked, clock) = (Arc::downgrade(&peer), Arc::clone(&peer.clock));
        let over = peer.over.clone();
        let ticking = tokio::spawn(async move {
            // The peer is not held while this waits: it is freed with its last handle.
            let next_due = || {
                let peer = ticked.upgrade()?;
                Some(locked(&peer.state).pending.next_due())
            };
            let ticking = async {
                while let Some(due) = next_due() {
                    let Some(due) = due else {
                        clock.notified().await;
                        continue;
                    };
                    tokio::select! {
                        () = clock.notified() => {}
                        () = sleep(clock::until(due)) => if let Some(peer) = ticked.upgrade() {
                            peer.act(|now, state, waking| {
                                let effects = state.pending.tick(now);
                                state.carry_out(effects, None, waking);
                            });
                        },
                    }
                }
            };
            tokio::select! {
                () = over.cancelled() => {}
                () = ticking => {}
            }
        });
        let _ = peer.ticking.set(AbortOnDropHandle::new(ticking));
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

    // For callers.

    /// Sends the calls of one turn of JavaScript's ([`submission::calls`]). One that cannot be sent fails as one that was.
    pub fn call_all(&self, mailbox: &Arc<Mailbox>, text: &str) {
        self.act(|now, state, waking| {
            for request in submission::calls(text) {
                let id = request.id.clone();
                let to = To::Host(Arc::clone(mailbox));
                if let Err(error) = state.request(now, request, to) {
                    post(mailbox, Item::failed(&id, &error), waking);
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
        locked(&self.state).outbox.bytes()
    }

    /// What the other end serves, as a JSON list.
    ///
    /// # Errors
    ///
    /// When it does not say.
    pub async fn discover(&self) -> Result<String, CallError> {
        self.ask("The request for what is served there", |id| {
            vec![frame::write("hub.discover", id, "{}")]
        })
        .await
    }

    /// Offers operations, each of which is JSON. Returns what the other end makes of it, a JSON object.
    ///
    /// # Errors
    ///
    /// When it does not take them.
    pub fn offer(&self, operations: &[String]) -> impl Future<Output = Result<String, CallError>> {
        self.ask("The offer of operations", |id| {
            frame::list("hub.offer", id, operations, PAGE_BYTES)
        })
    }

    /// The request is on its way when this returns; the future waits for the response.
    fn ask(
        &self,
        what: &'static str,
        question: impl FnOnce(&str) -> Vec<String>,
    ) -> impl Future<Output = Result<String, CallError>> {
        let asked = self.act(|_, state, _| {
            match &state.link {
                Link::Up => {}
                Link::Over(Ending::Closed) => return Err(errors::not_asked(what)),
                _ => return Err(errors::unanswered(what, "there is no connection")),
            }
            let (id, reply) = state.control_requests.open();
            for text in question(&id) {
                state.write(text);
            }
            Ok((id, reply))
        });
        async move {
            let (id, reply) = asked?;
            let reply = timeout(PATIENCE, reply).await;
            locked(&self.state).control_requests.forget(&id);
            match reply {
                Ok(Ok(reply)) => reply,
                Ok(Err(_)) => Err(errors::unanswered(what, "the connection is lost")),
                Err(_) => Err(errors::unanswered(
                    what,
                    "the other side says nothing. It may not know this request",
                )),
            }
        }
    }

    // For the session.

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

    /// The other end does not let us in: what waits for a connection fails, because waiting longer would not help.
    pub fn refused_us(&self, refusal: &CallError) {
        self.act(|_, state, waking| state.fail_waiting(refusal, waking));
        self.room.notify_waiters();
    }

    /// The connection was closed on this side, for good. Everything fails.
    pub fn close(&self) {
        self.end(Ending::Closed);
    }

    /// The peer is gone, for good. Everything fails.
    pub fn lost(&self, why: &str) {
        self.end(Ending::Lost(why.to_owned()));
    }

    fn end(&self, ending: Ending) {
        self.act(|_, state, waking| state.end(ending, waking));
        self.over.cancel();
        self.outgoing.notify_one();
        self.room.notify_waiters();
    }

    /// Whether there will never be a connection again.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// The other end knows frames of type `hub.*`.
    pub(crate) fn hello(&self, max_frame_bytes: Option<u64>, max_stream_bytes: Option<u64>) {
        let mut state = locked(&self.state);
        state.is_paced = true;
        if let Some(bytes) = max_frame_bytes {
            state.max_frame_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(bytes) = max_stream_bytes {
            state.max_stream_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
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

    /// Bytes of a stream's events that the other end lets wait, as far as it has said so.
    pub(crate) fn max_stream_bytes(&self) -> usize {
        locked(&self.state).max_stream_bytes
    }

    /// Counts a frame that follows no protocol of ours. Returns how many there were.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> u64 {
        let mut state = locked(&self.state);
        state.refused.count(refusal);
        state.refused.total()
    }

    /// Something for a request of ours. Returns whether the other end reads the replies fast enough.
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
        state.control_requests.listed(id, part, has_more, most);
    }

    /// The response to a control request.
    pub(crate) fn answered(&self, id: &str, answer: Result<String, CallError>) {
        locked(&self.state).control_requests.answered(id, answer);
    }

    /// Writes a frame that is no request. Returns whether the other end reads fast enough.
    pub(crate) fn write(&self, frame: impl Into<Unsent>) -> bool {
        self.act(|_, state, _| {
            state.write(frame);
            state.is_read()
        })
    }

    /// Writes the first frame of a connection. What it says is known before anything that waited is begun.
    pub(crate) fn write_first(&self, text: String) {
        self.act(|_, state, _| state.write_first(text));
    }

    /// Waits until there is room for an event of a stream.
    pub(crate) async fn room(&self) {
        loop {
            let waiting = self.room.notified();
            if locked(&self.state).outbox.bytes() < STREAMS_WAIT {
                return;
            }
            waiting.await;
        }
    }

    /// What is to be written next; nothing while there is nothing. What it gives counts as sent.
    pub(crate) async fn next_frames(&self, bytes: usize) -> Vec<Unsent> {
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

    fn take(&self, bytes: usize) -> Vec<Unsent> {
        let mut state = locked(&self.state);
        let taken = state.take(bytes);
        if state.outbox.bytes() < STREAMS_WAIT {
            self.room.notify_waiters();
        }
        taken
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Ends the task of its clock.
        self.over.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MOST_BYTES_WAITING;

    #[tokio::test]
    async fn a_peer_is_freed_with_its_last_handle() {
        let peer = Peer::new("ada");
        // Its clock waits.
        tokio::task::yield_now().await;
        let freed = Arc::downgrade(&peer);
        drop(peer);
        assert!(freed.upgrade().is_none());
    }

    #[tokio::test]
    async fn a_peer_that_sends_unrequested_responses_has_to_read_the_replies() {
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

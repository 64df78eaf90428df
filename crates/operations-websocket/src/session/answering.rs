//! Calls of the other end.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use operations_core::byte_budget::{Held, Share, exhausted};
use operations_core::call::{Refusal, RequestedEvent, TooLarge, output_cannot_be_sent};
use operations_core::error::CallError;
use operations_core::json::check_written;
use operations_core::lock::locked;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::{End, Session, call_bytes};
use crate::errors;
use crate::frame;
use crate::limits::STREAM_WINDOW;
use crate::peer::Unsent;
use crate::serving::{Answered, Incoming};

/// A call of the other end.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) cancel: CancellationToken,
    up_to: AtomicU64,
    more: Notify,
}

/// Events of a stream that were sent, and of which it is not known that they were consumed.
#[derive(Debug, Default)]
struct Unread {
    sizes: VecDeque<usize>,
    bytes: usize,
    sent: u64,
}

impl Unread {
    fn sent(&mut self, bytes: usize) {
        self.sizes.push_back(bytes);
        self.bytes += bytes;
        self.sent += 1;
    }

    /// All up to this number were consumed.
    fn consumed(&mut self, up_to: u64) {
        let left = usize::try_from(self.sent.saturating_sub(up_to)).unwrap_or(usize::MAX);
        while self.sizes.len() > left
            && let Some(bytes) = self.sizes.pop_front()
        {
            self.bytes -= bytes;
        }
    }
}

impl Session {
    /// Begins with a call of the other end.
    pub(super) fn begin(self: &Arc<Self>, event: &RequestedEvent<'_>) -> Option<End> {
        let refusal = {
            let mut running = locked(&self.running);
            if running.contains_key(&event.request_id) {
                drop(running);
                return self.refuse(&Refusal::Field("requestId"));
            }
            if self.closing.is_cancelled() {
                Some(errors::closing(&event.operation_id))
            } else if running.len() >= self.settings.max_calls {
                let limit = self.settings.max_calls;
                Some(errors::too_many_calls(&event.operation_id, limit))
            } else if let Some((bytes, permits)) = self.bytes_for(event) {
                let held = self.serving.bytes().map(|share| Arc::new(share.hold()));
                if held.as_ref().is_some_and(|held| !held.try_add(bytes)) {
                    drop(running);
                    self.write(frame::error(&event.request_id, &exhausted("none")));
                    return None;
                }
                let new = Arc::new(Running {
                    up_to: AtomicU64::new(STREAM_WINDOW),
                    ..Running::default()
                });
                running.insert(event.request_id.clone(), Arc::clone(&new));
                let session = Arc::clone(self);
                let incoming = Incoming {
                    held,
                    ..Incoming::from(event)
                };
                self.tasks.spawn(session.answer(incoming, new, permits));
                None
            } else {
                let limit = call_bytes(&self.settings);
                Some(errors::too_many_call_bytes(&event.operation_id, limit))
            }
        };
        if let Some(error) = refusal {
            self.write(frame::error(&event.request_id, &error));
        }
        None
    }

    /// The size of what a call holds until it is answered, and permits for it.
    fn bytes_for(&self, event: &RequestedEvent<'_>) -> Option<(usize, OwnedSemaphorePermit)> {
        let held = [
            event.input,
            event.metadata,
            event.identity,
            event.trace.as_deref(),
        ];
        let bytes: usize = held.into_iter().flatten().map(str::len).sum();
        let permits = u32::try_from(bytes).ok()?;
        let permits = Arc::clone(&self.call_bytes).try_acquire_many_owned(permits);
        Some((bytes, permits.ok()?))
    }

    async fn answer(
        self: Arc<Self>,
        incoming: Incoming,
        running: Arc<Running>,
        permits: OwnedSemaphorePermit,
    ) {
        let id = incoming.request_id.clone();
        let operation = incoming.operation_id.clone();
        let held = incoming.held.clone();
        let work = async {
            match self.serving.call(incoming).await? {
                Answered::One(output) => self.responded(&id, &operation, &output),
                Answered::Many(events) => {
                    self.stream(&id, &operation, events, &running).await?;
                    Ok(frame::completed(&id))
                }
            }
        };
        let work = AssertUnwindSafe(work).catch_unwind();
        let outcome = tokio::select! {
            biased;
            // When the connection is over, too.
            () = running.cancel.cancelled() => None,
            outcome = work => Some(outcome),
        };
        // It is removed before its caller gets the answer, and may use the id again.
        locked(&self.running).remove(&id);
        drop((permits, held));
        let outcome: Result<String, CallError> = match outcome {
            None => return,
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => Err(CallError::from_panic(&*panic)),
        };
        match outcome {
            Ok(text) => match self.hold(&text) {
                Ok(held) => self.write(Unsent { text, held }),
                Err(error) => self.write(frame::error(&id, &error)),
            },
            Err(error) => {
                let mut text = frame::error(&id, &error);
                if text.len() > self.peer.max_frame_bytes() {
                    let short: String = error.message.chars().take(1_024).collect();
                    text = frame::error(&id, &CallError::new(error.code, short));
                }
                self.write(text);
            }
        }
    }

    /// Counts an answer until it is written.
    fn hold(&self, text: &str) -> Result<Option<Held>, CallError> {
        let Some(share) = self.serving.bytes() else {
            return Ok(None);
        };
        let held = share.try_hold(text.len());
        held.map(Some).ok_or_else(|| exhausted("unknown"))
    }

    /// The frame with an answer, or with an event of a stream.
    fn responded(&self, id: &str, operation: &str, output: &str) -> Result<String, CallError> {
        // It is two levels down in its frame.
        check_written(2, output).map_err(|why| output_cannot_be_sent(operation, &why))?;
        let text = frame::responded(id, output);
        let limit = self.peer.max_frame_bytes();
        if text.len() > limit {
            return Err(errors::too_large(
                TooLarge::Output,
                operation,
                text.len(),
                limit,
            ));
        }
        Ok(text)
    }

    async fn stream(
        &self,
        id: &str,
        operation: &str,
        mut events: BoxStream<'static, Result<String, CallError>>,
        running: &Running,
    ) -> Result<(), CallError> {
        let mut unread = Unread::default();
        let share = self.serving.bytes().map(|share| share.of_streams());
        let flowing = async {
            while let Some(next) = events.next().await {
                let next = next?;
                let text = self.responded(id, operation, &next)?;
                let held = share.as_ref().map(Share::hold_responses);
                if let Some(held) = &held {
                    held.add(text.len());
                }
                self.write(Unsent { text, held });
                unread.sent(next.len());
                while self.peer.is_paced() {
                    let up_to = running.up_to.load(Ordering::Acquire);
                    unread.consumed(up_to.saturating_sub(STREAM_WINDOW));
                    if unread.sent < up_to && unread.bytes < self.peer.max_stream_bytes() {
                        break;
                    }
                    running.more.notified().await;
                }
                if !self.peer.is_paced() {
                    unread.consumed(unread.sent);
                }
                self.peer.room().await;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            // A stream may have no end: nothing is gained by waiting for it.
            () = self.closing.cancelled() => Err(errors::stream_closed(operation)),
            outcome = flowing => outcome,
        }
    }

    /// Ends a call of the other end. Returns whether there is such a call.
    pub(super) fn abort(&self, id: &str) -> bool {
        let running = locked(&self.running).get(id).map(Arc::clone);
        if let Some(running) = &running {
            running.cancel.cancel();
        }
        running.is_some()
    }

    /// Events of a stream up to this number may be sent.
    pub(super) fn credit(&self, id: &str, up_to: u64) {
        let running = locked(&self.running).get(id).map(Arc::clone);
        if let Some(running) = running {
            running.up_to.fetch_max(up_to, Ordering::AcqRel);
            running.more.notify_one();
        }
    }
}

//! Messages that wait to be sent.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use operations_core::error::CallError;
use operations_core::lock::locked;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::options::Options;
use crate::problem::refused;

/// What may wait to be sent. Beyond either, publishing is refused.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
const WAITING_MESSAGES: usize = 65_536;
/// What is sent in one go.
const BATCH_BYTES: usize = 1024 * 1024;
const BATCH_MESSAGES: usize = 512;

/// A message on its way.
pub(crate) struct Outgoing {
    pub(crate) channel: String,
    pub(crate) text: String,
    /// Its sender waits for an answer, and gets an error when it is not sent.
    pub(crate) request_id: Option<String>,
    /// What must be subscribed first.
    pub(crate) after: u64,
    /// Until when it may wait for a connection.
    pub(crate) until: Instant,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Outgoing>,
    bytes: usize,
}

/// Messages that wait to be sent.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
    /// Waiting or being sent.
    unfinished: AtomicUsize,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }

    /// Takes a message in, if there is room.
    pub(crate) fn push(&self, message: Outgoing, options: &Options) -> Result<(), CallError> {
        let mut queue = self.lock();
        if queue.messages.len() >= WAITING_MESSAGES
            || queue.bytes + message.text.len() > WAITING_BYTES
        {
            return Err(refused(
                format!(
                    "{} messages wait to be sent to Redis at {}: it does not keep up, or cannot be reached",
                    queue.messages.len(),
                    options.server()
                ),
                "overloaded",
                options,
            ));
        }
        queue.bytes += message.text.len();
        queue.messages.push_back(message);
        drop(queue);
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.filled.notify_one();
        Ok(())
    }

    pub(crate) fn take(&self, mut may_take: impl FnMut(&Outgoing, usize) -> bool) -> Vec<Outgoing> {
        let mut queue = self.lock();
        let mut taken = Vec::new();
        while queue
            .messages
            .front()
            .is_some_and(|next| may_take(next, taken.len()))
        {
            let Some(message) = queue.messages.pop_front() else {
                break;
            };
            queue.bytes -= message.text.len();
            taken.push(message);
        }
        taken
    }

    /// The next messages that need nothing to be subscribed beyond `confirmed`.
    pub(crate) fn take_batch(&self, confirmed: u64) -> Vec<Outgoing> {
        let mut bytes = 0;
        self.take(|next, count| {
            bytes += next.text.len();
            next.after <= confirmed
                && (count == 0 || (count < BATCH_MESSAGES && bytes <= BATCH_BYTES))
        })
    }

    /// Puts messages without receivers back, before all others and in their order.
    pub(crate) fn put_back(&self, messages: Vec<Outgoing>) {
        let mut queue = self.lock();
        for message in messages.into_iter().rev() {
            queue.bytes += message.text.len();
            queue.messages.push_front(message);
        }
    }

    pub(crate) async fn is_filled(&self) {
        while self.lock().messages.is_empty() {
            self.filled.notified().await;
        }
    }

    /// The first message: what must be subscribed before it, and until when it may wait.
    pub(crate) fn first(&self) -> Option<(u64, Instant)> {
        self.lock()
            .messages
            .front()
            .map(|first| (first.after, first.until))
    }

    /// A message is sent, or given up. Says whether it was the last.
    pub(crate) fn finish(&self) -> bool {
        self.unfinished.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

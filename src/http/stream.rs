//! An open stream, for the facade.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use napi::bindgen_prelude::{Array, Either, Env, spawn};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_http::message::HttpOperation;
use operations_http::message::{Decoded, ResponseHead, transport};
use operations_http::{Failure, Opened, Service, StreamKind};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::input::Encoded;
use super::outcome::meta_text;
use crate::completions::{Outcome, Queue};

/// What a stream says next.
enum Item {
    /// A response begins.
    Head(String, StreamKind),
    /// Events, as one JSON text.
    Batch(String),
    /// It has failed.
    Failed(Failure),
    /// It is over.
    End,
}

/// What `take` answers instead of a batch.
mod code {
    /// Nothing yet; a result arrives under the id of the stream.
    pub(super) const WAIT: u32 = 0;
    pub(super) const END: u32 = 1;
    /// `head` tells about the events that follow.
    pub(super) const EVENTS: u32 = 2;
    /// `head` tells about the lines that follow.
    pub(super) const LINES: u32 = 3;
    /// `failure` tells why.
    pub(super) const FAILED: u32 = 4;
}

/// Between the task that reads and JavaScript. One batch at most waits here, one more is in the
/// making; then nothing is read, and the server has to wait.
struct Slot {
    id: u32,
    queue: Arc<Queue>,
    state: Mutex<State>,
    room: Notify,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// JavaScript has found nothing and waits to be told.
    waiting: bool,
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, item: Item) {
        let mut state = self.state();
        state.items.push_back(item);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if waiting {
            self.queue.push(self.id, Outcome::Ready);
        }
    }

    /// Waits until the batch before this one has been taken.
    async fn push_batch(&self, text: String) {
        loop {
            let room = self.room.notified();
            let has_room = !self
                .state()
                .items
                .iter()
                .any(|item| matches!(item, Item::Batch(_)));
            if has_room {
                return self.push(Item::Batch(text));
            }
            room.await;
        }
    }

    fn push_head(&self, head: &ResponseHead, kind: StreamKind) {
        self.push(Item::Head(meta_text(head), kind));
    }
}

/// An open stream. The connection is closed when it is collected, at the latest.
#[napi]
pub struct HttpStream {
    slot: Arc<Slot>,
    open: Option<DropGuard>,
    head: String,
    failure: Option<Failure>,
}

impl HttpStream {
    pub(super) fn start(
        id: u32,
        queue: Arc<Queue>,
        service: Arc<Service>,
        operation: Arc<HttpOperation>,
        encoded: Encoded,
        all: CancellationToken,
    ) -> Self {
        let slot = Arc::new(Slot {
            id,
            queue,
            state: Mutex::default(),
            room: Notify::new(),
        });
        let own = CancellationToken::new();
        let open = Some(own.clone().drop_guard());
        let for_task = Arc::clone(&slot);
        spawn(async move {
            let slot = for_task;
            let read = AssertUnwindSafe(read(&slot, &service, &operation, encoded));
            tokio::select! {
                biased;
                // Nobody listens any more.
                () = own.cancelled() => {}
                () = all.cancelled() => {
                    slot.push(Item::Failed(transport::aborted("the service").into()));
                }
                ended = read.catch_unwind() => slot.push(match ended {
                    Ok(Ok(())) => Item::End,
                    Ok(Err(failure)) => Item::Failed(failure),
                    Err(payload) => Item::Failed(CallError::from_panic(&*payload).into()),
                }),
            }
        });
        Self {
            slot,
            open,
            head: String::new(),
            failure: None,
        }
    }
}

async fn read(
    slot: &Slot,
    service: &Arc<Service>,
    operation: &HttpOperation,
    encoded: Encoded,
) -> Result<(), Failure> {
    let input = encoded.decode(operation)?;
    let mut reader = match service.open(operation, input).await? {
        Opened::Nothing => return Ok(()),
        Opened::One(reply) => {
            slot.push_head(&reply.head, StreamKind::Lines);
            if let Decoded::Json(text) = reply.body {
                slot.push_batch(format!("[{text}]")).await;
            }
            return Ok(());
        }
        Opened::Stream(reader) => reader,
    };
    let kind = reader.kind();
    slot.push_head(reader.head(), kind);
    while let Some(batch) = reader.next_batch().await? {
        if let Some(head) = batch.head {
            slot.push_head(&head, kind);
        }
        slot.push_batch(batch.text).await;
    }
    Ok(())
}

#[napi]
impl HttpStream {
    /// What comes next: a batch, or a number that says what else.
    #[napi]
    pub fn take(&mut self) -> Either<String, u32> {
        let mut state = self.slot.state();
        let Some(item) = state.items.pop_front() else {
            state.waiting = true;
            return Either::B(code::WAIT);
        };
        drop(state);
        match item {
            Item::Batch(text) => {
                self.slot.room.notify_one();
                Either::A(text)
            }
            Item::Head(head, kind) => {
                self.head = head;
                Either::B(match kind {
                    StreamKind::Events => code::EVENTS,
                    StreamKind::Lines => code::LINES,
                })
            }
            Item::End => Either::B(code::END),
            Item::Failed(failure) => {
                self.failure = Some(failure);
                Either::B(code::FAILED)
            }
        }
    }

    /// What an envelope says about the response, as JSON.
    #[napi]
    pub fn head(&mut self) -> String {
        std::mem::take(&mut self.head)
    }

    /// Why the stream has failed: kind, text and body, as results have them.
    #[napi]
    pub fn failure<'env>(&mut self, env: &'env Env) -> napi::Result<Array<'env>> {
        let mut array = env.create_array(0)?;
        if let Some(failure) = self.failure.take() {
            Outcome::Failed(*failure.error, failure.body).write(env, &mut array, 0)?;
        }
        Ok(array)
    }

    /// Closes the connection.
    #[napi]
    pub fn close(&mut self) {
        self.open = None;
    }
}

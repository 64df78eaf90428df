//! A stream on its way to a consumer that comes for it when it likes, on another thread.

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use operations_core::error::CallError;
use operations_core::lock::locked;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::drive::StreamReader;
use super::service::Service;
use crate::machine::{Output, StreamItem};
use crate::message::{EncodedInput, Failure, HttpOperation};

/// Between the task that reads a stream and its consumer. One batch at most waits here, one more is
/// in the making; then nothing is read, and the server has to wait.
pub struct Handover {
    state: Mutex<State>,
    room: Notify,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    outputs: VecDeque<Output>,
    /// The consumer has found nothing and waits to be woken.
    waiting: bool,
}

impl fmt::Debug for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handover").finish_non_exhaustive()
    }
}

impl Handover {
    /// `wake` is called once after each [`Handover::take`] that found nothing, when there is something.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            room: Notify::new(),
            wake: Box::new(wake),
        })
    }

    /// What comes next, if it is there.
    pub fn take(&self) -> Option<Output> {
        let mut state = self.state();
        let output = state.outputs.pop_front();
        state.waiting = output.is_none();
        drop(state);
        if is_batch(output.as_ref()) {
            self.room.notify_one();
        }
        output
    }

    /// Reads a stream to its end, or until one of the tokens ends it: `left` when the consumer does not listen any
    /// more, `closed` when the service is closed under those who do.
    pub async fn run(
        &self,
        service: &Arc<Service>,
        operation: &HttpOperation,
        input: EncodedInput,
        left: CancellationToken,
        closed: CancellationToken,
    ) {
        let reading = AssertUnwindSafe(self.read(service, operation, input, closed));
        tokio::select! {
            biased;
            () = left.cancelled() => {}
            ended = reading.catch_unwind() => self.push(match ended {
                Ok(Ok(())) => Output::End,
                Ok(Err(failure)) => Output::Failed(failure),
                Err(payload) => Output::Failed(CallError::from_panic(&*payload).into()),
            }),
        }
    }

    async fn read(
        &self,
        service: &Arc<Service>,
        operation: &HttpOperation,
        input: EncodedInput,
        closed: CancellationToken,
    ) -> Result<(), Failure> {
        let input = input.decode(operation)?;
        let mut reader = service.reader(operation, input)?;
        tokio::select! {
            biased;
            () = closed.cancelled() => Err(reader.abort()),
            ended = self.pass_on(&mut reader) => ended,
        }
    }

    async fn pass_on(&self, reader: &mut StreamReader) -> Result<(), Failure> {
        while let Some(item) = reader.next().await? {
            if matches!(item, StreamItem::Batch(_)) {
                self.has_room().await;
            }
            self.push(Output::Item(item));
        }
        Ok(())
    }

    /// Waits until the batch before has been taken.
    async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            if !self.state().outputs.iter().any(|one| is_batch(Some(one))) {
                return;
            }
            room.await;
        }
    }

    fn push(&self, output: Output) {
        let mut state = self.state();
        state.outputs.push_back(output);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if waiting {
            (self.wake)();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn is_batch(output: Option<&Output>) -> bool {
    matches!(output, Some(Output::Item(StreamItem::Batch(_))))
}

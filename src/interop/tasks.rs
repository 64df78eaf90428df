//! Work off the JavaScript thread, under numbers that the facade gives.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use napi::bindgen_prelude::spawn;
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use tokio_util::sync::CancellationToken;

/// How work is asked to end.
type Cancel = Box<dyn FnOnce() + Send>;
type Running = Arc<Mutex<HashMap<u32, Cancel>>>;

/// The work of one owner. It is cancelled when the owner goes.
pub(crate) struct Tasks {
    mailbox: Arc<Mailbox>,
    running: Running,
}

impl Tasks {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            running: Running::default(),
        }
    }

    /// Runs work. The item that it ends with goes to the mailbox; of work that panics, one that says so.
    pub(crate) fn run<F>(&self, id: u32, work: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = Item> + Send + 'static,
    {
        let token = CancellationToken::new();
        let cancel = token.clone();
        locked(&self.running).insert(id, Box::new(move || cancel.cancel()));
        // Boxed at once: the future of a call is large, and is moved several times on its way.
        let work = AssertUnwindSafe(Box::pin(work(token))).catch_unwind();
        let (running, mailbox) = (Arc::clone(&self.running), Arc::clone(&self.mailbox));
        spawn(async move {
            let item = work
                .await
                .unwrap_or_else(|payload| Item::failed(id, &CallError::from_panic(&*payload)));
            locked(&running).remove(&id);
            mailbox.push(item);
        });
    }

    /// Starts work that is no task. `start` is given how it ends, which must not happen on this thread before it returns,
    /// and gives back how it is cancelled. If it fails, the work has failed.
    pub(crate) fn begin<C>(
        &self,
        id: u32,
        start: impl FnOnce(Box<dyn FnOnce(Item) + Send>) -> Result<C, CallError>,
    ) where
        C: FnOnce() + Send + 'static,
    {
        let (running, mailbox) = (Arc::clone(&self.running), Arc::clone(&self.mailbox));
        let end = Box::new(move |item| {
            locked(&running).remove(&id);
            mailbox.push(item);
        });
        // Held until the work is noted: its end waits for that.
        let mut noted = locked(&self.running);
        match start(end) {
            Ok(cancel) => drop(noted.insert(id, Box::new(cancel))),
            Err(error) => self.mailbox.push(Item::failed(id, &error)),
        }
    }

    /// Asks work to end. What comes of that goes to the mailbox as usual.
    pub(crate) fn cancel(&self, id: u32) {
        // Not under the lock: it may end on this very thread.
        let cancel = locked(&self.running).remove(&id);
        if let Some(cancel) = cancel {
            cancel();
        }
    }

    /// Asks all work to end. Work that is started later is not concerned.
    pub(crate) fn cancel_all(&self) {
        let running = std::mem::take(&mut *locked(&self.running));
        for cancel in running.into_values() {
            cancel();
        }
    }
}

impl Drop for Tasks {
    /// The environment is going away, or the owner was garbage-collected.
    fn drop(&mut self) {
        self.cancel_all();
    }
}

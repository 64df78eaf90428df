//! Work off the JavaScript thread, under numbers that the facade gives.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use napi::bindgen_prelude::spawn;
use operations_core::error::CallError;
use operations_core::mailbox::{Item, Mailbox};
use tokio_util::sync::CancellationToken;

type Running = Arc<Mutex<HashMap<u32, CancellationToken>>>;

/// The work of one owner. It is cancelled when the owner goes.
pub(crate) struct Tasks {
    mailbox: Arc<Mailbox>,
    running: Running,
}

fn locked(running: &Running) -> MutexGuard<'_, HashMap<u32, CancellationToken>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
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
        locked(&self.running).insert(id, token.clone());
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

    /// Asks work to end. What comes of that goes to the mailbox as usual.
    pub(crate) fn cancel(&self, id: u32) {
        if let Some(token) = locked(&self.running).get(&id) {
            token.cancel();
        }
    }

    /// Asks all work to end. Work that is started later is not concerned.
    pub(crate) fn cancel_all(&self) {
        // They take themselves out as they end.
        for token in locked(&self.running).values() {
            token.cancel();
        }
    }
}

impl Drop for Tasks {
    /// The environment is going away, or nobody can reach the owner any more.
    fn drop(&mut self) {
        self.cancel_all();
    }
}

//! The place where the answer to one request is put, beside rmcp: rmcp's types drop what they do not
//! know, refuse what they know otherwise, and would cost a second parse of every result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Receives the parameters of a progress notification, as JSON.
pub type OnProgress = Box<dyn Fn(&str) + Send + Sync>;

/// What is done with the answer on its way to rmcp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// rmcp learns that there is an answer, and no more.
    Instead,
    /// rmcp sees the answer too: its HTTP transport reads tool lists.
    Copy,
}

/// Travels with a request, as an extension of it, to the transport.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Inner>);

struct Inner {
    keep: Keep,
    sent: AtomicBool,
    result: Mutex<Option<String>>,
    too_large: AtomicBool,
    on_progress: Mutex<Option<OnProgress>>,
    progressed: Notify,
}

impl Slot {
    pub(crate) fn new(keep: Keep, on_progress: Option<OnProgress>) -> Self {
        Self(Arc::new(Inner {
            keep,
            sent: AtomicBool::new(false),
            result: Mutex::new(None),
            too_large: AtomicBool::new(false),
            on_progress: Mutex::new(on_progress),
            progressed: Notify::new(),
        }))
    }

    pub(crate) fn keep(&self) -> Keep {
        self.0.keep
    }

    /// The request is on its way: from now on it may be carried out.
    pub(crate) fn mark_sent(&self) {
        self.0.sent.store(true, Ordering::Release);
    }

    pub(crate) fn was_sent(&self) -> bool {
        self.0.sent.load(Ordering::Acquire)
    }

    pub(crate) fn put(&self, result: &str) {
        let mut place = self.0.result.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(result.to_owned());
    }

    pub(crate) fn take(&self) -> Option<String> {
        let mut place = self.0.result.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }

    pub(crate) fn mark_too_large(&self) {
        self.0.too_large.store(true, Ordering::Release);
    }

    pub(crate) fn was_too_large(&self) -> bool {
        self.0.too_large.load(Ordering::Acquire)
    }

    pub(crate) fn progress(&self, params: &str) {
        if let Some(on_progress) = &*self.listener() {
            on_progress(params);
        }
        self.0.progressed.notify_one();
    }

    /// The listener, for the next request of the same call.
    pub(crate) fn into_progress(self) -> Option<OnProgress> {
        self.listener().take()
    }

    fn listener(&self) -> MutexGuard<'_, Option<OnProgress>> {
        self.0
            .on_progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves after the next sign of progress.
    pub(crate) async fn progressed(&self) {
        self.0.progressed.notified().await;
    }
}

//! The place where the answer to one request is put, beside rmcp: rmcp's types drop what they do not
//! know, refuse what they know otherwise, and would cost a second parse of every result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// Receives the parameters of a progress notification, as JSON.
pub type OnProgress = Arc<dyn Fn(&str) + Send + Sync>;

/// What is done with the answer on its way to rmcp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// rmcp learns that there is an answer, and no more.
    Instead,
    /// rmcp sees the answer too: its HTTP transport reads tool lists.
    Copy,
}

/// How far a request got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    No,
    Writing,
    Yes,
}

/// How long a write that is under way may take to settle when the connection is gone.
const SETTLE: Duration = Duration::from_millis(200);

/// Travels with a request, as an extension of it, to the transport.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Inner>);

struct Inner {
    keep: Keep,
    sent: watch::Sender<Sent>,
    result: Mutex<Option<String>>,
    answered: Notify,
    too_large: AtomicBool,
    on_progress: Option<OnProgress>,
    progressed: Notify,
}

impl Slot {
    pub(crate) fn new(keep: Keep, on_progress: Option<OnProgress>) -> Self {
        Self(Arc::new(Inner {
            keep,
            sent: watch::Sender::new(Sent::No),
            result: Mutex::new(None),
            answered: Notify::new(),
            too_large: AtomicBool::new(false),
            on_progress,
            progressed: Notify::new(),
        }))
    }

    pub(crate) fn keep(&self) -> Keep {
        self.0.keep
    }

    /// The request is being written.
    pub(crate) fn mark_writing(&self) {
        self.0.sent.send_replace(Sent::Writing);
    }

    /// The request was written, or could not be: what lacks its end, nobody acts upon.
    pub(crate) fn mark_written(&self, whole: bool) {
        self.0
            .sent
            .send_replace(if whole { Sent::Yes } else { Sent::No });
    }

    /// Whether the request may be carried out. If it is just being written, that is waited for.
    pub(crate) async fn was_sent(&self) -> bool {
        let mut sent = self.0.sent.subscribe();
        let settled = sent.wait_for(|sent| *sent != Sent::Writing);
        match timeout(SETTLE, settled).await {
            Ok(Ok(sent)) => *sent == Sent::Yes,
            Ok(Err(_)) | Err(_) => true,
        }
    }

    pub(crate) fn put(&self, result: &str) {
        let mut place = self.0.result.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(result.to_owned());
        drop(place);
        self.0.answered.notify_one();
    }

    /// Resolves when the result is there: earlier than rmcp's word, which takes a task more. Never for an
    /// answer that rmcp is to see first.
    pub(crate) async fn answered(&self) {
        match self.0.keep {
            Keep::Instead => self.0.answered.notified().await,
            Keep::Copy => std::future::pending().await,
        }
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
        if let Some(on_progress) = &self.0.on_progress {
            on_progress(params);
        }
        self.0.progressed.notify_one();
    }

    /// Resolves after the next sign of progress.
    pub(crate) async fn progressed(&self) {
        self.0.progressed.notified().await;
    }
}

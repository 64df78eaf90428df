//! Whether the client of a connection reads its responses. A response of which nothing was sent for a while, although there is
//! something to send, has a client that does not read.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use operations_core::lock::locked;
use tokio::time::sleep;

/// How far a response is.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    /// When something was last taken or sent, in milliseconds from the beginning.
    at: AtomicU64,
    /// Pieces that were taken to be sent.
    unsent: AtomicUsize,
    /// The next piece does not exist yet.
    waits_for_source: AtomicBool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            at: AtomicU64::new(0),
            unsent: AtomicUsize::new(0),
            waits_for_source: AtomicBool::new(false),
        }
    }
}

impl Progress {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note(&self) {
        self.at.store(self.now(), Ordering::Relaxed);
    }

    /// A piece was taken to be sent.
    pub(crate) fn taken(&self) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        self.waits_for_source.store(false, Ordering::Relaxed);
        self.note();
    }

    /// A piece was sent, or dropped with its connection.
    pub(crate) fn sent(&self) {
        self.unsent.fetch_sub(1, Ordering::Relaxed);
        self.note();
    }

    /// There is nothing to take now.
    pub(crate) fn waiting(&self) {
        self.waits_for_source.store(true, Ordering::Relaxed);
    }

    /// For how long nothing was sent, although there is something to send.
    fn stalled(&self) -> Duration {
        let is_source_slow = self.waits_for_source.load(Ordering::Relaxed);
        if is_source_slow && self.unsent.load(Ordering::Relaxed) == 0 {
            return Duration::ZERO;
        }
        let at = self.at.load(Ordering::Relaxed);
        Duration::from_millis(self.now().saturating_sub(at))
    }
}

/// The responses of a connection that are not yet sent.
#[derive(Debug, Clone, Default)]
pub struct Responses(Arc<Mutex<Vec<Weak<Progress>>>>);

impl Responses {
    /// One more.
    pub(crate) fn add(&self) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        let mut all = locked(&self.0);
        // Before the list would grow, so that each is looked at a constant number of times.
        if all.len() == all.capacity() {
            all.retain(|each| each.strong_count() > 0);
        }
        all.push(Arc::downgrade(&progress));
        progress
    }

    fn longest_stall(&self) -> Duration {
        let mut all = locked(&self.0);
        all.retain(|each| each.strong_count() > 0);
        let progress = all.iter().filter_map(Weak::upgrade);
        progress
            .map(|each| each.stalled())
            .max()
            .unwrap_or_default()
    }

    /// Waits until the client has read nothing of a response for so long.
    pub async fn stalled(&self, limit: Duration) {
        loop {
            let longest = self.longest_stall();
            if longest >= limit {
                return;
            }
            sleep(limit.saturating_sub(longest)).await;
        }
    }
}

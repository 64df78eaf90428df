//! Calls that their clients may cancel with a message of its own. Where a client ends a call by going away, nothing is
//! needed here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use operations_core::lock::locked;
use tokio_util::sync::CancellationToken;

/// Whose call it is, and the id that its client gave it, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The conversation: it only separates clients, which all count from zero.
    pub(super) session: String,
    /// So that a caller cancels its own calls only.
    pub(super) caller: String,
    pub(super) id: String,
}

/// The calls in flight that can be cancelled.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<HashMap<Key, CancellationToken>>>);

/// A call in flight, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Entry {
    running: RunningCalls,
    key: Key,
    /// Cancelled by the client.
    pub(super) cancel: CancellationToken,
}

impl RunningCalls {
    /// A call begins.
    pub(super) fn begin(&self, key: Key) -> Entry {
        let cancel = CancellationToken::new();
        locked(&self.0).insert(key.clone(), cancel.clone());
        Entry {
            running: self.clone(),
            key,
            cancel,
        }
    }

    /// The client wants no answer any more.
    pub(super) fn cancel(&self, key: &Key) {
        if let Some(cancel) = locked(&self.0).remove(key) {
            cancel.cancel();
        }
    }

    /// The client ends its session.
    pub(super) fn cancel_all(&self, session: &str, caller: &str) {
        locked(&self.0).retain(|key, cancel| {
            let is_meant = key.session == session && key.caller == caller;
            if is_meant {
                cancel.cancel();
            }
            !is_meant
        });
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut running = locked(&self.running.0);
        // A client that uses an id twice has only itself to blame; the later entry stays.
        if running
            .get(&self.key)
            .is_some_and(|cancel| *cancel == self.cancel)
        {
            running.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: &str, caller: &str, id: &str) -> Key {
        Key {
            session: session.to_owned(),
            caller: caller.to_owned(),
            id: id.to_owned(),
        }
    }

    #[test]
    fn only_the_one_that_is_meant_is_cancelled() {
        let running = RunningCalls::default();
        let mine = running.begin(key("s", "ada", "1"));
        let other = running.begin(key("s", "bob", "1"));
        running.cancel(&key("s", "ada", "2"));
        running.cancel(&key("t", "ada", "1"));
        assert!(!mine.cancel.is_cancelled());
        running.cancel(&key("s", "ada", "1"));
        assert!(mine.cancel.is_cancelled() && !other.cancel.is_cancelled());
        running.cancel_all("s", "bob");
        assert!(other.cancel.is_cancelled());
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let running = RunningCalls::default();
        drop(running.begin(key("s", "", "1")));
        let first = running.begin(key("s", "", "1"));
        let second = running.begin(key("s", "", "1"));
        drop(first);
        running.cancel(&key("s", "", "1"));
        assert!(second.cancel.is_cancelled());
        drop(second);
        assert!(locked(&running.0).is_empty());
    }
}

//! How many bytes are held for clients: bodies of requests that were read and whose calls wait or run, and responses that are
//! not yet sent. While fewer than the limit are held, more are admitted: what is held beyond it is one response, or one piece of
//! a body, and what is small.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use operations_core::error::CallError;
use serde_json::json;

/// The budget of a service, for all of its doors.
#[derive(Debug)]
pub struct ByteBudget {
    limit: usize,
    held: AtomicUsize,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub struct Held {
    budget: Arc<ByteBudget>,
    bytes: AtomicUsize,
}

impl ByteBudget {
    /// So many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
        })
    }

    /// Whether nothing more is admitted now.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.held() >= self.limit
    }

    /// How many bytes are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Holds nothing yet.
    #[must_use]
    pub fn hold(self: &Arc<Self>) -> Held {
        Held {
            budget: Arc::clone(self),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Held {
    /// Holds more bytes, unless the budget is exhausted. Says whether it does.
    #[must_use]
    pub fn try_add(&self, bytes: usize) -> bool {
        let held = &self.budget.held;
        let added = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            (bytes == 0 || held < self.budget.limit).then(|| held.saturating_add(bytes))
        });
        if added.is_ok() {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        added.is_ok()
    }

    /// Holds more bytes, even where the budget is exhausted: they are there already.
    pub fn add(&self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let held = &self.budget.held;
        held.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// Too many bytes are held. `delivery` says what is known of the call: `none` where it was not made.
#[must_use]
pub fn exhausted(delivery: &str) -> CallError {
    let message = match delivery {
        "none" => {
            "Too many bytes of requests and responses are held in memory already. Try again later"
        }
        _ => {
            "The call was made, but its response could not be held in memory: there are too many unsent responses already"
        }
    };
    CallError::failed(message).with_details(json!({ "reason": "overloaded", "delivery": delivery }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_body_beyond_the_limit_is_held_and_no_more() {
        let budget = ByteBudget::new(10);
        let (first, second) = (budget.hold(), budget.hold());
        assert!(first.try_add(9) && second.try_add(100));
        assert!(budget.is_exhausted() && !first.try_add(1) && first.try_add(0));
        drop(second);
        assert_eq!(budget.held(), 9);
        first.add(5);
        assert!(!budget.hold().try_add(1));
        drop(first);
        assert_eq!(budget.held(), 0);
    }
}

//! How many bytes are held for clients: requests that were read and whose calls wait or run, and responses that are not yet
//! sent. A caller is admitted while it holds less than is left: one alone gets half of the limit, and however many ask for more
//! than they need, something is left for the next. What is held beyond that is one response, or one piece of a body, and what is
//! small.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use serde_json::json;

use crate::error::CallError;
use crate::lock::locked;

/// Responses up to this size are never refused. In bytes.
const SMALL: usize = 4096;

/// The budget of a service, for all of its doors.
#[derive(Debug)]
pub struct ByteBudget {
    limit: usize,
    held: AtomicUsize,
    shares: Mutex<HashMap<Arc<str>, Weak<Share>>>,
    /// Events of streams are counted apart, with the same limit: they are never refused, and must not keep calls out.
    streams: Option<Arc<Self>>,
}

/// What one caller holds.
#[derive(Debug)]
pub struct Share {
    budget: Arc<ByteBudget>,
    caller: Arc<str>,
    held: AtomicUsize,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub struct Held {
    share: Arc<Share>,
    bytes: AtomicUsize,
}

impl ByteBudget {
    /// So many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let budget = |streams| {
            Arc::new(Self {
                limit,
                held: AtomicUsize::new(0),
                shares: Mutex::default(),
                streams,
            })
        };
        budget(Some(budget(None)))
    }

    /// How many bytes are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// The share of a caller.
    #[must_use]
    pub fn share(self: &Arc<Self>, caller: &str) -> Arc<Share> {
        let mut shares = locked(&self.shares);
        if let Some(known) = shares.get(caller).and_then(Weak::upgrade) {
            return known;
        }
        let caller: Arc<str> = caller.into();
        let share = Arc::new(Share {
            budget: Arc::clone(self),
            caller: Arc::clone(&caller),
            held: AtomicUsize::new(0),
        });
        shares.insert(caller, Arc::downgrade(&share));
        share
    }
}

impl Share {
    /// Whether nothing more is admitted now.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        !self.has_room_without(0)
    }

    /// Whether more would be admitted if the caller did not hold so many bytes.
    fn has_room_without(&self, bytes: usize) -> bool {
        let held = self.held.load(Ordering::Relaxed).saturating_sub(bytes);
        let left = (self.budget.limit).saturating_sub(self.budget.held().saturating_sub(bytes));
        held < left
    }

    /// Holds nothing yet.
    #[must_use]
    pub fn hold(self: &Arc<Self>) -> Held {
        Held {
            share: Arc::clone(self),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Holds a response; nothing if there is no room for it.
    #[must_use]
    pub fn try_hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let held = self.hold();
        if bytes <= SMALL {
            held.add(bytes);
        } else if !held.try_add(bytes) {
            return None;
        }
        Some(held)
    }

    /// The share of this caller in what streams hold.
    #[must_use]
    pub fn of_streams(self: &Arc<Self>) -> Arc<Self> {
        match &self.budget.streams {
            Some(streams) => streams.share(&self.caller),
            None => Arc::clone(self),
        }
    }

    fn add(&self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut shares = locked(&self.budget.shares);
        // It may have been made anew meanwhile.
        if (shares.get(&self.caller)).is_some_and(|share| share.strong_count() == 0) {
            shares.remove(&self.caller);
        }
    }
}

impl Held {
    /// Holds more bytes, unless there is no room. Says whether it does.
    #[must_use]
    pub fn try_add(&self, bytes: usize) -> bool {
        let is_admitted = bytes == 0 || !self.share.is_exhausted();
        if is_admitted {
            self.add(bytes);
        }
        is_admitted
    }

    /// Holds more bytes, even where there is no room: they are there already.
    pub fn add(&self, bytes: usize) {
        self.share.add(bytes);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether a response would be admitted when these bytes are not held any more.
    #[must_use]
    pub fn leaves_room(&self) -> bool {
        (self.share).has_room_without(self.bytes.load(Ordering::Relaxed))
    }

    /// Whose bytes they are.
    #[must_use]
    pub fn share(&self) -> &Arc<Share> {
        &self.share
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.share.held.fetch_sub(bytes, Ordering::Relaxed);
        self.share.budget.held.fetch_sub(bytes, Ordering::Relaxed);
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
    fn a_caller_holds_no_more_than_is_left_for_others_but_for_one_response() {
        let budget = ByteBudget::new(100);
        let share = budget.share("a");
        let (first, second) = (share.hold(), share.hold());
        assert!(first.try_add(49) && second.try_add(30));
        assert!(share.is_exhausted() && !first.try_add(1) && first.try_add(0));
        assert!(
            first.leaves_room(),
            "its own bytes go before the response comes"
        );
        let other = budget.share("b").hold();
        assert!(other.try_add(10) && other.try_add(1) && !other.try_add(1));
        drop(second);
        assert_eq!(budget.held(), 60);
        first.add(500);
        assert!(!budget.share("c").hold().try_add(1));
        assert!(share.try_hold(SMALL).is_some() && share.try_hold(SMALL + 1).is_none());
        assert!(!share.of_streams().is_exhausted(), "counted apart");
        drop((first, other, share));
        assert_eq!(budget.held(), 0);
        assert!(locked(&budget.shares).is_empty());
    }
}

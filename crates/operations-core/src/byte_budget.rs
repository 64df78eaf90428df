//! How many bytes are held for clients: requests that were read and whose calls wait or run, and responses that are not yet
//! sent. A caller is admitted while it holds no more than is left: one alone gets half of the limit, and however many ask for
//! more than they need, something is left for the next. A call that was admitted does not fail because others came: its response
//! is compared with the limit of all, and with half of it for the unsent responses of its caller. What is held beyond that is one
//! response, one request where nothing else is held, and what is small.

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
    /// What must not keep calls out is counted apart, with the same limit.
    apart: Option<Apart>,
}

#[derive(Debug)]
struct Apart {
    /// Events of streams.
    streams: Arc<ByteBudget>,
    /// Messages of which a part has arrived.
    unfinished: Arc<ByteBudget>,
}

/// What one caller holds.
#[derive(Debug)]
pub struct Share {
    budget: Arc<ByteBudget>,
    caller: Arc<str>,
    requests: AtomicUsize,
    responses: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Request,
    Response,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub struct Held {
    share: Arc<Share>,
    kind: Kind,
    bytes: AtomicUsize,
}

impl ByteBudget {
    /// So many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let budget = |apart| {
            Arc::new(Self {
                limit,
                held: AtomicUsize::new(0),
                shares: Mutex::default(),
                apart,
            })
        };
        budget(Some(Apart {
            streams: budget(None),
            unfinished: budget(None),
        }))
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
            requests: AtomicUsize::new(0),
            responses: AtomicUsize::new(0),
        });
        shares.insert(caller, Arc::downgrade(&share));
        share
    }
}

impl Share {
    /// Whether nothing more is admitted now.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        let requests = self.requests.load(Ordering::Relaxed);
        !self.has_room(Kind::Request, requests, self.budget.held(), 1)
    }

    /// Whether there is room for so many bytes more of a kind, of which the caller holds `own`, when all callers hold `all`.
    fn has_room(&self, kind: Kind, own: usize, all: usize, bytes: usize) -> bool {
        let limit = self.budget.limit;
        match kind {
            Kind::Request => {
                let own = own + self.responses.load(Ordering::Relaxed) + bytes;
                all == 0 || own <= limit.saturating_sub(all + bytes)
            }
            Kind::Response => all < limit && own < limit.saturating_sub(own),
        }
    }

    fn counter(&self, kind: Kind) -> &AtomicUsize {
        match kind {
            Kind::Request => &self.requests,
            Kind::Response => &self.responses,
        }
    }

    /// For a request; holds nothing yet.
    #[must_use]
    pub fn hold(self: &Arc<Self>) -> Held {
        self.hold_kind(Kind::Request)
    }

    /// For responses; holds nothing yet.
    #[must_use]
    pub fn hold_responses(self: &Arc<Self>) -> Held {
        self.hold_kind(Kind::Response)
    }

    fn hold_kind(self: &Arc<Self>, kind: Kind) -> Held {
        Held {
            share: Arc::clone(self),
            kind,
            bytes: AtomicUsize::new(0),
        }
    }

    /// Holds a response; nothing if there is no room for it.
    #[must_use]
    pub fn try_hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let held = self.hold_responses();
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
        self.apart(|apart| &apart.streams)
    }

    /// The share of this caller in what messages hold of which a part has arrived.
    #[must_use]
    pub fn of_unfinished(self: &Arc<Self>) -> Arc<Self> {
        self.apart(|apart| &apart.unfinished)
    }

    fn apart(self: &Arc<Self>, which: impl FnOnce(&Apart) -> &Arc<ByteBudget>) -> Arc<Self> {
        match &self.budget.apart {
            Some(apart) => which(apart).share(&self.caller),
            None => Arc::clone(self),
        }
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
        if bytes == 0 {
            return true;
        }
        let (share, order) = (&self.share, Ordering::Relaxed);
        let own = share.counter(self.kind).fetch_add(bytes, order);
        // What the caller adds elsewhere at this moment may be missing in the sum of all.
        let has_room = |all: usize| share.has_room(self.kind, own, all.max(own), bytes);
        let add = |all| has_room(all).then_some(all + bytes);
        let is_admitted = share.budget.held.fetch_update(order, order, add).is_ok();
        if is_admitted {
            self.bytes.fetch_add(bytes, order);
        } else {
            share.counter(self.kind).fetch_sub(bytes, order);
        }
        is_admitted
    }

    /// Holds more bytes, even where there is no room: they are there already.
    pub fn add(&self, bytes: usize) {
        let share = &self.share;
        share.counter(self.kind).fetch_add(bytes, Ordering::Relaxed);
        share.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether a response would be admitted when these bytes are not held any more.
    #[must_use]
    pub fn has_room_for_response(&self) -> bool {
        let (share, bytes) = (&self.share, self.bytes.load(Ordering::Relaxed));
        let unsent = share.responses.load(Ordering::Relaxed);
        let all = share.budget.held().saturating_sub(bytes);
        share.has_room(Kind::Response, unsent, all, 1)
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
        let share = &self.share;
        share.counter(self.kind).fetch_sub(bytes, Ordering::Relaxed);
        share.budget.held.fetch_sub(bytes, Ordering::Relaxed);
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

/// A stream is ended because too many bytes of events are held.
#[must_use]
pub fn stream_exhausted() -> CallError {
    let message = "The stream was ended: too many bytes of events that are not yet sent are held in memory already. Read \
                   faster, or subscribe again later";
    CallError::failed(message)
        .with_details(json!({ "reason": "overloaded", "delivery": "unknown" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_holds_no_more_than_is_left_for_others_but_for_one_response() {
        let budget = ByteBudget::new(100);
        let share = budget.share("a");
        let (first, second) = (share.hold(), share.hold());
        assert!(first.try_add(30) && !second.try_add(21) && second.try_add(20));
        assert!(share.is_exhausted() && !first.try_add(1) && first.try_add(0));
        assert!(first.has_room_for_response());
        let other = budget.share("b").hold();
        assert!(
            !other.try_add(26),
            "a whole request, although there is room for a part"
        );
        assert!(other.try_add(24) && other.try_add(1) && !other.try_add(1));
        drop(second);
        assert_eq!(budget.held(), 55);
        first.add(500);
        assert!(!budget.share("c").hold().try_add(1));
        assert!(share.try_hold(SMALL).is_some() && share.try_hold(SMALL + 1).is_none());
        assert!(!share.of_streams().is_exhausted(), "counted apart");
        assert!(!share.of_unfinished().is_exhausted(), "counted apart");
        drop((first, other, share));
        let alone = budget.share("a").hold();
        assert!(
            alone.try_add(500) && !alone.try_add(1),
            "nothing else is held"
        );
        drop(alone);
        assert_eq!(budget.held(), 0);
        assert!(locked(&budget.shares).is_empty());
    }

    #[test]
    fn the_responses_of_admitted_calls_are_not_refused_because_of_others() {
        let budget = ByteBudget::new(16 * SMALL);
        let others = [budget.share("b").hold(), budget.share("c").hold()];
        let share = budget.share("a");
        let calls: Vec<Held> = (0..8).map(|_| share.hold()).collect();
        assert!(calls.iter().all(|call| call.try_add(SMALL)));
        assert!(others[0].try_add(4 * SMALL) && others[1].try_add(2 * SMALL));
        assert!(calls.iter().all(Held::has_room_for_response));
        let mut unsent = Vec::new();
        for call in calls {
            drop(call);
            unsent.extend(share.try_hold(SMALL + 1));
        }
        assert_eq!(unsent.len(), 8);
        assert!(share.try_hold(SMALL + 1).is_none(), "half of the limit");
        drop((unsent, others));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn requests_that_come_at_once_hold_no_more_than_they_may() {
        let budget = ByteBudget::new(1_000);
        let admitted: Vec<Held> = std::thread::scope(|scope| {
            let add = || {
                let held = budget.share("a").hold();
                while held.try_add(3) {}
                held
            };
            let threads = [(); 4].map(|()| scope.spawn(add));
            threads.map(|thread| thread.join().unwrap()).into()
        });
        assert!((480..=500).contains(&budget.held()), "{}", budget.held());
        drop(admitted);
        assert_eq!(budget.held(), 0);
    }
}

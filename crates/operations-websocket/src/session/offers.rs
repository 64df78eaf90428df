//! Offers of which more is to come. Any peer that may connect can begin some, so what they take is bounded: by connection, for
//! all connections together, and in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use operations_core::error::CallError;
use operations_core::lock::locked;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use crate::errors;
use crate::frame;
use crate::limits::{MOST_LISTS, OFFER_BYTES};

/// The offers of one connection.
pub(super) struct Offers {
    unfinished: Mutex<HashMap<String, Offer>>,
    /// How long each may take.
    time: Duration,
    /// Another one has begun.
    begun: Notify,
    /// Room for those of this connection.
    room: Arc<Semaphore>,
    /// What the last one takes, where it is kept as long as the connection lives.
    kept: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Offers {
    /// None. `time` is how long each may take.
    pub(super) fn new(time: Duration) -> Self {
        Self {
            time,
            unfinished: Mutex::default(),
            begun: Notify::new(),
            room: Arc::new(Semaphore::new(OFFER_BYTES)),
            kept: Mutex::default(),
        }
    }

    /// Adds a part. `limit` is how many operations may be offered, `refused` says why an offer is not even begun.
    pub(super) fn add(
        &self,
        id: &str,
        part: &str,
        has_more: bool,
        limit: usize,
        of_server: &Arc<Semaphore>,
        refused: impl FnOnce() -> Option<CallError>,
    ) -> Added {
        let mut unfinished = locked(&self.unfinished);
        let begun = unfinished.remove(id);
        if unfinished.len() >= MOST_LISTS {
            return Added::TooMany;
        }
        let is_new = begun.is_none();
        let mut offer = begun.unwrap_or_else(|| Offer::due(Instant::now() + self.time));
        let mut added = Added::Incomplete;
        if offer.is_refused {
            added = Added::Dropped;
        } else {
            let result = match refused().filter(|_| is_new) {
                Some(error) => Err(error),
                None => offer.add(part, has_more, limit, &self.room, of_server),
            };
            if let Err(error) = result {
                offer.refuse();
                added = Added::Refused(error);
            }
        }
        if has_more {
            unfinished.insert(id.to_owned(), offer);
            if is_new {
                self.begun.notify_one();
            }
            return added;
        }
        match added {
            Added::Incomplete => Added::Complete(offer),
            ended => ended,
        }
    }

    /// What an offer takes is taken as long as the connection lives, or until the next offer.
    pub(super) fn keep(&self, held: Held) {
        *locked(&self.kept) = held.of_server;
    }

    /// Waits until offers have taken too long. They are refused, with an error to their senders.
    pub(super) async fn late(&self) -> Vec<String> {
        loop {
            let due = locked(&self.unfinished)
                .values()
                .filter(|offer| !offer.is_refused)
                .map(|offer| offer.due)
                .min();
            let Some(due) = due else {
                self.begun.notified().await;
                continue;
            };
            tokio::select! {
                () = self.begun.notified() => {}
                () = sleep_until(due) => return self.refuse_late(),
            }
        }
    }

    fn refuse_late(&self) -> Vec<String> {
        let now = Instant::now();
        let mut unfinished = locked(&self.unfinished);
        let late = unfinished
            .iter_mut()
            .filter(|(_, offer)| !offer.is_refused && offer.due <= now);
        late.map(|(id, offer)| {
            offer.refuse();
            id.clone()
        })
        .collect()
    }
}

/// An offer, as far as it has arrived.
pub(super) struct Offer {
    /// JSON, without the brackets of a list.
    items: String,
    count: usize,
    held: Held,
    due: Instant,
    /// Its sender got an error. What is still to come of it is dropped, so that its end is not taken for all of it.
    is_refused: bool,
}

/// The room that an offer takes, until this is dropped.
#[derive(Default)]
pub(super) struct Held {
    of_connection: Option<OwnedSemaphorePermit>,
    of_server: Option<OwnedSemaphorePermit>,
}

/// What became of a part of an offer.
pub(super) enum Added {
    /// More is to come.
    Incomplete,
    /// It was the last part.
    Complete(Offer),
    /// The offer is refused, with an error to its sender.
    Refused(CallError),
    /// The offer was refused before.
    Dropped,
    /// More offers were begun than one connection may begin.
    TooMany,
}

impl Offer {
    fn due(due: Instant) -> Self {
        Self {
            items: String::new(),
            count: 0,
            held: Held::default(),
            due,
            is_refused: false,
        }
    }

    fn add(
        &mut self,
        part: &str,
        has_more: bool,
        limit: usize,
        of_connection: &Arc<Semaphore>,
        of_server: &Arc<Semaphore>,
    ) -> Result<(), CallError> {
        self.count += frame::count(part);
        if self.count > limit {
            // What is still to come is only counted.
            self.forget();
            return if has_more {
                Ok(())
            } else {
                Err(errors::too_many_operations(self.count, limit))
            };
        }
        if !hold(&mut self.held.of_connection, of_connection, part.len()) {
            return Err(errors::offer_too_large(OFFER_BYTES));
        }
        if !hold(&mut self.held.of_server, of_server, part.len()) {
            return Err(errors::too_many_offers());
        }
        if !frame::append_items(&mut self.items, part, OFFER_BYTES) {
            return Err(errors::offer_too_large(OFFER_BYTES));
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.items = String::new();
        self.held = Held::default();
    }

    fn refuse(&mut self) {
        self.forget();
        self.is_refused = true;
    }

    /// The operations, as a JSON list, and the room that they take.
    pub(super) fn into_parts(self) -> (String, Held) {
        (format!("[{}]", self.items), self.held)
    }
}

/// Takes so much more of some room. Returns whether there is as much.
fn hold(held: &mut Option<OwnedSemaphorePermit>, room: &Arc<Semaphore>, bytes: usize) -> bool {
    let taken = u32::try_from(bytes)
        .ok()
        .and_then(|bytes| Arc::clone(room).try_acquire_many_owned(bytes).ok());
    let Some(taken) = taken else {
        return false;
    };
    match held {
        Some(held) => held.merge(taken),
        None => *held = Some(taken),
    }
    true
}

//! What the other end asks about what is served here, and what it offers.

use std::sync::Arc;

use operations_core::lock::locked;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::{End, Session};
use crate::frame;
use crate::limits::{LIST_BYTES, MOST_LISTS, PAGE_BYTES};
use crate::loss;

/// An offer, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// JSON, without the brackets of a list.
    items: String,
    count: usize,
}

impl Offer {
    /// Adds a part. Says whether there is room for it.
    fn add(&mut self, part: &str) -> bool {
        self.count += frame::count(part);
        frame::append_items(&mut self.items, part, LIST_BYTES)
    }
}

impl Session {
    /// Tells what is served here.
    pub(super) fn discover(self: &Arc<Self>, id: String) {
        let session = Arc::clone(self);
        self.spawn_in_place(id, |id| async move {
            match session.serving.operations().await {
                Ok(operations) => {
                    for page in frame::list("hub.operations", &id, &operations, PAGE_BYTES) {
                        session.peer.room().await;
                        session.write(page);
                    }
                }
                Err(error) => session.write(frame::failed(&id, &error)),
            }
        });
    }

    /// Takes an offer, or a part of one.
    pub(super) fn offered(self: &Arc<Self>, id: String, part: &str, has_more: bool) -> Option<End> {
        let limit = self.settings.max_operations;
        let mut offers = locked(&self.offers);
        let mut offer = offers.remove(&id).unwrap_or_default();
        let is_too_large = !offer.add(part) || offers.len() >= MOST_LISTS;
        if is_too_large {
            let why = "too many operations are offered";
            return Some(End::ours(CloseCode::Size, why));
        }
        if offer.count > limit {
            // What is still to come of it is not kept.
            offer.items = String::new();
        }
        if has_more {
            offers.insert(id, offer);
            return None;
        }
        drop(offers);
        if offer.count > limit {
            let error = loss::too_many_operations(offer.count, limit);
            self.write(frame::failed(&id, &error));
            return None;
        }
        let session = Arc::clone(self);
        self.spawn_in_place(id, |id| async move {
            let answer = session.serving.offered(format!("[{}]", offer.items)).await;
            session.write(match answer {
                Ok(payload) => frame::write("hub.accepted", &id, &payload),
                Err(error) => frame::failed(&id, &error),
            });
        });
        None
    }

    /// Works on a question or an offer. The other end is told where it has too many of them.
    fn spawn_in_place<W: Future<Output = ()> + Send + 'static>(
        &self,
        id: String,
        work: impl FnOnce(String) -> W,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return self.write(frame::failed(&id, &loss::too_many_questions(MOST_LISTS)));
        };
        let work = work(id);
        self.spawn(async move {
            work.await;
            drop(place);
        });
    }
}

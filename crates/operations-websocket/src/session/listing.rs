//! Control requests of the other end: what is served here (`hub.discover`), and offers.

use std::sync::Arc;

use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::offers::Added;
use super::{End, Session};
use crate::errors;
use crate::frame;
use crate::limits::{MOST_LISTS, PAGE_BYTES};

impl Session {
    /// Lists what is served here.
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
        let refused = || self.serving.refuses_offers();
        let added = self.offers.add(
            &id,
            part,
            has_more,
            limit,
            &self.settings.offer_bytes,
            refused,
        );
        let offer = match added {
            Added::Incomplete | Added::Dropped => return None,
            Added::TooMany => {
                let why = "too many operations are offered";
                return Some(End::ours(CloseCode::Size, why));
            }
            Added::Refused(error) => {
                self.write(frame::failed(&id, &error));
                return None;
            }
            Added::Complete(offer) => offer,
        };
        let session = Arc::clone(self);
        self.spawn_in_place(id, |id| async move {
            let (operations, held) = offer.into_parts();
            let answer = session.serving.offered(operations).await;
            if answer.is_ok() && session.serving.keeps_any_offer() {
                session.offers.keep(held);
            }
            session.write(match answer {
                Ok(payload) => frame::write("hub.accepted", &id, &payload),
                Err(error) => frame::failed(&id, &error),
            });
        });
        None
    }

    /// Refuses offers that take too long. Never returns.
    pub(super) async fn ending_late_offers(&self) -> End {
        loop {
            for id in self.offers.late().await {
                self.write(frame::failed(
                    &id,
                    &errors::offer_too_late(self.settings.offer_time),
                ));
            }
        }
    }

    /// Works on a control request or an offer. Where the other end has too many of them, it gets an error.
    fn spawn_in_place<W: Future<Output = ()> + Send + 'static>(
        &self,
        id: String,
        work: impl FnOnce(String) -> W,
    ) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return self.write(frame::failed(&id, &errors::too_many_questions(MOST_LISTS)));
        };
        let work = work(id);
        self.spawn(async move {
            work.await;
            drop(permit);
        });
    }
}

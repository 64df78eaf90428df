//! One request, from its sending to its answer, or to the moment when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CancelledNotificationParam, ClientRequest, GetExtensions, RequestId};
use rmcp::service::{Peer, PeerRequestOptions};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::client::slot::Slot;
use crate::client::tap::Tap;
use crate::error::Failure;

/// How long it may take to tell the server that nobody waits any more.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long an answer is awaited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) limit: Duration,
    /// Whether a sign of progress starts the time anew.
    pub(crate) reset_on_progress: bool,
}

/// A way to send requests.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) tap: Arc<Tap>,
    pub(crate) max_message_bytes: usize,
}

impl Link {
    /// Sends a request and waits for the result, as the server wrote it.
    pub(crate) async fn send(
        &self,
        mut request: ClientRequest,
        slot: Slot,
        patience: Patience,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        request.extensions_mut().insert(slot.clone());
        let mut deadline = Instant::now() + patience.limit;
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::Aborted),
            handle = sending => handle.map_err(|error| Failure::from_rmcp(error, false))?,
            () = sleep_until(deadline) => return Err(Failure::Timeout(patience.limit)),
        };
        loop {
            tokio::select! {
                biased;
                () = slot.answered() => return self.result(&slot),
                answer = &mut handle.rx => {
                    self.tap.forget(&handle.id);
                    return match answer {
                        Ok(Ok(_)) => self.result(&slot),
                        Ok(Err(error)) => Err(Failure::from_rmcp(error, slot.was_sent().await)),
                        Err(_) => Err(Failure::Lost { sent: slot.was_sent().await }),
                    };
                }
                () = slot.progressed(), if patience.reset_on_progress => {
                    deadline = Instant::now() + patience.limit;
                }
                () = sleep_until(deadline) => {
                    self.withdraw(handle.id, "the time limit of the client passed");
                    return Err(Failure::Timeout(patience.limit));
                }
                () = cancel.cancelled() => {
                    self.withdraw(handle.id, "the caller aborted the call");
                    return Err(Failure::Aborted);
                }
            }
        }
    }

    fn result(&self, slot: &Slot) -> Result<String, Failure> {
        if slot.was_too_large() {
            return Err(Failure::TooLarge(self.max_message_bytes));
        }
        slot.take()
            .ok_or_else(|| Failure::Odd("there is no result in it".to_owned()))
    }

    /// Tells the server that nobody waits any more, without waiting for that ourselves.
    fn withdraw(&self, id: RequestId, reason: &str) {
        self.tap.forget(&id);
        let peer = self.peer.clone();
        let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
        tokio::spawn(async move {
            let _ = timeout(FAREWELL, peer.notify_cancelled(params)).await;
        });
    }
}

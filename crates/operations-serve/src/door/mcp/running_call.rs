//! A call that runs, and the near end of the channel to its handler.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use operations_core::byte_budget::Held;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use tokio::sync::mpsc;

use crate::call::NewCall;
use crate::client_channel::{CallerMessage, ClientChannel, ClientRequests};
use crate::service::Shared;

/// Messages of a handler that wait to be read; more are dropped.
const WAITING: usize = 64;

/// A call that runs. It begins when it is first polled, and to drop it is to abort it.
pub(super) struct RunningCall {
    /// Ends with an envelope or an error.
    pub(super) work: BoxFuture<'static, Result<ResponseEnvelope, CallError>>,
    pub(super) messages: mpsc::Receiver<CallerMessage>,
    pub(super) requests: mpsc::UnboundedReceiver<ClientRequests>,
}

impl fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCall").finish_non_exhaustive()
    }
}

impl RunningCall {
    /// `offers` is what the handler may send, as JSON; `None` where the client can receive nothing.
    /// The input stays counted until the call has ended.
    pub(super) fn new(
        shared: &Arc<Shared>,
        mut new: NewCall,
        offers: Option<String>,
        held: Option<Arc<Held>>,
    ) -> Self {
        let (message_sender, messages) = mpsc::channel(WAITING);
        let (request_sender, requests) = mpsc::unbounded_channel();
        new.channel = offers.map(|offers| ClientChannel {
            offers,
            messages: message_sender,
            requests: request_sender,
        });
        let shared = Arc::clone(shared);
        let work = async move {
            let _held = held;
            Ok(shared.calls.call(new).await?.envelope)
        }
        .boxed();
        Self {
            work,
            messages,
            requests,
        }
    }
}

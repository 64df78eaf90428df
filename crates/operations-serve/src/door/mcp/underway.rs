//! A call that runs, and the near end of the line to its handler.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use operations_core::byte_budget::Held;
use operations_core::error::CallError;
use tokio::sync::mpsc;

use crate::call::NewCall;
use crate::line::{Line, Questions, Told};
use crate::service::Shared;

/// What a handler has told and nobody has looked at; more is left out.
const WAITING: usize = 64;

/// A call that runs. It begins when it is first polled, and to drop it is to abort it.
pub(super) struct Underway {
    /// Ends with an envelope, as JSON, or an error.
    pub(super) work: BoxFuture<'static, Result<String, CallError>>,
    pub(super) told: mpsc::Receiver<Told>,
    pub(super) asked: mpsc::UnboundedReceiver<Questions>,
}

impl fmt::Debug for Underway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Underway").finish_non_exhaustive()
    }
}

impl Underway {
    /// `offers` is what the handler may say, as JSON; nothing where nobody would hear it.
    /// The input stays counted until the call has ended.
    pub(super) fn new(
        shared: &Arc<Shared>,
        mut new: NewCall,
        offers: Option<String>,
        held: Option<Arc<Held>>,
    ) -> Self {
        let (tell, told) = mpsc::channel(WAITING);
        let (ask, asked) = mpsc::unbounded_channel();
        new.line = offers.map(|offers| Line {
            offers,
            told: tell,
            asked: ask,
        });
        let shared = Arc::clone(shared);
        let work = async move {
            let _held = held;
            shared.calls.call(new).await
        }
        .boxed();
        Self { work, told, asked }
    }
}

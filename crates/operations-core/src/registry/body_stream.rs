//! Bodies that are still on their way when a call is answered, for callers that forward them chunk by chunk.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::error::CallError;
use crate::lock::locked;

/// Binary data that comes piece by piece. Dropping it ends its source.
pub struct BodyStream {
    /// The total size, if the source has declared it.
    pub length: Option<u64>,
    /// The data. An error is the last item.
    pub body: BoxStream<'static, Result<Bytes, CallError>>,
}

impl BodyStream {
    /// The same, holding something until its end: a permit, say.
    #[must_use]
    pub fn holding(self, held: impl Send + 'static) -> Self {
        let body = self.body.map(move |piece| {
            let _ = &held;
            piece
        });
        Self {
            length: self.length,
            body: body.boxed(),
        }
    }
}

impl fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyStream")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Where a handler leaves such a body. The envelope that it gives then has no data.
#[derive(Debug, Clone, Default)]
pub struct BodyStreamSlot(Arc<Mutex<Option<BodyStream>>>);

impl BodyStreamSlot {
    /// Leaves a body.
    pub fn leave(&self, pieces: BodyStream) {
        *locked(&self.0) = Some(pieces);
    }

    /// The body that was left, if any.
    #[must_use]
    pub fn take(&self) -> Option<BodyStream> {
        locked(&self.0).take()
    }

    /// Has the body that was left hold something until its end; without one, it is let go.
    pub(super) fn hold(&self, held: impl Send + 'static) {
        if let Some(pieces) = self.take() {
            self.leave(pieces.holding(held));
        }
    }
}

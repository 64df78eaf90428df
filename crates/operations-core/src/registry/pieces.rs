//! Bodies that are still on their way when a call is answered, for somebody who hands them on piece by piece.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::error::CallError;
use crate::lock::locked;

/// Binary data that comes piece by piece. Dropping it ends its source.
pub struct Pieces {
    /// How much it is in all, where the source has told.
    pub length: Option<u64>,
    /// The data. An error is the last item.
    pub body: BoxStream<'static, Result<Bytes, CallError>>,
}

impl Pieces {
    /// The same, holding something until its end: a place, say.
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

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Where a handler leaves such a body. The envelope that it gives then has no data.
#[derive(Debug, Clone, Default)]
pub struct PiecesSlot(Arc<Mutex<Option<Pieces>>>);

impl PiecesSlot {
    /// Leaves a body.
    pub fn leave(&self, pieces: Pieces) {
        *locked(&self.0) = Some(pieces);
    }

    /// The body that was left, if any.
    #[must_use]
    pub fn take(&self) -> Option<Pieces> {
        locked(&self.0).take()
    }

    /// Has the body that was left hold something until its end; without one, it is let go.
    pub(super) fn hold(&self, held: impl Send + 'static) {
        if let Some(pieces) = self.take() {
            self.leave(pieces.holding(held));
        }
    }
}

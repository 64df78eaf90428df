//! An open stream, for the facade.

use std::sync::Arc;

use napi::bindgen_prelude::{Array, Either, Env, spawn};
use napi_derive::napi;
use operations_http::{EncodedInput, Handover, HttpOperation, Service};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::outcome::Taken;
use crate::completions::{Outcome, Queue};

/// An open stream. The connection is closed when it is collected, at the latest.
#[napi]
pub struct HttpStream {
    handover: Arc<Handover>,
    open: Option<DropGuard>,
    taken: Taken,
}

impl HttpStream {
    /// Where it has nothing yet, a result without a value arrives under this id as soon as it has.
    pub(super) fn start(
        id: u32,
        queue: Arc<Queue>,
        service: Arc<Service>,
        operation: Arc<HttpOperation>,
        input: EncodedInput,
        closed: CancellationToken,
    ) -> Self {
        let handover = Handover::new(move || queue.push(id, Outcome::Ready));
        let left = CancellationToken::new();
        let open = Some(left.clone().drop_guard());
        let for_task = Arc::clone(&handover);
        spawn(async move {
            for_task
                .run(&service, &operation, input, left, closed)
                .await;
        });
        Self {
            handover,
            open,
            taken: Taken::default(),
        }
    }
}

#[napi]
impl HttpStream {
    /// What comes next: a batch, or a number that says what else.
    #[napi]
    pub fn take(&mut self) -> Either<String, u32> {
        self.taken.answer(self.handover.take())
    }

    /// What an envelope says about the response, as JSON.
    #[napi]
    pub fn head(&mut self) -> String {
        self.taken.head()
    }

    /// Why the stream has failed: kind, text and body, as results have them.
    #[napi]
    pub fn failure<'env>(&mut self, env: &'env Env) -> napi::Result<Array<'env>> {
        self.taken.failure(env)
    }

    /// Closes the connection.
    #[napi]
    pub fn close(&mut self) {
        self.open = None;
    }
}

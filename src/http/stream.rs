//! An open stream, for the facade.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, Env};
use napi_derive::napi;
use operations_core::mailbox::{Item, Mailbox};
use operations_http::{EncodedInput, Handover, HttpOperation, Service};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::outcome::Taken;
use crate::interop::mailbox::JsBatch;
use crate::interop::tasks::Tasks;

/// An open stream. The connection is closed when it is collected, at the latest.
#[napi]
pub struct HttpStream {
    handover: Arc<Handover>,
    open: Option<DropGuard>,
    taken: Taken,
}

impl HttpStream {
    /// Where it has nothing yet, the mailbox says `ready` under this id as soon as it has; and `ended` when nothing
    /// more will come.
    pub(super) fn start(
        id: u32,
        mailbox: Arc<Mailbox>,
        tasks: &Tasks,
        service: Arc<Service>,
        operation: Arc<HttpOperation>,
        input: EncodedInput,
    ) -> Self {
        let handover = Handover::new(move || mailbox.push(Item::ready(id)));
        let left = CancellationToken::new();
        let open = Some(left.clone().drop_guard());
        let for_task = Arc::clone(&handover);
        tasks.run(id, async move |closed| {
            for_task
                .run(&service, &operation, input, left, closed)
                .await;
            Item::ended(id)
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
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Either<String, u32> {
        self.taken.answer(self.handover.take())
    }

    /// What an envelope says about the response, as JSON.
    #[napi(catch_unwind)]
    pub fn head(&mut self) -> String {
        self.taken.head()
    }

    /// Why the stream has failed.
    #[napi(
        ts_return_type = "string | [string, ...(string | ArrayBuffer)[]] | null",
        catch_unwind
    )]
    pub fn failure<'env>(&mut self, env: &'env Env) -> napi::Result<Option<JsBatch<'env>>> {
        self.taken.failure(env)
    }

    /// Closes the connection.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.open = None;
    }
}

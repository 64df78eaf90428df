//! What is done for the other end.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use operations_core::byte_budget::{Held, Share};
use operations_core::call::RequestedEvent;
use operations_core::error::CallError;

/// A call of the other end.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Correlates it.
    pub request_id: String,
    /// What is called.
    pub operation_id: String,
    /// Its input, as JSON; `None` for `undefined`.
    pub input: Option<String>,
    /// The call that makes this one.
    pub parent_request_id: Option<String>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// Who calls, as the other end says: JSON that was checked.
    pub identity: Option<String>,
    /// Whatever the caller adds, as JSON: an object.
    pub metadata: Option<String>,
    /// The trace that it belongs to, as JSON: an object.
    pub trace: Option<String>,
    /// The budget share that counts its bytes.
    pub held: Option<Arc<Held>>,
}

impl From<&RequestedEvent<'_>> for Incoming {
    fn from(event: &RequestedEvent<'_>) -> Self {
        Self {
            request_id: event.request_id.clone(),
            operation_id: event.operation_id.clone(),
            input: event.input.map(ToOwned::to_owned),
            parent_request_id: event.parent_request_id.clone(),
            deadline: event.deadline,
            identity: event.identity.map(ToOwned::to_owned),
            metadata: event.metadata.map(ToOwned::to_owned),
            trace: event.trace.as_deref().map(str::to_owned),
            held: None,
        }
    }
}

/// What a call gives: envelopes as JSON.
pub enum Answered {
    /// One.
    One(String),
    /// As many as come; an error is the last. Dropping the stream ends the work.
    Many(BoxStream<'static, Result<String, CallError>>),
}

/// Does what the other end wants done.
pub trait Serving: Send + Sync {
    /// Does a call. Dropping this ends the work.
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>>;

    /// The budget share that counts the bytes of calls and answers of the other end, together with those of other connections.
    fn bytes(&self) -> Option<Arc<Share>> {
        None
    }

    /// The operations that the other end may call, each as JSON.
    fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>>;

    /// Why no operations are taken, whatever is offered. Then nothing that is offered is kept until it is complete.
    fn refuses_offers(&self) -> Option<CallError> {
        None
    }

    /// Whether what was offered is kept although no function has decided that it should be. Then it counts as long as the
    /// connection lives.
    fn keeps_any_offer(&self) -> bool {
        false
    }

    /// The other end offers operations: a JSON list. Returns the response, a JSON object.
    fn offered(&self, operations: String) -> BoxFuture<'static, Result<String, CallError>>;

    /// The operations of the other end have changed.
    fn changed(&self) {}

    /// An item each time that the other end is to be notified that operations have changed.
    fn changes(&self) -> BoxStream<'static, ()> {
        Box::pin(futures::stream::pending())
    }
}

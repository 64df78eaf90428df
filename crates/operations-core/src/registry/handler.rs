//! What does the work of an operation, and what it is given.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use operations_schema::json::{Document, Object};
use tokio_util::sync::CancellationToken;

use super::body_stream::BodyStreamSlot;
use super::target::Target;
use crate::access::Identity;
use crate::byte_budget::Share;
use crate::call::RequestedEvent;
use crate::error::Failure;
use crate::secrets::Secret;

/// A call as it arrives.
#[derive(Debug, Clone)]
pub struct Call {
    /// `namespace.name`.
    pub operation_id: String,
    /// What the operation takes, as JSON; nothing for `undefined`.
    pub input: Option<String>,
    /// Who calls, and how.
    pub context: Context,
}

/// What a handler learns beside its input. There is no `trusted` in it: what arrives here comes from outside.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Who calls.
    pub identity: Option<Identity>,
    /// The token that the caller has shown, for handlers that trade it for another.
    pub caller_token: Option<Secret>,
    /// The name of the call, for handlers that make another one of it.
    pub request_id: Option<String>,
    /// The call that makes this one, as its caller says.
    pub parent_request_id: Option<String>,
    /// The trace that it belongs to ([`crate::trace`]): as it came, and for handlers as it is to be handed on.
    pub trace: Option<String>,
    /// How it came, for those who watch: a JSON object.
    pub via: Option<String>,
    /// Whatever the caller added, as JSON: an object.
    pub metadata: Option<String>,
    /// The same, or what a server has put in its place, for handlers that hand it on: nothing here looks into it.
    pub passed_on: Option<String>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// Cancelled when the caller has gone. A handler ends soon after that.
    pub cancel: CancellationToken,
    /// Whether the server of the call can hand out a file in the place of a large result.
    pub takes_files: bool,
    /// Where a handler says to whom it has sent its request, if that is observed.
    pub target: Option<Target>,
    /// Where binary data may be left while it is still on its way, if the server of the call forwards it chunk by chunk.
    pub pieces: Option<BodyStreamSlot>,
    /// The budget for events that wait for the subscriber, if they are counted.
    pub bytes: Option<Arc<Share>>,
}

impl Call {
    /// The call that an event asks for.
    #[must_use]
    pub fn of_event(event: &RequestedEvent<'_>, cancel: CancellationToken) -> Self {
        Self {
            operation_id: event.operation_id.clone(),
            input: event.input.map(ToOwned::to_owned),
            context: Context {
                identity: event
                    .identity
                    .and_then(|text| serde_json::from_str(text).ok()),
                caller_token: None,
                request_id: Some(event.request_id.clone()),
                parent_request_id: event.parent_request_id.clone(),
                trace: event.trace.as_deref().map(ToOwned::to_owned),
                via: None,
                metadata: event.metadata.map(ToOwned::to_owned),
                passed_on: event.metadata.map(ToOwned::to_owned),
                deadline: event.deadline,
                cancel,
                takes_files: false,
                target: None,
                pieces: None,
                bytes: None,
            },
        }
    }
}

/// The member of the metadata that names an approval (`facade/registry/metadata.ts`).
pub const APPROVAL: &str = "operations/approval";

impl Context {
    /// Whether the caller's metadata has one of these members with something in it.
    #[must_use]
    pub fn mentions(&self, names: &[&str]) -> bool {
        has_any(self.metadata.as_deref(), names)
    }

    /// Whether the call names an approval.
    #[must_use]
    pub fn names_approval(&self) -> bool {
        has_any(self.passed_on.as_deref(), &[APPROVAL])
    }
}

fn has_any(metadata: Option<&str>, names: &[&str]) -> bool {
    let members = metadata.and_then(|text| Object::read(text).ok());
    members.is_some_and(|members| {
        names
            .iter()
            .any(|name| members.get(name).is_some_and(|value| value != "null"))
    })
}

/// What a handler has produced.
#[derive(Debug)]
pub enum Produced {
    /// A value, or an envelope, which is recognised; nothing for `undefined`.
    Value(Option<Document>),
    /// An envelope.
    Envelope(Envelope),
    /// Binary data, which no schema of JSON describes, and where it came from, as JSON.
    Bytes(Vec<u8>, String),
}

/// A result whose source is known.
#[derive(Debug)]
pub struct Envelope {
    /// The business value; nothing for `undefined`.
    pub data: Option<Document>,
    /// Where it came from, as JSON.
    pub meta: String,
    /// Whether `data` is what the operation declares. An MCP error is content blocks, and an empty HTTP body nothing
    /// at all.
    pub is_declared: bool,
}

/// What a handler gives.
pub type Outcome = Result<Produced, Failure>;

/// The work of an operation, where it is done here and not by the host. It is called after look-up, access and the
/// check of the input.
pub trait Handler: Send + Sync {
    /// Whether it can do this call; otherwise the host is asked.
    fn takes(&self, context: &Context) -> bool {
        let _ = context;
        true
    }

    /// The work of a QUERY or a MUTATION.
    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome>;

    /// The work of a SUBSCRIPTION. Nothing happens before the stream is polled, and dropping it ends the work.
    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome>;
}

//! The two ways to a server: over the standard streams of a process, and over HTTP.

pub(crate) mod http;
pub(crate) mod message;
pub(crate) mod stdio;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::error::Failure;

/// The revision of the protocol that has no handshake and no sessions: each request carries what the other side
/// must know about us.
pub(crate) const STATELESS: &str = "2026-07-28";

/// A tool that may have arguments which are to be sent as headers too.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnnotatedTool {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) input_schema: Value,
}

/// A message on its way to the server.
pub(crate) struct Outgoing {
    pub(crate) kind: Kind,
    /// The whole of it, as JSON.
    pub(crate) text: String,
}

/// What a message is, as far as a transport has to know.
pub(crate) enum Kind {
    /// `name` is that of the tool or prompt, or the address of the resource.
    Request {
        id: u64,
        method: &'static str,
        name: Option<Arc<str>>,
    },
    Notification {
        method: &'static str,
    },
    /// The response to a request of the server.
    Answer,
}

/// A way to the server. What it says goes to the conversation that the transport was made with.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message, without waiting. If it is a request that cannot be sent, the conversation is notified.
    fn send(self: Arc<Self>, message: Outgoing);

    /// More will be sent by this thread at once: what it sends may wait for [`Transport::release`], so that it is sent
    /// together.
    fn hold(&self) {}

    /// Sends what waits.
    fn release(self: Arc<Self>) {}

    /// The answer to a request is not needed any more. Returns whether the server has to be notified by a message.
    fn withdraw(&self, request: u64) -> bool;

    /// The handshake is over: sends the message that ends it, if there is one, and uses what was agreed.
    fn agreed(
        self: Arc<Self>,
        version: &str,
        last: Option<Outgoing>,
    ) -> BoxFuture<'static, Result<(), Failure>>;

    /// All tools that have arguments which are to be sent as headers too. Returns which of them break the rules for
    /// it, and how.
    fn learn_tools(&self, _annotated: &[AnnotatedTool]) -> HashMap<String, String> {
        HashMap::new()
    }

    /// Ends it. Resolves when the goodbye is said.
    fn close(&self) -> BoxFuture<'_, ()>;
}

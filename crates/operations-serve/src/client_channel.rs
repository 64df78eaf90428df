//! The channel between JavaScript and the caller, while a call is running: JavaScript sends progress and log lines,
//! and requests (elicitation, sampling, roots).

use std::sync::Arc;

use tokio::sync::mpsc;

/// A message to the caller. Each is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerMessage {
    /// Progress: an object.
    Progress(String),
    /// A log line: an object with `level` and `data`.
    Log(String),
}

/// Requests to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequests {
    /// The call that waits for the responses.
    pub id: Arc<str>,
    /// A JSON list of objects with `key`, `method` and `params`.
    pub list: String,
}

/// JavaScript's end of the channel.
#[derive(Debug, Clone)]
pub struct ClientChannel {
    /// What JavaScript may send: a JSON object that goes with the call.
    pub offers: String,
    /// Progress and log lines. They are dropped if the client reads too slowly.
    pub messages: mpsc::Sender<CallerMessage>,
    /// A handler waits for each response, so that no request may be dropped; there are no more of them than handlers
    /// wait for.
    pub requests: mpsc::UnboundedSender<ClientRequests>,
}

//! Control requests to the other end: `hub.discover` and `hub.offer`.

use std::collections::HashMap;

use operations_core::error::CallError;
use tokio::sync::oneshot;

use crate::frame;

/// A JSON text, or why it could not be had.
pub(super) type Reply = Result<String, CallError>;

struct PendingRequest {
    reply: oneshot::Sender<Reply>,
    /// The parts of a list that have arrived.
    parts: String,
}

/// Control requests without a response.
#[derive(Default)]
pub(super) struct ControlRequests {
    open: HashMap<String, PendingRequest>,
    last_id: u64,
}

impl ControlRequests {
    /// Returns the id of a new request, and where its response arrives.
    pub(super) fn open(&mut self) -> (String, oneshot::Receiver<Reply>) {
        let (reply, replied) = oneshot::channel();
        self.last_id += 1;
        let id = self.last_id.to_string();
        let request = PendingRequest {
            reply,
            parts: String::new(),
        };
        self.open.insert(id.clone(), request);
        (id, replied)
    }

    /// The response is not wanted any more.
    pub(super) fn forget(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// The connection is lost, and every answer with it.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// A part of a list that was asked for. A list of more than `most` bytes is not taken.
    pub(super) fn listed(&mut self, id: &str, part: &str, has_more: bool, most: usize) {
        let Some(request) = self.open.get_mut(id) else {
            return;
        };
        if !frame::append_items(&mut request.parts, part, most) {
            self.open.remove(id);
            return;
        }
        if !has_more && let Some(request) = self.open.remove(id) {
            let _ = request.reply.send(Ok(format!("[{}]", request.parts)));
        }
    }

    pub(super) fn answered(&mut self, id: &str, reply: Reply) {
        if let Some(request) = self.open.remove(id) {
            let _ = request.reply.send(reply);
        }
    }
}

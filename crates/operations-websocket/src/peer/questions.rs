//! Questions about the other end: what it serves, and what it makes of an offer.

use std::collections::HashMap;

use operations_core::error::CallError;
use tokio::sync::oneshot;

use crate::frame;

/// A JSON text, or why there is none.
pub(super) type Reply = Result<String, CallError>;

struct Question {
    reply: oneshot::Sender<Reply>,
    /// The parts of a list that have arrived.
    parts: String,
}

/// Questions without an answer.
#[derive(Default)]
pub(super) struct Questions {
    open: HashMap<String, Question>,
    asked: u64,
}

impl Questions {
    /// Gives the id of a new question, and where its answer arrives.
    pub(super) fn open(&mut self) -> (String, oneshot::Receiver<Reply>) {
        let (reply, replied) = oneshot::channel();
        self.asked += 1;
        let id = self.asked.to_string();
        let question = Question {
            reply,
            parts: String::new(),
        };
        self.open.insert(id.clone(), question);
        (id, replied)
    }

    /// Nobody waits for the answer any more.
    pub(super) fn forget(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// The connection is lost, and every answer with it.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// A part of a list that was asked for. A list of more than `most` bytes is not taken.
    pub(super) fn listed(&mut self, id: &str, part: &str, has_more: bool, most: usize) {
        let Some(question) = self.open.get_mut(id) else {
            return;
        };
        if !frame::append_items(&mut question.parts, part, most) {
            self.open.remove(id);
            return;
        }
        if !has_more && let Some(question) = self.open.remove(id) {
            let _ = question.reply.send(Ok(format!("[{}]", question.parts)));
        }
    }

    pub(super) fn answered(&mut self, id: &str, reply: Reply) {
        if let Some(question) = self.open.remove(id) {
            let _ = question.reply.send(reply);
        }
    }
}

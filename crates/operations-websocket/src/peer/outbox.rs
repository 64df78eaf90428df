//! What waits to be written into a connection.

use std::collections::VecDeque;
use std::sync::Arc;

use operations_core::byte_budget::Held;

/// A request whose frame waits, by its id. The number separates it from an earlier request of the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: Arc<str>,
    pub(super) number: u64,
}

struct Outgoing {
    frame: Unsent,
    /// The request that it is.
    request: Option<Waiting>,
}

/// A frame, and what its bytes are counted by.
#[derive(Debug)]
pub(crate) struct Unsent {
    pub(crate) text: String,
    pub(crate) held: Option<Held>,
}

impl From<String> for Unsent {
    fn from(text: String) -> Self {
        Self { text, held: None }
    }
}

/// Frames in the order in which they are written.
#[derive(Default)]
pub(super) struct Outbox {
    frames: VecDeque<Outgoing>,
    bytes: usize,
    /// Frames that are requests.
    requests: usize,
    /// Requests among them that have ended.
    ended: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, frame: impl Into<Unsent>, request: Option<Waiting>) {
        let frame = frame.into();
        self.bytes += frame.text.len();
        self.requests += usize::from(request.is_some());
        self.frames.push_back(Outgoing { frame, request });
    }

    pub(super) fn push_first(&mut self, text: String) {
        self.bytes += text.len();
        let (frame, request) = (text.into(), None);
        self.frames.push_front(Outgoing { frame, request });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Requests that are still waited for.
    pub(super) fn waiting(&self) -> usize {
        self.requests.saturating_sub(self.ended)
    }

    /// A request has ended before it was written. What is left of such requests is removed when it is half of what there
    /// is: without a connection nothing else would remove it.
    pub(super) fn request_ended(&mut self, is_wanted: impl Fn(&Waiting) -> bool) {
        self.ended += 1;
        if self.ended * 2 > self.frames.len() {
            self.remove_ended(is_wanted);
        }
    }

    pub(super) fn remove_ended(&mut self, is_wanted: impl Fn(&Waiting) -> bool) {
        if self.ended > 0 {
            self.retain(|request| request.is_none_or(&is_wanted));
            self.ended = 0;
        }
    }

    /// The connection is lost: what was for it alone goes with it.
    pub(super) fn keep_requests(&mut self) {
        self.retain(|request| request.is_some());
    }

    fn retain(&mut self, keep: impl Fn(Option<&Waiting>) -> bool) {
        self.frames.retain(|frame| keep(frame.request.as_ref()));
        self.bytes = self.frames.iter().map(|each| each.frame.text.len()).sum();
        self.requests = self.frames.iter().filter(|it| it.request.is_some()).count();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes frames out until they have this many bytes. `send` gets each request, and returns whether it is still
    /// waits for it.
    pub(super) fn take(
        &mut self,
        bytes: usize,
        mut send: impl FnMut(&Waiting) -> bool,
    ) -> Vec<Unsent> {
        let mut taken = Vec::new();
        let mut size = 0;
        while size < bytes
            && let Some(next) = self.frames.pop_front()
        {
            let length = next.frame.text.len();
            self.bytes -= length;
            if let Some(request) = next.request {
                self.requests -= 1;
                if !send(&request) {
                    self.ended = self.ended.saturating_sub(1);
                    continue;
                }
            }
            size += length;
            taken.push(next.frame);
        }
        taken
    }
}

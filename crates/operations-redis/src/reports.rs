//! What is reported to JavaScript: messages, requests that were not sent, losses, and counts.

use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use serde_json::json;

/// What is counted, since the beginning.
#[derive(Debug, Default)]
struct Counts {
    malformed: u64,
    too_large: u64,
    /// Messages that were sent, or given up.
    finished: u64,
}

/// The way to the mailbox.
#[derive(Debug)]
pub(crate) struct Reports {
    pub(crate) mailbox: Arc<Mailbox>,
    counts: Mutex<Counts>,
}

impl Reports {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            counts: Mutex::default(),
        }
    }

    /// A message: the type of the event, and its detail as JSON.
    pub(crate) fn message(&self, event_type: &str, detail: &str) {
        self.mailbox.push(Item::event(event_type, detail));
    }

    /// A request was not sent, or may not have been.
    pub(crate) fn failed(&self, request_id: &str, error: &CallError) {
        self.mailbox.push(Item::failed(request_id, error));
    }

    /// Messages may have been missed. Lost twice with nothing in between is lost.
    pub(crate) fn lost(&self, reason: &str) {
        self.mailbox.push_once(Item::lost(reason));
    }

    pub(crate) fn malformed(&self) {
        self.count(true, |counts| counts.malformed += 1);
    }

    pub(crate) fn too_large(&self) {
        self.count(true, |counts| counts.too_large += 1);
    }

    /// A message is sent, or given up. The last one is reported.
    pub(crate) fn finished(&self, was_last: bool) {
        self.count(was_last, |counts| counts.finished += 1);
    }

    fn count(&self, must_report: bool, count: impl FnOnce(&mut Counts)) {
        let mut counts = locked(&self.counts);
        count(&mut counts);
        if must_report {
            let Counts {
                malformed,
                too_large,
                finished,
            } = *counts;
            // Under the lock, so that an older state does not take the place of a newer one.
            let counts =
                json!({ "malformed": malformed, "tooLarge": too_large, "finished": finished });
            self.mailbox.set("counts", &counts.to_string());
        }
    }
}

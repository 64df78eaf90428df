//! What a connection has counted.

use std::collections::BTreeMap;

use operations_core::call::{Refusal, Refused};
use serde_json::{Value, json};

/// Counts of messages that were dropped.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    refused: Refused,
    /// Notices that were not sent because too many waited.
    pub dropped_notices: u64,
    /// How often the connection came back.
    pub reconnections: u64,
}

impl Stats {
    /// A message that is no message of ours.
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.refused.count(refusal);
    }

    /// As JSON, for users, with the number of calls that run.
    #[must_use]
    pub fn to_json(&self, running: usize) -> Value {
        let by_reason: BTreeMap<&str, u64> = self.refused.by_reason().collect();
        json!({
            "malformed": self.refused.total(),
            "malformedBy": by_reason,
            "droppedNotices": self.dropped_notices,
            "reconnections": self.reconnections,
            "running": running,
        })
    }
}

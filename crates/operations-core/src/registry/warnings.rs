//! Warnings about outputs. A server that sends the same odd thing a thousand times a second is reported once a minute,
//! by operation and path. `facade/registry/warnings.ts` does the same for calls that the host serves.

use std::sync::Mutex;

use indexmap::IndexMap;
use operations_schema::ValueError;
use serde_json::json;

use super::format_errors;
use crate::clock;
use crate::lock::locked;
use crate::log::{Level, Logger};

/// In milliseconds.
const INTERVAL: f64 = 60_000.0;
/// How many pairs of operation and path are remembered; beyond it the oldest are forgotten.
const REMEMBERED: usize = 10_000;

/// What was said, and when.
#[derive(Debug)]
pub(super) struct Warnings {
    logger: Logger,
    said: Mutex<IndexMap<(String, String), f64>>,
}

impl Warnings {
    pub(super) fn new(logger: Logger) -> Self {
        Self {
            logger,
            said: Mutex::default(),
        }
    }

    /// Logs what is to be said about an output (`what`), unless the same was said within the last minute.
    pub(super) fn about(&self, operation_id: &str, remarks: Vec<ValueError>, what: &str) {
        let now = clock::now();
        let mut said = locked(&self.said);
        let fresh: Vec<ValueError> = remarks
            .into_iter()
            .filter(|remark| is_due(&mut said, operation_id, &remark.path, now))
            .collect();
        drop(said);
        if fresh.is_empty() {
            return;
        }
        let (lines, notes) = format_errors(&fresh);
        let message = format!("The output of operation {operation_id} {what}:\n{lines}");
        let properties = [("operationId", json!(operation_id)), ("notes", notes)];
        self.logger
            .log(Level::Warning, "registry", message, properties);
    }
}

fn is_due(
    said: &mut IndexMap<(String, String), f64>,
    operation_id: &str,
    path: &str,
    now: f64,
) -> bool {
    let key = (operation_id.to_owned(), path.to_owned());
    if let Some(last) = said.get(&key) {
        // A clock that was set back must not silence the path until it has caught up.
        if now >= *last && now - *last < INTERVAL {
            return false;
        }
        said.shift_remove(&key);
    }
    said.insert(key, now);
    if said.len() > REMEMBERED {
        said.shift_remove_index(0);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_a_minute() {
        let mut said = IndexMap::new();
        assert!(is_due(&mut said, "a.b", "/x", 1_000.0));
        assert!(!is_due(&mut said, "a.b", "/x", 60_999.0));
        assert!(is_due(&mut said, "a.b", "/y", 1_000.0));
        assert!(is_due(&mut said, "a.c", "/x", 1_000.0));
        assert!(is_due(&mut said, "a.b", "/x", 61_000.0));
        assert!(is_due(&mut said, "a.b", "/x", 500.0));
        for number in 0..REMEMBERED {
            assert!(is_due(&mut said, "many", &number.to_string(), 2_000.0));
        }
        assert_eq!(said.len(), REMEMBERED);
        assert!(is_due(&mut said, "a.b", "/y", 2_000.0));
    }
}

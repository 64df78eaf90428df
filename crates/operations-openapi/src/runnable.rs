//! Which patterns of a document the schema engine can run.

use std::collections::HashMap;
use std::sync::Mutex;

use operations_core::lock::locked;
use operations_schema::patterns::{Dialect, Pattern};

use super::bounds::MAX_PATTERNS_TRIED;

/// The patterns that were tried. Trying one costs up to some milliseconds, and a schema is copied
/// for each operation that uses it, so a document remembers.
#[derive(Debug, Default)]
pub(super) struct Runnable {
    tried: Mutex<HashMap<Box<str>, bool>>,
}

impl Runnable {
    /// Whether the engine can use this pattern. After [`MAX_PATTERNS_TRIED`] of them nothing more is
    /// tried: a pattern that cannot run then fails the operation that uses it, when it is called.
    pub(super) fn holds(&self, pattern: &str) -> bool {
        // What a panic could leave behind is a map without the entry.
        let mut tried = locked(&self.tried);
        if let Some(known) = tried.get(pattern) {
            return *known;
        }
        if tried.len() >= MAX_PATTERNS_TRIED {
            return true;
        }
        let runs = Pattern::new(pattern, "", Dialect::JsonSchema)
            .failure()
            .is_none();
        tried.insert(pattern.into(), runs);
        runs
    }
}

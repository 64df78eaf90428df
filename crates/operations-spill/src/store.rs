//! The files that share a folder and a quota.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use operations_core::error::CallError;
use serde_json::json;

use crate::ledger::Ledger;
use crate::settings::SpillSettings;

/// Where the files of one configuration go.
#[derive(Debug)]
pub struct SpillStore {
    pub(crate) settings: SpillSettings,
    pub(crate) ledger: Arc<Ledger>,
    used: AtomicU64,
}

impl SpillStore {
    /// A store without files. Nothing is made on disk before the first of them.
    #[must_use]
    pub fn new(settings: SpillSettings, ledger: Arc<Ledger>) -> Arc<Self> {
        Arc::new(Self {
            settings,
            ledger,
            used: AtomicU64::new(0),
        })
    }

    /// A result with more bytes goes to a file.
    #[must_use]
    pub fn over(&self) -> usize {
        self.settings.over
    }

    /// Counts bytes against the quota.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), CallError> {
        let bytes = bytes as u64;
        let quota = self.settings.quota;
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|all| *all <= quota)
            });
        taken.map(drop).map_err(|_| {
            CallError::failed(format!(
                "The result is large, and the files of `spill` would have more than {quota} bytes together. \
                 Raise `spill.quota`, or lower `spill.keep`"
            ))
            .with_details(json!({ "reason": "spill-quota", "quota": quota, "delivery": "done" }))
        })
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

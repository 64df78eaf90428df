//! The files that exist. Code that is given a path can ask whether it is one of ours: the envelope that names it may have been
//! written by anyone.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use operations_core::lock::locked;

/// A file that is complete and not removed yet.
#[derive(Debug)]
pub struct SpilledFile {
    /// Where it is.
    pub path: PathBuf,
    /// How long it is.
    pub bytes: u64,
    /// Its hash, in hexadecimal digits.
    pub sha256: String,
}

/// The files of all stores that belong together.
#[derive(Debug, Default)]
pub struct Ledger {
    files: Mutex<HashMap<String, Arc<SpilledFile>>>,
}

impl Ledger {
    /// The file with this path; nothing for a path that no store has made, or a file that was removed.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<Arc<SpilledFile>> {
        locked(&self.files).get(path).map(Arc::clone)
    }

    pub(crate) fn add(&self, path: &str, file: SpilledFile) {
        locked(&self.files).insert(path.to_owned(), Arc::new(file));
    }

    pub(crate) fn remove(&self, path: &str) {
        locked(&self.files).remove(path);
    }
}

//! Large results in files: written piece by piece, private, counted against a quota, removed in time. Every source of results
//! uses these files, and the doors of a server hand them out.

#![forbid(unsafe_code)]

mod file;
mod ledger;
mod preview;
pub mod private;
mod range;
mod settings;
mod store;

pub use file::SpillFile;
pub use ledger::{Ledger, SpilledFile};
pub use preview::{described, preview};
pub use range::{Range, Unsatisfiable, asked_range};
pub use settings::SpillSettings;
pub use store::SpillStore;

use serde_json::json;

/// A result in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// Where it is.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// Its hash, in hexadecimal digits.
    pub sha256: String,
}

impl Spilled {
    /// What `meta.spill` of an envelope says, as JSON.
    #[must_use]
    pub fn to_json(&self, content_type: &str) -> String {
        let Self {
            path,
            bytes,
            sha256,
        } = self;
        json!({ "path": path, "bytes": bytes, "sha256": sha256, "contentType": content_type })
            .to_string()
    }

    /// Adds `spill` to a `meta`, which is a JSON object with members.
    pub fn push_to(&self, meta: &mut String, content_type: &str) {
        // A member more, before the brace at the end.
        meta.pop();
        meta.push_str(r#","spill":"#);
        meta.push_str(&self.to_json(content_type));
        meta.push('}');
    }
}

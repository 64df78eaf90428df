//! What a configuration says about large results.

use std::path::PathBuf;
use std::time::Duration;

use operations_core::clock::milliseconds;
use operations_core::error::CallError;
use operations_core::number::{size, whole};
use serde::Deserialize;

/// What a configuration says about large results.
#[derive(Debug, Clone)]
pub struct SpillSettings {
    /// A result with more bytes goes to a file.
    pub over: usize,
    /// The folder of the files.
    pub dir: PathBuf,
    /// What the names of the files begin with: who has made them.
    pub owner: String,
    /// How long a file stays.
    pub keep: Duration,
    /// Bytes of all files together.
    pub quota: u64,
}

#[derive(Deserialize)]
struct Raw {
    over: f64,
    dir: String,
    owner: String,
    keep: f64,
    quota: f64,
}

impl SpillSettings {
    /// Reads JSON of the facade, which has checked it and filled in what was left out.
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_json(json: &str) -> Result<Self, CallError> {
        let raw: Raw = serde_json::from_str(json)
            .map_err(|error| CallError::unknown(format!("`spill` cannot be read: {error}")))?;
        Ok(Self {
            over: size(raw.over),
            dir: raw.dir.into(),
            owner: raw.owner,
            keep: milliseconds(raw.keep),
            quota: whole(raw.quota),
        })
    }
}

//! The line between the host and whoever called, while a call is under way: the host tells how far it is, writes log lines
//! and asks questions.

use std::sync::Arc;

use tokio::sync::mpsc;

/// Something that the host says. Each is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// How far it is: an object.
    Progress(String),
    /// A log line: an object with `level` and `data`.
    Log(String),
    /// Questions: a list of objects with `key`, `method` and `params`.
    Questions {
        /// The work that waits for the answers.
        id: Arc<str>,
        /// The questions.
        list: String,
    },
}

/// The end of a line that the host has.
#[derive(Debug, Clone)]
pub struct Line {
    /// What the host may say: a JSON object that goes with the call.
    pub offers: String,
    /// Where it goes. What nobody reads fast enough is left out.
    pub said: mpsc::Sender<Said>,
}

//! The line between the host and whoever called, while a call is under way: the host tells how far it is, writes log lines
//! and asks questions.

use std::sync::Arc;

use tokio::sync::mpsc;

/// Something that the host tells. Each is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// How far it is: an object.
    Progress(String),
    /// A log line: an object with `level` and `data`.
    Log(String),
}

/// Something that the host asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    /// The work that waits for the answers.
    pub id: Arc<str>,
    /// The questions: a JSON list of objects with `key`, `method` and `params`.
    pub list: String,
}

/// The end of a line that the host has.
#[derive(Debug, Clone)]
pub struct Line {
    /// What the host may say: a JSON object that goes with the call.
    pub offers: String,
    /// Where it tells something. What nobody reads fast enough is left out.
    pub told: mpsc::Sender<Told>,
    /// Where it asks. A handler waits for each answer, so that nothing may be left out; there are no more of them than handlers
    /// wait for.
    pub asked: mpsc::UnboundedSender<Questions>,
}

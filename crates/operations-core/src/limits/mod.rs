//! How many calls run at a time, how many begin in a stretch of time, and when a failing source is left alone.
//!
//! [`Machine`] decides, without I/O and without a clock: time is handed in. [`Gate`] is the machine with a clock and with
//! those who wait. One gate serves a whole JavaScript environment, so that a call counts the same whether it begins in
//! JavaScript or is served here.

mod breaker;
mod gate;
mod machine;
mod queue;
mod rate;
mod refusal;
mod stats;

use serde::Deserialize;

pub use breaker::BreakerState;
pub use gate::{Entered, Gate, Limited, Limiter, OnDecision, Permit};
pub use machine::{AdmissionRequest, Decision, LimiterId, Machine, Ticket};
pub use refusal::{Reason, Refusal, Verdict};
pub use stats::{Refused, Stats};

/// How many calls may wait by default. `facade/call/admission-queue.ts` has the same number.
pub const DEFAULT_QUEUE: usize = 1024;

/// What one limiter allows. Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Where they were set: `registry`, `operation`, `adapter`.
    pub scope: String,
    /// Whose they are: the id of an operation, the name of an adapter.
    pub name: String,
    /// Calls at a time.
    pub concurrency: Option<usize>,
    /// Calls that wait.
    pub queue: Option<usize>,
    /// How long a call may wait, and how long it may hold its permit.
    pub timeout: Option<f64>,
    /// Calls that begin in a stretch of time.
    pub rate: Option<Rate>,
    /// When calls are no longer tried.
    pub breaker: Option<BreakerSettings>,
}

/// At most `calls` begin within any `per` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Rate {
    /// How many.
    pub calls: usize,
    /// In how long.
    pub per: f64,
}

/// After `failures` within `window` milliseconds no call is made for `cooldown` milliseconds; then one is tried.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct BreakerSettings {
    /// How many.
    pub failures: usize,
    /// In how long.
    pub window: f64,
    /// For how long.
    pub cooldown: f64,
}

impl Settings {
    /// How messages call them.
    fn describe(&self) -> String {
        if self.name.is_empty() {
            return format!("limits of the {}", self.scope);
        }
        // Guides call whatever makes operations of a source an importer.
        let scope = match self.scope.as_str() {
            "adapter" => "importer",
            scope => scope,
        };
        format!("limits of {scope} {}", self.name)
    }
}

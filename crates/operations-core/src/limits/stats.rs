//! The statistics of a limiter.

use serde::Serialize;

/// What runs and waits at a limiter now, and what became of calls since it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Where the limits were set.
    pub scope: String,
    /// Whose they are.
    pub name: String,
    /// Calls that hold a permit.
    pub running: usize,
    /// Calls that wait for one.
    pub waiting: usize,
    /// Handlers that run on although their call has ended.
    pub overrunning: usize,
    /// Calls that were let through.
    pub admitted: u64,
    /// Calls that were not.
    pub refused: Refused,
    /// `closed`, `open` or `half-open`, where there is a breaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<&'static str>,
    /// How often the breaker has opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<u64>,
}

/// Calls that were not let through, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// Too many were running or waiting.
    pub overloaded: u64,
    /// Too many had begun.
    pub rate_limited: u64,
    /// The source was left alone.
    pub circuit_open: u64,
}

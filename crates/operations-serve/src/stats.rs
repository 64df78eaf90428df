//! What a server counts.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// Numbers since the server was made.
#[derive(Debug, Default)]
pub struct Stats {
    connections: AtomicU64,
    requests: AtomicU64,
    running: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

/// Counts something for as long as it is there.
#[derive(Debug)]
pub struct Counted<'a>(&'a AtomicU64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stats {
    /// A connection, while it is open.
    pub fn connection(&self) -> Counted<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Counted(&self.connections)
    }

    /// A request, while it is answered.
    pub fn request(&self) -> Counted<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted(&self.running)
    }

    /// How a request was answered.
    pub fn answered(&self, status: http::StatusCode) {
        if status.is_client_error() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        } else if status.is_server_error() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// For Prometheus.
    #[must_use]
    pub fn to_prometheus(&self, waiting: usize) -> String {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut text = String::new();
        let mut add = |name: &str, kind: &str, help: &str, value: u64| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP operations_serve_{name} {help}\n# TYPE operations_serve_{name} {kind}\noperations_serve_{name} {value}"
            );
        };
        let (requests, refused, failed) = (
            read(&self.requests),
            read(&self.refused),
            read(&self.failed),
        );
        add(
            "requests_total",
            "counter",
            "Requests that arrived.",
            requests,
        );
        add(
            "refused_total",
            "counter",
            "Requests that were answered with 4XX.",
            refused,
        );
        add(
            "failed_total",
            "counter",
            "Requests that were answered with 5XX.",
            failed,
        );
        add(
            "connections",
            "gauge",
            "Open connections.",
            read(&self.connections),
        );
        add(
            "running",
            "gauge",
            "Requests that are being answered.",
            read(&self.running),
        );
        let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
        add("waiting", "gauge", "Calls that wait for a place.", waiting);
        text
    }

    /// For JavaScript.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        json!({
            "connections": read(&self.connections),
            "requests": read(&self.requests),
            "running": read(&self.running),
            "refused": read(&self.refused),
            "failed": read(&self.failed),
        })
    }
}

//! The service and its listener, without Node: a thread that looks into the mailbox stands in for the host.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests: a failure should stop them"
)]

mod explorer_door;
mod http_door;
mod identity;
mod js_bridge;
mod listener;
mod mcp_client_requests;
mod mcp_door;
mod mcp_stdio;
mod random_requests;
mod service;
mod support;

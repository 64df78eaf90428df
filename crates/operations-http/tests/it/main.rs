//! The integration tests of this crate, in one binary: each binary costs a link of all dependencies.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and prints its seed"
)]

mod bodies;
mod calls;
mod handler;
mod handover;
mod headers;
mod http_support;
mod input;
mod machine;
mod responses;
mod sse;
mod streams;
mod styles;
mod support;
mod urls;

//! The integration tests of this crate, in one binary: each binary costs a link of all dependencies.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and prints its seed"
)]

mod hostile_events;
mod identity;
mod limits;
mod registry;
mod shared_cases;
mod watched;

//! The integration tests of this crate, in one binary: each binary costs a link of all dependencies.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and prints its seed"
)]

mod bounds;
mod emit;
mod emit_support;
mod fast_check;
mod hostile;
mod json_schema_suite;
mod normalise_bounds;
mod normalise_contradictions;
mod normalise_json_schema;
mod normalise_objects;
mod normalise_random;
mod normalise_support;
mod normalise_unions;
mod normalise_values;
mod nullable;
mod raw_value;
mod suite_exceptions;
mod typebox_kinds;

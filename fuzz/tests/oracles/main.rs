//! Judges that are not ours: the crates `jsonschema` and `eventsource-stream`, on random schemas and values and on
//! random streams. Where they differ from us, the difference is on a list with its explanation, or the test fails.
//!
//! `OPERATIONS_SEED` repeats a run; `OPERATIONS_PAIRS` and `OPERATIONS_STREAMS` make it longer.
#![allow(
    clippy::print_stdout,
    reason = "a run says what it found, and how to repeat it"
)]

mod pairs;
mod schemas;
mod streams;
mod tally;
mod values;

//! Server-sent events, without Node and without a network. `__test__/sse/` runs the same table
//! through the public name.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod cuts;
mod frames;
mod limits;
mod random;
mod reference;
mod resuming;
mod table;

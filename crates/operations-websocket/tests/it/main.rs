//! Connections without sockets: a session on one end of a pipe, and on the other end a test that plays a peer, or another
//! session.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod answering;
mod calling;
mod flow;
mod histories;
mod hostile;
mod spoke;
mod support;

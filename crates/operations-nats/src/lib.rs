//! The call protocol over NATS.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`. How requests find an idle worker, what is sent, and what is promised:
//! `docs/design/nats-transport.md`.
//!
//! - [`subjects`]: names of operations as subjects.
//! - [`options`]: what a user may say about a connection. Secrets stay in it.
//! - [`wire`]: the messages.
//! - [`caller`], [`worker`], [`peers`]: the two roles of a connection and whom they know, without I/O.
//! - [`state`]: one connection's roles together; a message goes in, what is to be done comes out.
//! - [`discovery`], [`serving`]: what is said about workers.
//! - [`connection`]: the part that waits.

#![forbid(unsafe_code)]

pub mod caller;
pub mod connection;
mod credentials;
pub mod discovery;
pub mod errors;
pub mod limits;
pub mod options;
pub mod peers;
pub mod serving;
pub mod state;
pub mod stats;
pub mod subjects;
pub mod wire;
pub mod worker;

pub use connection::Connection;
pub use operations_core::call::{status, submission};
pub use options::Options;

//! The channels of Redis as a bus for the call protocol.
//!
//! A [`RedisBus`] publishes messages and listens to channels over two connections, which come back by
//! themselves after a loss. What has arrived waits in a bounded [`Mailbox`](operations_core::mailbox::Mailbox)
//! until it is taken, many messages at a time. Delivery is at most once, as everything on Redis channels; a message
//! that could not be sent, and a time in which messages may have been missed, are reported, not hidden.
//!
//! [`RedisCommands`] reads and writes keys, for those who keep something in Redis.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core` and above.

#![forbid(unsafe_code)]

mod backoff;
mod bus;
mod commands;
mod connect;
mod guard;
mod listener;
mod options;
mod outbox;
mod problem;
mod reports;
#[doc(hidden)]
pub mod resp_filter;
mod sender;
mod subscriptions;

pub use bus::RedisBus;
pub use commands::{Answer, RedisCommands};
pub use options::Options;

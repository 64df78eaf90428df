//! A registry, served to others.
//!
//! One service takes requests and gives answers, both with bodies that stream ([`Service`]); it knows nothing of sockets.
//! A [`listener`] is one place to put it, a `fetch` handler of the host another. In the service, [`allowed`] says from where
//! requests may come, [`identity`] who calls, and a [`door`] speaks the protocol. What a door wants done goes through
//! [`Calls`]: the registry does it here, or the host does ([`host`]).

#![forbid(unsafe_code)]

mod access_log;
pub mod allowed;
mod binary;
pub mod body;
pub mod call;
pub mod challenge;
pub mod cors;
mod described;
pub mod door;
pub mod embedded;
pub mod failure;
pub mod host;
pub mod identity;
pub mod limits;
pub mod line;
pub mod listener;
pub mod metrics;
pub mod options;
pub mod peer_calls;
pub mod progress;
mod ready;
pub mod service;
pub mod spilled;
pub mod spoke_calls;
mod standard_streams;
pub mod stats;
pub mod tls;
pub mod upstream;

pub use call::Calls;
pub use host::Host;
pub use options::Options;
pub use service::Service;

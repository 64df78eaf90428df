//! A registry, served to others.
//!
//! One service takes requests and gives answers, both with bodies that stream ([`Service`]); it knows nothing of sockets.
//! A [`listener`] is one place to put it, a `fetch` handler of JavaScript another. In the service, [`origin_check`] says from where
//! requests may come, [`identity`] who calls, and a [`door`] speaks the protocol. What a door wants done goes through
//! [`Calls`]: the registry does it here, or JavaScript does ([`js_bridge`]).

#![forbid(unsafe_code)]

mod access_log;
mod binary;
pub mod body;
pub mod call;
pub mod calls_from_peer;
pub mod challenge;
pub mod client_channel;
pub mod cors;
mod description_cache;
pub mod door;
pub mod embedded;
pub mod failure;
pub mod identity;
pub mod js_bridge;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod options;
pub mod origin_check;
pub mod progress;
mod ready;
pub mod service;
pub mod spilled;
pub mod spoke_server;
mod standard_streams;
pub mod stats;
pub mod tls;
pub mod upstream;

pub use call::Calls;
pub use js_bridge::JsBridge;
pub use options::Options;
pub use service::Service;

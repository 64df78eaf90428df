//! The call protocol over WebSocket.
//!
//! A connection has two ends that are alike: either may call, and either may serve. A frame is one event of the protocol,
//! `{ "type", "id", "payload" }` as JSON text; frames of type `hub.*` are for those who know them ([`frame`]).
//!
//! - [`peer`]: the other end, for its callers. It outlives a lost connection if a new one is made.
//! - [`serving`]: what is done for the other end.
//! - [`session`]: one connection, from its first frame to its last.
//! - [`handler`]: an operation of the other end as a handler of the registry.
//! - [`connection`]: a spoke, which finds its hub again.

#![forbid(unsafe_code)]

pub mod connection;
pub mod errors;
pub mod frame;
pub mod handler;
pub mod limits;
pub mod options;
pub mod peer;
pub mod serving;
pub mod session;
mod tls;

pub use connection::Connection;
pub use handler::PeerHandler;
pub use options::Options;
pub use peer::Peer;
pub use serving::{Answered, Incoming, Serving};
pub use session::{Metered, Session, Socket};
pub use tokio_tungstenite::WebSocketStream;
pub use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
pub use tokio_tungstenite::tungstenite::protocol::Role;

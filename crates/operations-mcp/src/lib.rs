//! MCP servers as operations: processes, connections and calls.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`. [`Client`] is a server as its users see it (`client/`); below it are the two ways to it
//! (`transport/`), its process (`process/`) and the tokens that it wants (`auth/`).

#![forbid(unsafe_code)]

mod auth;
mod client;
mod config;
mod error;
mod process;
mod secrets;
mod transport;

pub use client::{
    CallOptions, Client, ClientCallbacks, ClientRequest, InFile, OnProgress, Query, SpillSlot,
    Started, ToolHandler,
};
pub use config::{ClientCredentials, Http, HttpKind, OAuth, ServerConfig, Stdio, Target};
pub use secrets::Secrets;
#[doc(hidden)]
pub use transport::message::read_messages;

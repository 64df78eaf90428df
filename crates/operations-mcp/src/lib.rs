//! MCP servers as operations: processes, connections and calls, on rmcp.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`. [`Client`] is a server as its users see it; below it are one connection
//! (`connection`), two transports (`stdio`, `http`), and what passes between them and rmcp (`tap`).

#![forbid(unsafe_code)]

mod asking;
mod call;
mod client;
mod config;
mod connection;
mod environment;
mod failed;
mod failure;
mod handler;
mod host;
mod http;
mod listing;
mod oauth;
mod opening;
mod process;
mod redirect;
mod request;
mod secrets;
mod session;
mod slot;
mod stderr;
mod stdio;
mod tap;
mod tokens;
mod wire;

pub use client::{CallOptions, Client};
pub use config::{Http, OAuth, ServerConfig, Stdio, Target};
pub use host::{Host, Question};
pub use secrets::Secrets;
pub use slot::OnProgress;

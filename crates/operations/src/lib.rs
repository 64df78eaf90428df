#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(all(
        feature = "mcp",
        feature = "nats",
        feature = "serve",
        feature = "websocket"
    )),
    allow(dead_code, unreachable_pub, reason = "what only some features need")
)]

mod call;
mod imported;
mod inbox;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "openapi")]
mod openapi;
mod operation;
mod registry;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "websocket")]
mod websocket;

pub use call::{Call, Envelope, Subscription};
#[cfg(any(feature = "nats", feature = "websocket"))]
pub use imported::Import;
#[cfg(feature = "mcp")]
pub use mcp::{McpConnection, McpServer};
#[cfg(feature = "nats")]
pub use nats::{ConnectNats, NatsConnection, connect_nats};
#[cfg(feature = "openapi")]
pub use openapi::OpenApi;
pub use operation::{Context, Operation};
pub use operations_core::access::{AccessControl, Identity};
pub use operations_core::error::{CallError, InfrastructureErrorCode};
pub use operations_core::registry::OutputMode;
pub use operations_core::spec::OperationType;
pub use registry::Registry;
#[cfg(feature = "serve")]
pub use serve::{Serve, Server, serve};
#[cfg(feature = "websocket")]
pub use websocket::{ConnectHub, HubConnection, Spoke, connect_hub};

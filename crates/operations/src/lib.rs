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
/// ```
/// use operations::AccessControl;
///
/// let writers = AccessControl::scopes(["tasks:read", "tasks:write"]);
/// let owners = AccessControl {
///     resource_type: Some("project".to_owned()),
///     resource_action: Some("delete".to_owned()),
///     ..AccessControl::default()
/// };
/// ```
///
pub use operations_core::access::AccessControl;
/// ```
/// use operations::Identity;
///
/// let ada = Identity::new("ada", ["tasks:read"]);
/// assert_eq!(ada.scopes, ["tasks:read"]);
/// ```
///
pub use operations_core::access::Identity;
/// ```
/// use operations::CallError;
///
/// // Callers read the message of this one.
/// let error = CallError::new("SOLD_OUT", "There are no tickets left");
/// assert_eq!(error.to_string(), "SOLD_OUT: There are no tickets left");
/// // They do not read what another part of the program has reported.
/// let read = std::fs::read_to_string("/no/such/file").map_err(|error| CallError::unexpected(error.to_string()));
/// assert!(read.unwrap_err().is_internal);
/// ```
///
pub use operations_core::error::CallError;
/// ```
/// use operations::{InfrastructureErrorCode, Registry};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = Registry::new().call("no.such", ()).await.unwrap_err();
/// assert!(error.is(InfrastructureErrorCode::OperationNotFound));
/// # }
/// ```
///
pub use operations_core::error::InfrastructureErrorCode;
/// ```
/// use operations::{OutputMode, Registry};
///
/// let registry = Registry::with_output(OutputMode::Strict);
/// ```
///
pub use operations_core::registry::OutputMode;
pub use registry::Registry;
#[cfg(feature = "serve")]
pub use serve::{Serve, Server, serve};
#[cfg(feature = "websocket")]
pub use websocket::{ConnectHub, HubConnection, Spoke, connect_hub};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/rust.md")]
struct Guide;

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod call;
#[cfg(feature = "openapi")]
mod openapi;
mod operation;
mod registry;
#[cfg(feature = "serve")]
mod serve;

pub use call::{Call, Envelope, Subscription};
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

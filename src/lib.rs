//! The Node-API binding of `@alkdev/operations`: conversion between JavaScript and the core crates,
//! and nothing else. What things mean is decided in `crates/`.
//!
//! There is no state outside [`interop::runtime::Runtime`]: the facade makes one for each JavaScript
//! environment, so that worker threads, which load this library again into the same process, share
//! nothing.

#![deny(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self,
    reason = "#[napi] prescribes how exported functions take their arguments and their environment"
)]

#[cfg(feature = "test-hooks")]
mod call_hooks;
mod catalogue;
mod http;
mod hub;
mod interop;
mod js_callbacks;
mod limits;
mod live;
mod mcp;
mod nats;
mod openapi;
mod redis;
mod registry;
#[cfg(feature = "test-hooks")]
mod registry_hooks;
mod schema;
mod serve;
mod serve_embedded;
mod spill;
mod sse;
#[cfg(feature = "test-hooks")]
mod test_hooks;
mod tools;

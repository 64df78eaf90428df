//! Doors: each speaks one protocol.

pub mod explorer;
pub mod http;
pub mod hub;
pub mod mcp;

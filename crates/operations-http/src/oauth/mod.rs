//! What programs need that get tokens (OAuth 2.0), for HTTP services and MCP servers.

pub mod assertion;
pub mod callback;
pub mod jwt;

//! MCP servers as operations: processes, connections and calls, on rmcp.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`.

#![forbid(unsafe_code)]

//! The channels of Redis as a bus for the call protocol.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`.

#![forbid(unsafe_code)]

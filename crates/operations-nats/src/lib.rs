//! The call protocol over NATS.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`.

#![forbid(unsafe_code)]

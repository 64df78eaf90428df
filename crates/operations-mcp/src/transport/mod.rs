//! The two ways to a server: over the standard streams of a process, and over HTTP.

pub(crate) mod http;
pub(crate) mod message;
pub(crate) mod stdio;

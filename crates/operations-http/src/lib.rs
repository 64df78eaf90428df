//! Requests, responses and streams of events: what they mean, without I/O, and reqwest to carry them.
//!
//! | module | idea |
//! |---|---|
//! | [`message`] | how an input becomes a request, and what a response means |
//! | [`sse`] | server-sent events, read as they arrive |
//! | [`machine`] | a call or a stream from its request to its end: retries, redirects, limits |
//! | [`oauth`] | what programs need that get tokens: a port for browsers, signed assertions |
//! | [`fetch`] | small documents, such as the keys of an issuer |
//! | `client` | the machine driven by reqwest, on Tokio |
//!
//! The first three open no socket, so they serve a `fetch` of the user's as well. Nothing here knows
//! Node.

#![forbid(unsafe_code)]

pub mod fetch;
pub mod machine;
pub mod message;
pub mod oauth;
pub mod sse;

mod client;

pub use client::{
    DocumentFlow, DocumentOAuth, Fetched, Handover, HttpHandler, OAuthCallbacks, OAuthSurroundings,
    Service, ServiceSettings, StreamReader,
};
pub use machine::{StreamItem, StreamKind};
pub use message::{CallInput, EncodedInput, Failure, HttpOperation, JsonForm, Reply};

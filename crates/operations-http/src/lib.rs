//! Requests, responses and streams of events: what they mean, without I/O, and reqwest to carry them.
//!
//! [`message`] and [`sse`] open no socket. Everything else runs on Tokio; nothing here knows Node.
//!
//! | file | idea |
//! |---|---|
//! | `message` | how an input becomes a request, and what a response means |
//! | `sse` | server-sent events, read as they arrive |
//! | `settings` | what the configuration of a service says |
//! | `pool` | the connections of a service, made when they are first needed |
//! | `exchange` | one request, its redirects, the head of the answer |
//! | `failure` | why a request failed, in words |
//! | `limited` | a body that may not be larger than a limit |
//! | `service` | calls: the request, retries, the time limit, the decoded answer |
//! | `prepare` | the requests of a service, built |
//! | `tries` | trying again |
//! | `open` | opening streams, and what may come instead of one |
//! | `stream` | open streams: read in batches, opened again |
//! | `reconnect` | when a stream is opened again, and from where |
//! | `batch` | many events as one JSON text |
//! | `lines` | one JSON value per line |

#![forbid(unsafe_code)]

pub mod message;
pub mod sse;

mod batch;
mod exchange;
mod failure;
mod limited;
mod lines;
mod open;
mod outcome;
mod pool;
mod prepare;
mod random;
mod reconnect;
mod service;
mod settings;
mod stream;
mod tries;

pub use batch::{Batch, Feed};
pub use open::{Opened, stream_kind};
pub use outcome::{Failure, Reply, decoded_reply};
pub use reconnect::{Lost, Reconnect, resume_after};
pub use service::{CallInput, Fetched, Service};
pub use settings::ServiceSettings;
pub use stream::{StreamKind, StreamReader};

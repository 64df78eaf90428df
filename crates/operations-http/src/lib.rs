//! Requests and streams: what operations-core builds, sent with reqwest.
//!
//! Everything here runs on Tokio and knows nothing of Node; what a message means is decided in
//! `operations-core`.
//!
//! | file | idea |
//! |---|---|
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

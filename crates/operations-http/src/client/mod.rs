//! The HTTP machine driven by reqwest, on Tokio.
//!
//! | file | idea |
//! |---|---|
//! | `service` | the calls and streams of one imported document |
//! | `settings` | what its configuration says |
//! | `drive` | doing what a machine says |
//! | `send` | a request and the head of its response, as reqwest has them |
//! | `network_error` | why the network failed, in words |
//! | `oauth` | the tokens that a service gets for itself |
//! | `pool` | connections, made when they are first needed |
//! | `resolver` | what names lead to, without private addresses |
//! | `handler` | an operation for the registry, served without the host |
//! | `handover` | a stream on its way to a consumer on another thread |

mod drive;
mod handler;
mod handover;
mod network_error;
mod oauth;
mod passing;
mod pool;
mod resolver;
mod send;
mod service;
mod settings;

pub use self::drive::StreamReader;
pub use self::handler::HttpHandler;
pub use self::handover::Handover;
pub use self::oauth::{DocumentFlow, DocumentOAuth, OAuthCallbacks, OAuthSurroundings};
pub use self::service::{Fetched, Service};
pub use self::settings::ServiceSettings;

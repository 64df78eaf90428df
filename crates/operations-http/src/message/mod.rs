//! HTTP without a network: how an input becomes a request, and what a response means.
//!
//! [`plan`] is what a document says about a request. [`request::build`] turns a plan and an input
//! into a [`Request`], with [`style`] and [`body`] doing the writing and [`BaseUrl`] the joining.
//! [`response`] tells what came back, [`transport`] why nothing did; [`redirect`] and [`retry`] what
//! to do next. Nothing here opens
//! a socket, so the native client and a caller's own `fetch` share every rule.

pub mod auth;
pub mod body;
pub mod charset;
pub mod date;
pub mod escape;
pub mod headers;
pub mod media;
pub mod multipart;
mod operation;
pub mod path;
pub mod plan;
mod problem;
pub mod redirect;
pub mod request;
pub mod response;
pub mod retry;
pub mod status;
pub mod style;
pub mod transport;
pub mod url;
pub mod value;

pub use self::auth::{Auth, Secret};
pub use self::body::{Body, Payload};
pub use self::headers::Headers;
pub use self::multipart::{Multipart, Part};
pub use self::operation::{HttpOperation, ResponseKind};
pub use self::plan::{BodyPlan, Encoding, Location, Parameter, RequestPlan, Server, Style};
pub use self::request::{Request, Settings};
pub use self::response::{BodyKind, Decoded, ResponseHead};
pub use self::retry::RetryPolicy;
pub use self::url::{BaseUrl, resolve_server};
pub use self::value::{Blob, InputValue};

//! HTTP without a network: how an input becomes a request, and what a response means.
//!
//! [`plan`] is what a document says about a request. [`request::build`] turns a plan and an input
//! into a [`Request`], with [`style`] and [`body`] doing the writing and [`BaseUrl`] the joining.
//! [`response`] and [`reply`] tell what came back, [`served`] what it means if the server is one of ours, [`errors`] why nothing did. [`input`] is how a call's
//! input arrives from JavaScript, and [`integers`] what becomes of numbers that JavaScript cannot hold.
//! [`mirrored`] is about the arguments of MCP tools that are headers too.

pub mod auth;
pub mod body;
pub mod charset;
pub mod errors;
pub mod escape;
pub mod headers;
pub mod input;
pub mod int64;
pub mod integers;
pub mod media;
pub mod mirrored;
pub mod multipart;
mod operation;
pub mod path;
pub mod plan;
pub mod reach;
mod redact_url;
pub mod reply;
pub mod request;
pub mod response;
pub mod served;
pub mod style;
pub mod url;
pub mod value;

pub use self::auth::{Auth, Secret};
pub use self::body::{Body, Payload};
pub use self::headers::Headers;
pub use self::input::{CallInput, EncodedInput, Outgoing};
pub use self::int64::{Int64, Keep, LazySchema};
pub use self::integers::{Note, Remarks};
pub use self::multipart::{Multipart, Part};
pub use self::operation::{HttpOperation, ResponseKind};
pub use self::plan::{
    BodyPlan, Encoding, Location, Parameter, RELAYED_STATUSES, RequestPlan, Server, Style,
};
pub use self::reach::Reach;
pub use self::redact_url::redact_url;
pub use self::reply::{JsonForm, Reply, decoded_reply};
pub use self::request::{Request, Settings};
pub use self::response::{BodyKind, Decoded, ResponseHead};
pub use self::url::{BaseUrl, resolve_server};
pub use self::value::{Blob, InputValue};
pub use operations_core::error::Failure;

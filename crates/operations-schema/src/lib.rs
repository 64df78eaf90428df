//! The schema engine: one compiled form of a schema, and the walks over it.
//!
//! A [`source::Source`] (a schema as it was written) is compiled into a [`ir::Program`]. The walks
//! ([`check::check`], [`errors::collect_errors`]) are generic over [`host::Host`], which gives
//! access to values of one representation, so the same rule decides for JSON in Rust and for live
//! JavaScript values. Whoever has JSON in Rust starts at [`json`].
#![forbid(unsafe_code)]

pub mod bounds;
pub mod check;
pub mod compile;
pub mod emit;
pub mod errors;
pub mod formats;
pub mod host;
pub mod ir;
pub mod json;
pub mod keywords;
pub mod normalise;
pub mod number;
pub mod patterns;
pub mod pointer;
pub mod problem;
pub mod source;
pub mod work;

pub use check::check;
pub use compile::{CompileOptions, compile};
pub use errors::{ValueError, collect_errors};
pub use host::{Class, Host, Interrupt, JsonHost, Limit};
pub use ir::{NodeId, Program};
pub use json::NormalisedJson;
pub use normalise::{Mode, Normalised, Note, What, normalise};
pub use problem::SchemaError;
pub use source::Source;

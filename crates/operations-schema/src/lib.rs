//! The schema engine: one compiled form of a schema, and the walks over it.
//!
//! A [`source::Source`] (a schema as it was written) is compiled into a [`ir::Program`]. The walks
//! ([`check::check`], [`check::collect_errors`]) are generic over [`value_access::ValueAccess`], which gives
//! access to values of one representation, so the same rule decides for JSON in Rust and for live
//! JavaScript values. For JSON in Rust, start at [`json`].
#![forbid(unsafe_code)]

pub mod bounds;
pub mod check;
pub mod compile;
pub mod emit;
pub mod formats;
pub mod ir;
pub mod json;
pub mod keywords;
pub mod normalise;
pub mod number;
pub mod patterns;
pub mod pointer;
pub mod problem;
pub mod source;
pub mod value_access;
pub mod work;

pub use check::{ValueError, check, collect_errors};
pub use compile::{CompileOptions, compile};
pub use ir::{NodeId, Program};
pub use json::NormalisedJson;
pub use normalise::{Mode, Normalised, Note, What, normalise};
pub use problem::SchemaError;
pub use source::Source;
pub use value_access::{Class, Interrupt, JsonAccess, Limit, ValueAccess};

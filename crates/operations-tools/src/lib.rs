//! Operations as tools for language models. No I/O.
//!
//! Each provider takes another part of JSON Schema; [`targets`] has their rules as one table.
//! [`project_schema`] writes a schema within the rules of a target, says what was lost on the way
//! ([`Loss`]) and knows how a model's arguments become what the original schema asks for
//! ([`Projection::restore`]).

#![forbid(unsafe_code)]

pub mod arguments;
mod canonical;
pub mod catalogue;
mod checker;
pub mod declarations;
mod hints;
mod lossy;
mod measure;
mod merge;
pub mod names;
mod plan;
pub mod preview;
mod project;
pub mod redact;
mod restore;
pub mod targets;

pub use lossy::{Loss, LossKind};
pub use project::{Projection, Unusable, project_schema};
pub use targets::Target;

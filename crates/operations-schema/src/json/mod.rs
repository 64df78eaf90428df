//! JSON in Rust: texts that are passed through, taken apart, held against a schema, and written as JavaScript
//! writes them.

mod document;
mod program;
mod text;
mod write;

pub(crate) use document::array_index;
pub use document::{Document, Json, Kind};
pub use program::NormalisedJson;
pub use text::{MAX_ANSWER_DEPTH, MAX_DEPTH, Malformed, Object, check, check_below, is_too_deep};
pub(crate) use write::push_number;
pub use write::push_string;

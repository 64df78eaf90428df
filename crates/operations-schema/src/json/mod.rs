//! JSON in Rust: texts that are passed through, taken apart, held against a schema, and written as JavaScript
//! writes them.

mod document;
mod object;
mod program;
mod text;
mod write;

pub use document::{Document, Json, Kind};
pub(crate) use document::{array_index, inner};
pub use object::Object;
pub use program::NormalisedJson;
pub(crate) use text::Scan;
pub use text::{
    MAX_ANSWER_DEPTH, MAX_DEPTH, Malformed, check, check_below, check_written, is_too_deep,
};
pub use write::push_string;
pub(crate) use write::{push_number, unescaped};

//! JSON as text: passed through, taken apart, and written as JavaScript writes it.

mod document;
mod text;
mod write;

pub(crate) use document::array_index;
pub use document::{Document, Json, Kind};
pub use text::{MAX_ANSWER_DEPTH, MAX_DEPTH, Malformed, Object, check, elements, is_too_deep};
pub(crate) use write::push_number;
pub use write::push_string;

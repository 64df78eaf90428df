//! Server-sent events: a stream of bytes becomes events, as the WHATWG specification says.
//!
//! Nothing here does I/O: the caller pushes the bytes ([`Parser`]), or asks what a text
//! holds so far ([`parse_frames`]). Both follow the same rules, from the same code.
//!
//! | file | idea |
//! |---|---|
//! | `lines` | bytes to lines and fields: the byte order mark, three line ends, names, the one space |
//! | `block` | fields to an event: what each field means, and how much of it is kept |
//! | `parser` | the two together, fed in pieces |
//! | `frames` | the same over a text, with what is unfinished handed back |
//! | `text` | bytes to text |

mod block;
mod error;
mod event;
mod frames;
mod lines;
mod parser;
mod text;

#[cfg(test)]
mod tests;

pub use error::{Limits, SseError};
pub use event::{DEFAULT_EVENT_TYPE, Event};
pub use frames::{Frame, Frames, parse_frames};
pub use parser::Parser;

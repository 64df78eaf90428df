//! What a stream consists of.

use std::borrow::Cow;
use std::sync::Arc;

/// The type of an event that does not name one.
pub const DEFAULT_EVENT_TYPE: &str = "message";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type, [`DEFAULT_EVENT_TYPE`] if the stream did not name one.
    pub event: Cow<'static, str>,
    /// Its data lines, joined by line feeds.
    pub data: String,
    /// The last id that the stream gave, in this event or before; empty if it gave none. Shared,
    /// because a server may send one long id and then any number of small events under it.
    pub id: Arc<str>,
    /// The reconnection time in milliseconds, if it was sent along with this very event.
    pub retry: Option<u64>,
}

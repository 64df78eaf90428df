//! The events in a text that may go on: the rules of [`Parser`], without a memory between calls.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::Limits;
use super::event::{DEFAULT_EVENT_TYPE, Event};
use super::parser::{Parser, Progress};

/// An event of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its data lines, joined by line feeds: the text itself, whether or not it is JSON. What the
    /// data mean is for the caller to say.
    pub data: String,
    /// Its type, `message` if the text does not name one.
    pub event_type: Cow<'static, str>,
    /// The last id in this text, up to and including this event; empty if there was none.
    pub last_event_id: Arc<str>,
}

impl From<Event> for Frame {
    fn from(event: Event) -> Self {
        Self {
            data: event.data,
            event_type: event.event,
            last_event_id: event.id,
        }
    }
}

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames<'a> {
    /// The finished events.
    pub events: Vec<Frame>,
    /// The block that is not finished, from its first line; otherwise empty.
    pub remaining: &'a str,
}

impl Frames<'_> {
    /// As JSON, for the facade: how many UTF-16 units at the end of the text are not read, then data,
    /// type and id of each event in turn. A type that is the usual one and an id that is that of the
    /// event before are null, so that a long id crosses once and not with each event.
    #[must_use]
    pub fn to_json(&self) -> String {
        let unread = self.remaining.encode_utf16().count();
        let mut parts: Vec<Option<&str>> = Vec::with_capacity(self.events.len() * 3);
        let mut last_id = "";
        for frame in &self.events {
            let event_type = &*frame.event_type;
            let id = &*frame.last_event_id;
            // Where it is the same object, a long id need not be compared.
            let is_same_id = std::ptr::eq(id, last_id) || id == last_id;
            parts.push(Some(&frame.data));
            parts.push((event_type != DEFAULT_EVENT_TYPE).then_some(event_type));
            parts.push((!is_same_id).then_some(id));
            last_id = id;
        }
        // Texts are always JSON.
        serde_json::to_string(&(unread, parts)).unwrap_or_default()
    }
}

/// The events of a text, and the rest that belongs in front of the next piece of the stream.
///
/// Feeding `remaining` and the next piece together finds the events that the whole stream has,
/// wherever it was cut:
///
/// - An unfinished block is handed back as a whole, line ends included, so that a CR at its end can
///   still become a CRLF.
/// - A block is finished by the CR of a CRLF. If the LF comes with the next piece, it is an empty
///   line in front of it, which means nothing.
/// - A byte order mark belongs to the first block; if that is unfinished, it is handed back too. A
///   later text that happens to begin with one loses it: without a memory one cannot tell, and
///   dropping the mark loses no data, where keeping it would void a line.
/// - The id lasts as long as the text. The caller keeps that of the last event.
#[must_use]
pub fn parse_frames(text: &str) -> Frames<'_> {
    let mut parser = Parser::new(Limits::NONE);
    let mut input = text.as_bytes();
    let mut events = Vec::new();
    let mut unread = input.len();
    loop {
        match parser.next_block(&mut input) {
            Ok(Progress::Event(event)) => events.push(Frame::from(event)),
            Ok(Progress::NoEvent) => {}
            // Errors there are none: there are no limits.
            Ok(Progress::Unfinished) | Err(_) => break,
        }
        unread = input.len();
    }
    // Blocks end behind ASCII, so both parts are text.
    let (read, rest) = text
        .split_at_checked(text.len() - unread)
        .unwrap_or((text, ""));
    let remaining = match rest.strip_prefix('\n') {
        Some(behind) if read.ends_with('\r') => behind,
        _ => rest,
    };
    Frames { events, remaining }
}

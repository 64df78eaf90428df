//! Fields to an event: a block is what stands between two empty lines.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::{Limits, SseError};
use super::event::{DEFAULT_EVENT_TYPE, Event};
use super::lines::Field;
use super::text;

/// The block that is being read, and what outlives it.
#[derive(Debug)]
pub(super) struct Block {
    limits: Limits,
    /// The field whose line is being read.
    field: Field,
    data: Vec<u8>,
    /// Whether there was a data line. An event with an empty one is an event all the same.
    has_data: bool,
    event_type: Vec<u8>,
    /// The value of the latest `id` line, kept until the block ends so that it counts.
    id_line: Vec<u8>,
    /// That value holds a NUL, so the line means nothing.
    id_is_void: bool,
    retry_line: Milliseconds,
    retry: Option<u64>,
    /// The id of the next event.
    id: Arc<str>,
    /// The id as of the last block that was finished.
    finished_id: Arc<str>,
    reconnection_time: Option<u64>,
}

impl Block {
    pub(super) fn new(limits: Limits, last_event_id: Arc<str>) -> Self {
        Self {
            limits,
            field: Field::Data,
            data: Vec::new(),
            has_data: false,
            event_type: Vec::new(),
            id_line: Vec::new(),
            id_is_void: false,
            retry_line: Milliseconds::Nothing,
            retry: None,
            id: Arc::clone(&last_event_id),
            finished_id: last_event_id,
            reconnection_time: None,
        }
    }

    pub(super) fn last_event_id(&self) -> &Arc<str> {
        &self.finished_id
    }

    pub(super) fn reconnection_time(&self) -> Option<u64> {
        self.reconnection_time
    }

    /// A line with this field begins.
    pub(super) fn begin(&mut self, field: Field) -> Result<(), SseError> {
        self.field = field;
        match field {
            Field::Data => {
                if self.has_data {
                    self.make_room(1)?;
                    self.data.push(b'\n');
                }
                self.has_data = true;
            }
            Field::Event => self.event_type.clear(),
            Field::Id => {
                self.id_line.clear();
                self.id_is_void = false;
            }
            Field::Retry => self.retry_line = Milliseconds::Nothing,
        }
        Ok(())
    }

    /// More of the value of that line.
    pub(super) fn append(&mut self, piece: &[u8]) -> Result<(), SseError> {
        match self.field {
            Field::Data => {
                self.make_room(piece.len())?;
                self.data.extend_from_slice(piece);
            }
            Field::Event => {
                self.make_room(piece.len())?;
                self.event_type.extend_from_slice(piece);
            }
            Field::Id => {
                self.id_is_void |= piece.contains(&0);
                if self.id_is_void {
                    self.id_line.clear();
                } else {
                    self.make_room(piece.len())?;
                    self.id_line.extend_from_slice(piece);
                }
            }
            Field::Retry => self.retry_line.append(piece),
        }
        Ok(())
    }

    /// That line has ended.
    pub(super) fn end(&mut self) {
        match self.field {
            Field::Data | Field::Event => {}
            Field::Id => {
                if !self.id_is_void {
                    self.id = Arc::from(String::from_utf8_lossy(&self.id_line));
                }
            }
            Field::Retry => {
                if let Milliseconds::Number(time) = self.retry_line {
                    self.retry = Some(time);
                    self.reconnection_time = Some(time);
                }
            }
        }
    }

    /// The block has ended: the event, if it is one. An id counts from here on even without data.
    pub(super) fn dispatch(&mut self) -> Option<Event> {
        self.finished_id = Arc::clone(&self.id);
        let event = self.has_data.then(|| Event {
            event: if self.event_type.is_empty() {
                Cow::Borrowed(DEFAULT_EVENT_TYPE)
            } else {
                Cow::Owned(text::take(&mut self.event_type))
            },
            data: text::take(&mut self.data),
            id: Arc::clone(&self.id),
            retry: self.retry,
        });
        self.discard();
        event
    }

    /// Forgets the block as if it had never begun.
    pub(super) fn abandon(&mut self) {
        self.id = Arc::clone(&self.finished_id);
        self.discard();
    }

    fn discard(&mut self) {
        text::discard(&mut self.data);
        text::discard(&mut self.event_type);
        text::discard(&mut self.id_line);
        self.has_data = false;
        self.retry = None;
    }

    fn make_room(&self, bytes: usize) -> Result<(), SseError> {
        let kept = self.data.len() + self.event_type.len() + self.id_line.len();
        let limit = self.limits.event_bytes;
        if bytes > limit.saturating_sub(kept) {
            return Err(SseError::EventTooLarge { limit });
        }
        Ok(())
    }
}

/// The value of a `retry` line, which is a number only if all of it is digits.
#[derive(Debug, Clone, Copy)]
enum Milliseconds {
    Nothing,
    Number(u64),
    NoNumber,
}

impl Milliseconds {
    fn append(&mut self, piece: &[u8]) {
        for byte in piece {
            let so_far = match *self {
                Self::Nothing => 0,
                Self::Number(number) => number,
                Self::NoNumber => return,
            };
            *self = if byte.is_ascii_digit() {
                // More than fits is as good as for ever.
                let digit = u64::from(byte - b'0');
                Self::Number(so_far.saturating_mul(10).saturating_add(digit))
            } else {
                Self::NoNumber
            };
        }
    }
}

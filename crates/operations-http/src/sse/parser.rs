//! The parser that is fed in pieces.

use std::sync::Arc;

use super::block::Block;
use super::error::{Limits, SseError};
use super::event::Event;
use super::lines::{Lines, Step};

/// How far a parser got.
pub(super) enum Progress {
    /// To the end of a block that was an event.
    Event(Event),
    /// To the end of a block that was none.
    NoEvent,
    /// To the end of what there is.
    Unfinished,
}

/// Reads a stream that arrives in pieces of any size, cut anywhere.
///
/// The work is proportional to the bytes that are pushed, however they are cut, and what is kept is
/// bounded by the [`Limits`].
///
/// ```
/// use operations_http::sse::{Limits, Parser};
///
/// let mut events = Vec::new();
/// let mut parser = Parser::new(Limits::default());
/// for piece in ["event: no", "te\r\ndata: 1\r", "\ndata: 2\r\n\r\n"] {
///     parser.push(piece.as_bytes(), &mut |event| events.push(event))?;
/// }
/// parser.finish();
/// assert_eq!(events[0].event, "note");
/// assert_eq!(events[0].data, "1\n2");
/// # Ok::<(), operations_http::sse::SseError>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    pub(super) lines: Lines,
    block: Block,
    failure: Option<SseError>,
}

impl Parser {
    /// A parser at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::resuming(limits, "")
    }

    /// A parser for a stream that goes on where another one ended: its events have this id until
    /// the stream gives one.
    #[must_use]
    pub fn resuming(limits: Limits, last_event_id: &str) -> Self {
        Self {
            lines: Lines::new(),
            block: Block::new(limits, Arc::from(last_event_id)),
            failure: None,
        }
    }

    /// Reads the next piece of the stream. Each event is handed over as soon as the line end after
    /// it has arrived; of a CRLF the CR is enough.
    ///
    /// # Errors
    ///
    /// When an event is larger than the limit. The stream cannot be read on: every further call
    /// fails in the same way, until [`finish`](Self::finish).
    pub fn push(
        &mut self,
        mut piece: &[u8],
        on_event: &mut impl FnMut(Event),
    ) -> Result<(), SseError> {
        loop {
            match self.next_block(&mut piece)? {
                Progress::Event(event) => on_event(event),
                Progress::NoEvent => {}
                Progress::Unfinished => return Ok(()),
            }
        }
    }

    /// The stream has ended. An unfinished event is dropped, as the specification demands; the
    /// parser is ready for the next connection, which goes on with the last event id.
    pub fn finish(&mut self) {
        self.lines = Lines::new();
        self.block.abandon();
        self.failure = None;
    }

    /// What to send as `Last-Event-ID` when connecting again: the last id that a finished block
    /// gave, with or without data.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.block.last_event_id()
    }

    /// The last reconnection time in milliseconds that the stream gave.
    #[must_use]
    pub fn reconnection_time(&self) -> Option<u64> {
        self.block.reconnection_time()
    }

    /// Reads to the end of the block, or of `input`, which moves on.
    pub(super) fn next_block(&mut self, input: &mut &[u8]) -> Result<Progress, SseError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        while let Some(step) = self.lines.next(input) {
            let outcome = match step {
                Step::Begin(field) => self.block.begin(field),
                Step::Piece(piece) => self.block.append(piece),
                Step::End => {
                    self.block.end();
                    Ok(())
                }
                Step::Blank => {
                    return Ok(match self.block.dispatch() {
                        Some(event) => Progress::Event(event),
                        None => Progress::NoEvent,
                    });
                }
            };
            if let Err(failure) = outcome {
                self.block.abandon();
                self.failure = Some(failure);
                return Err(failure);
            }
        }
        Ok(Progress::Unfinished)
    }
}

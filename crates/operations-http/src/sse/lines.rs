//! Bytes to lines, and lines to fields, in pieces of any size.
//!
//! A byte is read when it arrives and never again: where a piece ends, the state says what has
//! been read of the line, and no line is kept.

use memchr::memchr2;

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The longest name of a [`Field`].
const LONGEST_NAME: usize = 5;

/// The fields that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Data,
    Event,
    Id,
    Retry,
}

/// What was found. Comments and unknown fields are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A line with a known field begins.
    Begin(Field),
    /// More of that field's value. A value may come in any number of pieces, none included.
    Piece(&'a [u8]),
    /// That line has ended.
    End,
    /// An empty line: the end of a block.
    Blank,
}

/// Where in the stream the next byte is.
#[derive(Debug, Clone, Copy)]
enum Position {
    /// At the very beginning, after this many bytes of the byte order mark.
    Mark(usize),
    /// At the beginning of a line.
    LineStart,
    /// In what may be the name of a field.
    Name(Name),
    /// Directly after the colon, where one space is dropped.
    AfterColon,
    /// In the value of a known field.
    Value,
    /// In a comment, or in a field that means nothing.
    Ignored,
}

/// The state between two pieces.
#[derive(Debug)]
pub(super) struct Lines {
    position: Position,
    /// The last byte was a CR that ended a line, and an LF would be part of the same line end.
    after_cr: bool,
    /// How often a byte was read.
    #[cfg(test)]
    pub(super) looks: usize,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            position: Position::Mark(0),
            after_cr: false,
            #[cfg(test)]
            looks: 0,
        }
    }

    /// The next thing in `input`, which moves on. Nothing when all of it has been read.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Option<Step<'a>> {
        loop {
            let (&byte, rest) = input.split_first()?;
            self.count(1);
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                *input = rest;
                continue;
            }
            match &mut self.position {
                Position::Mark(matched) => {
                    if BYTE_ORDER_MARK.get(*matched) == Some(&byte) {
                        *matched += 1;
                        *input = rest;
                    } else {
                        // Part of a mark is an unreadable character: the name of no field.
                        let whole = *matched == 0 || *matched == BYTE_ORDER_MARK.len();
                        self.position = if whole {
                            Position::LineStart
                        } else {
                            Position::Ignored
                        };
                    }
                }
                Position::LineStart => {
                    if is_line_end(byte) {
                        self.end_line(byte);
                        *input = rest;
                        return Some(Step::Blank);
                    }
                    self.position = Position::Name(Name::default());
                }
                Position::Name(name) => {
                    if byte == b':' || is_line_end(byte) {
                        let Some(field) = name.field() else {
                            self.position = Position::Ignored;
                            continue;
                        };
                        // Without a colon the line is all name, and the value is empty: the line
                        // end is left to be found where values end.
                        self.position = if byte == b':' {
                            *input = rest;
                            Position::AfterColon
                        } else {
                            Position::Value
                        };
                        return Some(Step::Begin(field));
                    }
                    if name.push(byte) {
                        *input = rest;
                    } else {
                        self.position = Position::Ignored;
                    }
                }
                Position::AfterColon => {
                    if byte == b' ' {
                        *input = rest;
                    }
                    self.position = Position::Value;
                }
                Position::Value => {
                    if is_line_end(byte) {
                        self.end_line(byte);
                        *input = rest;
                        return Some(Step::End);
                    }
                    return Some(Step::Piece(self.rest_of_line(input)));
                }
                Position::Ignored => {
                    if is_line_end(byte) {
                        self.end_line(byte);
                        *input = rest;
                    } else {
                        self.rest_of_line(input);
                    }
                }
            }
        }
    }

    fn end_line(&mut self, byte: u8) {
        self.after_cr = byte == b'\r';
        self.position = Position::LineStart;
    }

    /// What there is of the line, without its end. `input` moves on to behind it.
    fn rest_of_line<'a>(&mut self, input: &mut &'a [u8]) -> &'a [u8] {
        let length = memchr2(b'\r', b'\n', input).unwrap_or(input.len());
        self.count(length);
        let (line, rest) = input.split_at_checked(length).unwrap_or((input, &[]));
        *input = rest;
        line
    }

    #[cfg_attr(
        not(test),
        expect(clippy::unused_self, reason = "it counts in tests only")
    )]
    fn count(&mut self, looks: usize) {
        #[cfg(test)]
        {
            self.looks += looks;
        }
        #[cfg(not(test))]
        let _ = looks;
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// As much of a name as a known field can have.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    bytes: [u8; LONGEST_NAME],
    length: usize,
}

impl Name {
    /// Whether there was room for one more byte.
    fn push(&mut self, byte: u8) -> bool {
        let Some(position) = self.bytes.get_mut(self.length) else {
            return false;
        };
        *position = byte;
        self.length += 1;
        true
    }

    fn field(&self) -> Option<Field> {
        match self.bytes.get(..self.length)? {
            b"data" => Some(Field::Data),
            b"event" => Some(Field::Event),
            b"id" => Some(Field::Id),
            b"retry" => Some(Field::Retry),
            _ => None,
        }
    }
}

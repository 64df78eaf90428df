//! Keeps what a server sends within bounds, before the client library buffers it.
//!
//! The library collects a whole reply in memory, however long the server says it is. This filter reads the
//! lengths in the stream of bytes (RESP 2) and replaces a string over the limit by a short marker, so that one
//! huge message costs neither memory nor the connection.

use std::io;

/// Stands for a string that was too long. No JSON begins with a NUL.
pub const TOO_LONG: &[u8] = b"\0too long";

/// The longest line that is no string: an error of the server, a number, a length.
const LONGEST_LINE: usize = 64 * 1024;
/// The most elements of an array. The replies that we ask for have a few dozen.
const MOST_ELEMENTS: i64 = 4096;

#[derive(Debug)]
enum ParseState {
    /// In a line, of which this much has been read.
    Line(Vec<u8>),
    /// In a string that is passed on, with its final CR LF.
    Pass(u64),
    /// In a string that is left out, with its final CR LF.
    Skip(u64),
}

/// Reads bytes from a server in pieces of any size and passes on what is within bounds.
#[derive(Debug)]
pub struct RespFilter {
    limit: u64,
    state: ParseState,
}

impl RespFilter {
    /// Strings of more bytes than this do not pass.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            state: ParseState::Line(Vec::new()),
        }
    }

    /// Appends to `out` what may pass.
    ///
    /// # Errors
    ///
    /// When it is not what a server says.
    pub fn feed(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        while !input.is_empty() {
            match &mut self.state {
                ParseState::Line(line) => {
                    let end = input.iter().position(|byte| *byte == b'\n');
                    let (piece, rest) = input.split_at(end.map_or(input.len(), |at| at + 1));
                    if line.len() + piece.len() > LONGEST_LINE {
                        return Err(broken("a line of the server is too long"));
                    }
                    line.extend_from_slice(piece);
                    input = rest;
                    if end.is_some() {
                        let line = std::mem::take(line);
                        self.state = self.after_line(&line, out)?;
                    }
                }
                ParseState::Pass(left) | ParseState::Skip(left) => {
                    let size =
                        usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                    let (piece, rest) = input.split_at(size);
                    *left -= size as u64;
                    input = rest;
                    let is_over = *left == 0;
                    if matches!(self.state, ParseState::Pass(_)) {
                        out.extend_from_slice(piece);
                    }
                    if is_over {
                        self.state = ParseState::Line(Vec::new());
                    }
                }
            }
        }
        Ok(())
    }

    fn after_line(&self, line: &[u8], out: &mut Vec<u8>) -> io::Result<ParseState> {
        match line.first() {
            Some(b'+' | b'-' | b':') => {}
            Some(b'*') => {
                if length_of(line)? > MOST_ELEMENTS {
                    return Err(broken("an array of the server is too long"));
                }
            }
            Some(b'$') => {
                // Minus one is nothing; a string is followed by CR LF.
                if let Ok(length) = u64::try_from(length_of(line)?) {
                    if length > self.limit {
                        out.extend_from_slice(format!("${}\r\n", TOO_LONG.len()).as_bytes());
                        out.extend_from_slice(TOO_LONG);
                        out.extend_from_slice(b"\r\n");
                        return Ok(ParseState::Skip(length.saturating_add(2)));
                    }
                    out.extend_from_slice(line);
                    return Ok(ParseState::Pass(length + 2));
                }
            }
            _ => return Err(broken("the server does not speak RESP 2")),
        }
        out.extend_from_slice(line);
        Ok(ParseState::Line(Vec::new()))
    }
}

fn length_of(line: &[u8]) -> io::Result<i64> {
    line.get(1..)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.trim_end().parse().ok())
        .ok_or_else(|| broken("a length of the server is no number"))
}

fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n";

    fn filtered(limit: usize, input: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut filter = RespFilter::new(limit);
        let mut out = Vec::new();
        for chunk in input.chunks(piece) {
            filter.feed(chunk, &mut out)?;
        }
        Ok(out)
    }

    #[test]
    fn what_is_within_bounds_passes_unchanged_in_pieces_of_any_size() {
        let all = [
            MESSAGE,
            b"+OK\r\n-ERR no\r\n:12\r\n$-1\r\n*-1\r\n$0\r\n\r\n*0\r\n$2\r\n\r\n\r\n",
        ]
        .concat();
        for piece in 1..=all.len() {
            assert_eq!(filtered(16, &all, piece).expect("fine"), all);
        }
    }

    #[test]
    fn a_long_string_is_replaced_and_the_rest_is_unharmed() {
        let mut input = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$100000\r\n".to_vec();
        input.extend(std::iter::repeat_n(b'$', 100_000));
        input.extend_from_slice(b"\r\n");
        input.extend_from_slice(MESSAGE);
        let mut expected = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$9\r\n".to_vec();
        expected.extend_from_slice(TOO_LONG);
        expected.extend_from_slice(b"\r\n");
        expected.extend_from_slice(MESSAGE);
        for piece in [1, 7, 4096, input.len()] {
            assert_eq!(filtered(99_999, &input, piece).expect("fine"), expected);
        }
    }

    #[test]
    fn what_would_grow_without_end_is_an_error() {
        for input in [
            [b"-".as_slice(), &vec![b'x'; LONGEST_LINE]].concat(),
            b"*4097\r\n".to_vec(),
            b"$no\r\n".to_vec(),
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            b"%1\r\n".to_vec(),
        ] {
            assert!(filtered(16, &input, 64).is_err());
        }
        // However long a string claims to be, nothing is kept of it.
        let claim = b"$9223372036854775807\r\nxxxx";
        assert_eq!(
            filtered(16, claim, 3).expect("fine").len(),
            4 + TOO_LONG.len() + 2
        );
    }
}

//! Large frames, handed on as several: the reader of a frame reserves memory for all of it, and keeps that for the next one.

use bytes::{Buf as _, BytesMut};

/// Frames are handed on in parts of this size. A mask goes on where the part before ended, because it is a multiple of four.
const PART: u64 = 64 * 1024;

const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
/// The length is written in the two bytes after it, or in eight.
const TWO_BYTES: u8 = 126;
const EIGHT_BYTES: u8 = 127;
const MASK_BYTES: usize = 4;

/// How far the frames of a connection were handed on.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Larger frames are handed on as they are, to be refused.
    most: u64,
    /// A header that is to be handed on.
    header: BytesMut,
    /// Bytes that follow it unchanged.
    left: u64,
    /// What comes after these.
    rest: Option<Rest>,
}

/// The rest of a large frame.
#[derive(Debug)]
struct Rest {
    bytes: u64,
    is_final: bool,
    mask: Option<[u8; MASK_BYTES]>,
}

impl Parts {
    pub(super) fn new(max_frame_bytes: usize) -> Self {
        Self {
            most: u64::try_from(max_frame_bytes).unwrap_or(u64::MAX),
            ..Self::default()
        }
    }

    /// What can be handed on of `input`, up to `room` bytes: nothing before there is more of it.
    pub(super) fn next(&mut self, input: &mut BytesMut, room: usize) -> Option<BytesMut> {
        if self.header.is_empty() && self.left == 0 {
            self.begin(input)?;
        }
        if !self.header.is_empty() {
            return Some(self.header.split_to(room.min(self.header.len())));
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = room.min(left).min(input.len());
        self.left -= u64::try_from(count).unwrap_or(self.left);
        (count > 0).then(|| input.split_to(count))
    }

    /// The next frame, or the next part of one.
    fn begin(&mut self, input: &mut BytesMut) -> Option<()> {
        let (first, rest) = match self.rest.take() {
            Some(rest) => (0, rest),
            None => read(input)?,
        };
        let is_split = rest.bytes > PART && rest.bytes <= self.most;
        self.left = if is_split { PART } else { rest.bytes };
        let is_last = rest.is_final && !is_split;
        let masked = rest.mask.map_or(0, |_| MASKED);
        let first = first & !FINAL | if is_last { FINAL } else { 0 };
        match (u8::try_from(self.left), u16::try_from(self.left)) {
            (Ok(length), _) if length < TWO_BYTES => {
                self.header.extend_from_slice(&[first, masked | length]);
            }
            (_, Ok(length)) => {
                self.header.extend_from_slice(&[first, masked | TWO_BYTES]);
                self.header.extend_from_slice(&length.to_be_bytes());
            }
            _ => {
                self.header
                    .extend_from_slice(&[first, masked | EIGHT_BYTES]);
                self.header.extend_from_slice(&self.left.to_be_bytes());
            }
        }
        self.header
            .extend_from_slice(rest.mask.as_ref().map_or(&[], |mask| &mask[..]));
        if is_split {
            let bytes = rest.bytes - PART;
            self.rest = Some(Rest { bytes, ..rest });
        }
        Some(())
    }
}

/// The first byte of a header and what it is about; nothing before all of it is there.
fn read(input: &mut BytesMut) -> Option<(u8, Rest)> {
    let (&first, &second) = (input.first()?, input.get(1)?);
    let (bytes, end) = match second & !MASKED {
        TWO_BYTES => (
            u16::from_be_bytes(*input.get(2..)?.first_chunk()?).into(),
            4,
        ),
        EIGHT_BYTES => (u64::from_be_bytes(*input.get(2..)?.first_chunk()?), 10),
        length => (length.into(), 2),
    };
    let is_masked = second & MASKED != 0;
    let mask = if is_masked {
        Some(*input.get(end..)?.first_chunk()?)
    } else {
        None
    };
    input.advance(end + mask.map_or(0, |mask| mask.len()));
    let is_final = first & FINAL != 0;
    Some((
        first,
        Rest {
            bytes,
            is_final,
            mask,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let masked = mask.map_or(0, |_| MASKED);
        let mut frame = match payload.len() {
            0..126 => vec![first, masked | u8::try_from(payload.len()).unwrap()],
            126..65_536 => {
                let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
                [&[first, masked | TWO_BYTES][..], &length].concat()
            }
            _ => {
                let length = (payload.len() as u64).to_be_bytes();
                [&[first, masked | EIGHT_BYTES][..], &length].concat()
            }
        };
        frame.extend(mask.iter().flatten());
        let key = mask.unwrap_or_default();
        frame.extend(
            payload
                .iter()
                .enumerate()
                .map(|(at, byte)| byte ^ key[at % 4]),
        );
        frame
    }

    /// Reads in pieces of these sizes.
    fn handed_on(sent: &[u8], most: usize, piece: usize, room: usize) -> Vec<u8> {
        let (mut parts, mut input, mut out) = (Parts::new(most), BytesMut::new(), Vec::new());
        for piece in sent.chunks(piece) {
            input.extend_from_slice(piece);
            while let Some(next) = parts.next(&mut input, room) {
                out.extend_from_slice(&next);
            }
        }
        assert!(input.is_empty());
        out
    }

    #[test]
    fn a_large_frame_becomes_parts_and_all_else_stays_as_it_is() {
        let payload: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        for mask in [None, Some([1, 2, 3, 4])] {
            let small = [
                frame(0x81, b"", mask),
                frame(0x89, b"ping", mask),
                frame(0x01, &payload[..125], mask),
                frame(0x00, &payload[..126], mask),
                frame(0x80, &payload[..65_536], mask),
            ]
            .concat();
            let large = frame(0x81, &payload, mask);
            let split = [
                frame(0x01, &payload[..65_536], mask),
                frame(0x00, &payload[65_536..131_072], mask),
                frame(0x00, &payload[131_072..196_608], mask),
                frame(0x80, &payload[196_608..], mask),
            ]
            .concat();
            let sent = [&small[..], &large, &small].concat();
            let expected = [&small[..], &split, &small].concat();
            for (piece, room) in [(1, 1), (7, 3), (16_384, 4_096), (300_000, 300_000)] {
                assert!(
                    handed_on(&sent, 200_000, piece, room) == expected,
                    "{piece} {room}"
                );
                assert!(
                    handed_on(&sent, 199_999, piece, room) == sent,
                    "too large: as it is"
                );
            }
        }
    }

    #[test]
    fn the_last_part_of_a_frame_that_goes_on_is_not_the_end() {
        let sent = frame(0x02, &vec![7; 65_537], None);
        let expected = [frame(0x02, &vec![7; 65_536], None), frame(0x00, &[7], None)].concat();
        assert!(handed_on(&sent, 100_000, 1_000, 1_000) == expected);
    }
}

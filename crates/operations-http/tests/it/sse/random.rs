//! Random streams, randomly cut, compared with the reference. `OPERATIONS_SEED` repeats a run.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use operations_http::sse::{Event, parse_frames};

use super::cuts::parse;
use super::reference;

const STREAMS: usize = 20_000;

/// Pieces of streams, chosen so that what is special meets often.
const WORDS: &[&[u8]] = &[
    b"data",
    b"data:",
    b"data: ",
    b"data:a",
    b"event",
    b"event: ",
    b"event:x",
    b"id",
    b"id:",
    b"id: 7",
    b"retry",
    b"retry: ",
    b"retry:12",
    b":",
    b": c",
    b" ",
    b"\n",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\r\r",
    b"\0",
    b"a",
    b"5",
    b"{\"a\":1}",
    b"\xEF\xBB\xBF",
    b"\xEF\xBB",
    b"\xEF",
    b"\xFF",
    b"\xE2\x82\xAC",
    b"\xE2\x82",
    b"\xF0\x9F\x98\x80",
    b"\xF0\x9F",
    b"\x80",
    b"\xC3\xA4",
    b"\xED\xA0\x80",
    b"foo: x",
    b"dat",
    b"DATA: x",
];

const LINE_STARTS: &[&[u8]] = &[
    b"data:", b"data: ", b"data:  ", b"event: ", b"id:", b"retry:", b":",
];
const LINE_ENDS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\r",
    b"\r\n\r\n",
    b"\n\r",
];

/// A small generator; good enough to shuffle words, and the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    /// From `OPERATIONS_SEED`, or new; the seed is printed when the test fails.
    pub(crate) fn from_environment() -> Self {
        let wanted = env::var("OPERATIONS_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed: u32 = wanted.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.subsec_nanos() ^ u32::try_from(now.as_secs() & 0xFFFF_FFFF).unwrap()
        });
        #[expect(clippy::print_stdout, reason = "shown only where the test fails")]
        {
            println!("OPERATIONS_SEED={seed}");
        }
        Self(u64::from(seed))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let end = u64::try_from(end).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % end).unwrap()
    }

    fn word(&mut self) -> &'static [u8] {
        WORDS[self.below(WORDS.len())]
    }

    /// Lines that mean something, and words in no order at all.
    fn stream(&mut self) -> Vec<u8> {
        let mut stream = Vec::new();
        for _ in 0..self.below(24) {
            if self.below(4) == 0 {
                stream.extend_from_slice(self.word());
                continue;
            }
            stream.extend_from_slice(LINE_STARTS[self.below(LINE_STARTS.len())]);
            for _ in 0..self.below(3) {
                stream.extend_from_slice(self.word());
            }
            stream.extend_from_slice(LINE_ENDS[self.below(LINE_ENDS.len())]);
        }
        stream
    }
}

#[test]
fn random_streams_have_the_events_of_the_reference() {
    let mut random = Random::from_environment();
    let mut found = 0;
    for _ in 0..STREAMS {
        let stream = random.stream();
        let expected = reference::parse(&stream);
        found += expected.len();
        let mut rest = stream.as_slice();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(random.below(rest.len().min(12)) + 1);
            pieces.push(piece);
            rest = behind;
        }
        assert_eq!(parse([stream.as_slice()]), expected, "{stream:?}");
        assert_eq!(parse(stream.chunks(1)), expected, "{stream:?}");
        assert_eq!(parse(pieces.iter().copied()), expected, "{pieces:?}");
    }
    assert!(found > STREAMS, "{found} events: the streams are dull");
}

#[test]
fn random_texts_lose_nothing_when_the_rest_is_fed_back() {
    let mut random = Random::from_environment();
    for _ in 0..STREAMS {
        // A later byte order mark is what `parse_frames` cannot tell from one at the beginning.
        let text = String::from_utf8_lossy(&random.stream()).replace('\u{FEFF}', "?");
        let expected: Vec<_> = reference::parse(text.as_bytes());
        let mut found = Vec::new();
        let mut buffer = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let wanted = random.below(9) + 1;
            let at = rest
                .char_indices()
                .nth(wanted)
                .map_or(rest.len(), |(at, _)| at);
            let (piece, behind) = rest.split_at(at);
            rest = behind;
            buffer.push_str(piece);
            let frames = parse_frames(&buffer);
            found.extend(frames.events);
            buffer = frames.remaining.to_owned();
        }
        let contents = |event: &Event| (event.data.clone(), event.event.clone());
        assert_eq!(
            found
                .iter()
                .map(|frame| (frame.data.clone(), frame.event_type.clone()))
                .collect::<Vec<_>>(),
            expected.iter().map(contents).collect::<Vec<_>>(),
            "{text:?}"
        );
    }
}

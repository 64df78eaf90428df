//! Streams of server-sent events: no panic, the same events however the stream is cut, limits that hold,
//! and texts that lose nothing when their rest is fed back.
//!
//! The first byte says how large the pieces are; the rest is the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_http::sse::{Event, Limits, Parser, SseError, parse_frames};

/// Small, so that it is met.
const LIMIT: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, stream)) = bytes.split_first() else {
        return;
    };
    let piece = usize::from(*first).max(1);
    let Ok(whole) = parse(stream, stream.len().max(1), Limits::default()) else {
        panic!("no input is as large as the limit");
    };
    assert_eq!(parse(stream, piece, Limits::default()).as_ref(), Ok(&whole));
    assert_eq!(parse(stream, 1, Limits::default()).as_ref(), Ok(&whole));

    let limits = Limits { event_bytes: LIMIT };
    if let Ok(events) = parse(stream, piece, limits) {
        assert_eq!(events, whole, "a limit that is not met changes nothing");
    }
    texts(stream, piece);
});

fn parse(stream: &[u8], piece: usize, limits: Limits) -> Result<Vec<Event>, SseError> {
    let mut events = Vec::new();
    let mut parser = Parser::new(limits);
    for piece in stream.chunks(piece) {
        parser.push(piece, &mut |event| events.push(event))?;
    }
    parser.finish();
    Ok(events)
}

fn texts(stream: &[u8], piece: usize) {
    // A text cannot tell a later byte order mark from one at the beginning of the stream.
    let text = String::from_utf8_lossy(stream).replace('\u{FEFF}', "?");
    let whole = parse_frames(&text);
    assert!(text.ends_with(whole.remaining));
    let characters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut buffer = String::new();
    for piece in characters.chunks(piece) {
        buffer.extend(piece);
        let frames = parse_frames(&buffer);
        found.extend(frames.events);
        buffer = frames.remaining.to_owned();
    }
    assert_eq!(found.len(), whole.events.len());
    for (found, whole) in found.iter().zip(&whole.events) {
        assert_eq!(found.data, whole.data);
        assert_eq!(found.event_type, whole.event_type);
    }
    assert_eq!(buffer, whole.remaining);
}

//! A stream, cut in every way that matters.

use operations_http::sse::{Event, Limits, Parser};

/// The events of a stream that arrives in these pieces.
pub(crate) fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut parser = Parser::new(Limits::default());
    for piece in pieces {
        parser.push(piece, &mut |event| events.push(event)).unwrap();
    }
    parser.finish();
    events
}

/// Whole, one byte at a time, and in two pieces at every place: always these events.
pub(crate) fn assert_events(name: &str, stream: &[u8], expected: &[Event]) {
    assert_eq!(parse([stream]), expected, "{name}, whole");
    assert_eq!(
        parse(stream.chunks(1)),
        expected,
        "{name}, one byte at a time"
    );
    for at in 0..=stream.len() {
        let (first, second) = stream.split_at(at);
        assert_eq!(parse([first, second]), expected, "{name}, cut at {at}");
        assert_eq!(
            parse([first, b"", second]),
            expected,
            "{name}, cut at {at} with an empty piece"
        );
    }
}

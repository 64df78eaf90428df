//! That the work is in proportion to the stream, counted and not timed.

use super::{Limits, Parser};

/// Counts reads of bytes, for a stream that arrives in pieces of this size.
fn looks(stream: &[u8], piece: usize) -> usize {
    let mut parser = Parser::new(Limits {
        event_bytes: usize::MAX,
    });
    for piece in stream.chunks(piece) {
        parser.push(piece, &mut |_| {}).unwrap();
    }
    parser.lines.looks
}

#[test]
fn one_long_line_in_small_pieces_is_read_once() {
    let stream = [b"data: ".as_slice(), &vec![b'x'; 20_000_000], b"\n\n"].concat();
    // Beside its first read, a byte can be read once more where a state or a piece begins.
    let pieces = stream.len().div_ceil(1024);
    let most = stream.len() + pieces + 64;
    assert!(looks(&stream, 1024) <= most);
}

#[test]
fn no_kind_of_line_is_read_more_than_three_times() {
    let long = "x".repeat(10_000);
    for line in [
        format!("data: {long}\n"),
        format!(":{long}\r\n"),
        format!("{long}\r"),
        format!("id: {long}\n"),
        "data\n".repeat(2000),
        "event: x\n".repeat(1000),
        "\r\n".repeat(5000),
        "data: a\n\n".repeat(1000),
    ] {
        let stream = line.repeat(10);
        for piece in [1, 2, 3, 1000, stream.len()] {
            let looks = looks(stream.as_bytes(), piece);
            assert!(looks <= 3 * stream.len(), "{looks} of {}", stream.len());
        }
    }
}

#[test]
fn what_is_kept_is_bounded_by_the_limit() {
    let mut parser = Parser::new(Limits {
        event_bytes: 10_000,
    });
    let piece = [b'x'; 1024];
    parser.push(b"data: ", &mut |_| {}).unwrap();
    let accepted = (0..1000)
        .take_while(|_| parser.push(&piece, &mut |_| {}).is_ok())
        .count();
    assert_eq!(accepted, 9);
}

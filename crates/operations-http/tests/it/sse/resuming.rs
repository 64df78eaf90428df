//! What is kept for the next connection.

use operations_http::sse::{Limits, Parser};

fn ids(parser: &mut Parser, stream: &str) -> Vec<String> {
    let mut ids = Vec::new();
    parser
        .push(stream.as_bytes(), &mut |event| {
            ids.push(event.id.to_string());
        })
        .unwrap();
    ids
}

#[test]
fn the_last_event_id_is_that_of_the_last_finished_block() {
    let mut parser = Parser::new(Limits::default());
    assert_eq!(parser.last_event_id(), "");
    assert_eq!(ids(&mut parser, "id: 1\ndata\n\nid: 2\ndata\n"), ["1"]);
    assert_eq!(parser.last_event_id(), "1");
    assert_eq!(ids(&mut parser, "\nid: 3\n\nid: 4\n"), ["2"]);
    assert_eq!(parser.last_event_id(), "3");
    parser.finish();
    assert_eq!(parser.last_event_id(), "3");
    assert_eq!(ids(&mut parser, "data\n\n"), ["3"]);
}

#[test]
fn a_stream_can_go_on_under_a_known_id() {
    let mut parser = Parser::resuming(Limits::default(), "9");
    assert_eq!(parser.last_event_id(), "9");
    assert_eq!(ids(&mut parser, "data\n\nid\ndata\n\n"), ["9", ""]);
    assert_eq!(parser.last_event_id(), "");
}

#[test]
fn the_reconnection_time_stays_and_needs_no_event() {
    let mut parser = Parser::new(Limits::default());
    assert_eq!(parser.reconnection_time(), None);
    ids(&mut parser, "retry: 20\n\nretry: soon\n");
    assert_eq!(parser.reconnection_time(), Some(20));
    parser.finish();
    assert_eq!(parser.reconnection_time(), Some(20));
}

#[test]
fn each_connection_begins_anew() {
    let mut parser = Parser::new(Limits::default());
    assert!(ids(&mut parser, "event: x\ndata: unfin").is_empty());
    parser.finish();
    let mut events = Vec::new();
    let stream = "\u{FEFF}data: a\r\n\r";
    parser
        .push(stream.as_bytes(), &mut |event| events.push(event))
        .unwrap();
    assert_eq!(
        (&*events[0].event, &*events[0].data),
        ("message", "a"),
        "and the byte order mark is read as one again"
    );
}

//! Texts: what is found, what is left, and that feeding it back loses nothing.

use operations_http::sse::{Event, Frame, parse_frames};

use super::table::{Case, cases};

/// The cases as text. Decoding keeps a byte order mark, which `parse_frames` has to deal with.
fn texts() -> impl Iterator<Item = (Case, String)> {
    cases().into_iter().map(|case| {
        let text = String::from_utf8_lossy(&case.stream).into_owned();
        (case, text)
    })
}

fn frames(events: &[Event]) -> Vec<Frame> {
    events.iter().cloned().map(Frame::from).collect()
}

/// All that is found when the texts arrive one after the other.
fn fed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (Vec<Frame>, String) {
    let mut found = Vec::new();
    let mut buffer = String::new();
    for piece in pieces {
        buffer.push_str(piece);
        let frames = parse_frames(&buffer);
        found.extend(frames.events);
        buffer = frames.remaining.to_owned();
    }
    (found, buffer)
}

/// Ids do not last from text to text: each is the right one, or missing.
fn assert_same(found: &[Frame], expected: &[Frame], name: &str) {
    assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.data, expected.data, "{name}");
        assert_eq!(found.event_type, expected.event_type, "{name}");
        let id = &found.last_event_id;
        assert!(
            id.is_empty() || *id == expected.last_event_id,
            "{name}: {id}"
        );
    }
}

#[test]
fn a_whole_text_has_the_events_and_leaves_the_rest() {
    for (case, text) in texts() {
        let frames_found = parse_frames(&text);
        assert_eq!(frames_found.events, frames(&case.events), "{}", case.name);
        if let Some(remaining) = case.remaining {
            assert_eq!(frames_found.remaining, remaining, "{}", case.name);
        }
    }
}

#[test]
fn a_text_that_is_cut_anywhere_loses_nothing() {
    for (case, text) in texts() {
        let expected = frames(&case.events);
        for (at, _) in text.char_indices() {
            let (first, second) = text.split_at(at);
            let name = format!("{}, cut at {at}", case.name);
            let (found, left) = fed([first, second]);
            assert_same(&found, &expected, &name);
            if let Some(remaining) = &case.remaining {
                // The LF of a CRLF may be all of the second text: an empty line, not a rest.
                assert_eq!(&left, remaining, "{name}");
            }
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let (found, _) = fed(characters.iter().map(String::as_str));
        assert_same(&found, &expected, &case.name);
    }
}

#[test]
fn a_later_text_that_begins_with_a_byte_order_mark_loses_no_data() {
    let (found, left) = fed(["data: a\n\n", "\u{FEFF}data: b\n\n"]);
    assert_eq!(
        found.iter().map(|frame| &*frame.data).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(left, "");
}

#[test]
fn events_share_a_long_id() {
    let text = format!("id: {}\n\n{}", "x".repeat(100_000), "data\n\n".repeat(1000));
    let frames = parse_frames(&text);
    assert_eq!(frames.events.len(), 1000);
    let first = &frames.events[0].last_event_id;
    assert_eq!(first.len(), 100_000);
    for frame in &frames.events {
        assert!(std::sync::Arc::ptr_eq(first, &frame.last_event_id));
    }
}

#[test]
fn a_type_or_an_id_crosses_when_it_is_not_the_usual_one() {
    let text = "data: 1\n\nid: a\ndata: 2\n\nevent: e\ndata: 3\n\nid\ndata: \"\n\ndata: 😀";
    assert_eq!(
        parse_frames(text).to_json(),
        r#"[8,["1",null,null,"2",null,"a","3","e",null,"\"",null,""]]"#
    );
    assert_eq!(parse_frames("").to_json(), "[0,[]]");
}

//! The grammar as a table: `tests/cases/sse.json`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use operations_http::sse::Event;
use serde::Deserialize;

use super::cuts::assert_events;
use super::reference;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: String,
    text: Option<String>,
    hex: Option<String>,
    events: Vec<ExpectedEvent>,
    remaining: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedEvent {
    data: String,
    event: Option<String>,
    #[serde(default)]
    id: String,
    retry: Option<u64>,
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) stream: Vec<u8>,
    pub(crate) events: Vec<Event>,
    /// What `parse_frames` leaves, where the case says so.
    pub(crate) remaining: Option<String>,
}

pub(crate) fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/sse.json");
    let cases: Vec<RawCase> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!(cases.len() > 50, "the table has been lost");
    cases.into_iter().map(Case::from).collect()
}

impl From<RawCase> for Case {
    fn from(raw: RawCase) -> Self {
        let stream = match (raw.text, raw.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => from_hex(&hex),
            _ => panic!("{}: either text or hex", raw.name),
        };
        let events = raw.events.into_iter().map(|event| Event {
            event: event.event.map_or("message".into(), Into::into),
            data: event.data,
            id: Arc::from(event.id),
            retry: event.retry,
        });
        Self {
            name: raw.name,
            stream,
            events: events.collect(),
            remaining: raw.remaining,
        }
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn every_case_however_it_is_cut() {
    for case in cases() {
        assert_events(&case.name, &case.stream, &case.events);
    }
}

/// The opinion that the random streams are compared with must itself be right.
#[test]
fn the_reference_agrees_with_the_table() {
    for case in cases() {
        assert_eq!(reference::parse(&case.stream), case.events, "{}", case.name);
    }
}

/// Too much for the table: texts cannot tell a later byte order mark from one at the beginning.
#[test]
fn a_byte_order_mark_between_blocks_belongs_to_the_line() {
    let stream = "data: a\n\n\u{FEFF}data: b\n\ndata: c\n\n".as_bytes();
    let event = |data: &str| Event {
        event: "message".into(),
        data: data.to_owned(),
        id: Arc::from(""),
        retry: None,
    };
    assert_events("mark", stream, &[event("a"), event("c")]);
}

#[test]
fn a_reconnection_time_beyond_all_measure_is_the_largest() {
    let stream = format!("retry: {}\ndata: a\n\n", "9".repeat(40));
    let expected = Event {
        event: "message".into(),
        data: "a".to_owned(),
        id: Arc::from(""),
        retry: Some(u64::MAX),
    };
    assert_events("retry", stream.as_bytes(), &[expected]);
}

#[test]
fn an_event_is_handed_over_by_the_cr_of_its_line_end() {
    for end in ["\n\n", "\r\r", "\r\n\r"] {
        let stream = format!("data: a{end}");
        assert_eq!(super::cuts::parse([stream.as_bytes()]).len(), 1, "{end:?}");
    }
}

//! What the targets for messages of other processes do with an input: events of the call protocol, the traffic of a NATS
//! connection, the bytes of a Redis and the messages of an MCP server.

use std::sync::Arc;

use operations_core::call::{CallEvent, EventType, Kind, Refusal};
use operations_core::json::Object;
use operations_core::mailbox::Kind as Item;
use operations_nats::caller::NewRequest;
use operations_nats::state::{State, Todo};
use operations_nats::status::Link;
use operations_nats::subjects::Subjects;
use operations_nats::wire::Served;
use operations_redis::resp_filter::{RespFilter, TOO_LONG};

/// Reads a message as an event, on each channel and on none. Says whether it was one.
#[must_use]
pub fn call_event(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut is_event = false;
    for channel in [None, Some(EventType::Requested), Some(EventType::Error)] {
        let Ok(event) = read_event(channel, text) else {
            continue;
        };
        is_event = true;
        if let CallEvent::Requested(request) = event {
            // What goes on to the server says the same.
            let written = request.to_json();
            let again = read_event(Some(EventType::Requested), &written);
            let Ok(CallEvent::Requested(again)) = again else {
                panic!("{written} is no request any more");
            };
            assert_eq!(again, request, "{written}");
        }
    }
    is_event
}

fn read_event(channel: Option<EventType>, text: &str) -> Result<CallEvent<'_>, Refusal> {
    CallEvent::read(channel, &Object::read(text)?)
}

const CONCURRENCY: usize = 2;
const OURS: &str = "ours";

/// A connection that serves `t.echo`, and waits for an answer from `t.other`.
struct Peer {
    state: State,
    now: f64,
    outcomes: usize,
}

impl Peer {
    fn new() -> Self {
        let subjects = Subjects::new("p").unwrap_or_else(|error| panic!("{error}"));
        let mut state = State::new(0.0, Arc::from("me"), subjects, "n".to_owned(), 1 << 20);
        state.status.change(0.0, Link::Connected);
        let served = Served {
            id: Arc::from("t.echo"),
            kind: "query".to_owned(),
            description: None,
            spec: None,
        };
        state.serve(vec![served], CONCURRENCY);
        let mut peer = Self {
            state,
            now: 0.0,
            outcomes: 0,
        };
        peer.step(|now, state, todo| {
            let request = NewRequest {
                id: OURS.to_owned(),
                operation_id: "t.other".to_owned(),
                payload: format!(r#"{{"requestId":"{OURS}","operationId":"t.other"}}"#),
                kind: Kind::Call { deadline: None },
            };
            let sent = state.request(now, request, todo);
            sent.unwrap_or_else(|error| panic!("{error}"));
        });
        peer
    }

    /// One thing happens, and what must always hold still does.
    fn step(&mut self, work: impl FnOnce(f64, &mut State, &mut Todo)) {
        let mut todo = Todo::default();
        work(self.now, &mut self.state, &mut todo);
        self.state.hold_back(&mut todo);
        let ends = |item: &&operations_core::mailbox::Item| {
            matches!(item.kind(), Item::Done | Item::Failed | Item::Ended)
        };
        self.outcomes += todo.deliver.iter().filter(ends).count();
        assert!(self.outcomes <= 1, "one call has two outcomes");
        assert_eq!(self.outcomes == 0, self.state.caller.knows(OURS));
        assert!(self.state.worker.len() <= CONCURRENCY, "too many calls run");
        assert!(todo.publish.len() <= 64, "one message makes many");
    }

    fn line(&mut self, line: &[u8]) {
        let Some((first, rest)) = line.split_first() else {
            return;
        };
        let text = String::from_utf8_lossy(rest).into_owned();
        match first {
            b'c' => self
                .step(|now, state, todo| state.on_public(now, "p.call.t=2Eecho", rest, None, todo)),
            b'w' => self
                .step(|now, state, todo| state.on_public(now, "p.who.t=2Eecho", rest, None, todo)),
            b'h' => self.step(|now, state, todo| state.on_public(now, "p.hello", rest, None, todo)),
            b'd' => {
                self.step(|now, state, todo| state.on_public(now, "p.discover", rest, None, todo))
            }
            b'n' => self.step(|now, state, todo| state.on_inbox(now, "note", rest, None, todo)),
            b'a' => self.step(|now, state, todo| state.on_inbox(now, "call", rest, None, todo)),
            b'o' => self.step(|now, state, todo| state.on_inbox(now, OURS, rest, None, todo)),
            b'g' => self.step(|now, state, todo| state.on_no_receivers(now, &text, todo)),
            b'f' => self.step(|now, state, todo| state.on_forbidden(now, &text, todo)),
            b'e' => self.step(|now, state, todo| state.worker.finished(now, &text, todo)),
            b'x' => self.step(|now, state, _| state.disconnected(now)),
            b'y' => self.step(|now, state, todo| state.connected(now, 1 << 20, todo)),
            _ => {
                let steps = u16::try_from(rest.len()).unwrap_or(u16::MAX);
                self.now += 100.0 * f64::from(steps);
                self.step(|now, state, todo| state.time(now, todo));
            }
        }
    }
}

/// The traffic of a connection: a line for each message, whose first letter says where it arrives. Says whether anything
/// was taken for a message.
#[must_use]
pub fn nats(bytes: &[u8]) -> bool {
    let mut peer = Peer::new();
    let mut count = 0_u64;
    for line in bytes.split(|byte| *byte == b'\n').take(256) {
        count += 1;
        peer.line(line);
    }
    let refused = peer.state.stats.to_json(peer.state.worker.len());
    refused.get("malformed").and_then(serde_json::Value::as_u64) < Some(count)
}

/// The bytes of a server, in pieces of a size that the first byte says: what passes is the same however they are cut, and
/// no string in it is longer than the limit. Says whether it was the protocol.
#[must_use]
pub fn redis(bytes: &[u8]) -> bool {
    const LIMIT: usize = 16;
    let Some((first, stream)) = bytes.split_first() else {
        return false;
    };
    let filtered = |piece: usize| {
        let mut filter = RespFilter::new(LIMIT);
        let mut out = Vec::new();
        let result = stream
            .chunks(piece)
            .try_for_each(|piece| filter.feed(piece, &mut out));
        (result.is_ok(), out)
    };
    let (is_fine, whole) = filtered(stream.len().max(1));
    assert_eq!(
        filtered(usize::from(*first).max(1)),
        (is_fine, whole.clone())
    );
    assert_eq!(filtered(1), (is_fine, whole.clone()));
    // Through a filter once more, nothing has to be left out: a marker is within any limit.
    let mut again = Vec::new();
    let passed = RespFilter::new(LIMIT.max(TOO_LONG.len())).feed(&whole, &mut again);
    assert!(passed.is_ok(), "what has passed is no longer the protocol");
    assert!(whole.starts_with(&again), "what has passed was too long");
    is_fine
}

/// A line or a body of an MCP server. Says whether it holds a message.
#[must_use]
pub fn mcp(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| operations_mcp::read_messages(text) > 0)
}

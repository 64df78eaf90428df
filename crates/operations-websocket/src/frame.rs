//! What travels. Beside the five events of the call protocol there are frames of type `hub.*`; an end that does not know
//! them may ignore them:
//!
//! | type | payload | meaning |
//! |---|---|---|
//! | `hub.hello` | `protocol, maxFrameBytes, maxStreamBytes?` | the sender knows these frames, and paces streams |
//! | `hub.credit` | `requestId, upTo` | events of a stream up to this number may be sent |
//! | `hub.ping`, `hub.pong` | | a ping for pages, which cannot send pings of the protocol beneath |
//! | `hub.discover` | | what may the sender call? |
//! | `hub.offer` | `operations, more?` | what the sender serves |
//! | `hub.operations` | `operations, more?` | the answer to `hub.discover` with the same `id` |
//! | `hub.accepted` | `operations` | the answer to `hub.offer`: under which ids they are called now |
//! | `hub.error` | `code, message, details?` | the other answer to either |
//! | `hub.changed` | | what the sender would answer to `hub.discover` has changed |

use operations_core::call::{CallEvent, EventType, Refusal, is_request_id};
use operations_core::error::CallError;
use operations_core::json::{Object, push_string};
use serde::de::IgnoredAny;
use serde_json::json;

use crate::limits::LONGEST_ID;

/// A frame that can be believed.
#[derive(Debug)]
pub enum Frame<'a> {
    /// An event of the call protocol.
    Event(CallEvent<'a>),
    /// The sender knows these frames.
    Hello {
        /// The largest frame that it takes.
        max_frame_bytes: Option<u64>,
        /// Bytes of a stream's events that it lets wait for its consumer.
        max_stream_bytes: Option<u64>,
    },
    /// Events of a stream may be sent.
    Credit {
        /// Which stream.
        request_id: String,
        /// The number of the last one.
        up_to: u64,
    },
    /// A ping.
    Ping {
        /// Correlates the answer.
        id: String,
    },
    /// What may the sender call?
    Discover {
        /// Correlates the answer.
        id: String,
    },
    /// A list of operations, or a part of it: an offer, or an answer.
    List {
        /// Correlates the parts, and the answer.
        id: String,
        /// Whether it is offered, or was asked for.
        is_offer: bool,
        /// JSON: a list.
        operations: &'a str,
        /// Another part follows.
        has_more: bool,
    },
    /// An offer was taken.
    Accepted {
        /// That of the offer.
        id: String,
        /// JSON: an object.
        payload: &'a str,
    },
    /// A control request failed: discovery, or an offer.
    Failed {
        /// That of the control request.
        id: String,
        /// Why.
        error: CallError,
    },
    /// Something is served that was not, or is not any more.
    Changed,
    /// Something that a later version knows.
    Ignored,
}

impl<'a> Frame<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    ///
    /// When it is not valid.
    pub fn read(text: &'a str) -> Result<Self, Refusal> {
        let message = Object::read_levels(text, CallEvent::LEVELS)?;
        let kind = message.text("type").ok_or(Refusal::NoType)?;
        let Some(kind) = kind.strip_prefix("hub.") else {
            if let Some(kind) = EventType::from_name(&kind) {
                let payload = message.object("payload").ok_or(Refusal::Field("payload"))?;
                return CallEvent::read_payload(kind, &payload).map(Self::Event);
            }
            return Err(Refusal::UnknownType);
        };
        let id = message.string("id").unwrap_or_default();
        // It is kept until there is an answer.
        if id.len() > LONGEST_ID {
            return Err(Refusal::Field("id"));
        }
        let payload = message.get("payload").unwrap_or("{}");
        let inner = Object::read(payload).map_err(|_| Refusal::Field("payload"))?;
        Ok(match kind {
            "hello" => Self::Hello {
                max_frame_bytes: inner.count("maxFrameBytes"),
                max_stream_bytes: inner.count("maxStreamBytes"),
            },
            "credit" => Self::Credit {
                request_id: inner
                    .string("requestId")
                    .ok_or(Refusal::Field("requestId"))?,
                up_to: inner.count("upTo").ok_or(Refusal::Field("upTo"))?,
            },
            "ping" => Self::Ping { id },
            "discover" => Self::Discover { id },
            "offer" | "operations" => Self::List {
                id,
                is_offer: kind == "offer",
                operations: inner
                    .get("operations")
                    .filter(|list| list.starts_with('['))
                    .ok_or(Refusal::Field("operations"))?,
                has_more: inner.get("more") == Some("true"),
            },
            "accepted" => Self::Accepted { id, payload },
            "error" => Self::Failed {
                id,
                error: CallEvent::read_error(&inner)?,
            },
            "changed" => Self::Changed,
            _ => Self::Ignored,
        })
    }
}

/// What a frame is about that cannot be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// It is this request.
    Request(String),
    /// It answers this request.
    Answer(String),
    /// A control request with this id.
    ControlRequest(String),
}

/// Finds out what a frame is about that is nested too deeply.
#[must_use]
pub fn about(text: &str) -> Option<About> {
    let message = Object::read_however_deep(text).ok()?;
    let kind = message.string("type")?;
    if matches!(kind.as_str(), "hub.offer" | "hub.discover") {
        return message.string("id").map(About::ControlRequest);
    }
    let kind = EventType::from_name(&kind)?;
    let payload = Object::read_however_deep(message.get("payload")?).ok()?;
    let id = payload.string("requestId").filter(|id| is_request_id(id))?;
    match kind {
        EventType::Requested => Some(About::Request(id)),
        EventType::Responded | EventType::Error => Some(About::Answer(id)),
        EventType::Completed | EventType::Aborted => None,
    }
}

/// A frame. The payload is JSON.
#[must_use]
pub fn write(kind: &str, id: &str, payload: &str) -> String {
    let mut text = String::with_capacity(payload.len() + kind.len() + id.len() + 40);
    text.push_str("{\"type\":\"");
    text.push_str(kind);
    text.push_str("\",\"id\":");
    push_string(&mut text, id);
    text.push_str(",\"payload\":");
    text.push_str(payload);
    text.push('}');
    text
}

/// An event of the call protocol about a request.
fn event(kind: EventType, request_id: &str, rest: &str) -> String {
    let mut payload = String::with_capacity(request_id.len() + rest.len() + 32);
    payload.push_str("{\"requestId\":");
    push_string(&mut payload, request_id);
    payload.push_str(rest);
    payload.push('}');
    write(kind.as_str(), "", &payload)
}

/// A request, whose payload has no deadline yet.
#[must_use]
pub fn requested(payload: &str, deadline: Option<f64>) -> String {
    let deadline = deadline.filter(|deadline| deadline.is_finite());
    match (deadline, payload.strip_prefix('{')) {
        (Some(deadline), Some(rest)) => {
            let comma = if rest.trim_start().starts_with('}') {
                ""
            } else {
                ","
            };
            let payload = format!("{{\"deadline\":{deadline}{comma}{rest}");
            write(EventType::Requested.as_str(), "", &payload)
        }
        _ => write(EventType::Requested.as_str(), "", payload),
    }
}

/// A result, which is JSON.
#[must_use]
pub fn responded(request_id: &str, output: &str) -> String {
    event(
        EventType::Responded,
        request_id,
        &format!(",\"output\":{output}"),
    )
}

/// A stream is over.
#[must_use]
pub fn completed(request_id: &str) -> String {
    event(EventType::Completed, request_id, "")
}

/// The result is not wanted any more.
#[must_use]
pub fn aborted(request_id: &str) -> String {
    event(EventType::Aborted, request_id, "")
}

/// A call has failed.
#[must_use]
pub fn error(request_id: &str, error: &CallError) -> String {
    let mut payload = json!(error);
    if let Some(payload) = payload.as_object_mut() {
        payload.insert("requestId".to_owned(), request_id.into());
    }
    write(EventType::Error.as_str(), "", &payload.to_string())
}

/// A control request failed: discovery, or an offer.
#[must_use]
pub fn failed(id: &str, error: &CallError) -> String {
    let payload = serde_json::to_string(error).unwrap_or_else(|_| "{}".to_owned());
    write("hub.error", id, &payload)
}

/// A list of operations, each of which is JSON, in frames of about this many bytes.
#[must_use]
pub fn list(kind: &str, id: &str, operations: &[String], page: usize) -> Vec<String> {
    let mut pages = Vec::new();
    let mut begin = 0;
    loop {
        let mut bytes = 0;
        let rest = operations.get(begin..).unwrap_or_default();
        let fits = rest
            .iter()
            .take_while(|operation| {
                let is_first = bytes == 0;
                bytes += operation.len() + 1;
                is_first || bytes <= page
            })
            .count();
        let part = rest.get(..fits).unwrap_or_default().join(",");
        begin += fits;
        let is_last = begin >= operations.len();
        let more = if is_last { "" } else { ",\"more\":true" };
        pages.push(write(
            kind,
            id,
            &format!("{{\"operations\":[{part}]{more}}}"),
        ));
        if is_last {
            return pages;
        }
    }
}

/// What is between the brackets of a list, which is JSON. Its first and last item can be lists too.
#[must_use]
pub fn items(list: &str) -> &str {
    let list = list.trim();
    let items = list
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    items.unwrap_or(list).trim()
}

/// Appends the items of a list, which is JSON, to others. Does nothing, and says so, if that would make more than `most` bytes.
#[must_use]
pub fn append_items(items: &mut String, list: &str, most: usize) -> bool {
    let more = self::items(list);
    if items.len() + more.len() > most {
        return false;
    }
    if !items.is_empty() && !more.is_empty() {
        items.push(',');
    }
    items.push_str(more);
    true
}

/// How many items a list has, which is JSON.
#[must_use]
pub fn count(list: &str) -> usize {
    serde_json::from_str::<Vec<IgnoredAny>>(list).map_or(0, |items| items.len())
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::expect_used,
        clippy::panic,
        reason = "tests: a failure should stop them"
    )]

    use super::*;

    #[test]
    fn events_come_back_as_they_were_written() {
        for (text, kind) in [
            (aborted("a\"b"), "Aborted"),
            (completed("r"), "Completed"),
            (error("r", &CallError::failed("no")), "Error"),
        ] {
            let Ok(Frame::Event(event)) = Frame::read(&text) else {
                panic!("{text} is an event");
            };
            assert!(format!("{event:?}").starts_with(kind), "{event:?}");
        }
        let text = requested(r#"{"requestId":"r","operationId":"a.b"}"#, Some(5e12));
        let Ok(Frame::Event(CallEvent::Requested(event))) = Frame::read(&text) else {
            panic!("{text} is a request");
        };
        assert_eq!(event.deadline, Some(5e12));
        assert_eq!(event.operation_id, "a.b");
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (text, kind) in [
            ("", "malformed"),
            ("[]", "malformed"),
            ("{}", "type"),
            (r#"{"type":1}"#, "type"),
            (r#"{"type":"call.other","payload":{}}"#, "type"),
            (r#"{"type":"call.aborted"}"#, "field"),
            (
                r#"{"type":"hub.credit","payload":{"requestId":"r"}}"#,
                "field",
            ),
            (
                r#"{"type":"hub.offer","payload":{"operations":{}}}"#,
                "field",
            ),
            (r#"{"type":"hub.discover","payload":7}"#, "field"),
        ] {
            let refusal = Frame::read(text).expect_err(text);
            assert_eq!(refusal.kind(), kind, "{text}");
        }
        let later = r#"{"type":"hub.news","payload":{}}"#;
        assert!(matches!(Frame::read(later), Ok(Frame::Ignored)));
    }

    #[test]
    fn the_items_of_a_list_stay_whole() {
        assert_eq!(items(" [ ] "), "");
        assert_eq!(items(r#"[[1],{"a":[2]}]"#), r#"[1],{"a":[2]}"#);
        assert_eq!(items("[[[]]]"), "[[]]");
        let deep = format!("[{}{}, 1]", "[".repeat(500), "]".repeat(500));
        assert_eq!(
            (count("[]"), count(r#"[{"a":[1,2]},",",[]]"#), count(&deep)),
            (0, 3, 2)
        );
    }

    #[test]
    fn a_long_list_comes_in_parts() {
        let operations: Vec<String> = (0..10).map(|n| format!("\"{n}\"")).collect();
        let pages = list("hub.operations", "7", &operations, 12);
        assert_eq!(pages.len(), 4);
        let mut found = Vec::new();
        for (index, page) in pages.iter().enumerate() {
            let Ok(Frame::List {
                operations,
                has_more,
                id,
                is_offer: false,
            }) = Frame::read(page)
            else {
                panic!("{page} is a part");
            };
            assert_eq!((has_more, &*id), (index < 3, "7"));
            found.extend(serde_json::from_str::<Vec<String>>(operations).expect("a list"));
        }
        assert_eq!(found.len(), 10);
        assert_eq!(list("hub.offer", "", &[], 12).len(), 1);
        // One that is larger than a part has one of its own.
        assert_eq!(list("hub.offer", "", &operations, 1).len(), 10);
    }
}

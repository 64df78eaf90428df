//! The messages. Events of the call protocol are `{ type, id, payload }`, as over any other wire, with what only this
//! transport needs beside the payload. Notices between connections are small objects of their own.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use operations_core::call::{CallEvent, EventType, Refusal, RequestedEvent};
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::trace;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::subjects::{is_peer, is_token};

/// A request as it arrives at a worker.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The request itself.
    pub event: RequestedEvent<'a>,
    /// The connection that asks.
    pub from: Arc<str>,
    /// Milliseconds until the caller gives up. A clock reading would mean something else on another machine.
    pub remaining: Option<f64>,
    /// For a subscription: how many events may be sent before more are asked for.
    pub window: Option<u64>,
    /// How many more requests of this operation wait at the caller.
    pub more: u64,
    /// The caller takes all answers on one subject ([`crate::subjects::ANSWERS`]).
    pub shares_answers: bool,
    /// What shows that a slot was promised to who sends it.
    pub signed: Signed<'a>,
}

/// A request for a slot that was promised, and the proof that it comes from the caller.
#[derive(Debug)]
pub struct Signed<'a> {
    payload: &'a str,
    slot: Option<u64>,
    proof: Option<String>,
}

impl Signed<'_> {
    /// The slot that it is for, if it was signed with this key, for this worker.
    #[must_use]
    pub fn slot_of(&self, worker: &str, key: &str) -> Option<u64> {
        let slot = self.slot?;
        let given = u128::from_str_radix(self.proof.as_deref()?, 16).ok()?;
        (given == proof(key, worker, slot, self.payload)).then_some(slot)
    }
}

/// A new secret, for one connection.
#[must_use]
pub fn secret() -> hmac::Key {
    let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(uuid::Uuid::into_bytes);
    hmac::Key::new(hmac::HMAC_SHA256, random.as_flattened())
}

/// What requests of one operation are signed with. It is sent where only workers of the operation can read it.
#[must_use]
pub fn key_of(secret: &hmac::Key, operation: &str) -> String {
    format!("{:032x}", half(&hmac::sign(secret, operation.as_bytes())))
}

/// The proof that a request for a slot comes from who has the key. It is good for one slot of one worker.
#[must_use]
pub fn proof(key: &str, worker: &str, slot: u64, payload: &str) -> u128 {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{worker}\n{slot}\n").as_bytes());
    context.update(payload.as_bytes());
    half(&context.sign())
}

/// 128 bits of a signature are as good as all of them, and can be compared as a number.
fn half(tag: &hmac::Tag) -> u128 {
    tag.as_ref()
        .first_chunk()
        .map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

/// What connections send each other beside the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Notice {
    /// A worker has these calls and works on them.
    #[serde(rename = "nats.taken")]
    Taken {
        /// The worker.
        from: Arc<str>,
        /// The name that its user gave it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        /// The calls.
        ids: Vec<Arc<str>>,
    },
    /// A worker had no slot for this request and has forgotten it.
    #[serde(rename = "nats.busy")]
    Busy {
        /// The worker.
        from: Arc<str>,
        /// The request.
        id: Arc<str>,
    },
    /// A caller has requests for which no worker had a slot.
    #[serde(rename = "nats.who")]
    Who {
        /// The caller.
        from: Arc<str>,
        /// What it wants to call.
        operation: Arc<str>,
        /// How often.
        count: u64,
        /// What requests for a promised slot are signed with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Arc<str>>,
    },
    /// A worker keeps slots free for a caller.
    #[serde(rename = "nats.slots")]
    Slots {
        /// The worker.
        from: Arc<str>,
        /// For this operation.
        operation: Arc<str>,
        /// How many.
        count: u64,
        /// The number of the first one; the others follow.
        #[serde(rename = "place", default, skip_serializing_if = "Option::is_none")]
        slot: Option<u64>,
    },
    /// A caller does not need the slots.
    #[serde(rename = "nats.pass")]
    Pass {
        /// The caller.
        from: Arc<str>,
        /// For this operation.
        operation: Arc<str>,
        /// How many.
        count: u64,
    },
    /// The consumer of a stream has read on: events up to this number may be sent.
    #[serde(rename = "nats.credit")]
    Credit {
        /// The caller.
        from: Arc<str>,
        /// The stream.
        id: Arc<str>,
        /// Counted from its beginning, so that a repeated or lost notice does no harm.
        #[serde(rename = "upTo")]
        up_to: u64,
    },
    /// Are you there, and do you still know these?
    #[serde(rename = "nats.ping")]
    Ping {
        /// The asking peer.
        from: Arc<str>,
        /// Requests that the receiver should be working on.
        calls: Vec<Arc<str>>,
        /// Requests of the receiver that are worked on here.
        serving: Vec<Arc<str>>,
    },
    /// The answer: these are not known.
    #[serde(rename = "nats.pong")]
    Pong {
        /// Who answers.
        from: Arc<str>,
        /// Of the calls.
        calls: Vec<Arc<str>>,
        /// Of those served.
        serving: Vec<Arc<str>>,
    },
    /// A worker has come (back), or is there.
    #[serde(rename = "nats.hello")]
    Hello {
        /// The worker.
        from: Arc<str>,
    },
    /// What do you serve?
    #[serde(rename = "nats.discover")]
    Discover {
        /// The asking peer.
        from: Arc<str>,
        /// Which question it is.
        question: Arc<str>,
        /// Who they say they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<Value>,
        /// What else they say, for who verifies that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// What a worker serves (a part of it, when it is much).
    #[serde(rename = "nats.worker")]
    Worker {
        /// The worker.
        from: Arc<str>,
        /// Which question this answers.
        question: Arc<str>,
        /// The name that its user gave it.
        name: String,
        /// How many calls it runs at a time.
        concurrency: u64,
        /// How many it runs now.
        running: u64,
        /// What it serves.
        operations: Vec<Served>,
    },
}

/// An operation that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// `namespace.name`.
    pub id: Arc<str>,
    /// `query`, `mutation` or `subscription`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its description for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
}

impl Served {
    /// Fits it into so many bytes: schemas that are too large for a message are left out. Says how many it takes.
    #[must_use]
    pub fn within(mut self, most: usize) -> (Self, usize) {
        let size = self.size();
        if size <= most {
            return (self, size);
        }
        if let Some(spec) = self.spec.as_mut().and_then(Value::as_object_mut) {
            for schema in ["inputSchema", "outputSchema", "errorSchemas"] {
                spec.shift_remove(schema);
            }
        }
        if self.size() > most {
            self.spec = None;
            self.description = None;
        }
        let size = self.size();
        (self, size)
    }

    fn size(&self) -> usize {
        serde_json::to_string(self).map_or(0, |text| text.len() + 1)
    }
}

impl Notice {
    /// Who sent it.
    #[must_use]
    pub fn from(&self) -> &Arc<str> {
        match self {
            Self::Taken { from, .. }
            | Self::Busy { from, .. }
            | Self::Who { from, .. }
            | Self::Slots { from, .. }
            | Self::Pass { from, .. }
            | Self::Credit { from, .. }
            | Self::Ping { from, .. }
            | Self::Pong { from, .. }
            | Self::Hello { from }
            | Self::Discover { from, .. }
            | Self::Worker { from, .. } => from,
        }
    }

    /// Reads a notice.
    ///
    /// # Errors
    ///
    /// When the text is not a notice, or names a sender that cannot be answered.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let notice: Self =
            serde_json::from_str(text).map_err(|_| Refusal::Field("a field of the notice"))?;
        let question = match &notice {
            Self::Discover { question, .. } => is_token(question),
            _ => true,
        };
        if is_peer(notice.from()) && question {
            Ok(notice)
        } else {
            Err(Refusal::Field("from"))
        }
    }

    /// As it is sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<'a> Arrival<'a> {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// When the text is not a request.
    pub fn read(text: &'a str) -> Result<Self, Refusal> {
        let message = Object::read_levels(text, 2)?;
        let channel = Some(EventType::Requested);
        let CallEvent::Requested(event) = CallEvent::read(channel, &message)? else {
            return Err(Refusal::OtherType);
        };
        let from = message.text("from").ok_or(Refusal::Field("from"))?;
        // Both become parts of subjects.
        if !is_peer(&from) || !is_token(&event.request_id) {
            return Err(Refusal::Field("from"));
        }
        Ok(Self {
            event: *event,
            from: Arc::from(&*from),
            remaining: message.number("remaining"),
            window: message.count("window"),
            more: message.count("more").unwrap_or_default(),
            shares_answers: message.get("shared") == Some("true"),
            signed: Signed {
                payload: message.get("payload").unwrap_or_default(),
                slot: message.count("place"),
                proof: message.text("proof").map(Cow::into_owned),
            },
        })
    }
}

/// What a request says beside its payload.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// Milliseconds until the caller gives up.
    pub remaining: Option<f64>,
    /// For a subscription: how many events may be sent at first.
    pub window: Option<u64>,
    /// How many more wait.
    pub more: usize,
    /// The slot that was promised for it, and the proof that it is ours.
    pub proof: Option<(u64, u128)>,
}

/// A request as it is sent.
#[must_use]
pub fn request(from: &str, payload: &str, beside: Beside) -> String {
    let mut json = String::with_capacity(payload.len() + 160);
    json.push_str("{\"type\":\"call.requested\",\"id\":\"\",\"payload\":");
    json.push_str(payload);
    json.push_str(",\"from\":\"");
    json.push_str(from);
    json.push_str("\",\"shared\":true");
    // Writing to a string cannot fail.
    if let Some(remaining) = beside.remaining.filter(|remaining| remaining.is_finite()) {
        let _ = write!(json, ",\"remaining\":{remaining}");
    }
    if let Some(window) = beside.window {
        let _ = write!(json, ",\"window\":{window}");
    }
    if beside.more > 0 {
        let _ = write!(json, ",\"more\":{}", beside.more);
    }
    if let Some((slot, proof)) = beside.proof {
        let _ = write!(json, ",\"place\":{slot},\"proof\":\"{proof:032x}\"");
    }
    json.push('}');
    json
}

/// The trace that a request belongs to, as JSON; nothing for most, and to find that out costs little.
#[must_use]
pub fn trace_of(request: &str) -> Option<String> {
    if !request.contains("\"traceparent\":") {
        return None;
    }
    let message = Object::read(request).ok()?;
    trace::carried_in(&message.object("payload")?.object("trace")?)
}

/// The payload of a request, for JavaScript, with its sender.
#[must_use]
pub fn with_sender(from: &str, payload: &str) -> String {
    let members = payload.strip_prefix('{').unwrap_or(payload);
    format!("{{\"from\":\"{from}\",{members}")
}

/// `call.responded`. Events of a stream are numbered from 1.
#[must_use]
pub fn responded(id: &str, output: &str, number: Option<u64>) -> String {
    let mut json = String::with_capacity(output.len() + 128);
    json.push_str("{\"type\":\"call.responded\",\"id\":\"\",\"payload\":{\"requestId\":\"");
    json.push_str(id);
    json.push_str("\",\"output\":");
    json.push_str(output);
    json.push('}');
    if let Some(number) = number {
        let _ = write!(json, ",\"number\":{number}");
    }
    json.push('}');
    json
}

/// `call.completed`, with the number of events that there were.
#[must_use]
pub fn completed(id: &str, events: u64) -> String {
    format!(
        "{{\"type\":\"call.completed\",\"id\":\"\",\"payload\":{{\"requestId\":\"{id}\"}},\"number\":{events}}}"
    )
}

/// `call.aborted`.
#[must_use]
pub fn aborted(id: &str, from: &str) -> String {
    format!(
        "{{\"type\":\"call.aborted\",\"id\":\"\",\"payload\":{{\"requestId\":\"{id}\"}},\"from\":\"{from}\"}}"
    )
}

/// `call.error`.
#[must_use]
pub fn error(id: &str, error: &CallError) -> String {
    let mut payload = serde_json::Map::new();
    payload.insert("requestId".to_owned(), Value::from(id));
    payload.insert("code".to_owned(), Value::from(&*error.code));
    payload.insert("message".to_owned(), Value::from(&*error.message));
    if let Some(details) = &error.details {
        payload.insert("details".to_owned(), details.clone());
    }
    if let Some(is_internal) = error.internal_flag() {
        payload.insert("isInternal".to_owned(), is_internal.into());
    }
    format!(
        "{{\"type\":\"call.error\",\"id\":\"\",\"payload\":{}}}",
        Value::Object(payload)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_crosses() {
        let payload =
            r#"{"requestId":"r-1","operationId":"a.b","input":{"n":1.50},"trusted":true}"#;
        let beside = Beside {
            remaining: Some(12.5),
            window: Some(8),
            more: 3,
            proof: Some((7, proof("k", "w", 7, payload))),
        };
        let text = request("me", payload, beside);
        let arrival = Arrival::read(&text).unwrap();
        assert_eq!(arrival.event.input, Some(r#"{"n":1.50}"#));
        assert_eq!(&*arrival.from, "me");
        assert_eq!(arrival.remaining, Some(12.5));
        assert_eq!((arrival.window, arrival.more), (Some(8), 3));
        assert!(arrival.shares_answers);
        assert_eq!(arrival.signed.slot_of("w", "k"), Some(7));
        assert_eq!(arrival.signed.slot_of("v", "k"), None);
        assert_eq!(arrival.signed.slot_of("w", "l"), None);
        assert!(!arrival.event.to_json().contains("trusted"));
    }

    #[test]
    fn who_cannot_be_answered_is_refused() {
        let payload = r#"{"requestId":"r","operationId":"a"}"#;
        let beside = Beside {
            remaining: None,
            window: None,
            more: 0,
            proof: None,
        };
        for from in ["", "a.", ".b", "a.b.c", "*", "a.*", ">", "a b"] {
            assert!(Arrival::read(&request(from, payload, beside)).is_err());
            let hello = Notice::Hello { from: from.into() };
            assert!(Notice::read(&hello.to_json()).is_err());
        }
        let other = r#"{"requestId":"a.>","operationId":"a"}"#;
        assert!(Arrival::read(&request("me", other, beside)).is_err());
    }

    #[test]
    fn notices_cross() {
        let from: Arc<str> = Arc::from("w");
        let notices = [
            Notice::Taken {
                from: Arc::clone(&from),
                name: "worker-7".to_owned(),
                ids: vec![Arc::from("a")],
            },
            Notice::Taken {
                from: Arc::clone(&from),
                name: String::new(),
                ids: Vec::new(),
            },
            Notice::Credit {
                from: Arc::clone(&from),
                id: Arc::from("a"),
                up_to: 7,
            },
            Notice::Ping {
                from,
                calls: Vec::new(),
                serving: vec![Arc::from("b")],
            },
        ];
        for notice in notices {
            assert_eq!(Notice::read(&notice.to_json()).unwrap(), notice);
        }
    }
}

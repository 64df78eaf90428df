//! The events of the protocol as they travel: `{ "type", "id", "payload" }`, or the payload alone where the channel
//! says of which type it is. Inputs and outputs pass through as the text that they were.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::access::is_identity;
use crate::envelope::is_envelope;
use crate::error::CallError;
use crate::json::{Malformed, Object, push_string};
use crate::trace;

/// The five events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// An operation is called.
    Requested,
    /// A result: one for a call, many for a subscription.
    Responded,
    /// A subscription has ended.
    Completed,
    /// One side has ended the call.
    Aborted,
    /// A call has failed.
    Error,
}

impl EventType {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Requested,
        Self::Responded,
        Self::Completed,
        Self::Aborted,
        Self::Error,
    ];

    /// The name that travels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "call.requested",
            Self::Responded => "call.responded",
            Self::Completed => "call.completed",
            Self::Aborted => "call.aborted",
            Self::Error => "call.error",
        }
    }

    /// The type of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// An operation is called. Trust is no part of it: it is neither read nor written.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedEvent<'a> {
    /// Correlates the events of one request.
    pub request_id: String,
    /// `namespace.name`.
    pub operation_id: String,
    /// What the operation takes, as JSON. Absent for `undefined`.
    pub input: Option<&'a str>,
    /// The call that makes this one.
    pub parent_request_id: Option<String>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// The longest silence between events of a subscription, in milliseconds.
    pub idle_timeout: Option<f64>,
    /// The caller's identity, as checked JSON.
    pub identity: Option<&'a str>,
    /// Whatever the caller adds, as JSON: an object.
    pub metadata: Option<&'a str>,
    /// The trace that it belongs to, as JSON ([`crate::trace`]): an object.
    pub trace: Option<Cow<'a, str>>,
}

/// An event that can be believed.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvent<'a> {
    /// An operation is called.
    Requested(Box<RequestedEvent<'a>>),
    /// A result.
    Responded {
        /// Whose.
        request_id: String,
        /// The envelope as JSON; nothing if it is not an envelope.
        output: Option<&'a str>,
    },
    /// A subscription has ended.
    Completed {
        /// Which.
        request_id: String,
    },
    /// One side has ended the call.
    Aborted {
        /// Which.
        request_id: String,
    },
    /// A call has failed.
    Error {
        /// Which.
        request_id: String,
        /// With what.
        error: CallError,
    },
}

/// Why a message is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not an object in JSON.
    #[error("the message is refused: {0}")]
    Malformed(#[from] Malformed),
    /// Neither the channel nor the message says which event it is.
    #[error("the message does not say which event it is")]
    NoType,
    /// There is no such event.
    #[error("there is no event of this type")]
    UnknownType,
    /// A message on the channel of another event.
    #[error("the message names a different event than the one its channel carries")]
    OtherType,
    /// A field is missing, or is not of the right type.
    #[error("{0} is missing, or not of the right type")]
    Field(&'static str),
}

/// How many messages were refused, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    counts: BTreeMap<&'static str, u64>,
}

impl Refused {
    /// Counts one.
    pub fn count(&mut self, refusal: &Refusal) {
        *self.counts.entry(refusal.kind()).or_default() += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// By reason.
    pub fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().map(|(reason, count)| (*reason, *count))
    }
}

impl Refusal {
    /// One word for it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::NoType | Self::UnknownType | Self::OtherType => "type",
            Self::Field(_) => "field",
        }
    }
}

impl<'a> CallEvent<'a> {
    /// How many levels of objects [`CallEvent::read`] looks into: the message, its payload, and the envelope in there.
    pub const LEVELS: usize = 3;

    /// Reads a message. `channel` is the type that the way it came on stands for, if it stands for one; then the
    /// bare payload will do.
    ///
    /// # Errors
    ///
    /// When it is no event.
    pub fn read(channel: Option<EventType>, message: &Object<'a>) -> Result<Self, Refusal> {
        match message.object("payload") {
            Some(payload) if message.get("requestId").is_none() => {
                let named = message.text("type");
                let kind = match (channel, named.as_deref()) {
                    (Some(channel), None) => channel,
                    (None, None) => return Err(Refusal::NoType),
                    (channel, Some(name)) => {
                        let kind = EventType::from_name(name).ok_or(Refusal::UnknownType)?;
                        if channel.is_some_and(|channel| channel != kind) {
                            return Err(Refusal::OtherType);
                        }
                        kind
                    }
                };
                Self::read_payload(kind, &payload)
            }
            _ => Self::read_payload(channel.ok_or(Refusal::NoType)?, message),
        }
    }

    /// Reads the payload of an event whose type is known.
    ///
    /// # Errors
    ///
    /// When a field is missing or not of the right type.
    pub fn read_payload(kind: EventType, payload: &Object<'a>) -> Result<Self, Refusal> {
        let request_id = payload
            .string("requestId")
            .filter(|id| is_request_id(id))
            .ok_or(Refusal::Field("requestId"))?;
        Ok(match kind {
            EventType::Requested => {
                Self::Requested(Box::new(RequestedEvent::read(request_id, payload)?))
            }
            EventType::Responded => Self::Responded {
                request_id,
                output: envelope_in(payload),
            },
            EventType::Completed => Self::Completed { request_id },
            EventType::Aborted => Self::Aborted { request_id },
            EventType::Error => Self::Error {
                request_id,
                error: Self::read_error(payload)?,
            },
        })
    }

    /// Reads an error as it travels.
    ///
    /// # Errors
    ///
    /// When it has no code or no message.
    pub fn read_error(payload: &Object<'_>) -> Result<CallError, Refusal> {
        let (code, message) = (text(payload, "code")?, text(payload, "message")?);
        let error = CallError::from_parts(code, message, payload.get("details"));
        let is_internal = match payload.get("isInternal") {
            Some(flag) => flag != "false",
            None => error.looks_internal(),
        };
        Ok(error.with_internal(is_internal))
    }

    /// Whose event it is.
    #[must_use]
    pub fn request_id(&self) -> &str {
        match self {
            Self::Requested(event) => &event.request_id,
            Self::Responded { request_id, .. }
            | Self::Completed { request_id }
            | Self::Aborted { request_id }
            | Self::Error { request_id, .. } => request_id,
        }
    }
}

/// The longest `requestId`, in bytes. Ours are UUIDs.
const LONGEST_REQUEST_ID: usize = 256;

/// Whether a text can correlate the events of a call. The caller chooses it, and it is handed on in lines
/// ([`super::submission`]): with a line break or a tab in it, it would speak for the calls of others.
#[must_use]
pub fn is_request_id(text: &str) -> bool {
    (1..=LONGEST_REQUEST_ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

impl<'a> RequestedEvent<'a> {
    fn read(request_id: String, payload: &Object<'a>) -> Result<Self, Refusal> {
        Ok(Self {
            request_id,
            operation_id: payload
                .string("operationId")
                .ok_or(Refusal::Field("operationId"))?,
            input: payload.get("input"),
            parent_request_id: optional(payload, "parentRequestId", |text| {
                serde_json::from_str(text).ok()
            })?,
            deadline: optional(payload, "deadline", number)?,
            idle_timeout: optional(payload, "idleTimeout", number)?,
            identity: optional(payload, "identity", |text| {
                // Read for its shape; what goes on is the text itself.
                is_identity(text).then_some(text)
            })?,
            metadata: optional(payload, "metadata", |text| {
                // It was read with the rest: its first byte says what it is.
                text.starts_with('{').then_some(text)
            })?,
            // A call does not fail because of those who watch it.
            trace: payload
                .object("trace")
                .and_then(|trace| trace::carried_in(&trace))
                .map(Cow::Owned),
        })
    }

    /// The payload as JSON. The deadline is left out when it travels in another form.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(160 + self.input.map_or(0, str::len));
        json.push_str("{\"requestId\":");
        push_string(&mut json, &self.request_id);
        json.push_str(",\"operationId\":");
        push_string(&mut json, &self.operation_id);
        let numbers = [
            ("deadline", self.deadline),
            ("idleTimeout", self.idle_timeout),
        ];
        for (name, value) in numbers {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                // Writing to a string cannot fail.
                let _ = write!(json, ",\"{name}\":{value}");
            }
        }
        if let Some(parent) = &self.parent_request_id {
            json.push_str(",\"parentRequestId\":");
            push_string(&mut json, parent);
        }
        let texts = [
            ("input", self.input),
            ("identity", self.identity),
            ("metadata", self.metadata),
            ("trace", self.trace.as_deref()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                json.push_str(",\"");
                json.push_str(name);
                json.push_str("\":");
                json.push_str(text);
            }
        }
        json.push('}');
        json
    }
}

/// The output of a response, if it is an envelope.
fn envelope_in<'a>(payload: &Object<'a>) -> Option<&'a str> {
    let output = payload.object("output")?;
    is_envelope(&output).then(|| payload.get("output"))?
}

fn number(text: &str) -> Option<f64> {
    f64::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

/// A field that may be absent, but not be something else. `null` is something else.
fn optional<'a, T>(
    payload: &Object<'a>,
    name: &'static str,
    read: impl FnOnce(&'a str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match payload.get(name) {
        None => Ok(None),
        Some(text) => read(text).map(Some).ok_or(Refusal::Field(name)),
    }
}

/// A text. One with a lone surrogate is kept as it is written: an error with an odd message is still an
/// error.
fn text(payload: &Object<'_>, name: &'static str) -> Result<String, Refusal> {
    let json = payload
        .get(name)
        .filter(|json| json.starts_with('"'))
        .ok_or(Refusal::Field(name))?;
    Ok(serde_json::from_str(json).unwrap_or_else(|_| json.trim_matches('"').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CallEvent<'_>, Refusal> {
        read_on(None, text)
    }

    fn read_on(channel: Option<EventType>, text: &str) -> Result<CallEvent<'_>, Refusal> {
        CallEvent::read(channel, &Object::read(text)?)
    }

    #[test]
    fn an_event_is_type_id_payload_or_the_bare_payload() {
        let aborted = CallEvent::Aborted {
            request_id: "r".to_owned(),
        };
        let whole = r#"{"type":"call.aborted","id":"","payload":{"requestId":"r"}}"#;
        assert_eq!(read(whole).unwrap(), aborted);
        let bare = r#"{"requestId":"r"}"#;
        let on_channel = |text| read_on(Some(EventType::Aborted), text);
        assert_eq!(on_channel(bare).unwrap(), aborted);
        assert_eq!(on_channel(whole).unwrap(), aborted);
        assert_eq!(
            on_channel(r#"{"payload":{"requestId":"r"}}"#).unwrap(),
            aborted
        );
        assert_eq!(read(bare), Err(Refusal::NoType));
        assert_eq!(
            read_on(Some(EventType::Error), whole),
            Err(Refusal::OtherType)
        );
    }

    #[test]
    fn what_is_no_event_is_refused_with_a_reason_and_counted() {
        let mut refused = Refused::default();
        for (text, kind) in [
            ("", "malformed"),
            ("1", "malformed"),
            ("[]", "malformed"),
            ("{}", "type"),
            (
                r#"{"type":"call.other","payload":{"requestId":"r"}}"#,
                "type",
            ),
            (
                r#"{"type":"call.aborted","payload":{"requestId":1}}"#,
                "field",
            ),
            (
                r#"{"type":"call.aborted","payload":{"requestId":""}}"#,
                "field",
            ),
            (
                r#"{"type":"call.aborted","payload":{"requestId":"a\nb\t{}"}}"#,
                "field",
            ),
            (
                r#"{"type":"call.requested","payload":{"requestId":"r"}}"#,
                "field",
            ),
            (
                r#"{"type":"call.requested","payload":{"requestId":"r","operationId":"a","identity":{"id":"u"}}}"#,
                "field",
            ),
            (
                r#"{"type":"call.requested","payload":{"requestId":"r","operationId":"a","deadline":"soon"}}"#,
                "field",
            ),
        ] {
            let refusal = read(text).unwrap_err();
            assert_eq!(refusal.kind(), kind, "{text}: {refusal}");
            refused.count(&refusal);
        }
        assert_eq!(refused.total(), 11);
        assert_eq!(
            refused.by_reason().collect::<Vec<_>>(),
            [("field", 6), ("malformed", 3), ("type", 2)]
        );
    }

    #[test]
    fn a_request_keeps_its_texts_and_forgets_trust() {
        let text = r#"{"type":"call.requested","id":"","payload":{"requestId":"r","operationId":"a.b","input":{"n":1.50},"trusted":true,"identity":{"id":"u","scopes":["s"]},"metadata":{"k":1},"deadline":5}}"#;
        let Ok(CallEvent::Requested(event)) = read(text) else {
            panic!("not read");
        };
        assert_eq!(event.input, Some(r#"{"n":1.50}"#));
        let json = event.to_json();
        assert!(!json.contains("trusted"), "{json}");
        let payload = Object::read(&json).unwrap();
        let again = CallEvent::read_payload(EventType::Requested, &payload).unwrap();
        assert_eq!(again, CallEvent::Requested(event));
    }

    #[test]
    fn an_output_that_is_not_an_envelope_is_recognized() {
        for (output, expected) in [
            (
                r#"{"data":1,"meta":{"source":"local","operationId":"a","timestamp":1}}"#,
                true,
            ),
            ("5", false),
            (r#"{"data":1,"meta":{"source":"mcp"}}"#, false),
        ] {
            let text = format!(
                r#"{{"type":"call.responded","id":"","payload":{{"requestId":"r","output":{output}}}}}"#
            );
            let Ok(CallEvent::Responded { output: read, .. }) = read(&text) else {
                panic!("not read");
            };
            assert_eq!(read.is_some(), expected);
        }
    }

    #[test]
    fn an_error_needs_its_texts_however_badly_they_are_written() {
        let with = |code: &str| {
            format!(
                r#"{{"type":"call.error","payload":{{"requestId":"r","code":{code},"message":"m"}}}}"#
            )
        };
        for code in [
            "7",
            "{}",
            r#"{"toString":1,"valueOf":1}"#,
            "null",
            r#"["A"]"#,
        ] {
            assert_eq!(read(&with(code)), Err(Refusal::Field("code")), "{code}");
        }
        let text = with(r#""\ud800""#);
        let Ok(CallEvent::Error { error, .. }) = read(&text) else {
            panic!("not read");
        };
        assert_eq!(&*error.code, r"\ud800");
    }
}

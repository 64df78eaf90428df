//! The trace that a call belongs to, as it travels (W3C Trace Context and Baggage): `traceparent`, `tracestate` and `baggage`,
//! in the headers of HTTP and NATS, in the `_meta` of MCP, and in the events of the call protocol. Peers choose these values, and
//! they become headers of other requests. So a value that is not in the grammar of its field is dropped here, wherever it
//! came from. `facade/interop/trace.ts` has the same rules; `tests/cases/traces.json` holds the two together.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::json::Object;

/// The fields, and the longest value of each that is handed on, in bytes. What is longer was not meant to be handed on.
pub const FIELDS: [(&str, usize); 3] = [
    ("traceparent", 256),
    ("tracestate", 2_048),
    ("baggage", 8_192),
];

/// The fields that `find` has and that are well-formed, as a JSON object; nothing if there are none.
pub fn carried(find: impl Fn(&str) -> Option<String>) -> Option<String> {
    let found = well_formed(find).into_iter();
    let found: Map<String, Value> = found
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    (!found.is_empty()).then(|| Value::Object(found).to_string())
}

/// The fields of an object that has others too.
#[must_use]
pub fn carried_in(object: &Object<'_>) -> Option<String> {
    carried(|name| object.string(name))
}

/// The fields of what [`carried`] wrote, or of what another party sent in its place.
#[must_use]
pub fn fields(trace: &str) -> Vec<(&'static str, String)> {
    Object::read(trace).map_or_else(
        |_| Vec::new(),
        |object| well_formed(|name| object.string(name)),
    )
}

/// Whether a trace, as [`carried`] writes it, says to which span its call belongs.
#[must_use]
pub fn has_parent(trace: Option<&str>) -> bool {
    let fields = trace.map(fields).unwrap_or_default();
    fields.iter().any(|(name, _)| *name == "traceparent")
}

/// The fields that are in their grammar. A `tracestate` belongs to its `traceparent`: without that it means nothing.
fn well_formed(find: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for (name, most) in FIELDS {
        if name == "tracestate" && !found.iter().any(|(other, _)| *other == "traceparent") {
            continue;
        }
        let value = find(name).filter(|value| value.len() <= most && is_well_formed(name, value));
        found.extend(value.map(|value| (name, value)));
    }
    found
}

fn is_well_formed(name: &str, value: &str) -> bool {
    match name {
        "traceparent" => {
            value.bytes().all(|byte| byte.is_ascii_graphic()) && Parent::read(value).is_some()
        }
        "tracestate" => is_trace_state(value),
        // Baggage is for the application. All that matters here is that it can be a header.
        _ => value
            .bytes()
            .all(|byte| matches!(byte, b'\t' | b' '..=b'~')),
    }
}

/// The most members that a `tracestate` may have.
const MOST_MEMBERS: usize = 32;

/// A list of `key=value`, as W3C Trace Context has it. Members may be empty.
fn is_trace_state(value: &str) -> bool {
    let mut members = 0;
    value.split(',').all(|member| {
        let member = member.trim_matches([' ', '\t']);
        if member.is_empty() {
            return true;
        }
        members += 1;
        let Some((key, value)) = member.split_once('=') else {
            return false;
        };
        members <= MOST_MEMBERS && is_state_key(key) && is_state_value(value)
    })
}

/// `vendor`, or `tenant@vendor`.
fn is_state_key(key: &str) -> bool {
    let is_name = |name: &str, most: usize, may_begin: fn(&u8) -> bool| {
        name.len() <= most
            && name.as_bytes().first().is_some_and(may_begin)
            && name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'))
    };
    match key.split_once('@') {
        None => is_name(key, 256, u8::is_ascii_lowercase),
        Some((tenant, vendor)) => {
            is_name(tenant, 241, |byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit()
            }) && is_name(vendor, 14, u8::is_ascii_lowercase)
        }
    }
}

fn is_state_value(value: &str) -> bool {
    (1..=256).contains(&value.len())
        && value
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
}

/// What a `traceparent` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent<'a> {
    /// The trace: 32 hexadecimal digits.
    pub trace_id: &'a str,
    /// The span that made the call: 16 hexadecimal digits.
    pub span_id: &'a str,
    /// Two hexadecimal digits, of which the last bit says that the trace is recorded.
    pub flags: &'a str,
}

impl<'a> Parent<'a> {
    /// Reads a `traceparent`; nothing where it is malformed. Versions to come may have more at the end.
    #[must_use]
    pub fn read(traceparent: &'a str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace_id, span_id) = (parts.next()?, parts.next()?, parts.next()?);
        let flags = parts.next()?;
        let is_hex = |text: &str, length| {
            text.len() == length
                && text
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_set = |text: &str| text.bytes().any(|byte| byte != b'0');
        let holds = is_hex(version, 2)
            && version != "ff"
            && is_hex(trace_id, 32)
            && is_hex(span_id, 16)
            && is_hex(flags, 2)
            && is_set(trace_id)
            && is_set(span_id)
            && (version != "00" || parts.next().is_none());
        holds.then_some(Self {
            trace_id,
            span_id,
            flags,
        })
    }
}

/// The spans of a call that comes in and goes on, named before they are made: the outgoing request has to name its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// The trace that they belong to: that of the caller, or a new one.
    pub trace_id: String,
    /// The call that came in.
    pub incoming: String,
    /// The call that goes on.
    pub outgoing: String,
    flags: String,
    /// `tracestate` and `baggage`, which go on as they came.
    others: Vec<(&'static str, String)>,
}

impl Spans {
    /// New spans in the trace that a call brings; in one of their own, which is to be recorded, if it brings none.
    #[must_use]
    pub fn within(trace: Option<&str>) -> Self {
        let mut others = trace.map(fields).unwrap_or_default();
        let given = others.iter().position(|(name, _)| *name == "traceparent");
        let given = given.map(|at| others.remove(at).1);
        let parent = given.as_deref().and_then(Parent::read);
        if parent.is_none() {
            // It belongs to a parent that there is not.
            others.retain(|(name, _)| *name != "tracestate");
        }
        let (trace_id, flags) = parent.map_or_else(
            || (Uuid::new_v4().simple().to_string(), "01".to_owned()),
            |parent| (parent.trace_id.to_owned(), parent.flags.to_owned()),
        );
        Self {
            trace_id,
            incoming: span_id(),
            outgoing: span_id(),
            flags,
            others,
        }
    }

    /// What goes on, as [`carried`] writes it.
    #[must_use]
    pub fn handed_on(&self) -> Option<String> {
        let parent = format!("00-{}-{}-{}", self.trace_id, self.outgoing, self.flags);
        carried(|name| {
            if name == "traceparent" {
                return Some(parent.clone());
            }
            let mut others = self.others.iter();
            let found = others.find(|(other, _)| *other == name);
            found.map(|(_, value)| value.clone())
        })
    }
}

/// A random id. The halves of a UUID have a few bits each that are always the same, in different places.
fn span_id() -> String {
    loop {
        let (first, second) = Uuid::new_v4().as_u64_pair();
        let id = first ^ second;
        if id != 0 {
            return format!("{id:016x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_three_fields_travel() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let all = format!(r#"{{"traceparent":"{parent}","progressToken":1,"baggage":"a=b"}}"#);
        let carried = carried_in(&Object::read(&all).unwrap()).unwrap();
        assert_eq!(
            carried,
            format!(r#"{{"traceparent":"{parent}","baggage":"a=b"}}"#)
        );
        assert_eq!(
            fields(&carried),
            [
                ("traceparent", parent.to_owned()),
                ("baggage", "a=b".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_too_long_or_no_text_does_not() {
        let long = "x".repeat(8_193);
        assert_eq!(
            carried(|name| (name == "baggage").then(|| long.clone())),
            None
        );
        assert_eq!(carried(|_| None), None);
        assert_eq!(fields(r#"{"traceparent":7}"#), []);
        assert_eq!(fields("["), []);
    }

    #[test]
    fn a_traceparent_is_read_as_the_standard_has_it() {
        let trace_id = "0af7651916cd43dd8448eb211c80319c";
        let span_id = "b7ad6b7169203331";
        let known = format!("00-{trace_id}-{span_id}-01");
        let parent = Parent {
            trace_id,
            span_id,
            flags: "01",
        };
        assert_eq!(Parent::read(&known), Some(parent));
        let later = format!("01-{trace_id}-{span_id}-01-more");
        assert_eq!(Parent::read(&later), Some(parent));
        for odd in [
            String::new(),
            "00-1-2-01".to_owned(),
            format!("{known}-more"),
            format!("00-{trace_id}-{span_id}"),
            format!("00-{trace_id}-{span_id}x-01"),
            format!("ff-{trace_id}-{span_id}-01"),
            format!("00-{}-{span_id}-01", "0".repeat(32)),
            format!("00-{}-{span_id}-01", trace_id.to_uppercase()),
        ] {
            assert_eq!(Parent::read(&odd), None, "{odd}");
        }
    }

    #[test]
    fn what_goes_on_has_the_span_that_sends_it_as_its_parent() {
        let trace = r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00","tracestate":"a=1","baggage":"b=2"}"#;
        let spans = Spans::within(Some(trace));
        assert_eq!(spans.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_ne!(spans.incoming, spans.outgoing);
        let expected = format!(
            r#"{{"traceparent":"00-{}-{}-00","tracestate":"a=1","baggage":"b=2"}}"#,
            spans.trace_id, spans.outgoing
        );
        assert_eq!(spans.handed_on(), Some(expected));
    }

    #[test]
    fn without_a_parent_there_is_a_new_trace() {
        for trace in [
            None,
            Some(r#"{"traceparent":"odd","tracestate":"a=1","baggage":"b=2"}"#),
        ] {
            let spans = Spans::within(trace);
            let sent = spans.handed_on().unwrap();
            let sent = fields(&sent);
            let parent = Parent::read(&sent[0].1).unwrap();
            assert_eq!(
                (parent.trace_id, parent.span_id, parent.flags),
                (spans.trace_id.as_str(), spans.outgoing.as_str(), "01")
            );
            let names: Vec<&str> = sent.iter().skip(1).map(|(name, _)| *name).collect();
            assert_eq!(
                names,
                if trace.is_none() {
                    vec![]
                } else {
                    vec!["baggage"]
                }
            );
        }
    }
}

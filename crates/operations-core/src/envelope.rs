//! The wrapper that every result travels in.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

use crate::json::{Document, Json, Kind, Object};

/// An envelope as JSON, on its way to a caller. Where `data` and `meta` are in the text is known when it was written here, and
/// looked up when a part is first needed otherwise.
#[derive(Debug, Clone)]
pub struct ResponseEnvelope {
    text: String,
    parts: OnceLock<Parts>,
}

/// The places of the members; an envelope without data is one whose operation produced `undefined`.
#[derive(Debug, Clone, Default)]
struct Parts {
    data: Option<Range<usize>>,
    meta: Option<Range<usize>>,
}

impl ResponseEnvelope {
    /// Writes an envelope. Both parts are JSON.
    #[must_use]
    pub fn new(data: Option<&str>, meta: &str) -> Self {
        let mut text = String::with_capacity(data.map_or(0, str::len) + meta.len() + 24);
        text.push('{');
        let mut push = |name: &str, json: &str| {
            text.push_str(name);
            let start = text.len();
            text.push_str(json);
            start..text.len()
        };
        let data = data.map(|data| push("\"data\":", data));
        let name = if data.is_some() {
            ",\"meta\":"
        } else {
            "\"meta\":"
        };
        let meta = Some(push(name, meta));
        text.push('}');
        Self {
            text,
            parts: Parts { data, meta }.into(),
        }
    }

    fn parts(&self) -> &Parts {
        self.parts.get_or_init(|| {
            let Ok(members) = Object::read(&self.text) else {
                return Parts::default();
            };
            // The text of a member is a part of the whole text.
            let place = |part: &str| {
                let start = part.as_ptr().addr() - self.text.as_ptr().addr();
                start..start + part.len()
            };
            Parts {
                data: members.get("data").map(place),
                meta: members.get("meta").map(place),
            }
        })
    }

    /// The result, as JSON.
    #[must_use]
    pub fn data(&self) -> Option<&str> {
        self.text.get(self.parts().data.clone()?)
    }

    /// Where the result came from, as JSON. Every envelope has it.
    #[must_use]
    pub fn meta(&self) -> Option<&str> {
        self.text.get(self.parts().meta.clone()?)
    }

    /// The members of `meta`.
    #[must_use]
    pub fn meta_members(&self) -> Object<'_> {
        let meta = self.meta().map(Object::read);
        meta.and_then(Result::ok).unwrap_or_default()
    }

    /// The same envelope with another value for a member of its `meta`, or without it. A `meta` that cannot be read stays as it is.
    #[must_use]
    pub fn with_meta_member(&self, name: &str, value: Option<&Value>) -> Self {
        let Ok(document) = self.meta().map(Document::parse).transpose() else {
            return self.clone();
        };
        let root = document.as_ref().map(Document::root);
        let others = root.into_iter().flat_map(Json::members);
        let others = others.filter(|(key, _)| key.as_str() != Some(name));
        let mut members: Vec<String> = others
            .map(|(key, value)| format!("{}:{}", key.canonical(), value.canonical()))
            .collect();
        if let Some(value) = value {
            members.push(format!("{}:{value}", Value::from(name)));
        }
        Self::new(self.data(), &format!("{{{}}}", members.join(",")))
    }

    /// The result alone, without a copy.
    #[must_use]
    pub fn into_data(self) -> Option<Bytes> {
        let place = self.parts().data.clone()?;
        Some(Bytes::from(self.text).slice(place))
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All of it.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }
}

impl From<String> for ResponseEnvelope {
    fn from(text: String) -> Self {
        Self {
            text,
            parts: OnceLock::new(),
        }
    }
}

/// A JSON value that is an envelope: `data` and `meta` are there, `meta.source` is a known word, and what that source
/// requires has the right type. It looks no deeper than that.
#[derive(Debug, Clone, Copy)]
pub struct EnvelopeParts<'d> {
    /// The business value.
    pub data: Json<'d>,
    meta: Json<'d>,
}

impl<'d> EnvelopeParts<'d> {
    /// The parts; nothing where the value is no envelope.
    #[must_use]
    pub fn of(value: Json<'d>) -> Option<Self> {
        let (data, meta) = (value.get("data")?, value.get("meta")?);
        let source = meta.get("source").and_then(Json::as_str);
        is_meta(source, |key| meta.get(key).map(Json::text)).then_some(Self { data, meta })
    }

    /// Whether the data is what the operation declares. An MCP error holds content blocks.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        let field = |name| self.meta.get(name).map(Json::kind);
        field("source") != Some(Kind::String("mcp")) || field("isError") != Some(Kind::Bool(true))
    }
}

/// What each source requires. The fields are JSON that was read: their first byte says what they are.
fn is_meta<'t>(source: Option<&str>, field: impl Fn(&str) -> Option<&'t str>) -> bool {
    let begins = |key: &str, with: &[u8]| {
        let first = field(key).and_then(|text| text.as_bytes().first());
        first.is_some_and(|byte| with.contains(byte))
    };
    let is_string = |key| begins(key, b"\"");
    let is_number = |key| begins(key, b"-0123456789");
    match source {
        Some("local") => is_string("operationId") && is_number("timestamp"),
        Some("http") => {
            is_number("statusCode") && begins("headers", b"{") && is_string("contentType")
        }
        Some("mcp") => begins("isError", b"tf") && begins("content", b"["),
        _ => false,
    }
}

/// The same for an object, of which only `meta` is looked into: the data may be large.
///
/// An absent `data` is that of an operation which produced `undefined`: JSON cannot say it.
#[must_use]
pub fn is_envelope(envelope: &Object<'_>) -> bool {
    envelope
        .object("meta")
        .is_some_and(|meta| is_meta(meta.text("source").as_deref(), |key| meta.get(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_that_cannot_be_read_stays_as_it_is() {
        let envelope = ResponseEnvelope::new(Some("1"), r#"{"a":tru}"#);
        let value = Value::from(2);
        let changed = envelope.with_meta_member("b", Some(&value));
        assert_eq!(changed.meta(), Some(r#"{"a":tru}"#));
        let readable = ResponseEnvelope::new(Some("1"), r#"{"a":1}"#);
        let changed = readable.with_meta_member("b", Some(&value));
        assert_eq!(changed.meta(), Some(r#"{"a":1,"b":2}"#));
    }
}

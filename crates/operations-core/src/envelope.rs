//! The wrapper that every result travels in.

use crate::json::{Json, Kind, Object};

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

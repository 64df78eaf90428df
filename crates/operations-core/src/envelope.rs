//! The wrapper that every result travels in.

use crate::json::{self, Json, Object};

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
        let is_envelope = is_meta(source, |key| {
            Some(match meta.get(key)?.kind() {
                json::Kind::String(_) => Kind::String,
                json::Kind::Number(_) => Kind::Number,
                json::Kind::Bool(_) => Kind::Boolean,
                json::Kind::Array(_) => Kind::Array,
                json::Kind::Object(_) => Kind::Object,
                json::Kind::Null => Kind::Null,
            })
        });
        is_envelope.then_some(Self { data, meta })
    }

    /// Whether the data is what the operation declares. An MCP error holds content blocks.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        let field = |name| self.meta.get(name).map(Json::kind);
        field("source") != Some(json::Kind::String("mcp"))
            || field("isError") != Some(json::Kind::Bool(true))
    }
}

/// What a JSON value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

/// What each source requires.
fn is_meta(source: Option<&str>, kind_of: impl Fn(&str) -> Option<Kind>) -> bool {
    let has = |key: &str, kind: Kind| kind_of(key) == Some(kind);
    match source {
        Some("local") => has("operationId", Kind::String) && has("timestamp", Kind::Number),
        Some("http") => {
            has("statusCode", Kind::Number)
                && has("headers", Kind::Object)
                && has("contentType", Kind::String)
        }
        Some("mcp") => has("isError", Kind::Boolean) && has("content", Kind::Array),
        _ => false,
    }
}

/// The same for a text, of which only `meta` is looked into: the data may be large.
///
/// An absent `data` is that of an operation which produced `undefined`: JSON cannot say it.
#[must_use]
pub fn is_envelope_text(text: &str) -> bool {
    let Some(meta) = Object::read(text)
        .ok()
        .and_then(|envelope| envelope.object("meta"))
    else {
        return false;
    };
    // What was read is JSON: its first byte says what it is.
    is_meta(meta.string("source").as_deref(), |key| {
        Some(match meta.get(key)?.as_bytes().first()? {
            b'"' => Kind::String,
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b't' | b'f' => Kind::Boolean,
            b'n' => Kind::Null,
            _ => Kind::Number,
        })
    })
}

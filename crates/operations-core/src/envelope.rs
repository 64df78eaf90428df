//! The wrapper that every result travels in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::Object;

/// A result and where it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseEnvelope {
    /// What the operation produced. Absent in JSON when the operation produced `undefined`.
    #[serde(default)]
    pub data: Value,
    /// Where it came from.
    pub meta: ResponseMeta,
}

/// Where a result came from, told apart by `source`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "lowercase")]
pub enum ResponseMeta {
    /// A handler in this process.
    #[serde(rename_all = "camelCase")]
    Local {
        /// `namespace.name` of the operation.
        operation_id: String,
        /// Unix milliseconds at the moment of wrapping.
        timestamp: f64,
    },
    /// An HTTP response, or one event of a stream of them.
    #[serde(rename_all = "camelCase")]
    Http {
        /// The status of the response.
        status_code: f64,
        /// Its headers, names in lower case, repeated ones joined by `", "`.
        headers: Map<String, Value>,
        /// Its content type.
        content_type: String,
        /// On events of a stream: what the frame said about itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sse: Option<SseMeta>,
    },
    /// The result of an MCP tool.
    #[serde(rename_all = "camelCase")]
    Mcp {
        /// The tool ran and says that it failed.
        is_error: bool,
        /// All content blocks, as they were sent.
        content: Vec<Value>,
        /// The structured result, as it was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured_content: Option<Map<String, Value>>,
        /// Protocol extensions.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Map<String, Value>>,
    },
}

/// What an SSE frame says about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SseMeta {
    /// The event type, `message` unless the frame says otherwise.
    pub event: String,
    /// The last event id at this point of the stream.
    pub id: String,
    /// The reconnection time in milliseconds, on the frame that set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<f64>,
}

/// Whether a JSON value is an envelope: `data` and `meta` are there, `meta.source` is a known word,
/// and what that source requires has the right type. It looks no deeper than that.
#[must_use]
pub fn is_response_envelope(value: &Value) -> bool {
    let Some(meta) = value
        .get("data")
        .and(value.get("meta"))
        .and_then(Value::as_object)
    else {
        return false;
    };
    let has = |key: &str, test: fn(&Value) -> bool| meta.get(key).is_some_and(test);
    match meta.get("source").and_then(Value::as_str) {
        Some("local") => has("operationId", Value::is_string) && has("timestamp", Value::is_number),
        Some("http") => {
            has("statusCode", Value::is_number)
                && has("headers", Value::is_object)
                && has("contentType", Value::is_string)
        }
        Some("mcp") => has("isError", Value::is_boolean) && has("content", Value::is_array),
        _ => false,
    }
}

/// [`is_response_envelope`] for a text, of which only `meta` is looked into: the data may be large.
///
/// An absent `data` is that of an operation which produced `undefined`: JSON cannot say it.
#[must_use]
pub fn is_envelope_text(text: &str) -> bool {
    let Some(meta) = Object::read(text)
        .ok()
        .and_then(|envelope| serde_json::from_str::<Value>(envelope.get("meta")?).ok())
    else {
        return false;
    };
    is_response_envelope(&Value::Object(Map::from_iter([
        ("data".to_owned(), Value::Null),
        ("meta".to_owned(), meta),
    ])))
}

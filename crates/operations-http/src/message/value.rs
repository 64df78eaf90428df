//! What a caller passes in: JSON, and beside it what JavaScript has and JSON has not.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use operations_schema::number;
use serde_json::Value;

use operations_core::error::CallError;

/// How deeply an input may be nested. Writing an input is recursive, and so is dropping it; the
/// bound keeps both far away from the end of a thread's stack.
pub const MAX_DEPTH: usize = 512;

/// An input, or a part of one. One that is built by hand must stay below [`MAX_DEPTH`].
#[derive(Debug, Clone, PartialEq, Default)]
pub enum InputValue {
    /// Not there: as a property it is left out.
    #[default]
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A JavaScript number.
    Number(f64),
    /// An integer beyond what a JavaScript number holds, in decimal digits.
    BigInt(String),
    /// A string.
    Text(String),
    /// Binary data.
    Blob(Blob),
    /// An array.
    Array(Vec<InputValue>),
    /// An object.
    Object(IndexMap<String, InputValue>),
    /// A whole parameter or body as JSON text: what JavaScript's own `JSON.stringify` has written
    /// is sent as it is, and parsed only where another notation is asked for.
    JsonText(String),
}

/// Binary data, and what is known about it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Blob {
    /// The bytes.
    pub data: Vec<u8>,
    /// The name of the file, for multipart bodies.
    pub filename: Option<String>,
    /// The media type.
    pub content_type: Option<String>,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blob")
            .field("bytes", &self.data.len())
            .field("filename", &self.filename)
            .field("content_type", &self.content_type)
            .finish()
    }
}

impl InputValue {
    /// The same value as JSON has it.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when it is nested more deeply than [`MAX_DEPTH`].
    pub fn from_json(value: &Value) -> Result<Self, CallError> {
        convert(value, 0)
    }

    /// Whether a parameter with this value is left out: RFC 6570 calls `null` and a list or an
    /// object without members undefined.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => true,
            Self::Array(elements) => elements.iter().all(Self::is_nothing),
            Self::Object(members) => members.values().all(Self::is_nothing),
            Self::JsonText(text) => text == "null",
            _ => false,
        }
    }

    /// Whether it is `undefined` or `null`.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    /// The value itself where it was given as JSON text.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the text is not JSON.
    pub fn parsed(&self) -> Result<Cow<'_, Self>, CallError> {
        let Self::JsonText(text) = self else {
            return Ok(Cow::Borrowed(self));
        };
        let value: Value = serde_json::from_str(text)
            .map_err(|error| CallError::invalid(format!("The input is not valid JSON: {error}")))?;
        Self::from_json(&value).map(Cow::Owned)
    }

    /// A value as a string without quotes: a primitive as JavaScript's `String(value)` has it, an
    /// array or an object as JSON.
    ///
    /// # Errors
    /// As [`InputValue::to_json`].
    pub fn to_plain_text(&self) -> Result<Cow<'_, str>, CallError> {
        Ok(match self {
            Self::Undefined => Cow::Borrowed(""),
            Self::Number(number) => Cow::Owned(number::to_js_string(*number)),
            Self::Text(text) | Self::BigInt(text) | Self::JsonText(text) => {
                Cow::Borrowed(text.as_str())
            }
            Self::Blob(blob) => match std::str::from_utf8(&blob.data) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(STANDARD.encode(&blob.data)),
            },
            other => Cow::Owned(other.to_json()?),
        })
    }

    /// The value as JSON text, as `JSON.stringify` would write it. A big integer keeps all its
    /// digits, and binary data becomes base64, the notation of `format: byte`.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when it is nested more deeply than [`MAX_DEPTH`].
    pub fn to_json(&self) -> Result<String, CallError> {
        let mut out = String::new();
        write_json(self, &mut out, 0)?;
        Ok(out)
    }
}

impl From<&str> for InputValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for InputValue {
    fn from(data: Vec<u8>) -> Self {
        Self::Blob(Blob {
            data,
            ..Blob::default()
        })
    }
}

fn too_deep() -> CallError {
    CallError::invalid(format!(
        "The input is nested more deeply than {MAX_DEPTH} levels"
    ))
}

fn convert(value: &Value, depth: usize) -> Result<InputValue, CallError> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(match value {
        Value::Null => InputValue::Null,
        Value::Bool(flag) => InputValue::Bool(*flag),
        Value::Number(number) if number.is_f64() => {
            InputValue::Number(number.as_f64().unwrap_or_default())
        }
        Value::Number(number) => InputValue::BigInt(number.to_string()),
        Value::String(text) => InputValue::Text(text.clone()),
        Value::Array(elements) => InputValue::Array(
            elements
                .iter()
                .map(|element| convert(element, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => InputValue::Object(
            members
                .iter()
                .map(|(key, member)| Ok((key.clone(), convert(member, depth + 1)?)))
                .collect::<Result<_, CallError>>()?,
        ),
    })
}

fn write_json(value: &InputValue, out: &mut String, depth: usize) -> Result<(), CallError> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    match value {
        InputValue::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        InputValue::Number(number) if number.is_finite() => {
            out.push_str(&number::to_js_string(*number));
        }
        InputValue::Undefined | InputValue::Null | InputValue::Number(_) => out.push_str("null"),
        InputValue::BigInt(digits) => out.push_str(digits),
        InputValue::Text(text) => out.push_str(&Value::from(text.as_str()).to_string()),
        InputValue::Blob(blob) => {
            out.push('"');
            STANDARD.encode_string(&blob.data, out);
            out.push('"');
        }
        InputValue::JsonText(text) => out.push_str(text),
        InputValue::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(element, out, depth + 1)?;
            }
            out.push(']');
        }
        InputValue::Object(members) => {
            out.push('{');
            let present = members
                .iter()
                .filter(|(_, member)| **member != InputValue::Undefined);
            for (index, (key, member)) in present.enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_json(member, out, depth + 1)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

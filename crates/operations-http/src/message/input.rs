//! The input of a call, and the notation in which it crosses from JavaScript
//! (`facade/openapi/encode-input.ts`).

use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::registry::Target;
use serde_json::Value;

use super::auth::{Auth, Secret};
use super::int64::Step;
use super::integers::bare_integers;
use super::operation::HttpOperation;
use super::value::{Blob, InputValue, MAX_DEPTH};

/// What one call brings along.
#[derive(Debug, Default)]
pub struct CallInput {
    /// A value for each property of the input.
    pub values: IndexMap<String, InputValue>,
    /// Headers and credentials of this call.
    pub outgoing: Outgoing,
}

/// What goes out with one call beside its input.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Headers that go before all others.
    pub headers: Vec<(String, Secret)>,
    /// In the place of the service's own headers, where those depend on the call.
    pub service_headers: Option<Vec<(String, Secret)>>,
    /// Credentials, where those depend on the call.
    pub auth: Option<Auth>,
    /// Where to say to which URL the request goes, if that is observed.
    pub target: Option<Target>,
    /// The token of the call that is served, to be traded for one of the service.
    pub caller_token: Option<Secret>,
}

/// An input on its way from JavaScript: owned, so that it can be read on another thread.
#[derive(Debug, Default)]
pub struct EncodedInput {
    /// A JSON object, or an array in the notation for what JSON has no word for: an array is
    /// `["a", ...]`, an object `["o", key, value, ...]`, `undefined` `["u"]`, a big integer or a
    /// number that JSON lacks `["n", text]`, binary data `["b", index, file name or null, type or
    /// null]`. Everything else is itself.
    pub input: String,
    /// The body as JSON text that is sent as it is, where that is possible.
    pub body: Option<String>,
    /// Binary data, which the notation refers to.
    pub blobs: Vec<Vec<u8>>,
    /// The headers of the call, a JSON object of strings; or a list of these, of the service's headers for this call,
    /// of its credentials, and of the token of the call that is served, each of them `null` where there are none.
    pub headers: Option<String>,
}

impl EncodedInput {
    /// Reads it.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when it is no input of that notation, or nested too deeply.
    pub fn decode(mut self, operation: &HttpOperation) -> Result<CallInput, CallError> {
        let value: Value =
            serde_json::from_str(&self.input).map_err(|error| unreadable(&error, &self.input))?;
        let value = match value {
            Value::Object(_) => InputValue::from_json(&value)?,
            other => tagged(other, &mut self.blobs, 0)?,
        };
        let InputValue::Object(mut values) = value else {
            return Err(CallError::invalid(
                "The input must be an object with a property for each parameter, and `body` for a body",
            ));
        };
        if let (Some(text), Some(plan)) = (self.body, &operation.request.body) {
            let text = match &operation.int64 {
                Some(int64) => bare_integers(text, int64, &[Step::Member(&plan.input)]),
                None => text,
            };
            values.insert(plan.input.clone(), InputValue::JsonText(text));
        }
        Ok(CallInput {
            values,
            outgoing: outgoing(self.headers.as_deref())?,
        })
    }
}

fn outgoing(text: Option<&str>) -> Result<Outgoing, CallError> {
    let Some(text) = text.filter(|text| text.starts_with('[')) else {
        let headers = call_headers(text)?;
        return Ok(Outgoing {
            headers,
            ..Outgoing::default()
        });
    };
    let (headers, service_headers, auth, caller_token): WithCallOptions =
        serde_json::from_str(text).map_err(|error| unreadable(&error, text))?;
    Ok(Outgoing {
        headers: headers.map(secret).unwrap_or_default(),
        service_headers: service_headers.map(secret),
        auth,
        target: None,
        caller_token,
    })
}

type Texts = IndexMap<String, String>;
type WithCallOptions = (Option<Texts>, Option<Texts>, Option<Auth>, Option<Secret>);

fn secret(headers: Texts) -> Vec<(String, Secret)> {
    let headers = headers.into_iter();
    headers
        .map(|(name, value)| (name, Secret::new(value)))
        .collect()
}

/// The headers of one call, from a JSON object.
///
/// # Errors
/// `VALIDATION_ERROR` when it is no object of strings.
pub fn call_headers(text: Option<&str>) -> Result<Vec<(String, Secret)>, CallError> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let headers: Texts = serde_json::from_str(text).map_err(|error| unreadable(&error, text))?;
    Ok(secret(headers))
}

fn tagged(value: Value, blobs: &mut Vec<Vec<u8>>, depth: usize) -> Result<InputValue, CallError> {
    if depth > MAX_DEPTH {
        return Err(CallError::invalid(format!(
            "The input is nested more deeply than {MAX_DEPTH} levels"
        )));
    }
    let Value::Array(parts) = value else {
        return InputValue::from_json(&value);
    };
    let mut parts = parts.into_iter();
    let tag = parts.next();
    let mut next = |value| tagged(value, blobs, depth + 1);
    Ok(match tag.as_ref().and_then(Value::as_str) {
        Some("a") => InputValue::Array(parts.map(next).collect::<Result<_, _>>()?),
        Some("o") => {
            let mut members = IndexMap::new();
            while let (Some(Value::String(key)), Some(value)) = (parts.next(), parts.next()) {
                members.insert(key, next(value)?);
            }
            InputValue::Object(members)
        }
        Some("n") => match parts.next() {
            Some(Value::String(digits)) => InputValue::BigInt(digits),
            _ => InputValue::Undefined,
        },
        Some("b") => InputValue::Blob(blob(parts, blobs)?),
        _ => InputValue::Undefined,
    })
}

fn blob(mut parts: impl Iterator<Item = Value>, blobs: &mut [Vec<u8>]) -> Result<Blob, CallError> {
    let index = parts.next().and_then(|index| index.as_u64());
    let index = index.and_then(|index| usize::try_from(index).ok());
    let data = index.and_then(|index| blobs.get_mut(index));
    let data = data
        .ok_or_else(|| CallError::invalid("The input refers to binary data that is not there"))?;
    let mut text = || match parts.next() {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    Ok(Blob {
        data: std::mem::take(data),
        filename: text(),
        content_type: text(),
    })
}

fn unreadable(error: &serde_json::Error, text: &str) -> CallError {
    // JSON bodies are not read at all. What is left can express no more than a few levels.
    if error.to_string().contains("recursion limit") {
        return CallError::invalid(
            "A parameter, or a body that is not JSON, is nested more deeply than 127 levels",
        );
    }
    // JavaScript writes no other escapes of this kind.
    if text.contains(r"\ud") {
        return CallError::invalid(
            "A parameter, a header, or a body that is not JSON holds half of a character (a lone surrogate), \
             which no request can carry",
        );
    }
    CallError::invalid(format!("The input cannot be read: {error}"))
}

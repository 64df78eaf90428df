//! Request bodies: a value in the notation of a media type.

use indexmap::IndexMap;

use super::errors::not_binary;
use super::escape::Escape;
use super::media::{self, Family};
use super::multipart::Multipart;
use super::plan::{BodyPlan, Encoding, Style};
use super::style;
use super::value::InputValue;
use operations_core::error::CallError;
use operations_schema::pointer::escape;

/// A body, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// The value of the `Content-Type` header, boundary included.
    pub content_type: String,
    /// The content.
    pub payload: Payload,
}

/// The content of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// Text, sent as UTF-8.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Several parts.
    Multipart(Multipart),
}

impl Payload {
    /// The bytes that are sent.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Multipart(multipart) => multipart.to_bytes(),
        }
    }
}

/// The body for a value, or none when the value is `undefined`. `0`, `false`, `""` and `null` are
/// bodies like any other.
///
/// # Errors
/// `VALIDATION_ERROR` when a required body is missing, or when the value cannot be written in the
/// media type of the plan.
pub fn build(plan: &BodyPlan, value: InputValue) -> Result<Option<Body>, CallError> {
    if value == InputValue::Undefined {
        return if plan.required {
            Err(CallError::invalid(format!(
                "The request body (\"{}\") is required and missing",
                plan.input
            )))
        } else {
            Ok(None)
        };
    }
    let at = format!("/{}", escape(&plan.input));
    if plan.is_binary && matches!(value, InputValue::Text(_)) {
        return Err(not_binary(&at));
    }
    let media_type = concrete_type(declared_type(plan, &value), &value);
    let family = media::family(&media_type);
    if family == Family::Multipart {
        return multipart(&media_type, value, &plan.encoding, &at).map(Some);
    }
    let payload = match (family, value) {
        (_, InputValue::Blob(blob)) => Payload::Bytes(blob.data),
        (Family::Json, value) => Payload::Text(value.to_json()?),
        (Family::Form, InputValue::Text(text)) => Payload::Text(text),
        (Family::Form, value) => Payload::Text(form(&value, &plan.encoding, Escape::Form)?),
        (Family::JsonLines, InputValue::Array(elements)) => Payload::Text(lines(&elements)?),
        (Family::JsonLines | Family::PlainText, value) => {
            Payload::Text(value.to_plain_text()?.into_owned())
        }
        (_, InputValue::Array(_) | InputValue::Object(_)) => {
            return Err(CallError::invalid(format!(
                "A body of type {media_type} is a string or binary data (Uint8Array, ArrayBuffer, \
                 Blob); an object or an array cannot be written in that type"
            )));
        }
        (_, value) => Payload::Text(value.to_plain_text()?.into_owned()),
    };
    Ok(Some(Body {
        content_type: media_type,
        payload,
    }))
}

/// The type that the plan has chosen; for binary data, the range that the document gave if it gave one.
fn declared_type<'p>(plan: &'p BodyPlan, value: &InputValue) -> &'p str {
    let range = || plan.media_types.iter().find(|listed| listed.contains('*'));
    match value {
        InputValue::Blob(_) => range().unwrap_or(&plan.media_type),
        _ => &plan.media_type,
    }
}

/// Where the document gives a range such as `*/*`, the value decides.
fn concrete_type(declared: &str, value: &InputValue) -> String {
    let declared = declared.trim();
    if !declared.is_empty() && !declared.contains('*') {
        return declared.to_owned();
    }
    let chosen = match value {
        InputValue::Blob(blob) => blob
            .content_type
            .as_deref()
            .filter(|own| !own.is_empty())
            .unwrap_or("application/octet-stream"),
        _ if declared.starts_with("text/") => "text/plain;charset=UTF-8",
        InputValue::Text(_) => "text/plain;charset=UTF-8",
        _ => "application/json",
    };
    chosen.to_owned()
}

fn multipart(
    media_type: &str,
    value: InputValue,
    encoding: &IndexMap<String, Encoding>,
    at: &str,
) -> Result<Body, CallError> {
    let value = match value {
        text @ InputValue::JsonText(_) => text.parsed()?.into_owned(),
        other => other,
    };
    let InputValue::Object(members) = value else {
        return Err(CallError::invalid(format!(
            "A body of type {media_type} is an object with a property for each part"
        )));
    };
    let multipart = Multipart::from_members(members, encoding, at)?;
    Ok(Body {
        content_type: format!(
            "{}; boundary={}",
            media::essence(media_type),
            multipart.boundary
        ),
        payload: Payload::Multipart(multipart),
    })
}

fn lines(elements: &[InputValue]) -> Result<String, CallError> {
    let mut out = String::new();
    for element in elements {
        out.push_str(&element.to_json()?);
        out.push('\n');
    }
    Ok(out)
}

/// An object as `application/x-www-form-urlencoded`. Where the document names no style, elements of
/// an array repeat the name and an object is JSON.
pub(super) fn form(
    value: &InputValue,
    encoding: &IndexMap<String, Encoding>,
    escape: Escape,
) -> Result<String, CallError> {
    let value = value.parsed()?;
    let InputValue::Object(members) = value.as_ref() else {
        return Err(CallError::invalid(
            "A form is an object with a property for each field, or a string that is one already",
        ));
    };
    let silent = Encoding::default();
    let mut fields = Vec::new();
    for (name, value) in members {
        let encoding = encoding.get(name).unwrap_or(&silent);
        fields.extend(field(name, value, encoding, escape)?);
    }
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Ok(fields.join("&"))
}

fn field(
    name: &str,
    value: &InputValue,
    encoding: &Encoding,
    escape: Escape,
) -> Result<style::Pairs, CallError> {
    let styled = encoding.style.is_some() || encoding.explode.is_some() || encoding.allow_reserved;
    let as_json = encoding.content_type.as_deref().is_some_and(media::is_json);
    if !styled && !value.is_nothing() && (as_json || matches!(value, InputValue::Object(_))) {
        let text = value.to_json()?;
        return Ok(vec![(
            escape.apply(name).into_owned(),
            escape.apply(&text).into_owned(),
        )]);
    }
    let style = encoding.style.unwrap_or(Style::Form);
    let explode = encoding.explode.unwrap_or(style.default_explode());
    let escape = if encoding.allow_reserved {
        Escape::ReservedInQuery
    } else {
        escape
    };
    style::pairs(name, value, style, explode, escape)
}

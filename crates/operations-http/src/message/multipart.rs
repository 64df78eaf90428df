//! `multipart/form-data`: parts, and the text between them.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use indexmap::IndexMap;

use super::errors::not_binary;
use super::escape::Escape;
use super::headers::check_value;
use super::media;
use super::plan::Encoding;
use super::style;
use super::value::{Blob, InputValue};
use operations_core::error::CallError;
use operations_schema::pointer::escape;

/// A body of several parts. The parts are kept apart so that files need not be copied once more.
#[derive(Debug, Clone, PartialEq)]
pub struct Multipart {
    /// The parts in the order of the input.
    pub parts: Vec<Part>,
    /// What stands between them.
    pub boundary: String,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The name of the field.
    pub name: String,
    /// The name of the file, if it is one.
    pub filename: Option<String>,
    /// The media type; plain text when absent.
    pub content_type: Option<String>,
    /// The content.
    pub data: Vec<u8>,
}

impl Part {
    /// What goes before the content, up to and including the empty line.
    #[must_use]
    pub fn head(&self, boundary: &str) -> String {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&self.name)
        );
        if let Some(filename) = &self.filename {
            let _ = write!(head, "; filename=\"{}\"", quoted(filename));
        }
        if let Some(content_type) = &self.content_type {
            let _ = write!(head, "\r\nContent-Type: {content_type}");
        }
        head.push_str("\r\n\r\n");
        head
    }
}

impl Multipart {
    /// The parts of an object, one for each property, or for each element where a property is an
    /// array. `at` is the JSON Pointer to the object.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the media type of a part cannot be in a header, or when the input is
    /// nested too deeply.
    pub fn from_members(
        members: IndexMap<String, InputValue>,
        encoding: &IndexMap<String, Encoding>,
        at: &str,
    ) -> Result<Self, CallError> {
        let mut parts = Vec::new();
        let silent = Encoding::default();
        for (name, value) in members {
            let encoding = encoding.get(&name).unwrap_or(&silent);
            if encoding.is_binary {
                refuse_text(&value, &format!("{at}/{}", escape(&name)))?;
            }
            property(&name, value, encoding, &mut parts)?;
        }
        Ok(Self {
            parts,
            boundary: random_boundary(),
        })
    }

    /// What comes after the last part.
    #[must_use]
    pub fn tail(&self) -> String {
        format!("--{}--\r\n", self.boundary)
    }

    /// The whole body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for part in &self.parts {
            out.extend_from_slice(part.head(&self.boundary).as_bytes());
            out.extend_from_slice(&part.data);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(self.tail().as_bytes());
        out
    }
}

/// A value of which the document says that it is binary.
fn refuse_text(value: &InputValue, path: &str) -> Result<(), CallError> {
    match value {
        InputValue::Text(_) => Err(not_binary(path)),
        InputValue::Array(elements) => {
            let mut elements = elements.iter().enumerate();
            elements.try_for_each(|(index, element)| match element {
                InputValue::Text(_) => Err(not_binary(&format!("{path}/{index}"))),
                _ => Ok(()),
            })
        }
        _ => Ok(()),
    }
}

/// 128 unpredictable bits, so that no content can be made to contain them.
fn random_boundary() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("----operations{:016x}{:016x}", word(), word())
}

/// As browsers write the names of fields and files: a quote or a line break cannot end the header.
fn quoted(text: &str) -> String {
    text.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(
    name: &str,
    value: InputValue,
    encoding: &Encoding,
    parts: &mut Vec<Part>,
) -> Result<(), CallError> {
    let declared = concrete(encoding.content_type.as_deref());
    if let (Some(style), false) = (encoding.style, holds_blob(&value)) {
        let explode = encoding.explode.unwrap_or(style.default_explode());
        for (name, text) in style::pairs(name, &value, style, explode, Escape::None)? {
            parts.push(Part {
                name,
                filename: None,
                content_type: None,
                data: text.into_bytes(),
            });
        }
        return Ok(());
    }
    match value {
        InputValue::Undefined | InputValue::Null => {}
        InputValue::Array(elements) if !declared.is_some_and(media::is_json) => {
            for element in elements {
                if !element.is_nothing() {
                    parts.push(part(name, element, declared)?);
                }
            }
        }
        value => parts.push(part(name, value, declared)?),
    }
    Ok(())
}

fn part(name: &str, value: InputValue, declared: Option<&str>) -> Result<Part, CallError> {
    let value = match file(value) {
        Ok(blob) => return file_part(name, blob, declared),
        Err(value) => value,
    };
    let structured = matches!(value, InputValue::Array(_) | InputValue::Object(_));
    let content_type = declared.or(structured.then_some("application/json"));
    let text = if content_type.is_some_and(media::is_json) {
        value.to_json()?
    } else {
        value.to_plain_text()?.into_owned()
    };
    Ok(Part {
        name: name.to_owned(),
        filename: None,
        content_type: content_type.map(checked_type).transpose()?,
        data: text.into_bytes(),
    })
}

fn file_part(name: &str, blob: Blob, declared: Option<&str>) -> Result<Part, CallError> {
    let content_type = blob.content_type.as_deref().filter(|own| !own.is_empty());
    let content_type = content_type
        .or(declared)
        .unwrap_or("application/octet-stream");
    Ok(Part {
        name: name.to_owned(),
        content_type: Some(checked_type(content_type)?),
        // Servers take a part for a file when it has a file name; browsers send this one.
        filename: Some(blob.filename.unwrap_or_else(|| "blob".to_owned())),
        data: blob.data,
    })
}

/// Binary data, or `{ data, filename, contentType }` around it.
fn file(value: InputValue) -> Result<Blob, InputValue> {
    let mut members = match value {
        InputValue::Blob(blob) => return Ok(blob),
        InputValue::Object(members) if describes_file(&members) => members,
        other => return Err(other),
    };
    let mut text = |key: &str| match members.shift_remove(key) {
        Some(InputValue::Text(text)) => Some(text),
        _ => None,
    };
    let (filename, content_type) = (text("filename"), text("contentType"));
    let inner = match members.shift_remove("data") {
        Some(InputValue::Blob(blob)) => blob,
        Some(InputValue::Text(text)) => Blob {
            data: text.into_bytes(),
            ..Blob::default()
        },
        _ => Blob::default(),
    };
    Ok(Blob {
        filename: filename.or(inner.filename),
        content_type: content_type.or(inner.content_type),
        data: inner.data,
    })
}

/// An object is a file when its `data` is binary, or when it is a string and a file name says so.
fn describes_file(members: &IndexMap<String, InputValue>) -> bool {
    let known = |key: &String| matches!(key.as_str(), "data" | "filename" | "contentType");
    match members.get("data") {
        Some(InputValue::Blob(_)) => members.keys().all(known),
        Some(InputValue::Text(_)) => {
            matches!(members.get("filename"), Some(InputValue::Text(_)))
                && members.keys().all(known)
        }
        _ => false,
    }
}

fn holds_blob(value: &InputValue) -> bool {
    match value {
        InputValue::Blob(_) => true,
        InputValue::Array(elements) => elements.iter().any(|element| match element {
            InputValue::Object(members) => describes_file(members),
            other => matches!(other, InputValue::Blob(_)),
        }),
        InputValue::Object(members) => describes_file(members),
        _ => false,
    }
}

/// A list of types or a range says what is allowed, not what this part is.
fn concrete(declared: Option<&str>) -> Option<&str> {
    declared
        .map(str::trim)
        .filter(|media_type| !media_type.is_empty() && !media_type.contains([',', '*']))
}

fn checked_type(content_type: &str) -> Result<String, CallError> {
    check_value("Content-Type", content_type).map(str::to_owned)
}

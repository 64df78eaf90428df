//! Values as the call protocol writes them, so that none changes on the way: the rules of `facade/call/wire-value.ts`
//! for JSON that was made here. Binary data travels as `{ "$bytes": "<base64>" }`; an object that looks like that but is
//! not has a list around its value; a number that JSON cannot hold is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use operations_schema::json::{Document, Json, Kind};
use operations_schema::pointer::escape;
use serde_json::{Value, json};

use crate::error::CallError;

pub(super) const BYTES: &str = "$bytes";

/// How the refusal of an output begins that JSON cannot hold, whichever side wrote it.
pub const OUTPUT_REFUSED: &str = "The answer cannot be sent";

/// Whether there may be binary data in it. Then it is JavaScript's to restore.
#[must_use]
pub fn holds_bytes(json: &str) -> bool {
    json.contains("\"$bytes\"") || json.contains("\\u0024bytes")
}

/// Binary data, as it travels.
#[must_use]
pub fn wire_bytes(bytes: &[u8]) -> Value {
    json!({ BYTES: STANDARD.encode(bytes) })
}

/// Whether a text, which was written here, can travel as it is.
pub(crate) fn is_wire_text(json: &str) -> bool {
    // An infinite number that was read is written like this; see `Json::push_to`.
    !holds_bytes(json) && !json.contains("1e999")
}

/// JSON in which no object looks like binary data. `what` begins a refusal: "The answer cannot be sent".
///
/// # Errors
///
/// When it holds an infinite number, which names the path.
pub fn wire_text(json: String, what: &str) -> Result<String, CallError> {
    if is_wire_text(&json) {
        return Ok(json);
    }
    let refused = |why: String| {
        let message = format!("{what}, because it cannot be written as JSON: {why}");
        CallError::invalid(message)
    };
    let document = Document::parse(json).map_err(|why| refused(why.to_string()))?;
    let mut writer = Writer {
        json: String::with_capacity(document.root().text().len() + 8),
        path: String::new(),
    };
    match writer.push(document.root()) {
        Ok(()) => Ok(writer.json),
        Err(number) => Err(refused(format!("{} is {number}", writer.path))),
    }
}

struct Writer {
    json: String,
    /// Where it is, as a JSON pointer.
    path: String,
}

impl Writer {
    /// Documents are bounded in depth, so this recursion is. It fails with the name of a number.
    fn push(&mut self, value: Json<'_>) -> Result<(), &'static str> {
        match value.kind() {
            Kind::Number(number) if number == f64::INFINITY => return Err("Infinity"),
            Kind::Number(number) if number == f64::NEG_INFINITY => return Err("-Infinity"),
            Kind::Array(_) => {
                self.json.push('[');
                for (index, item) in value.elements().enumerate() {
                    if index > 0 {
                        self.json.push(',');
                    }
                    self.inside(&index.to_string(), item)?;
                }
                self.json.push(']');
            }
            Kind::Object(count) => {
                self.json.push('{');
                for (index, (name, inner)) in value.members().enumerate() {
                    if index > 0 {
                        self.json.push(',');
                    }
                    let is_marked = count == 1 && name.as_str() == Some(BYTES);
                    self.json.push_str(name.text());
                    self.json.push_str(if is_marked { ":[" } else { ":" });
                    let name = name.as_str().unwrap_or_else(|| name.text());
                    self.inside(&escape(name), inner)?;
                    if is_marked {
                        self.json.push(']');
                    }
                }
                self.json.push('}');
            }
            _ => value.push_to(&mut self.json),
        }
        Ok(())
    }

    fn inside(&mut self, name: &str, value: Json<'_>) -> Result<(), &'static str> {
        let outside = self.path.len();
        self.path.push('/');
        self.path.push_str(name);
        self.push(value)?;
        self.path.truncate(outside);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    fn written(json: &str) -> String {
        wire_text(json.to_owned(), "The answer cannot be sent").expect("it can be")
    }

    #[test]
    fn an_object_that_looks_like_binary_data_is_marked() {
        for (given, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"$bytes":"aGk="}"#, r#"{"$bytes":["aGk="]}"#),
            (r#"[{"$bytes":["x"]}]"#, r#"[{"$bytes":[["x"]]}]"#),
            (r#"{"$bytes":"a","b":1}"#, r#"{"$bytes":"a","b":1}"#),
            (r#"{"\u0024bytes":1}"#, r#"{"\u0024bytes":[1]}"#),
            (
                r#"{"half":"\ud800","$bytes":{"$bytes":{"$bytes":0.10}}}"#,
                r#"{"half":"\ud800","$bytes":{"$bytes":[{"$bytes":[0.1]}]}}"#,
            ),
        ] {
            assert_eq!(written(given), expected);
        }
    }

    #[test]
    fn depth_changes_nothing() {
        let (open, close) = ("[".repeat(400), "]".repeat(400));
        let deep = format!(r#"{open}{{"$bytes":"x"}}{close}"#);
        assert_eq!(
            written(&deep),
            format!(r#"{open}{{"$bytes":["x"]}}{close}"#)
        );
    }

    #[test]
    fn an_infinite_number_is_refused_by_its_path() {
        let error = wire_text(
            r#"{"a/b":[1,-1e999]}"#.to_owned(),
            "The answer cannot be sent",
        )
        .expect_err("it cannot be");
        assert_eq!(
            error.message,
            "The answer cannot be sent, because it cannot be written as JSON: /a~1b/1 is -Infinity"
        );
        // The words alone do no harm.
        assert_eq!(written(r#"["1e999"]"#), r#"["1e999"]"#);
    }
}

//! A model's arguments as it wrote them.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Characters shown around the place where JSON breaks.
const AROUND: usize = 30;

/// Reads arguments that arrived as text.
///
/// # Errors
/// In words that tell the model what to send instead.
pub fn read_arguments(text: &str) -> Result<Value, String> {
    let trimmed = without_fence(text.trim());
    if trimmed.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(trimmed) {
        // Some models encode their arguments twice.
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(entries)) => Ok(Value::Object(entries)),
            _ => Err(no_object("a string")),
        },
        Ok(Value::Object(entries)) => Ok(Value::Object(entries)),
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(Value::Array(_)) => Err(no_object("an array")),
        Ok(Value::Bool(_)) => Err(no_object("a boolean")),
        Ok(Value::Number(_)) => Err(no_object("a number")),
        Err(error) => Err(broken(trimmed, &error)),
    }
}

/// The JSON in what a model wrote, without what some models put around it.
#[must_use]
pub fn json_text(text: &str) -> Cow<'_, str> {
    let trimmed = without_fence(text.trim());
    match serde_json::from_str::<String>(trimmed) {
        Ok(inner) => inner.into(),
        Err(_) => trimmed.into(),
    }
}

fn no_object(found: &str) -> String {
    format!(
        "The arguments must be one JSON object, not {found}. Send them again as {{\"name\": value}}."
    )
}

/// Where and how JSON breaks, with what stands there.
fn broken(text: &str, error: &serde_json::Error) -> String {
    let reason = error.to_string();
    let reason = reason
        .rsplit_once(" at line")
        .map_or(reason.as_str(), |(reason, _)| reason);
    let offset = if error.is_eof() {
        text.len()
    } else {
        offset_of(text, error.line(), error.column())
    };
    let before: Vec<char> = text
        .get(..offset)
        .unwrap_or(text)
        .chars()
        .rev()
        .take(AROUND)
        .collect();
    let before: String = before.into_iter().rev().collect();
    let after: String = text
        .get(offset..)
        .unwrap_or_default()
        .chars()
        .take(AROUND)
        .collect();
    let place = if error.is_eof() {
        format!("they end too early, after `{before}`")
    } else {
        format!("{reason}, at `{before}⟨here⟩{after}`")
    };
    format!(
        "The arguments are not valid JSON: {place}. Send the whole arguments again as one JSON object."
    )
}

/// The byte at a line and a column, both from 1, moved back to the start of a character.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let mut offset = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The text inside a Markdown code fence, if it is in one.
fn without_fence(text: &str) -> &str {
    let inside = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .map(|rest| rest.strip_prefix("json").unwrap_or(rest));
    inside.map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_in_every_wrapping() {
        for text in [
            r#"{"a":1}"#,
            " {\"a\":1}\n",
            "```json\n{\"a\":1}\n```",
            r#""{\"a\":1}""#,
        ] {
            assert_eq!(read_arguments(text), Ok(json!({ "a": 1 })), "{text}");
        }
        for text in ["", "  ", "null", "{}"] {
            assert_eq!(read_arguments(text), Ok(json!({})), "{text}");
        }
    }

    #[test]
    fn what_is_broken_is_reported() {
        let cut = read_arguments(r#"{"city": "Ber"#).unwrap_err();
        assert!(
            cut.contains(r#"they end too early, after `{"city": "Ber`"#),
            "{cut}"
        );
        for text in ["{", "[", "{\n", "\"", "```json\n{\n```"] {
            let cut = read_arguments(text).unwrap_err();
            assert!(!cut.contains("``"), "{cut}");
        }
        let wrong = read_arguments("{\"city\": 'Berlin'}").unwrap_err();
        assert!(wrong.contains("⟨here⟩'Berlin'"), "{wrong}");
        assert!(wrong.ends_with("as one JSON object."));
        assert!(
            read_arguments("{\"städte\": ö}")
                .unwrap_err()
                .contains("here")
        );
        assert!(read_arguments("[1]").unwrap_err().contains("an array"));
        assert!(read_arguments("\"hi\"").unwrap_err().contains("a string"));
    }
}

//! From a text to a JSON value, whichever of the two notations it is in.

use serde_json::Value;

use super::yaml;
use operations_core::error::{CallError, InfrastructureErrorCode};

/// Reads JSON or YAML, by content.
///
/// # Errors
///
/// `VALIDATION_ERROR` that says what is wrong with the text.
pub(super) fn read(text: &str) -> Result<Value, CallError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if looks_like_json {
        // What begins like JSON may still be YAML in flow notation, with comments for instance;
        // but if it is neither, the JSON parser's complaint is the one that helps.
        return serde_json::from_str(text).or_else(|error| {
            yaml::read(text).map_err(|_| refuse(&format!("the text is not valid JSON: {error}")))
        });
    }
    yaml::read(text).map_err(|reason| refuse(&format!("{}: {reason}", describe_text(text))))
}

fn describe_text(text: &str) -> String {
    if text.trim_start().starts_with('<') {
        "found markup (HTML or XML)".to_owned()
    } else {
        "the text is neither JSON nor YAML".to_owned()
    }
}

/// The error for a document that is none.
pub(super) fn refuse(reason: &str) -> CallError {
    CallError::new(
        InfrastructureErrorCode::ValidationError,
        format!("Not an OpenAPI document: {reason}"),
    )
}

/// A value in a few words, for a sentence that says what was found.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing (an empty document or null)".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(text) if text.trim_start().starts_with('<') => {
            "markup (HTML or XML)".to_owned()
        }
        Value::String(text) => format!("the text {:?}", shorten(text, 60)),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(entries) if entries.is_empty() => "an empty object".to_owned(),
        Value::Object(entries) => {
            let keys: Vec<String> = entries.keys().take(5).map(|key| shorten(key, 30)).collect();
            let more = if entries.len() > 5 { ", ..." } else { "" };
            format!("an object with {}{more}", keys.join(", "))
        }
    }
}

/// The beginning of a text, with a mark when something was left out.
pub(super) fn shorten(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

//! What a target's dialect cannot say is written into the description instead: a model reads it there.

use serde_json::{Map, Value};

/// Longer values are not worth their tokens.
const LONGEST: usize = 200;

/// A constraint in words.
pub(crate) fn constraint(key: &str, value: &Value) -> Option<String> {
    let text = brief(value)?;
    Some(match key {
        "minLength" => format!("at least {text} characters"),
        "maxLength" => format!("at most {text} characters"),
        "pattern" => format!("pattern {}", value.as_str()?),
        "format" => format!("format {}", value.as_str()?),
        "minimum" => format!("at least {text}"),
        "maximum" => format!("at most {text}"),
        "exclusiveMinimum" => format!("more than {text}"),
        "exclusiveMaximum" => format!("less than {text}"),
        "multipleOf" => format!("a multiple of {text}"),
        "minItems" => format!("at least {text} items"),
        "maxItems" => format!("at most {text} items"),
        "uniqueItems" => "no item twice".to_owned(),
        "minProperties" => format!("at least {text} properties"),
        "maxProperties" => format!("at most {text} properties"),
        "contentEncoding" => format!("encoded as {}", value.as_str()?),
        "contentMediaType" => format!("of type {}", value.as_str()?),
        "default" => format!("default {text}"),
        _ => return None,
    })
}

/// A value as JSON, if it is short.
pub(crate) fn brief(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.len() <= LONGEST).then_some(text)
}

/// Adds hints to the description of a schema.
pub(crate) fn add(schema: &mut Map<String, Value>, hints: impl IntoIterator<Item = String>) {
    let hints: Vec<String> = hints.into_iter().collect();
    if hints.is_empty() {
        return;
    }
    let hint = format!("({})", hints.join("; "));
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => format!("{} {hint}", text.trim_end()),
        _ => hint,
    };
    schema.insert("description".to_owned(), description.into());
}

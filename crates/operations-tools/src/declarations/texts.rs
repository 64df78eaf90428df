//! Values, names and comments in TypeScript.

use serde_json::Value;

/// Values of an enumeration that are written.
pub(super) const MAX_VALUES: usize = 24;

pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Object(_) => "object".to_owned(),
        Value::Array(_) => "unknown[]".to_owned(),
        _ => value.to_string(),
    }
}

pub(super) fn enumeration(values: &[Value]) -> String {
    if values.is_empty() {
        return "never".to_owned();
    }
    if values.len() > MAX_VALUES {
        let are_texts = values.iter().all(Value::is_string);
        return if are_texts { "string" } else { "unknown" }.to_owned();
    }
    let mut parts: Vec<String> = values.iter().map(literal).collect();
    parts.dedup();
    parts.join(" | ")
}

/// Whether a name needs no quotation marks.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_' || first == '$')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$')
}

/// The first sentence or line of a text, as a comment may have it.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let text = text.trim();
    let first = text.split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.replace("*/", "* /");
    if line.chars().count() <= max {
        return line;
    }
    let start: String = line.chars().take(max.saturating_sub(1)).collect();
    let end = start
        .rfind(". ")
        .map(|at| at + 1)
        .filter(|at| *at > max / 3);
    match end {
        Some(end) => start.get(..end).unwrap_or(&start).to_owned(),
        None => start.trim_end().to_owned() + "…",
    }
}

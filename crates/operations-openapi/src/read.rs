//! From a text to a JSON value, whichever of the two notations it is in.

use std::sync::Arc;

use serde_json::Value;

use super::bounds::MAX_JSON_NESTING;
use super::tree::{Source, Tree};
use super::yaml;
use operations_core::error::CallError;

/// Reads JSON or YAML, by content.
///
/// # Errors
///
/// `VALIDATION_ERROR` that says what is wrong with the text.
pub(super) fn read(text: String) -> Result<Tree, CallError> {
    let source = Source::new(text);
    let text = source.text();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if looks_like_json {
        // What begins like JSON may still be YAML in flow notation, with comments for instance;
        // but if it is neither, the JSON parser's complaint is the one that helps.
        return read_json(&source, text).or_else(|error| {
            read_yaml(text).map_err(|_| refuse(&format!("the text is not valid JSON: {error}")))
        });
    }
    read_yaml(text).map_err(|reason| refuse(&format!("{}: {reason}", describe_text(text))))
}

fn read_yaml(text: &str) -> Result<Tree, String> {
    let value = yaml::read(text)?;
    Tree::of(&value).ok_or_else(|| "its texts are longer than 2 GiB".to_owned())
}

/// Reads JSON or YAML that is no OpenAPI document: a configuration file.
///
/// # Errors
///
/// `VALIDATION_ERROR` that says what is wrong with the text, and quotes nothing of it: it may hold secrets.
pub fn read_settings(text: &str) -> Result<Value, CallError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).or_else(|error| {
            yaml::read_settings(text)
                .map_err(|_| CallError::invalid(format!("not valid JSON: {error}")))
        });
    }
    yaml::read_settings(text)
        .map_err(|reason| CallError::invalid(format!("not valid YAML: {reason}")))
}

fn read_json(source: &Arc<Source>, text: &str) -> Result<Tree, serde_json::Error> {
    Tree::read(source, text).or_else(|error| match without_depths(text) {
        Some(shallow) => {
            let source = Source::new(shallow);
            Tree::read(&source, source.text())
        }
        None => Err(error),
    })
}

/// A JSON text in which what is nested too deeply is a reference that leads nowhere, and says why: whatever needs it is
/// degraded, and the rest of the document is not lost. Nothing when nothing is nested too deeply.
fn without_depths(text: &str) -> Option<String> {
    let mut shallow = String::new();
    let mut kept_from = 0;
    let mut cut_from = None;
    let mut depth = 0_usize;
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                depth += 1;
                if depth == MAX_JSON_NESTING {
                    cut_from = Some(at);
                }
            }
            b'}' | b']' => {
                if depth == MAX_JSON_NESTING
                    && let Some(from) = cut_from.take()
                {
                    shallow.push_str(text.get(kept_from..from)?);
                    shallow.push_str(TOO_DEEP);
                    kept_from = at + 1;
                }
                depth = depth.checked_sub(1)?;
            }
            _ => {}
        }
    }
    shallow.push_str(text.get(kept_from..)?);
    (kept_from > 0).then_some(shallow)
}

const TOO_DEEP: &str = r##"{"$ref":"#/nested-too-deeply-to-be-read"}"##;

fn describe_text(text: &str) -> String {
    if text.trim_start().starts_with('<') {
        "found markup (HTML or XML)".to_owned()
    } else {
        "the text is neither JSON nor YAML".to_owned()
    }
}

/// The error for a text that is not a document.
pub(super) fn refuse(reason: &str) -> CallError {
    CallError::invalid(format!("Not an OpenAPI document: {reason}"))
}

/// A value in a few words, for a sentence that says what was found.
pub(super) fn describe(value: &Tree) -> String {
    match value {
        Tree::Null => "nothing (an empty document or null)".to_owned(),
        Tree::Bool(value) => format!("the boolean {value}"),
        Tree::Number(value) => format!("the number {value}"),
        Tree::String(text) if text.trim_start().starts_with('<') => {
            "markup (HTML or XML)".to_owned()
        }
        Tree::String(text) => format!("the text {:?}", shorten(text, 60)),
        Tree::Array(items) => format!("an array of {} items", items.len()),
        Tree::Object(entries) if entries.is_empty() => "an empty object".to_owned(),
        Tree::Object(entries) => {
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

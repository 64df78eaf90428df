//! Media types: which family a `Content-Type` belongs to.

/// The families that are written or read each in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `application/json`, `text/json`, `*+json`.
    Json,
    /// One JSON value per line.
    JsonLines,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/*`.
    Multipart,
    /// `text/event-stream`.
    EventStream,
    /// `text/plain`: whatever a value looks like as text.
    PlainText,
    /// Another `text/*`.
    OtherText,
    /// Anything else.
    Binary,
}

/// The type without its parameters, in lower case and trimmed.
#[must_use]
pub fn essence(media_type: &str) -> String {
    let bare = media_type.split(';').next().unwrap_or_default();
    bare.trim().to_ascii_lowercase()
}

/// Whether a type, or a range such as `text/*`, has this type in it.
#[must_use]
pub fn covers(range: &str, media_type: &str) -> bool {
    let (range, media_type) = (essence(range), essence(media_type));
    match range.strip_suffix('*') {
        Some("" | "*/") => true,
        Some(family) => media_type.starts_with(family),
        None => range == media_type,
    }
}

/// Whether it is JSON: `application/json`, `text/json` or a type with the suffix `+json`.
#[must_use]
pub fn is_json(media_type: &str) -> bool {
    family(media_type) == Family::Json
}

/// The family of a type.
#[must_use]
pub fn family(media_type: &str) -> Family {
    let essence = essence(media_type);
    match essence.as_str() {
        "application/json" | "text/json" => Family::Json,
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonl"
        | "application/x-jsonlines"
        | "application/jsonlines" => Family::JsonLines,
        "application/x-www-form-urlencoded" => Family::Form,
        "text/event-stream" => Family::EventStream,
        "text/plain" => Family::PlainText,
        other if other.ends_with("+json") => Family::Json,
        other if other.starts_with("multipart/") => Family::Multipart,
        other if other.starts_with("text/") => Family::OtherText,
        _ => Family::Binary,
    }
}

/// The value of a parameter, without quotes.
#[must_use]
pub fn parameter(media_type: &str, name: &str) -> Option<String> {
    media_type.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

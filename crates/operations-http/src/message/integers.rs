//! Integers of a JSON text that a JavaScript number cannot hold.

use std::borrow::Cow;
use std::ops::Range;

use operations_core::json::{Document, Json, Kind};
use serde::{Deserialize, Serialize};

use super::int64::{Int64, Keep, Step};

/// Something that the reader of a value should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Where, as a JSON Pointer.
    pub path: String,
    /// What.
    pub message: String,
}

/// What is to be said about the integers of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remarks {
    /// Those that are rounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Where a text stands for a `bigint`, as JSON Pointers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bigints: Vec<String>,
    /// There is no value: `undefined`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_undefined: bool,
    /// The value is as good as its sender could make it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_as_sent: bool,
}

impl Remarks {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.bigints.is_empty()
    }
}

/// The digits of the smallest integer that is not safe.
const LONG: usize = 16;

/// 2^53, up to which a number holds every integer.
const LARGEST: &str = "9007199254740992";

/// More notes than this do not help.
const MAX_NOTES: usize = 100;

/// An integer is shown in a note up to this many digits.
const MAX_SHOWN: usize = 40;

/// Keeps the integers of an answer, which is JSON, as its user wants it, and says which are rounded. Most texts hold nothing
/// of the kind, which costs next to nothing to see.
#[must_use]
pub fn keep_integers<'t>(text: Cow<'t, str>, int64: Option<&Int64>) -> (Cow<'t, str>, Remarks) {
    if !has_long_number(text.as_bytes()) {
        return (text, Remarks::default());
    }
    let Ok(document) = Document::parse(&*text) else {
        return (text, Remarks::default());
    };
    let mut remarks = Remarks::default();
    let mut changes = Vec::new();
    let mut rounded = 0;
    each_scalar(document.root(), |value, path| {
        let (Kind::Number(number), digits) = (value.kind(), value.text()) else {
            return;
        };
        if !is_beyond(digits) {
            return;
        }
        match int64.filter(|int64| int64.output.is_int64(path)) {
            Some(Int64 { keep, .. }) => {
                if *keep == Keep::BigInt {
                    remarks.bigints.push(pointer(path));
                }
                changes.push((value.place(), format!("\"{digits}\"")));
            }
            None if format!("{number:.0}") != digits => {
                rounded += 1;
                if rounded <= MAX_NOTES {
                    let (path, message) = (pointer(path), rounding(digits, number));
                    remarks.notes.push(Note { path, message });
                }
            }
            None => {}
        }
    });
    if rounded > MAX_NOTES {
        remarks.notes.push(Note {
            path: String::new(),
            message: format!("{} more integers were rounded", rounded - MAX_NOTES),
        });
    }
    let text = if changes.is_empty() {
        text
    } else {
        Cow::Owned(changed(&text, changes))
    };
    (text, remarks)
}

/// The body of a request, which is JSON, with numbers where texts stand for them: `path` leads from the input to it.
#[must_use]
pub fn bare_integers(text: String, int64: &Int64, path: &[Step<'_>]) -> String {
    if int64.keep != Keep::String {
        return text;
    }
    let Ok(document) = Document::parse(text.as_str()) else {
        return text;
    };
    let mut changes = Vec::new();
    each_scalar(document.root(), |value, rest| {
        if let Some(digits) = value.as_str()
            && is_integer(digits)
            && int64.input.is_only_int64(&[path, rest].concat())
        {
            changes.push((value.place(), digits.to_owned()));
        }
    });
    changed(&text, changes)
}

fn rounding(digits: &str, number: f64) -> String {
    let shown: String = digits.chars().take(MAX_SHOWN).collect();
    let dots = if shown.len() < digits.len() {
        "..."
    } else {
        ""
    };
    let became = match format!("{number:.0}") {
        _ if number.is_infinite() => "Infinity".to_owned(),
        long if long.len() > MAX_SHOWN => format!("{number:e}"),
        short => short,
    };
    format!(
        "{shown}{dots} was rounded to {became}, because a number holds integers up to 2^53 only; config.int64 keeps those that the document calls int64"
    )
}

/// Whether somewhere so many digits stand in a row, if only in a string. Looking at every sixteenth character finds them.
fn has_long_number(text: &[u8]) -> bool {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let mut at = LONG - 1;
    while let Some(byte) = text.get(at) {
        if byte.is_ascii_digit() {
            let (before, after) = text.split_at(at);
            let before = before.iter().rev().take_while(is_digit).count();
            let after = after.iter().take_while(is_digit).count();
            if before + after >= LONG {
                return true;
            }
        }
        at += LONG;
    }
    false
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || !digits.starts_with('0');
    !digits.is_empty() && is_plain && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a number of JSON is written as an integer, and beyond 2^53.
fn is_beyond(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= LONG && is_integer(digits) && (digits.len() > LARGEST.len() || digits > LARGEST)
}

/// Calls back for each value that is no container. It does not recurse: a text may be nested deeply.
fn each_scalar<'d>(root: Json<'d>, mut on_scalar: impl FnMut(Json<'d>, &[Step<'d>])) {
    let mut path: Vec<Step<'d>> = Vec::new();
    let mut open: Vec<(Json<'d>, usize)> = Vec::new();
    let mut visit = |value: Json<'d>, path: &[Step<'d>], open: &mut Vec<(Json<'d>, usize)>| {
        let is_container = matches!(value.kind(), Kind::Array(_) | Kind::Object(_));
        if is_container {
            open.push((value, 0));
        } else {
            on_scalar(value, path);
        }
        is_container
    };
    visit(root, &path, &mut open);
    while let Some((container, next)) = open.last_mut() {
        let index = *next;
        *next += 1;
        let child = match container.kind() {
            Kind::Array(_) => container
                .element(index)
                .map(|value| (Step::Element(index), value)),
            _ => container
                .member(index)
                .map(|(name, value)| (Step::Member(name.as_str().unwrap_or_default()), value)),
        };
        let Some((step, value)) = child else {
            open.pop();
            path.pop();
            continue;
        };
        path.push(step);
        if !visit(value, &path, &mut open) {
            path.pop();
        }
    }
}

fn pointer(path: &[Step<'_>]) -> String {
    let mut pointer = String::new();
    for step in path {
        pointer.push('/');
        match step {
            Step::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
            Step::Element(index) => pointer.push_str(&index.to_string()),
        }
    }
    pointer
}

fn changed(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(place, _)| place.start);
    let mut json = String::with_capacity(text.len() + 2 * changes.len());
    let mut at = 0;
    for (place, instead) in changes {
        json.push_str(text.get(at..place.start).unwrap_or_default());
        json.push_str(&instead);
        at = place.end;
    }
    json.push_str(text.get(at..).unwrap_or_default());
    json
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::int64::LazySchema;

    fn int64(keep: Keep) -> Int64 {
        let schema = json!({ "properties": {
            "id": { "type": "integer", "format": "int64" },
            "ids": { "items": { "type": "integer", "format": "int64" } },
        } });
        let input = json!({ "properties": { "body": schema } });
        Int64 {
            keep,
            input: LazySchema::of(move || input),
            output: LazySchema::of(move || schema),
        }
    }

    #[test]
    fn what_a_number_holds_is_left_alone() {
        for text in [
            r#"{"id":9007199254740992,"a":-9007199254740992}"#,
            r#"{"a":1152921504606846976,"b":1e400,"c":12345678901234567.5,"d":"9007199254740993"}"#,
            r#"["00000000000000000000000000000000"]"#,
            "",
            "9007199254740993x",
        ] {
            let (kept, remarks) = keep_integers(text.into(), None);
            assert_eq!(kept, text);
            assert!(remarks.is_empty(), "{text}: {remarks:?}");
        }
    }

    #[test]
    fn what_is_rounded_is_noted_with_its_place() {
        let text = r#"{"a/b":[0,-9007199254740993],"id":9007199254740993}"#;
        let (kept, remarks) = keep_integers(text.into(), None);
        assert_eq!(kept, text);
        let paths: Vec<&str> = remarks
            .notes
            .iter()
            .map(|note| note.path.as_str())
            .collect();
        assert_eq!(paths, ["/a~1b/1", "/id"]);
        let message = remarks.notes.first().map(|note| note.message.as_str());
        let message = message.unwrap_or_default();
        assert!(
            message.starts_with("-9007199254740993 was rounded to -9007199254740992"),
            "{message}"
        );
        let (_, remarks) = keep_integers(format!("[{}]", "9".repeat(400)).into(), None);
        let message = remarks.notes.first().map(|note| note.message.as_str());
        let message = message.unwrap_or_default();
        assert!(
            message.len() < 250 && message.contains("Infinity"),
            "{message}"
        );
    }

    #[test]
    fn many_are_noted_in_one_line_at_the_end() {
        let text = format!("[{}]", vec!["9007199254740993"; 250].join(","));
        let (_, remarks) = keep_integers(text.into(), None);
        assert_eq!(remarks.notes.len(), MAX_NOTES + 1);
        let last = remarks.notes.last().map(|note| note.message.as_str());
        assert_eq!(last, Some("150 more integers were rounded"));
    }

    #[test]
    fn what_the_schema_calls_int64_is_kept_as_text() {
        let text = r#"{"ids":[1, 9007199254740993],"id":1152921504606846976,"x":9007199254740993}"#;
        let kept =
            r#"{"ids":[1, "9007199254740993"],"id":"1152921504606846976","x":9007199254740993}"#;
        let (json, remarks) = keep_integers(text.into(), Some(&int64(Keep::String)));
        assert_eq!(json, kept);
        assert_eq!(remarks.notes.len(), 1);
        assert!(remarks.bigints.is_empty());
        let (json, remarks) = keep_integers(text.into(), Some(&int64(Keep::BigInt)));
        assert_eq!(json, kept);
        assert_eq!(remarks.bigints, ["/ids/1", "/id"]);
    }

    #[test]
    fn texts_become_numbers_again_in_a_body() {
        let text = r#"{"id":"9007199254740993","ids":["-5","x","05",7],"name":"9007199254740993"}"#;
        let bare = bare_integers(
            text.to_owned(),
            &int64(Keep::String),
            &[Step::Member("body")],
        );
        let expected = r#"{"id":9007199254740993,"ids":[-5,"x","05",7],"name":"9007199254740993"}"#;
        assert_eq!(bare, expected);
    }
}

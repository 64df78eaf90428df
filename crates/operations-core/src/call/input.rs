//! What an input that arrives as text must not hold, because it would change silently on its way to a handler: numbers that
//! JavaScript cannot hold, and binary data that is not base64.

use operations_schema::json::{Document, Json, Kind};
use operations_schema::number;
use serde_json::json;

use super::holds_bytes;
use super::wire::BYTES;
use crate::error::CallError;
use crate::registry::shown;

/// The fewest digits of a number that may be changed, unless it has an exponent.
const LONG: usize = 16;
/// So much of a number is shown in a message.
const SHOWN: usize = 40;

/// Whether an input, which is JSON, arrives as it was sent.
///
/// # Errors
///
/// `VALIDATION_ERROR` with the path of what would change. What is no JSON is for the reader of the input to refuse.
pub fn check_input(operation_id: &str, text: &str) -> Result<(), CallError> {
    let (may_hold_bytes, may_round) = (holds_bytes(text), has_long_number(text.as_bytes()));
    if !may_hold_bytes && !may_round {
        return Ok(());
    }
    let Ok(document) = Document::parse(text) else {
        return Ok(());
    };
    let found = document.find(|value| match value.kind() {
        Kind::Number(_) => may_round && !number::holds(value.text()),
        Kind::Object(1) => may_hold_bytes && is_malformed_binary(value),
        _ => false,
    });
    let Some((path, value)) = found else {
        return Ok(());
    };
    let why = not_held(value.text()).filter(|_| matches!(value.kind(), Kind::Number(_)));
    let why = why.as_deref().unwrap_or("Expected base64 in $bytes");
    Err(invalid_input(operation_id, &path, why))
}

/// The refusal of an input because of one of its values.
#[must_use]
pub fn invalid_input(operation_id: &str, path: &str, why: &str) -> CallError {
    let shown = shown(path);
    let message =
        format!("Validation failed for input of operation {operation_id}:\n  - {shown}: {why}");
    let errors = json!([{ "path": path, "message": why }]);
    CallError::invalid(message).with_details(json!({ "errors": errors }))
}

/// Why a number of JSON is refused; nothing where JavaScript holds it.
#[must_use]
pub fn not_held(number: &str) -> Option<String> {
    if number::holds(number) {
        return None;
    }
    let shown: String = number.chars().take(SHOWN).collect();
    let dots = if shown.len() < number.len() {
        "..."
    } else {
        ""
    };
    Some(format!(
        "Expected a number that JavaScript can hold, and {shown}{dots} would be changed"
    ))
}

fn is_malformed_binary(value: Json<'_>) -> bool {
    let member = value.member(0);
    let marked = member.filter(|(name, _)| name.as_str() == Some(BYTES));
    marked.is_some_and(|(_, value)| match value.kind() {
        Kind::String(text) => !is_base64(text),
        // The value of an object of the user's own.
        Kind::Array(1) => false,
        _ => true,
    })
}

/// Both alphabets, with or without padding: what `restored` in `facade/call/wire-value.ts` reads.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    text.len() - digits.len() <= 2 && digits.len() % 4 != 1 && digits.bytes().all(is_digit)
}

/// Whether so many digits, or digits and an exponent, stand somewhere, if only in a string.
fn has_long_number(text: &[u8]) -> bool {
    let mut digits = 0;
    text.iter().any(|byte| {
        if byte.is_ascii_digit() {
            digits += 1;
            return digits >= LONG;
        }
        let had_digits = std::mem::take(&mut digits) > 0;
        had_digits && matches!(byte, b'e' | b'E')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        let error = check_input("a.b", text).err()?;
        let path = error
            .details?
            .pointer("/errors/0/path")?
            .as_str()?
            .to_owned();
        Some(path)
    }

    #[test]
    fn numbers_that_would_change_are_refused_with_their_path() {
        for number in [
            "9007199254740993",
            "-9007199254740993",
            "9007199254740993.0",
            "9007199254740992.5",
            "90071992547409930e-1",
            "0.9007199254740993e16",
            "123456789123456789",
            "1152921504606846977",
            "99999999999999999999",
            "1e400",
            "-1e400",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "3e-324",
        ] {
            let text = format!(r#"{{"a/b":[0,{{"id":{number}}}],"z":1}}"#);
            assert_eq!(refused(&text).as_deref(), Some("/a~1b/1/id"), "{number}");
            assert_eq!(refused(number).as_deref(), Some(""), "{number}");
        }
    }

    #[test]
    fn numbers_that_javascript_writes_again_are_held() {
        for number in [
            "0",
            "-0",
            "0.0",
            "0e99999999999999999999",
            "42",
            "0.1",
            "-1.5E+3",
            "9007199254740991",
            "9007199254740992",
            "-9007199254740992",
            "9007199254740994",
            "100000000000000000000",
            "1e+21",
            "1152921504606847000",
            "1.7976931348623157e308",
            "5e-324",
            "2.2250738585072014e-308",
            "0.1000000000000000055511151231257827",
            "3.14159265358979323846264338327950288",
        ] {
            assert_eq!(refused(number), None, "{number}");
        }
        assert_eq!(
            refused(r#"{"id":"9007199254740993","hash":"12e456"}"#),
            None
        );
    }

    #[test]
    fn binary_data_that_is_not_base64_is_refused_with_its_path() {
        for marked in [
            r#""not base64""#,
            r#""AQI=AQI=""#,
            r#""A""#,
            r#""A===""#,
            "7",
            "null",
            "[]",
            "{}",
            r#""é""#,
        ] {
            let text = format!(r#"{{"file":[{{"$bytes":{marked}}}]}}"#);
            assert_eq!(refused(&text).as_deref(), Some("/file/0"), "{marked}");
        }
        for fine in [
            r#"{"$bytes":""}"#,
            r#"{"$bytes":"AQI="}"#,
            r#"{"$bytes":"AQI"}"#,
            r#"{"$bytes":"-_-_"}"#,
            r#"{"$bytes":["not base64"]}"#,
            r#"{"$bytes":"not base64","more":1}"#,
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
    }
}

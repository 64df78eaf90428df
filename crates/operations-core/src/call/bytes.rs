//! Binary data on a wire: `{ "$bytes": "<base64>" }`, as `facade/call/wire-value.ts` reads and writes it. Native handlers
//! take and give JSON, in which such an object is just an object.

use std::borrow::Cow;

use serde_json::Value;

const BYTES: &str = "$bytes";

/// Whether there may be binary data in it. Then it is JavaScript's to restore.
#[must_use]
pub fn holds_bytes(json: &str) -> bool {
    json.contains("\"$bytes\"") || json.contains("\\u0024bytes")
}

/// JSON in which no object looks like binary data: a list around the value tells them apart.
#[must_use]
pub fn kept_apart(json: &str) -> Cow<'_, str> {
    if !holds_bytes(json) {
        return Cow::Borrowed(json);
    }
    let Ok(mut value) = serde_json::from_str(json) else {
        return Cow::Borrowed(json);
    };
    mark(&mut value);
    Cow::Owned(value.to_string())
}

/// As deep as the parser goes, which has a limit.
fn mark(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(members) => {
            let is_alone = members.len() == 1;
            for (name, inner) in members.iter_mut() {
                mark(inner);
                if is_alone && name == BYTES {
                    *inner = Value::Array(vec![inner.take()]);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_looks_like_binary_data_is_marked() {
        for (given, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"$bytes":"aGk="}"#, r#"{"$bytes":["aGk="]}"#),
            (r#"[{"$bytes":["x"]}]"#, r#"[{"$bytes":[["x"]]}]"#),
            (r#"{"$bytes":"a","b":1}"#, r#"{"$bytes":"a","b":1}"#),
            (r#"{"\u0024bytes":1}"#, r#"{"$bytes":[1]}"#),
        ] {
            assert_eq!(kept_apart(given), expected);
        }
    }
}

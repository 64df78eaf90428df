//! Progress notifications.

use operations_core::json::Object;

use super::message;

/// A client's progress token: JSON, a string or a number.
pub(super) fn token(params: &Object<'_>) -> Option<String> {
    let meta = params.object("_meta")?;
    let token = meta.get("progressToken")?;
    token
        .starts_with(|first: char| "\"-0123456789".contains(first))
        .then(|| token.to_owned())
}

/// The notification. `note` is what a handler says: a JSON object.
pub(super) fn notification(token: &str, note: &str) -> Option<String> {
    let said = Object::read(note).ok()?;
    let mut params = format!(
        r#"{{"progressToken":{token},"progress":{}"#,
        said.number("progress").map(|_| said.get("progress"))??
    );
    for name in ["total", "message"] {
        if let Some(value) = said.get(name) {
            params.push_str(",\"");
            params.push_str(name);
            params.push_str("\":");
            params.push_str(value);
        }
    }
    params.push('}');
    Some(message::notification("notifications/progress", &params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_sent_with_the_clients_token() {
        assert_eq!(
            notification("\"t\"", r#"{"progress":1,"message":"half","more":2}"#).as_deref(),
            Some(
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"message":"half"}}"#
            )
        );
        for odd in ["{}", "[]", r#"{"progress":"1"}"#] {
            assert_eq!(notification("1", odd), None, "{odd}");
        }
    }
}

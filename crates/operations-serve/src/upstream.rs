//! What clients learn of the headers of an upstream server: those that the operator allows, and no others. They may hold
//! names and secrets of the operator's own network.

use std::borrow::Cow;
use std::sync::Arc;

use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use serde_json::{Map, Value};

/// The names of the headers that are handed on, in lower case; `None` for all.
#[derive(Debug, Clone)]
pub struct AllowedHeaders(Option<Arc<[String]>>);

impl AllowedHeaders {
    /// These, and no others.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        Self(Some(names.into()))
    }

    /// All of them, for a peer that decides what to pass on.
    #[must_use]
    pub fn all() -> Self {
        Self(None)
    }

    /// Those of an upstream answer that are allowed.
    #[must_use]
    pub fn of(&self, headers: &Object<'_>) -> Map<String, Value> {
        let named = self.0.iter().flat_map(|names| names.iter());
        named
            .filter_map(|name| Some((name.clone(), Value::String(headers.string(name)?))))
            .collect()
    }

    /// An envelope with only the allowed headers in its `meta`.
    #[must_use]
    pub fn in_envelope(&self, envelope: ResponseEnvelope) -> ResponseEnvelope {
        // Most envelopes are not of this source, and are not read to find that out. A backslash could hide the word.
        let text = envelope.text();
        if self.0.is_none() || !(text.contains("http") || text.contains('\\')) {
            return envelope;
        }
        let members = envelope.meta_members();
        if members.text("source").as_deref() != Some("http") {
            return envelope;
        }
        let allowed = members.object("headers").map(|headers| self.of(&headers));
        envelope.with_meta_member("headers", allowed.map(Value::Object).as_ref())
    }

    /// An error about an upstream server or its answer: without the server's address, and with only the allowed headers in its
    /// details. What the server said (`body`) is what the operation answers, and stays, up to a length.
    #[must_use]
    pub fn in_error(&self, mut error: CallError) -> CallError {
        let (Some(details), Some(names)) = (&mut error.details, &self.0) else {
            return error;
        };
        // Of an answer that failed, and of one that was refused because it is not as declared.
        let places: &[&str] = if details.get("statusCode").is_some() {
            &["/headers", "/envelope/meta/headers"]
        } else {
            &["/envelope/meta/headers"]
        };
        for place in places {
            if let Some(Value::Object(headers)) = details.pointer_mut(place) {
                headers.retain(|name, _| names.iter().any(|allowed| allowed == name));
            }
        }
        if details.get("statusCode").is_some()
            && let Some(body) = details.get_mut("body")
        {
            cut(body);
        }
        // Errors of handlers that say nothing about a delivery may have a host of their own.
        if details.get("delivery").is_some()
            && let Some(details) = details.as_object_mut()
            && let Some(host) = details.shift_remove("host")
        {
            let host = host.as_str().unwrap_or_default();
            error.message = without_host(&error.message, host);
        }
        error
    }
}

/// How much of the body of an upstream error is relayed.
const MOST_BODY_BYTES: usize = 4 * 1024;

/// Cuts what an upstream server said. A value whose JSON is too long becomes the beginning of that text.
fn cut(body: &mut Value) {
    let text = match &*body {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    if text.len() > MOST_BODY_BYTES {
        // No character has more than four bytes.
        let mut ends = (MOST_BODY_BYTES - 3..=MOST_BODY_BYTES).rev();
        let start = ends.find_map(|end| text.get(..end));
        *body = format!("{}...", start.unwrap_or_default()).into();
    }
}

/// A message about a server that does not say where the server is.
fn without_host(message: &str, host: &str) -> String {
    let is_part_of_name =
        |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(host).filter(|_| !host.is_empty()) {
        text.push_str(before);
        // A full stop may be the end of a sentence.
        let next = after.strip_prefix('.').unwrap_or(after).chars().next();
        let is_whole = !before.ends_with(is_part_of_name) && !next.is_some_and(is_part_of_name);
        text.push_str(if is_whole {
            "the upstream server"
        } else {
            host
        });
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a failure should stop them")]

    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_does_not_say_where_the_server_is() {
        let allowed = AllowedHeaders::new(&[]);
        let about = |message: &str, details: Value| {
            let error = allowed.in_error(CallError::failed(message).with_details(details));
            (error.message, error.details.unwrap())
        };
        let host = "db.internal:8080";
        let (message, details) = about(
            "The request to db.internal:8080 failed: not db.internal:80801, but db.internal:8080.",
            json!({ "host": host, "delivery": "none", "reason": "network" }),
        );
        assert_eq!(
            message,
            "The request to the upstream server failed: not db.internal:80801, but the upstream server."
        );
        assert_eq!(details, json!({ "delivery": "none", "reason": "network" }));
        // Errors of handlers stay as they are.
        let own = json!({ "host": "mine" });
        assert_eq!(about("mine", own.clone()), ("mine".to_owned(), own));
    }

    #[test]
    fn only_allowed_headers_are_left() {
        let allowed = AllowedHeaders::new(&["etag".to_owned()]);
        let envelope = json!({
            "data": { "headers": { "x-internal": "mine" } },
            "meta": { "source": "http", "headers": { "x-internal": "secret", "etag": "7" }, "statusCode": 200 },
        });
        let left: Value =
            serde_json::from_str(allowed.in_envelope(envelope.to_string().into()).text()).unwrap();
        assert_eq!(left["meta"]["headers"], json!({ "etag": "7" }));
        assert_eq!(left["meta"]["statusCode"], 200);
        assert_eq!(left["data"], envelope["data"]);
        let local = r#"{"data":1,"meta":{"source":"local","headers":{"a":"b"}}}"#;
        assert_eq!(allowed.in_envelope(local.to_owned().into()).text(), local);
        // The word can be written in disguise.
        let hidden = r#"{"meta":{"source":"\u0068ttp","headers":{"x-internal":"secret"}}}"#;
        assert!(
            !allowed
                .in_envelope(hidden.to_owned().into())
                .text()
                .contains("secret")
        );
        let error = CallError::failed("HTTP 500").with_details(
            json!({ "statusCode": 500, "headers": { "etag": "7", "x-internal": "secret" } }),
        );
        let refused = CallError::invalid("not as declared").with_details(
            json!({ "envelope": { "meta": { "headers": { "set-cookie": "a=b", "etag": "7" } } } }),
        );
        let details = allowed.in_error(refused).details.unwrap();
        assert_eq!(
            details["envelope"]["meta"]["headers"],
            json!({ "etag": "7" })
        );
        let own = CallError::failed("mine").with_details(json!({ "headers": { "a": "b" } }));
        let details = allowed.in_error(own).details.unwrap();
        assert_eq!(details, json!({ "headers": { "a": "b" } }));
        let details = allowed.in_error(error).details.unwrap();
        assert_eq!(
            details,
            json!({ "statusCode": 500, "headers": { "etag": "7" } })
        );
    }
}

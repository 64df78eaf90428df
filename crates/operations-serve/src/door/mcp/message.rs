//! Messages of JSON-RPC, as far as a server reads and writes them. What is handed on stays text.

use http::StatusCode;
use operations_core::json::{Object, push_string};
use serde_json::Value;
use serde_json::value::RawValue;

/// What was sent is not JSON.
pub(super) const PARSE_ERROR: i64 = -32700;
/// It is JSON, but no message.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// The method is unknown.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// The method cannot be had with these parameters.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// It is the server's fault.
pub(super) const INTERNAL_ERROR: i64 = -32603;
/// The caller may not.
pub(super) const DENIED: i64 = -32003;

/// A message from a client.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) params: Object<'a>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    /// Wants an answer under this id, which is JSON.
    Request { id: &'a str, method: String },
    /// Wants none.
    Notification { method: String },
    /// A response to a request of ours: a result or an error, which are JSON.
    Answer {
        id: &'a str,
        result: Option<&'a str>,
        error: Option<&'a str>,
    },
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    /// Over HTTP.
    pub(super) status: StatusCode,
}

impl Refusal {
    /// One that is an answer like any other.
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            status: StatusCode::OK,
        }
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    fn bad_request(code: i64, message: &str) -> Self {
        Self::new(code, message).with_status(StatusCode::BAD_REQUEST)
    }
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub(super) fn read(text: &'a str) -> Result<Self, Refusal> {
        use operations_core::json::Malformed;
        let members = Object::read(text).map_err(|why| match why {
            Malformed::NoObject => Refusal::bad_request(INVALID_REQUEST, "A message is an object"),
            why => Refusal::bad_request(PARSE_ERROR, &format!("The message cannot be read: {why}")),
        })?;
        let invalid = |message: &str| Refusal::bad_request(INVALID_REQUEST, message);
        if members.string("jsonrpc").as_deref() != Some("2.0") {
            return Err(invalid("\"jsonrpc\" must be \"2.0\""));
        }
        let id = members.get("id");
        if id.is_some_and(|id| !id.starts_with(|first: char| "\"-0123456789".contains(first))) {
            return Err(invalid("\"id\" must be a string or a number"));
        }
        let params = match members.get("params") {
            None => Object::default(),
            Some(params) => {
                Object::read(params).map_err(|_| invalid("\"params\" must be an object"))?
            }
        };
        let kind = match (id, members.string("method")) {
            (Some(id), Some(method)) => Kind::Request { id, method },
            (None, Some(method)) => Kind::Notification { method },
            (Some(id), None)
                if members.get("result").is_some() || members.get("error").is_some() =>
            {
                Kind::Answer {
                    id,
                    result: members.get("result"),
                    error: members.get("error"),
                }
            }
            _ => return Err(invalid("\"method\" must be a string")),
        };
        Ok(Self { kind, params })
    }
}

/// The most messages of a batch: each may have a large answer, and all of them are sent together.
const LARGEST_BATCH: usize = 32;

/// The messages of a batch, which is a text that begins with a bracket.
pub(super) fn batch(text: &str) -> Result<Vec<&str>, Refusal> {
    let members: Vec<&RawValue> = serde_json::from_str(text).map_err(|why| {
        Refusal::bad_request(PARSE_ERROR, &format!("The batch cannot be read: {why}"))
    })?;
    if members.is_empty() {
        return Err(Refusal::bad_request(INVALID_REQUEST, "The batch is empty"));
    }
    if members.len() > LARGEST_BATCH {
        let message = format!("A batch has at most {LARGEST_BATCH} messages");
        return Err(Refusal::bad_request(INVALID_REQUEST, &message));
    }
    Ok(members.into_iter().map(RawValue::get).collect())
}

/// An answer with a result, which is JSON.
pub(super) fn result(id: &str, result: &str) -> String {
    let mut text = result_head(id);
    text.reserve_exact(result.len() + 1);
    text.push_str(result);
    text.push('}');
    text
}

/// The same up to the result, after which there is a brace.
pub(super) fn result_head(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)
}

/// An answer without a result. Nothing is known of the id of what could not be read.
pub(super) fn error(id: Option<&str>, refusal: &Refusal) -> String {
    let mut text = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":{},\"message\":",
        id.unwrap_or("null"),
        refusal.code
    );
    push_string(&mut text, &refusal.message);
    if let Some(data) = &refusal.data {
        text.push_str(",\"data\":");
        text.push_str(&data.to_string());
    }
    text.push_str("}}");
    text
}

/// A notification. `params` is a JSON object.
pub(super) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// A message without line breaks, which JSON has between its parts only, for readers that split messages by lines.
pub(super) fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) {
        return text.replace(['\n', '\r'], " ");
    }
    text
}

/// The parameters of a message that was read.
pub(super) fn params_text(text: &str) -> String {
    let params = Object::read(text).ok();
    let params = params.and_then(|message| message.get("params"));
    params.unwrap_or("{}").to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    #[test]
    fn kinds_of_messages_are_recognised() {
        let read = |text| Message::read(text).map(|message| message.kind);
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            Ok(Kind::Request { id: "\"a\"", method }) if method == "ping"
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#),
            Ok(Kind::Notification { .. })
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            Ok(Kind::Answer {
                id: "1",
                result: Some("{}"),
                error: None
            })
        ));
        for (odd, code) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","method":7}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","method":"x","id":null}"#,
                INVALID_REQUEST,
            ),
            (r#"{"jsonrpc":"2.0","method":"x","id":{}}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
                INVALID_REQUEST,
            ),
        ] {
            let refusal = read(odd).expect_err(odd);
            assert_eq!(refusal.code, code, "{odd}");
            assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
        }
    }

    #[test]
    fn a_message_fits_in_a_line() {
        assert_eq!(one_line("{\r\n\"a\":1}".to_owned()), "{  \"a\":1}");
    }

    #[test]
    fn answers_are_json() {
        let refusal = Refusal::new(INVALID_PARAMS, "say \"x\"").with_data(Value::Bool(true));
        let text = error(None, &refusal);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["error"]["message"], "say \"x\"");
        assert_eq!(value["id"], Value::Null);
        assert_eq!(result("7", "{}"), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    }
}

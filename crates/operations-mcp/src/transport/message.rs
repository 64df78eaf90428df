//! One message as it came, parsed only as far as is needed to decide what becomes of it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// How much of an unreadable answer is quoted.
const QUOTED: usize = 200;

/// A method that one side does not know.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// The members of a JSON-RPC message, unread.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// The message in a text, if it holds one.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let message: Self = serde_json::from_str(text).ok()?;
        (message.jsonrpc.as_deref() == Some("2.0")).then_some(message)
    }

    /// The number of the request that this answers. Ours are numbers; some servers send them back
    /// as strings.
    pub(crate) fn number(&self) -> Option<u64> {
        self.id
            .and_then(|id| id.get().trim_matches('"').parse().ok())
    }
}

/// The error in an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The error as it was sent. One that does not have the shape of an error is quoted.
    pub(crate) fn read(error: &RawValue) -> Self {
        serde_json::from_str(error.get()).unwrap_or_else(|_| {
            let cut: String = error.get().chars().take(QUOTED).collect();
            Self::new(
                INTERNAL_ERROR,
                format!("an answer that cannot be read: {cut}"),
            )
        })
    }
}

/// A request. `params` are the members of its parameters, `meta` those of their `_meta`, all as JSON.
pub(crate) fn request(id: u64, method: &str, params: &str, meta: &str) -> String {
    let mut text = String::with_capacity(96 + params.len() + meta.len());
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    // Writing to a string does not fail.
    let _ = write!(text, "{id}");
    text.push_str(r#","method":""#);
    text.push_str(method);
    text.push('"');
    if !params.is_empty() || !meta.is_empty() {
        text.push_str(r#","params":{"#);
        text.push_str(params);
        if !meta.is_empty() {
            text.push_str(if params.is_empty() { "" } else { "," });
            text.push_str(r#""_meta":{"#);
            text.push_str(meta);
            text.push('}');
        }
        text.push('}');
    }
    text.push('}');
    text
}

/// A notification; `params` as above.
pub(crate) fn notification(method: &str, params: &str) -> String {
    if params.is_empty() {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}}}}"#)
    }
}

/// Our response to a request; `id` is the JSON that the request had.
pub(crate) fn answer(id: &str, answer: Result<String, RpcError>) -> String {
    match answer {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(RpcError { code, message, .. }) => {
            let message = text(&message);
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#
            )
        }
    }
}

/// A text as JSON.
pub(crate) fn text(text: &str) -> String {
    // A text is always JSON.
    serde_json::to_string(text).unwrap_or_default()
}

/// JSON without line breaks: over standard streams a line is a message. A break in a valid text stands between
/// two tokens.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// The messages in a text: one, or those of a batch.
pub(crate) fn split(text: &str) -> Vec<&str> {
    if text.trim_start().starts_with('[')
        && let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text)
    {
        return batch.into_iter().map(RawValue::get).collect();
    }
    vec![text]
}

/// Takes a text apart as both transports do, and says how many messages are in it. For the fuzz target.
#[must_use]
pub fn read_messages(text: &str) -> usize {
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let (head, tail) = text.split_at(middle.unwrap_or_default());
    let _ = number_at_edge(head, tail);
    let mut count = 0;
    for message in split(text).into_iter().filter_map(Message::read) {
        count += 1;
        let _ = message.number();
        let _ = message.error.map(RpcError::read);
        let _ = message.params.map(|params| progress_token(params.get()));
    }
    count
}

/// The number of the request that a message answers, from its first and its last bytes alone. For
/// messages that are too large to be read.
pub(crate) fn number_at_edge(head: &str, tail: &str) -> Option<u64> {
    let tail = tail.trim_end().strip_suffix('}')?;
    let last = tail.rfind("\"id\":").and_then(|at| {
        let number = tail.get(at + 5..)?;
        number.trim().trim_matches('"').parse().ok()
    });
    last.or_else(|| {
        let before_result = head.split("\"result\"").next()?;
        let at = before_result.find("\"id\":")?;
        let digits: String = before_result
            .get(at + 5..)?
            .trim_start_matches([' ', '"'])
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    })
}

/// The token of the request that a notification of progress is about.
pub(crate) fn progress_token(params: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Progress<'a> {
        #[serde(borrow)]
        progress_token: &'a RawValue,
    }
    let progress: Progress<'_> = serde_json::from_str(params).ok()?;
    progress.progress_token.get().trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_rpc_is_a_message() {
        for text in [
            "",
            "hello",
            "{",
            "{}",
            "[1]",
            r#"{"jsonrpc":"1.0"}"#,
            "null",
        ] {
            assert!(Message::read(text).is_none(), "{text}");
        }
        let message = Message::read(r#"{"result":{"a":[1,2]},"jsonrpc":"2.0","id":"7"}"#).unwrap();
        assert_eq!(message.number(), Some(7));
        assert_eq!(message.result.unwrap().get(), r#"{"a":[1,2]}"#);
        assert!(message.method.is_none());
    }

    #[test]
    fn an_unreadable_error_is_quoted() {
        let odd = Message::read(r#"{"jsonrpc":"2.0","id":4,"error":{"code":"E_ODD"}}"#).unwrap();
        let error = RpcError::read(odd.error.unwrap());
        assert_eq!(error.code, INTERNAL_ERROR);
        assert!(error.message.contains("E_ODD"));
    }

    #[test]
    fn what_we_write_can_be_read() {
        for (params, meta) in [
            ("", ""),
            (r#""name":"a""#, ""),
            ("", r#""progressToken":1"#),
            (r#""name":"a""#, r#""progressToken":1"#),
        ] {
            let text = request(7, "tools/call", params, meta);
            let message = Message::read(&text).unwrap();
            assert_eq!(message.method.as_deref(), Some("tools/call"));
            assert_eq!(message.number(), Some(7), "{text}");
            assert_eq!(
                message.params.is_some(),
                !(params.is_empty() && meta.is_empty())
            );
        }
        let error = RpcError::new(-1, "a \"quoted\"\nword");
        let text = answer("\"q\"", Err(error.clone()));
        let message = Message::read(&text).unwrap();
        assert_eq!(message.id.unwrap().get(), "\"q\"");
        assert_eq!(RpcError::read(message.error.unwrap()), error);
        assert_eq!(one_line("{\n \"a\":\r\n1}"), "{  \"a\":  1}");
    }

    #[test]
    fn a_deep_result_is_not_a_danger() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        assert_eq!(
            Message::read(&text).unwrap().result.unwrap().get().len(),
            400_000
        );
    }

    #[test]
    fn a_batch_is_taken_apart() {
        assert_eq!(split(r#"[{"a":1}, {"b":2}]"#), [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(split("{}"), ["{}"]);
        assert_eq!(split("[nonsense"), ["[nonsense"]);
    }

    #[test]
    fn the_number_is_found_at_either_end() {
        assert_eq!(
            number_at_edge(r#"{"jsonrpc":"2.0","id":12,"result":{"#, r#"xxx"}}"#),
            Some(12)
        );
        assert_eq!(
            number_at_edge(r#"{"result":{"x":"id":5"#, r#""},"jsonrpc":"2.0","id":34}"#),
            Some(34)
        );
        assert_eq!(number_at_edge(r#"{"result":{"id":5"#, r#"x"}]}}"#), None);
    }
}

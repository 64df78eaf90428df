//! One message as it came, looked at only as far as is needed to decide what becomes of it.

use std::borrow::Cow;

use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How much of an unreadable answer is quoted.
const QUOTED: usize = 200;

/// The members of a JSON-RPC message, unread.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
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

    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Whether the other side wants an answer.
    pub(crate) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }
}

/// A message for rmcp. An answer that rmcp cannot read becomes an error, so that whoever waits for it
/// is told.
pub(crate) fn typed(text: &str) -> Option<ServerJsonRpcMessage> {
    if let Ok(message) = serde_json::from_str(text) {
        return Some(message);
    }
    let message = Message::read(text)?;
    let id = i64::try_from(message.number()?).ok()?;
    let what = message.error.or(message.result)?;
    let cut: String = what.get().chars().take(QUOTED).collect();
    let error = ErrorData::internal_error(format!("an answer that cannot be read: {cut}"), None);
    Some(ServerJsonRpcMessage::error(
        error,
        Some(RequestId::Number(id)),
    ))
}

/// The messages in a text: one, or those of a batch.
pub(crate) fn split(text: &str) -> Vec<Cow<'_, str>> {
    if text.trim_start().starts_with('[')
        && let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text)
    {
        return batch
            .into_iter()
            .map(|message| Cow::Borrowed(message.get()))
            .collect();
    }
    vec![Cow::Borrowed(text)]
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

/// A server's notification of progress.
#[derive(Deserialize)]
pub(crate) struct Progress<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: &'a RawValue,
}

impl<'a> Progress<'a> {
    /// The token of the request that is under way.
    pub(crate) fn token_of(params: &'a RawValue) -> Option<u64> {
        let progress: Self = serde_json::from_str(params.get()).ok()?;
        progress.token.get().trim_matches('"').parse().ok()
    }
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
        assert!(!message.is_request());
    }

    #[test]
    fn an_unreadable_answer_is_an_error() {
        let odd = r#"{"jsonrpc":"2.0","id":4,"error":{"code":"E_ODD"}}"#;
        let Some(ServerJsonRpcMessage::Error(error)) = typed(odd) else {
            panic!("not an error");
        };
        assert_eq!(error.id, Some(RequestId::Number(4)));
        assert!(error.error.message.contains("E_ODD"));
        assert!(typed(r#"{"jsonrpc":"2.0"}"#).is_none());
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

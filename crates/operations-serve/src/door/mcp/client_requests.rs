//! Requests to older clients (elicitation, sampling, roots), and their responses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use operations_core::json::Object;
use operations_core::lock::locked;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::cancellation::Key;

/// The requests that wait for a response.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<HashMap<Key, oneshot::Sender<Answer>>>>);

/// What a client says.
pub(super) type Answer = Result<Value, String>;

/// A request that waits, for as long as this is kept.
#[derive(Debug)]
pub(super) struct PendingRequest {
    requests: PendingRequests,
    key: Key,
    answer: Option<oneshot::Receiver<Answer>>,
}

impl PendingRequests {
    /// A request to the client of a session. Its id cannot be guessed.
    pub(super) fn ask(&self, session: &str, caller: &str) -> PendingRequest {
        let key = Key {
            session: session.to_owned(),
            caller: caller.to_owned(),
            id: format!("\"{}\"", Uuid::new_v4()),
        };
        let (sender, answer) = oneshot::channel();
        locked(&self.0).insert(key.clone(), sender);
        PendingRequest {
            requests: self.clone(),
            key,
            answer: Some(answer),
        }
    }

    /// A client answers with a result or an error, which are JSON.
    pub(super) fn answered(&self, key: &Key, result: Option<&str>, error: Option<&str>) {
        let Some(sender) = locked(&self.0).remove(key) else {
            return;
        };
        let answer = match (result, error) {
            (Some(result), None) => {
                serde_json::from_str(result).map_err(|_| "The answer cannot be read".to_owned())
            }
            (_, error) => {
                let error = error.and_then(|error| Object::read(error).ok());
                let message = error.and_then(|error| error.string("message"));
                Err(message.unwrap_or_else(|| "The client failed".to_owned()))
            }
        };
        let _ = sender.send(answer);
    }
}

impl PendingRequest {
    /// The id of the request, as JSON.
    pub(super) fn id(&self) -> &str {
        &self.key.id
    }

    pub(super) async fn answer(mut self) -> Answer {
        match self.answer.take() {
            Some(answer) => answer
                .await
                .unwrap_or_else(|_| Err("The client is gone".to_owned())),
            None => Err("The client is gone".to_owned()),
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        locked(&self.requests.0).remove(&self.key);
    }
}

/// One request of a handler.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClientRequest {
    /// How the handler knows it.
    pub(super) key: String,
    pub(super) method: String,
    pub(super) params: Value,
}

/// Reads a handler's requests: a JSON list.
pub(super) fn read(list: &str) -> Vec<ClientRequest> {
    let list: Vec<Map<String, Value>> = serde_json::from_str(list).unwrap_or_default();
    let text = |members: &Map<String, Value>, name: &str| {
        members.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    list.into_iter()
        .filter_map(|members| {
            Some(ClientRequest {
                key: text(&members, "key")?,
                method: text(&members, "method")?,
                params: members.get("params").cloned().unwrap_or_else(|| json!({})),
            })
        })
        .collect()
}

/// Requests by name, as the stateless protocol has them in results and in tasks.
pub(super) fn input_requests<'a>(all: impl Iterator<Item = (&'a str, &'a ClientRequest)>) -> Value {
    let to_json =
        |request: &ClientRequest| json!({ "method": request.method, "params": request.params });
    let all = all.map(|(name, request)| (name.to_owned(), to_json(request)));
    Value::Object(all.collect())
}

impl ClientRequest {
    /// Whether this can be an answer. What the user has typed in is checked by the handler.
    pub(super) fn is_answered_by(&self, answer: &Value) -> bool {
        let has = |name: &str, is_right: fn(&Value) -> bool| answer.get(name).is_some_and(is_right);
        match self.method.as_str() {
            "elicitation/create" => {
                let action = answer.get("action").and_then(Value::as_str);
                match action {
                    Some("accept") => answer.get("content").is_none_or(Value::is_object),
                    Some("decline" | "cancel") => true,
                    _ => false,
                }
            }
            "sampling/createMessage" => {
                has("role", Value::is_string)
                    && has("content", |content| {
                        content.is_object() || content.is_array()
                    })
            }
            "roots/list" => has("roots", Value::is_array),
            _ => false,
        }
    }

    /// The answer as JavaScript takes it: JSON.
    pub(super) fn to_js(&self, answer: &Answer) -> String {
        match answer {
            Ok(result) if self.is_answered_by(result) => {
                json!({ "key": self.key, "result": result })
            }
            Ok(_) => {
                let message = format!("The client's answer to {} cannot be used", self.method);
                json!({ "key": self.key, "error": { "message": message } })
            }
            Err(message) => json!({ "key": self.key, "error": { "message": message } }),
        }
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    #[tokio::test]
    async fn only_the_client_that_was_asked_can_answer() {
        let requests = PendingRequests::default();
        let waiting = requests.ask("s", "ada");
        let mut key = waiting.key.clone();
        key.caller = "bob".to_owned();
        requests.answered(&key, Some("1"), None);
        key.caller = "ada".to_owned();
        requests.answered(&key, Some("2"), None);
        assert_eq!(waiting.answer().await, Ok(json!(2)));
        assert!(locked(&requests.0).is_empty());
        let waiting = requests.ask("s", "ada");
        let key = waiting.key.clone();
        requests.answered(&key, None, Some(r#"{"code":-1,"message":"no"}"#));
        assert_eq!(waiting.answer().await, Err("no".to_owned()));
        drop(requests.ask("s", "ada"));
        assert!(locked(&requests.0).is_empty());
    }

    #[test]
    fn answers_have_a_shape() {
        let asked = read(
            r#"[{"key":"a","method":"elicitation/create"},{"key":"b","method":"sampling/createMessage","params":{}},{"key":"c","method":"roots/list"},{"key":"d"}]"#,
        );
        let [elicit, sample, roots] = &asked[..] else {
            panic!("three requests");
        };
        assert!(elicit.is_answered_by(&json!({ "action": "accept", "content": {} })));
        assert!(elicit.is_answered_by(&json!({ "action": "decline" })));
        assert!(!elicit.is_answered_by(&json!(12)));
        assert!(!elicit.is_answered_by(&json!({ "action": "accept", "content": 1 })));
        assert!(sample.is_answered_by(&json!({ "role": "assistant", "content": {} })));
        assert!(!sample.is_answered_by(&json!({})));
        assert!(roots.is_answered_by(&json!({ "roots": [] })));
        assert!(!roots.is_answered_by(&json!(null)));
        assert!(elicit.to_js(&Ok(json!(1))).contains("error"));
    }
}

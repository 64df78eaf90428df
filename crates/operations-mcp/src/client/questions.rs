//! What we answer when the server asks.

#![expect(
    deprecated,
    reason = "newer revisions drop sampling; servers go on using it"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use operations_core::json::is_too_deep;
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use rmcp::model::{CreateMessageResult, ElicitResult};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::host::{Host, Question};
use crate::config::ServerConfig;
use crate::transport::message::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use crate::transport::{Kind, Outgoing, Transport};

/// Questions that may wait for our answer. A server that asks more is not heard: its questions would fill our
/// memory.
const OPEN: usize = 256;

/// The questions of one server.
pub(crate) struct Questions {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) logger: Logger,
    /// Those that are being answered, by their ids as JSON.
    open: Mutex<HashMap<String, Option<AbortHandle>>>,
}

impl Questions {
    pub(crate) fn new(config: Arc<ServerConfig>, host: Arc<dyn Host>, logger: Logger) -> Self {
        Self {
            config,
            host,
            logger,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Option<AbortHandle>>> {
        locked(&self.open)
    }

    /// What the server may ask us, and what else we understand. In the stateless revision, `extensions` are among it.
    pub(crate) fn capabilities(&self, is_stateless: bool) -> String {
        let mut members = Vec::new();
        if is_stateless {
            members.push(r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#);
        }
        if self.config.answers_elicitation {
            members.push(r#""elicitation":{"form":{},"url":{}}"#);
        }
        if self.config.answers_sampling {
            members.push(r#""sampling":{}"#);
        }
        format!("{{{}}}", members.join(","))
    }

    /// Takes a question. Its answer goes the way that the question came.
    pub(super) fn take(
        self: &Arc<Self>,
        method: &str,
        id: &str,
        params: Option<&str>,
        is_out_of_turn: bool,
        transport: &Arc<dyn Transport>,
    ) {
        {
            let mut open = self.open();
            if open.len() >= OPEN || open.contains_key(id) {
                return;
            }
            open.insert(id.to_owned(), None);
        }
        let (questions, transport) = (Arc::clone(self), Arc::clone(transport));
        let (method, id) = (method.to_owned(), id.to_owned());
        let params = params.map(str::to_owned);
        let key = id.clone();
        let task = tokio::spawn(async move {
            let answer = if is_out_of_turn {
                let why = "a server of this revision asks only while it is asked";
                Err(RpcError::new(INVALID_PARAMS, why))
            } else {
                questions.answer(&method, params.as_deref()).await
            };
            let text = message::answer(&id, answer);
            transport.send(Outgoing {
                kind: Kind::Answer,
                text: message::one_line(&text).into_owned(),
            });
            questions.open().remove(&id);
        });
        if let Some(place) = self.open().get_mut(&key) {
            *place = Some(task.abort_handle());
        }
    }

    /// The server does not want an answer any more.
    pub(super) fn withdrawn(&self, params: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if let Ok(Cancelled { request_id }) = serde_json::from_str(params)
            && let Some(Some(task)) = self.open().remove(request_id.get())
        {
            task.abort();
        }
    }

    /// The answer to a question, as JSON. Without anybody who could ask the user, a polite refusal.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<String, RpcError> {
        match method {
            "ping" => Ok("{}".to_owned()),
            "roots/list" => Ok(r#"{"roots":[]}"#.to_owned()),
            "elicitation/create" if self.config.answers_elicitation => {
                let asked = self.ask::<ElicitResult>(Question::Elicitation, params);
                let answer = asked.await?;
                Ok(with_defaults(params.unwrap_or_default(), &answer).unwrap_or(answer))
            }
            "elicitation/create" => Ok(r#"{"action":"decline"}"#.to_owned()),
            "sampling/createMessage" if self.config.answers_sampling => {
                self.ask::<CreateMessageResult>(Question::Sampling, params)
                    .await
            }
            _ => Err(RpcError::new(METHOD_NOT_FOUND, method)),
        }
    }

    /// Asks the user's program. Its answer must have the shape of a `T`.
    async fn ask<T: DeserializeOwned>(
        &self,
        question: Question,
        params: Option<&str>,
    ) -> Result<String, RpcError> {
        let params = params.filter(|params| params.starts_with('{') && !is_too_deep(params));
        let Some(params) = params else {
            let why = "the parameters must be an object";
            return Err(RpcError::new(INVALID_PARAMS, why));
        };
        let refused = |why: String| RpcError::new(INTERNAL_ERROR, why);
        let asked = self.host.ask(question, params.to_owned());
        let answer = asked.await.map_err(refused)?;
        match serde_json::from_str::<T>(&answer) {
            Ok(_) => Ok(answer),
            Err(error) => {
                let server = &self.config.name;
                let message = format!(
                    "The answer to a question ({}) of MCP server '{server}' does not have the shape that the \
                     protocol prescribes: {error}",
                    question.as_str(),
                );
                let message = self.config.secrets.hide(&message);
                let facts = [("server", json!(server))];
                self.logger.log(Level::Error, "mcp", message, facts);
                Err(refused(format!(
                    "the client's answer cannot be used: {error}"
                )))
            }
        }
    }
}

/// An answer to a form with the form's defaults for what the user left out. Nothing, if there is nothing to add.
fn with_defaults(form: &str, answer: &str) -> Option<String> {
    let form: Value = serde_json::from_str(form).ok()?;
    let properties = form.pointer("/requestedSchema/properties")?.as_object()?;
    let mut answer: Value = serde_json::from_str(answer).ok()?;
    let members = answer.as_object_mut()?;
    if members.get("action")? != "accept" {
        return None;
    }
    let content = members.entry("content").or_insert_with(|| json!({}));
    if content.is_null() {
        *content = json!({});
    }
    let content = content.as_object_mut()?;
    let defaults = properties
        .iter()
        .filter_map(|(name, schema)| Some((name, schema.get("default")?)));
    for (name, default) in defaults {
        if !content.contains_key(name) {
            content.insert(name.clone(), default.clone());
        }
    }
    Some(answer.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_left_out_gets_its_default() {
        let form = r#"{"message":"?","requestedSchema":{"type":"object","properties":
            {"a":{"type":"string","default":"x"},"b":{"type":"integer","default":0},"c":{"type":"string"}}}}"#;
        let filled = |answer: &str| {
            let filled = with_defaults(form, answer)?;
            serde_json::from_str::<Value>(&filled).ok()
        };
        let all = json!({ "action": "accept", "content": { "a": "x", "b": 0 } });
        assert_eq!(filled(r#"{"action":"accept"}"#), Some(all.clone()));
        assert_eq!(filled(r#"{"action":"accept","content":null}"#), Some(all));
        assert_eq!(
            filled(r#"{"action":"accept","content":{"a":"","c":"y"}}"#),
            Some(json!({ "action": "accept", "content": { "a": "", "c": "y", "b": 0 } }))
        );
        assert_eq!(filled(r#"{"action":"decline"}"#), None);
        assert_eq!(
            with_defaults(r#"{"mode":"url"}"#, r#"{"action":"accept"}"#),
            None
        );
    }
}

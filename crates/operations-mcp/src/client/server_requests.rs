//! What we answer when the server asks.

#![expect(
    deprecated,
    reason = "newer revisions drop sampling and roots; servers go on using them"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use operations_core::json::is_too_deep;
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use rmcp::model::{CreateMessageResult, ElicitResult, ListRootsResult};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::callbacks::{ClientCallbacks, ClientRequest};
use super::conversation::Conversation;
use crate::config::ServerConfig;
use crate::transport::message::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use crate::transport::{Kind, Outgoing, Transport};

/// Requests that may wait for our response. A server that sends more is ignored: its requests would fill our
/// memory.
const OPEN: usize = 256;
/// Requests for the user's program: so many at once, and then so many a second. More are refused.
const BURST: f64 = 100.0;
const PER_SECOND: f64 = 10.0;

/// The requests of one server: elicitation, sampling, roots.
pub(crate) struct ServerRequests {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) callbacks: Arc<dyn ClientCallbacks>,
    pub(crate) logger: Logger,
    /// Those that are being answered, by their ids as JSON.
    open: Mutex<HashMap<String, Option<AbortHandle>>>,
    /// How many may be put to the user's program, and since when.
    allowance: Mutex<(f64, Instant)>,
}

impl ServerRequests {
    pub(crate) fn new(
        config: Arc<ServerConfig>,
        callbacks: Arc<dyn ClientCallbacks>,
        logger: Logger,
    ) -> Self {
        Self {
            config,
            callbacks,
            logger,
            open: Mutex::default(),
            allowance: Mutex::new((BURST, Instant::now())),
        }
    }

    /// Whether one more may be put to the user's program now.
    fn may_ask(&self) -> bool {
        let mut allowance = locked(&self.allowance);
        let (left, since) = *allowance;
        let left = BURST.min(left + since.elapsed().as_secs_f64() * PER_SECOND);
        let may_ask = left >= 1.0;
        *allowance = (left - f64::from(u8::from(may_ask)), Instant::now());
        may_ask
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
        if self.config.answers_roots {
            members.push(r#""roots":{"listChanged":true}"#);
        }
        format!("{{{}}}", members.join(","))
    }

    /// Takes a request. Its response goes the way that the request came.
    pub(super) fn take(
        self: &Arc<Self>,
        conversation: &Conversation,
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
        let (requests, transport) = (Arc::clone(self), Arc::clone(transport));
        let (method, id) = (method.to_owned(), id.to_owned());
        let params = params.map(str::to_owned);
        let key = id.clone();
        let lost = conversation.lost.clone();
        let task = conversation.tasks.spawn(async move {
            let answering = async {
                let answer = if is_out_of_turn {
                    let why = "a server of this revision asks only while it is asked";
                    Err(RpcError::new(INVALID_PARAMS, why))
                } else {
                    requests.answer(&method, params.as_deref()).await
                };
                let text = message::answer(&id, answer);
                transport.send(Outgoing {
                    kind: Kind::Answer,
                    text: message::one_line(&text).into_owned(),
                });
            };
            lost.run_until_cancelled(answering).await;
            requests.open().remove(&id);
        });
        if let Some(entry) = self.open().get_mut(&key) {
            *entry = Some(task.abort_handle());
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

    /// The response to a request, as JSON. Without a callback that asks the user, a polite refusal.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<String, RpcError> {
        match method {
            "ping" => Ok("{}".to_owned()),
            "roots/list" if self.config.answers_roots => {
                self.ask::<ListRootsResult>(ClientRequest::Roots, Some("{}"))
                    .await
            }
            "roots/list" => Ok(r#"{"roots":[]}"#.to_owned()),
            "elicitation/create" if self.config.answers_elicitation => {
                let asked = self.ask::<ElicitResult>(ClientRequest::Elicitation, params);
                let answer = asked.await?;
                Ok(with_defaults(params.unwrap_or_default(), &answer).unwrap_or(answer))
            }
            "elicitation/create" => Ok(r#"{"action":"decline"}"#.to_owned()),
            "sampling/createMessage" if self.config.answers_sampling => {
                self.ask::<CreateMessageResult>(ClientRequest::Sampling, params)
                    .await
            }
            _ => Err(RpcError::new(METHOD_NOT_FOUND, method)),
        }
    }

    /// Asks the user's program. Its answer must have the shape of a `T`.
    async fn ask<T: DeserializeOwned>(
        &self,
        request: ClientRequest,
        params: Option<&str>,
    ) -> Result<String, RpcError> {
        let params = params.filter(|params| params.starts_with('{') && !is_too_deep(params));
        let Some(params) = params else {
            let why = "the parameters must be an object";
            return Err(RpcError::new(INVALID_PARAMS, why));
        };
        let refused = |why: String| RpcError::new(INTERNAL_ERROR, why);
        if !self.may_ask() {
            return Err(refused(format!(
                "too many questions: no more than {PER_SECOND} a second are put to the user"
            )));
        }
        let asked = self.callbacks.request(request, params.to_owned());
        let answer = asked.await.map_err(refused)?;
        match serde_json::from_str::<T>(&answer) {
            Ok(_) => Ok(answer),
            Err(error) => {
                let server = &self.config.name;
                let message = format!(
                    "The answer to a question ({}) of MCP server '{server}' does not have the shape that the \
                     protocol prescribes: {error}",
                    request.as_str(),
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

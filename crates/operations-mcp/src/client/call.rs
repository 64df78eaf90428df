//! Requests that the server may answer with a question of its own, and be asked again.

use std::time::Duration;

use operations_core::json::{MAX_ANSWER_DEPTH, is_too_deep};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputRequest, InputRequests, InputResponses, JsonObject,
    ReadResourceRequest, ReadResourceRequestParams,
};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::client::connection::Connection;
use crate::client::handler::Handler;
use crate::client::request::Patience;
use crate::client::slot::{Keep, OnProgress, Slot};
use crate::error::Failure;

/// How often a server may come back with another question.
const ROUNDS: usize = 10;
/// How long we wait before we ask a server again that only wanted to be asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Tool {
        name: String,
        arguments: Option<JsonObject>,
    },
    Prompt {
        name: String,
        arguments: Option<JsonObject>,
    },
    Resource {
        uri: String,
    },
}

impl Ask {
    fn request(&self, answers: Option<InputResponses>, state: Option<String>) -> ClientRequest {
        match self.clone() {
            Self::Tool { name, arguments } => {
                let mut params = CallToolRequestParams::new(name);
                params.arguments = arguments;
                params.input_responses = answers;
                params.request_state = state;
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Self::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name);
                params.arguments = arguments;
                params.input_responses = answers;
                params.request_state = state;
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Self::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri);
                params.input_responses = answers;
                params.request_state = state;
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
        }
    }
}

/// A result that is a question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incomplete {
    result_type: String,
    #[serde(default)]
    input_requests: Option<InputRequests>,
    request_state: Option<String>,
}

/// The question in a result, if it is one.
fn question(result: &str) -> Option<Incomplete> {
    const MARK: &str = "input_required";
    // Almost every result is none, and may be large: look before reading.
    if !result.contains(MARK) {
        return None;
    }
    let read: Incomplete = serde_json::from_str(result).ok()?;
    (read.result_type == MARK).then_some(read)
}

/// Asks, answers what is asked back, and asks again. The result is JSON as the server wrote it.
pub(crate) async fn ask(
    connection: &Connection,
    what: &Ask,
    patience: Patience,
    on_progress: Option<&OnProgress>,
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let (mut answers, mut state) = (None, None);
    for _ in 0..ROUNDS {
        let slot = Slot::new(Keep::Instead, on_progress.cloned());
        let request = what.request(answers, state);
        let result = connection
            .link
            .send(request, slot, patience, cancel)
            .await?;
        // Lists go without this: one tool with a bad schema must not hide the others.
        if is_too_deep(&result) {
            let reason = format!("it is nested more than {MAX_ANSWER_DEPTH} levels deep");
            return Err(Failure::Odd(reason));
        }
        let Some(incomplete) = question(&result) else {
            return Ok(result);
        };
        let requests = incomplete.input_requests.unwrap_or_default();
        if requests.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
        let answering = Box::pin(answer_all(&connection.handler, requests));
        let given = tokio::select! {
            given = answering => given?,
            () = cancel.cancelled() => return Err(Failure::Aborted),
        };
        answers = (!given.is_empty()).then_some(given);
        state = incomplete.request_state;
    }
    Err(Failure::Odd(format!(
        "it asked back more than {ROUNDS} times"
    )))
}

async fn answer_all(handler: &Handler, requests: InputRequests) -> Result<InputResponses, Failure> {
    let mut answers = InputResponses::new();
    for (key, request) in requests {
        answers.insert(key, answer(handler, request).await?);
    }
    Ok(answers)
}

async fn answer(handler: &Handler, request: InputRequest) -> Result<Value, Failure> {
    let value = match request {
        InputRequest::Elicitation(request) => {
            let answer = handler
                .elicit(request.params)
                .await
                .map_err(Failure::Refused)?;
            serde_json::to_value(answer)
        }
        InputRequest::CreateMessage(request) => {
            let answer = handler
                .sample(request.params)
                .await
                .map_err(Failure::Refused)?;
            serde_json::to_value(answer)
        }
        _ => {
            return Err(Failure::Odd(
                "it asked back for something unknown".to_owned(),
            ));
        }
    };
    value.map_err(|error| Failure::Odd(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_mentions_the_mark_is_no_question() {
        assert!(question(r#"{"content":[{"type":"text","text":"input_required"}]}"#).is_none());
        assert!(question(r#"{"resultType":"complete","content":["input_required"]}"#).is_none());
        let read = question(r#"{"resultType":"input_required","requestState":"s"}"#).unwrap();
        assert_eq!(read.request_state.as_deref(), Some("s"));
    }
}

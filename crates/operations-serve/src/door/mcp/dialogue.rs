//! A call, and what its handler and its client say to each other meanwhile. Older clients are asked with requests of ours;
//! newer ones get a result that says what is needed, and call again with the answers.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use operations_core::error::CallError;
use operations_core::json::Object;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::generation::Generation;
use super::level::Level;
use super::message::{self, INVALID_PARAMS, Refusal};
use super::progress;
use super::questions::{self, Answer, Question};
use super::request::{Asked, SERVER_KEY};
use super::seal::Binding;
use crate::call::NewCall;
use crate::line::{self, Line, Told};
use crate::service::Shared;

/// What a handler has told and nobody has looked at; more is left out.
const WAITING: usize = 64;

/// How a call ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// With an envelope, as JSON, or an error.
    Done(Result<String, CallError>),
    /// It needs more from the client: a result, as JSON.
    NeedsInput(String),
}

/// What a client of the newer generation has answered so far.
#[derive(Debug, Default)]
struct Answers(Map<String, Value>);

impl Answers {
    fn read(shared: &Shared, binding: &Binding<'_>, params: &Object<'_>) -> Result<Self, Refusal> {
        let mut answers = Map::new();
        if params.get("requestState").is_some() {
            let state = params.string("requestState");
            let opened = state.and_then(|state| shared.mcp.seal.open(binding, &state));
            answers = opened.ok_or_else(|| {
                let message = "\"requestState\" was not made here for this request, or is too old. Call without it";
                Refusal::new(INVALID_PARAMS, message)
            })?;
        }
        if let Some(given) = params.get("inputResponses") {
            let given: Map<String, Value> = serde_json::from_str(given).map_err(|_| {
                Refusal::new(INVALID_PARAMS, "\"inputResponses\" must be an object")
            })?;
            answers.extend(given);
        }
        Ok(Self(answers))
    }

    fn to(&self, question: &Question) -> Option<&Value> {
        let answer = self.0.get(&question.key);
        answer.filter(|answer| question.is_answered_by(answer))
    }
}

/// Calls an operation for a request, whose target is a tool, a prompt or a resource.
pub(super) async fn call(
    shared: &Shared,
    asked: &Asked,
    target: &str,
    mut new: NewCall,
    params: &Object<'_>,
) -> Result<Ended, Refusal> {
    let binding = Binding {
        method: &asked.method,
        target,
        caller: asked.caller.id(),
    };
    let is_stateless = asked.generation == Generation::Stateless;
    let answers = if is_stateless {
        Answers::read(shared, &binding, params)?
    } else {
        Answers::default()
    };
    let (tell, mut told) = mpsc::channel(WAITING);
    let (ask, mut questions) = mpsc::unbounded_channel();
    new.line = offers(asked).map(|offers| Line {
        offers,
        told: tell,
        asked: ask,
    });
    let mut work = std::pin::pin!(shared.calls.call(new));
    let mut waiting = FuturesUnordered::new();
    // What was asked and answered in this run, and nothing else, is carried on.
    let mut used = Map::new();
    loop {
        tokio::select! {
            biased;
            Some(told) = told.recv() => {
                let message = match told {
                    Told::Progress(note) => {
                        let token = asked.token.as_deref();
                        token.and_then(|token| progress::notification(token, &note))
                    }
                    Told::Log(line) => log_line(&line, asked.level),
                };
                // What the client does not read fast enough is left out.
                if let (Some(out), Some(message)) = (&asked.out, message) {
                    let _ = out.try_send(message);
                }
            }
            Some(line::Questions { id, list }) = questions.recv() => {
                let list = questions::read(&list);
                if !is_stateless {
                    for question in list {
                        let id = id.clone();
                        waiting.push(async move {
                            let answer = ask_client(asked, &question).await;
                            (id, question, answer)
                        });
                    }
                    continue;
                }
                let (known, open): (Vec<_>, Vec<_>) =
                    list.iter().partition(|each| answers.to(each).is_some());
                for question in known {
                    if let Some(answer) = answers.to(question) {
                        used.insert(question.key.clone(), answer.clone());
                        shared.host.answer_host(&id, &question.told(&Ok(answer.clone())));
                    }
                }
                if !open.is_empty() {
                    let result = needed(shared, asked, &binding, &used, &open);
                    return Ok(Ended::NeedsInput(result));
                }
            },
            Some((id, question, answer)) = waiting.next(), if !waiting.is_empty() => {
                shared.host.answer_host(&id, &question.told(&answer));
            }
            done = &mut work => return Ok(Ended::Done(done)),
        }
    }
}

/// What a handler may say, as JSON; nothing where nobody would hear it.
fn offers(asked: &Asked) -> Option<String> {
    let mut offers = Map::new();
    let mut add = |name: &str, value: Value| offers.insert(name.to_owned(), value);
    if asked.out.is_some() {
        if asked.token.is_some() {
            add("progress", Value::Bool(true));
        }
        if let Some(level) = asked.level {
            add("log", json!(level.name()));
        }
    }
    // Newer clients are asked in the result.
    if asked.out.is_some() || asked.generation == Generation::Stateless {
        for (name, is_able) in asked.client.questions() {
            if is_able {
                add(name, Value::Bool(true));
            }
        }
    }
    (!offers.is_empty()).then(|| Value::Object(offers).to_string())
}

/// Asks an older client, as soon as it has read what waits for it.
async fn ask_client(asked: &Asked, question: &Question) -> Answer {
    let session = asked.session.as_deref().unwrap_or_default();
    let entry = asked.questions.ask(session, asked.caller.id());
    let request = request(entry.id(), question);
    match &asked.out {
        Some(out) if out.send(request).await.is_ok() => entry.answer().await,
        _ => Err("The client is gone".to_owned()),
    }
}

/// The notification for a log line, which is a JSON object; nothing where the client does not want to see it.
fn log_line(line: &str, wanted: Option<Level>) -> Option<String> {
    let members = Object::read(line).ok()?;
    let level = Level::read(&members.string("level")?)?;
    if level < wanted? {
        return None;
    }
    let data = members.get("data").unwrap_or("null");
    let logger = members.get("logger");
    let logger = logger.map_or_else(String::new, |logger| format!(r#","logger":{logger}"#));
    let params = format!(r#"{{"level":"{}","data":{data}{logger}}}"#, level.name());
    Some(message::notification("notifications/message", &params))
}

fn request(id: &str, question: &Question) -> String {
    let method = Value::String(question.method.clone());
    let params = &question.params;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// The result that says what is needed.
fn needed(
    shared: &Shared,
    asked: &Asked,
    binding: &Binding<'_>,
    answers: &Map<String, Value>,
    open: &[&Question],
) -> String {
    let requests: Map<String, Value> = open
        .iter()
        .map(|question| {
            let request = json!({ "method": question.method, "params": question.params });
            (question.key.clone(), request)
        })
        .collect();
    let mut result = json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "_meta": { SERVER_KEY: asked.server },
    });
    let state = shared.mcp.seal.close(binding, answers);
    if let (Some(state), Some(result)) = (state, result.as_object_mut()) {
        result.insert("requestState".to_owned(), Value::String(state));
    }
    result.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_for_those_who_want_them() {
        let line = r#"{"level":"info","data":{"a":1}}"#;
        assert_eq!(
            log_line(line, Some(Level::Debug)).as_deref(),
            Some(
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1}}}"#
            )
        );
        assert_eq!(log_line(line, Some(Level::Error)), None);
        assert_eq!(log_line(line, None), None);
        assert_eq!(log_line(r#"{"level":"loud"}"#, Some(Level::Debug)), None);
    }
}

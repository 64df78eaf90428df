//! A call, and what its handler and its client say to each other meanwhile. Older clients are asked with requests of ours;
//! newer ones get a result that says what is needed, and call again with the answers.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use operations_core::error::CallError;
use operations_core::json::Object;
use serde_json::{Map, Value, json};

use super::generation::Generation;
use super::level::Level;
use super::message::{self, INVALID_PARAMS, Refusal};
use super::progress;
use super::questions::{self, Answer, Question};
use super::request::{Asked, SERVER_KEY};
use super::seal::Binding;
use super::underway::Underway;
use crate::call::NewCall;
use crate::line::{self, Told};
use crate::service::Shared;

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
        let refused = |message: &str| Refusal::new(INVALID_PARAMS, message);
        let mut answers = Map::new();
        // Clients may answer without a state, as the conformance suite does: then there is nothing that was asked before.
        if params.get("requestState").is_some() {
            let state = params.string("requestState");
            let opened = state.and_then(|state| shared.mcp.seal.open(binding, &state));
            answers = opened.ok_or_else(|| {
                refused(
                    "\"requestState\" was not made here for this request with these arguments, or is too old. Call without it",
                )
            })?;
        }
        if let Some(given) = params.get("inputResponses") {
            let given: Map<String, Value> = serde_json::from_str(given)
                .map_err(|_| refused("\"inputResponses\" must be an object"))?;
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
    shared: &Arc<Shared>,
    asked: &Asked,
    target: &str,
    new: NewCall,
    params: &Object<'_>,
) -> Result<Ended, Refusal> {
    let mut dialogue = Dialogue::begin(shared, asked, target, new, params, false)?;
    Ok(dialogue.end().await)
}

/// A call whose handler and whose client talk with each other.
pub(super) struct Dialogue<'a> {
    shared: &'a Shared,
    asked: &'a Asked,
    binding: Binding<'a>,
    answers: Answers,
    /// What was asked and answered in this run: this, and nothing else, is carried on.
    used: Map<String, Value>,
    underway: Underway,
}

impl<'a> Dialogue<'a> {
    /// The call begins with [`Self::end`]. With `may_be_task`, its handler may say things that only a task can tell.
    pub(super) fn begin(
        shared: &'a Arc<Shared>,
        asked: &'a Asked,
        target: &'a str,
        new: NewCall,
        params: &Object<'_>,
        may_be_task: bool,
    ) -> Result<Self, Refusal> {
        let binding = Binding {
            method: &asked.method,
            target,
            operation: new.operation.spec.id(),
            input: new.input.clone(),
            caller: asked.caller.id(),
        };
        let answers = match asked.generation {
            Generation::Stateless => Answers::read(shared, &binding, params)?,
            Generation::Handshake => Answers::default(),
        };
        Ok(Self {
            shared,
            asked,
            binding,
            answers,
            used: Map::new(),
            underway: Underway::new(shared, new, offers(asked, may_be_task), asked.held.clone()),
        })
    }

    /// The call itself, for somebody else to end it.
    pub(super) fn into_underway(self) -> Underway {
        self.underway
    }

    /// Waits for the end of the call. For a client of the newer generation, whoever waits may stop, and wait again.
    pub(super) async fn end(&mut self) -> Ended {
        let Self {
            shared,
            asked,
            binding,
            answers,
            used,
            underway,
        } = self;
        let asked: &Asked = asked;
        let mut waiting = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(told) = underway.told.recv() => pass_on(asked, told),
                Some(line::Questions { id, list }) = underway.asked.recv() => {
                    let list = questions::read(&list);
                    if asked.generation == Generation::Handshake {
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
                        return Ended::NeedsInput(needed(shared, asked, binding, used, &open));
                    }
                },
                Some((id, question, answer)) = waiting.next(), if !waiting.is_empty() => {
                    shared.host.answer_host(&id, &question.told(&answer));
                }
                done = &mut underway.work => {
                    // The handler runs on another thread: it may have spoken after the first branch found nothing.
                    while let Ok(told) = underway.told.try_recv() {
                        pass_on(asked, told);
                    }
                    return Ended::Done(done);
                }
            }
        }
    }
}

/// Tells the client what the handler told. What the client does not read fast enough is left out.
fn pass_on(asked: &Asked, told: Told) {
    let message = match told {
        Told::Progress(note) => {
            let token = asked.token.as_deref();
            token.and_then(|token| progress::notification(token, &note))
        }
        Told::Log(line) => log_line(&line, asked.level),
    };
    if let (Some(out), Some(message)) = (&asked.out, message) {
        let _ = out.try_send(message);
    }
}

/// What a handler may say, as JSON; nothing where nobody would hear it.
fn offers(asked: &Asked, may_be_task: bool) -> Option<String> {
    let mut offers = Map::new();
    let mut add = |name: &str, value: Value| offers.insert(name.to_owned(), value);
    let is_streamed = asked.out.is_some();
    if may_be_task || (is_streamed && asked.token.is_some()) {
        add("progress", Value::Bool(true));
    }
    if let Some(level) = asked.level.filter(|_| is_streamed) {
        add("log", json!(level.name()));
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
    let open = open.iter().map(|question| (&*question.key, *question));
    let mut result = json!({
        "resultType": "input_required",
        "inputRequests": questions::input_requests(open),
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

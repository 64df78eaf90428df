//! A call whose handler may ask its client meanwhile (elicitation, sampling, roots). Older clients get requests from us;
//! newer ones get a result that says what is needed, and call again with the answers.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::client_requests::{self, Answer, ClientRequest};
use super::logging::Level;
use super::message::{self, INVALID_PARAMS, Refusal};
use super::progress;
use super::protocol_version::ProtocolVersion;
use super::request::{RequestContext, SERVER_KEY};
use super::running_call::RunningCall;
use super::seal::Binding;
use crate::call::NewCall;
use crate::client_channel::{self, CallerMessage};
use crate::service::Shared;

/// In the sealed state: the id that a call keeps while its client answers. Clients cannot answer to it.
const CALL_KEY: &str = "operations/call";

/// How the keys of requests for approvals begin (`facade/serve/client-channel.ts`).
const APPROVAL_KEY: &str = "approval-";

/// How a call ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// With an envelope or an error.
    Done(Result<ResponseEnvelope, CallError>),
    /// It needs more from the client: a result, as JSON.
    NeedsInput(String),
}

/// The responses of a client of the stateless protocol so far.
#[derive(Debug, Default)]
struct InputResponses(Map<String, Value>);

impl InputResponses {
    fn read(shared: &Shared, binding: &Binding<'_>, params: &Object<'_>) -> Result<Self, Refusal> {
        let refused = |message: &str| Refusal::new(INVALID_PARAMS, message);
        let mut answers = Map::new();
        // Clients may respond without a state, as the conformance suite does: then there were no earlier requests.
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
            answers.extend(given.into_iter().filter(|(name, _)| name != CALL_KEY));
        }
        Ok(Self(answers))
    }

    fn to(&self, request: &ClientRequest) -> Option<&Value> {
        let answer = self.0.get(&request.key);
        answer.filter(|answer| request.is_answered_by(answer))
    }
}

/// Calls an operation for a request, whose target is a tool, a prompt or a resource.
pub(super) async fn call(
    shared: &Arc<Shared>,
    context: &RequestContext,
    target: &str,
    new: NewCall,
    params: &Object<'_>,
) -> Result<Ended, Refusal> {
    let mut call = InteractiveCall::begin(shared, context, target, new, params, false)?;
    Ok(call.end().await)
}

/// A call whose handler and client can exchange messages.
pub(super) struct InteractiveCall<'a> {
    shared: &'a Shared,
    context: &'a RequestContext,
    binding: Binding<'a>,
    answers: InputResponses,
    /// What was requested and answered in this run: only this goes into `requestState`.
    used: Map<String, Value>,
    running: RunningCall,
}

impl<'a> InteractiveCall<'a> {
    /// The call begins with [`Self::end`]. With `may_be_task`, its handler may report what only a task can pass on.
    pub(super) fn begin(
        shared: &'a Arc<Shared>,
        context: &'a RequestContext,
        target: &'a str,
        new: NewCall,
        params: &Object<'_>,
        may_be_task: bool,
    ) -> Result<Self, Refusal> {
        let binding = Binding {
            method: &context.method,
            target,
            operation: new.operation.spec.id(),
            input: new.input.clone(),
            caller: context.caller.id(),
        };
        let answers = match context.protocol {
            ProtocolVersion::Stateless => InputResponses::read(shared, &binding, params)?,
            ProtocolVersion::Handshake => InputResponses::default(),
        };
        let mut offers = offers(context, may_be_task);
        if offers.contains_key("elicit") {
            let keys = answers.0.keys();
            let answered = keys.filter_map(|key| key.strip_prefix(APPROVAL_KEY));
            let approve = approvals(shared, context, &answered.collect::<Vec<_>>());
            offers.insert("approve".to_owned(), approve);
        }
        let mut used = Map::new();
        // A handler that is called again with the answers can find what it did before.
        if context.protocol == ProtocolVersion::Stateless && offers.contains_key("elicit") {
            let earlier = answers.0.get(CALL_KEY);
            let key = earlier
                .cloned()
                .unwrap_or_else(|| Uuid::new_v4().to_string().into());
            offers.insert(
                "call".to_owned(),
                json!({ "key": key, "isAgain": earlier.is_some() }),
            );
            used.insert(CALL_KEY.to_owned(), key);
        }
        let offers = (!offers.is_empty()).then(|| Value::Object(offers).to_string());
        Ok(Self {
            shared,
            context,
            binding,
            answers,
            used,
            running: RunningCall::new(shared, new, offers, context.held.clone()),
        })
    }

    /// The call itself, to be finished elsewhere.
    pub(super) fn into_running_call(self) -> RunningCall {
        self.running
    }

    /// Waits for the end of the call. For a client of the stateless protocol, this is cancel safe.
    pub(super) async fn end(&mut self) -> Ended {
        let Self {
            shared,
            context,
            binding,
            answers,
            used,
            running,
        } = self;
        let context: &RequestContext = context;
        let mut waiting = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(message) = running.messages.recv() => pass_on(context, message),
                Some(client_channel::ClientRequests { id, list }) = running.requests.recv() => {
                    let list = client_requests::read(&list);
                    if context.protocol == ProtocolVersion::Handshake {
                        for request in list {
                            let id = id.clone();
                            waiting.push(async move {
                                let answer = ask_client(context, &request).await;
                                (id, request, answer)
                            });
                        }
                        continue;
                    }
                    let (known, open): (Vec<_>, Vec<_>) =
                        list.iter().partition(|each| answers.to(each).is_some());
                    for request in known {
                        if let Some(answer) = answers.to(request) {
                            used.insert(request.key.clone(), answer.clone());
                            shared.js.respond_to_js(&id, &request.to_js(&Ok(answer.clone())));
                        }
                    }
                    if !open.is_empty() {
                        return Ended::NeedsInput(needed(shared, context, binding, used, &open));
                    }
                },
                Some((id, request, answer)) = waiting.next(), if !waiting.is_empty() => {
                    shared.js.respond_to_js(&id, &request.to_js(&answer));
                }
                done = &mut running.work => {
                    // The handler runs on another thread: it may have sent a message after the first branch found none.
                    while let Ok(message) = running.messages.try_recv() {
                        pass_on(context, message);
                    }
                    return Ended::Done(done);
                }
            }
        }
    }
}

/// Sends the client what the handler reported. What the client does not read fast enough is dropped.
fn pass_on(context: &RequestContext, message: CallerMessage) {
    let notification = match message {
        CallerMessage::Progress(note) => {
            let token = context.token.as_deref();
            token.and_then(|token| progress::notification(token, &note))
        }
        CallerMessage::Log(line) => log_line(&line, context.level),
    };
    if let (Some(out), Some(notification)) = (&context.out, notification) {
        let _ = out.try_send(notification);
    }
}

/// What a handler may send; nothing where the client can receive nothing.
fn offers(context: &RequestContext, may_be_task: bool) -> Map<String, Value> {
    let mut offers = Map::new();
    let mut add = |name: &str, value: Value| offers.insert(name.to_owned(), value);
    let is_streamed = context.out.is_some();
    if may_be_task || (is_streamed && context.token.is_some()) {
        add("progress", Value::Bool(true));
    }
    if let Some(level) = context.level.filter(|_| is_streamed) {
        add("log", json!(level.name()));
    }
    // Newer clients get the requests in the result.
    if context.out.is_some() || context.protocol == ProtocolVersion::Stateless {
        for (name, is_able) in context.client.request_kinds() {
            if is_able {
                add(name, Value::Bool(true));
            }
        }
    }
    offers
}

/// How the client can be asked for an approval, and the ids of those that it has answered to.
pub(super) fn approvals(shared: &Shared, context: &RequestContext, answered: &[&str]) -> Value {
    let client = context.client;
    let explorer = client.urls.then(|| shared.explorer_url()).flatten();
    json!({ "forms": !client.urls_only, "explorer": explorer, "answered": answered })
}

/// Asks an older client, as soon as it has read what waits for it.
async fn ask_client(context: &RequestContext, request: &ClientRequest) -> Answer {
    let session = context.session.as_deref().unwrap_or_default();
    let entry = context.client_requests.ask(session, context.caller.id());
    let request = request_text(entry.id(), request);
    match &context.out {
        Some(out) if out.send(request).await.is_ok() => entry.answer().await,
        _ => Err("The client is gone".to_owned()),
    }
}

/// The notification for a log line, which is a JSON object; `None` where the client does not want it.
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

fn request_text(id: &str, request: &ClientRequest) -> String {
    let method = Value::String(request.method.clone());
    let params = &request.params;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// The result that says what is needed.
fn needed(
    shared: &Shared,
    context: &RequestContext,
    binding: &Binding<'_>,
    answers: &Map<String, Value>,
    open: &[&ClientRequest],
) -> String {
    let open = open.iter().map(|request| (&*request.key, *request));
    let mut result = json!({
        "resultType": "input_required",
        "inputRequests": client_requests::input_requests(open),
        "_meta": { SERVER_KEY: context.server },
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

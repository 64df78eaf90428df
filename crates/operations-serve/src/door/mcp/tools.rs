//! Calls of tools.

use std::sync::Arc;

use operations_core::clock;
use operations_core::error::CallError;
use operations_core::json::{self, Object};
use operations_core::nearest::nearest;
use operations_core::registry::Operation;
use serde_json::Value;
use tokio::time::timeout;

use super::catalog::{Catalog, Output, Tool};
use super::dialogue::{Dialogue, Ended};
use super::generation::{self, Generation};
use super::message::{INVALID_PARAMS, Refusal};
use super::request::{Asked, Reply};
use super::result::{self, Failed};
use super::spilled;
use super::tasks::{self, NoTask, Wanted};
use super::underway::Underway;
use crate::door::http::request::LEVELS_ABOVE_INPUT;
use crate::identity::Caller;
use crate::service::Shared;

pub(super) async fn call(
    shared: &Arc<Shared>,
    catalog: &Catalog,
    asked: &Asked,
    params: &Object<'_>,
) -> Reply {
    let refused = |message: &str| Reply::Refused(Refusal::new(INVALID_PARAMS, message));
    let Some(name) = params.string("name") else {
        return refused("\"name\" must be a string");
    };
    let tool = catalog.tool(&name);
    let found = tool.and_then(|tool| Some((tool, shared.calls.tool(&tool.listed.id)?)));
    let Some((tool, operation)) = found else {
        let is_served = |id: &str| shared.calls.tool(id).is_some();
        let known = catalog.tool_names_for(asked.caller.identity.as_ref(), is_served);
        let hint = nearest(&name, known).map(|name| format!(". Did you mean {name}?"));
        return refused(&format!("Unknown tool: {name}{}", hint.unwrap_or_default()));
    };
    if let Some(refusal) = asked.client.lacks(&tool.requires, asked.generation) {
        return Reply::Refused(refusal);
    }
    let arguments = params.get("arguments");
    if arguments.is_some_and(|arguments| !arguments.starts_with('{')) {
        return refused("\"arguments\" must be an object");
    }
    let checked = arguments.map(|text| json::check_below(LEVELS_ABOVE_INPUT, text));
    if let Some(Err(why)) = checked {
        return refused(&format!("\"arguments\" cannot be read: {why}"));
    }
    if let Err(refusal) = check_headers(tool, asked, arguments) {
        return Reply::Refused(refusal);
    }
    let mut wanted = match tasks::wanted(shared, asked, tool.task, params) {
        Ok(wanted) => wanted,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let mut new = asked.call(&operation, tool.input(arguments));
    new.takes_files = true;
    new.via = Some(asked.via(Some(&name)));
    // Before anything is stored. The plain call is then denied like any other, with its status and its record in the audit.
    if wanted.is_some() && shared.calls.authorize(&new).await.is_err() {
        wanted = None;
    }
    let finishing = Finishing::new(asked, operation, tool.output);
    if let Some(Wanted { keep, after: None }) = wanted {
        match tasks::create(shared, asked, keep).await {
            Ok(draft) => {
                new.deadline = draft.until();
                let offers = Some(tasks::run::offers(asked));
                let call = Underway::new(shared, new, offers, asked.held.clone());
                return tasks::begin(shared, asked, draft, call, finishing);
            }
            // It can be called, even so, unless it takes too long for that.
            Err(NoTask::Broken) if !tool.task.is_some_and(|task| task.required) => {}
            Err(why) => return Reply::Refused(why.refusal()),
        }
    }
    let later = wanted.and_then(|Wanted { keep, after }| Some((keep, after?)));
    if let Some((keep, _)) = later {
        new.deadline = Some(clock::now() + keep);
    }
    let dialogue = Dialogue::begin(shared, asked, &name, new, params, later.is_some());
    let mut dialogue = match dialogue {
        Ok(dialogue) => dialogue,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let ended = match later {
        None => dialogue.end().await,
        Some((keep, after)) => match timeout(after, dialogue.end()).await {
            Ok(ended) => ended,
            Err(_) => match tasks::create(shared, asked, keep).await {
                Ok(draft) => {
                    let call = dialogue.into_underway();
                    return tasks::begin(shared, asked, draft, call, finishing);
                }
                Err(_) => dialogue.end().await,
            },
        },
    };
    match ended {
        Ended::Done(done) => finishing.reply(shared, done),
        Ended::NeedsInput(result) => Reply::Result(result.into()),
    }
}

/// What stands between the two sides routes calls by headers; they must not say something else than the arguments.
fn check_headers(tool: &Tool, asked: &Asked, arguments: Option<&str>) -> Result<(), Refusal> {
    let Some(headers) = asked.headers.as_ref().filter(|_| !tool.mirrored.is_empty()) else {
        return Ok(());
    };
    let arguments = arguments.and_then(|text| serde_json::from_str(text).ok());
    let arguments = arguments.unwrap_or(Value::Null);
    let mut all = tool.mirrored.iter();
    all.try_for_each(|each| each.check(&arguments, headers))
        .map_err(generation::mismatch)
}

/// What is needed to make a result of what a call gave, now or when the request is long forgotten.
#[derive(Debug)]
pub(super) struct Finishing {
    operation: Arc<Operation>,
    output: Output,
    generation: Generation,
    /// What the server says about itself.
    server: Value,
    /// Who may read a large result.
    caller: Arc<Caller>,
    pub(super) request_id: Arc<str>,
}

impl Finishing {
    fn new(asked: &Asked, operation: Arc<Operation>, output: Output) -> Self {
        Self {
            operation,
            output,
            generation: asked.generation,
            server: asked.server.clone(),
            caller: Arc::clone(&asked.caller),
            request_id: Arc::clone(&asked.request_id),
        }
    }

    /// What is said of an envelope, which is JSON, or an error.
    pub(super) fn reply(&self, shared: &Shared, done: Result<String, CallError>) -> Reply {
        let info = (self.generation == Generation::Stateless).then_some(&self.server);
        let error = match done {
            Err(error) => error,
            Ok(envelope) => {
                let id = self.operation.spec.id();
                let draft = match spilled::offered(shared, &envelope, &self.caller) {
                    Some(file) => spilled::draft(&envelope, &id, self.output, &file),
                    None => result::of_envelope(
                        &envelope,
                        &id,
                        self.output,
                        self.generation,
                        &shared.calls.headers,
                    ),
                };
                match draft {
                    Some(draft) => return Reply::Result(draft.finished(info).into()),
                    // We or the host wrote it; anything that is not an envelope is of no use to a client.
                    None => CallError::new("UNKNOWN_ERROR", "The answer is no envelope"),
                }
            }
        };
        let error = result::masked(shared, error, &self.request_id);
        match result::of_error(error, &self.operation.spec, self.caller.identity.is_some()) {
            Failed::Told(draft) => Reply::Result(draft.finished(info).into()),
            Failed::Refused(refusal) => Reply::Refused(refusal),
            Failed::Denied(refusal, draft) => Reply::Denied(refusal, draft.finished(info)),
            Failed::Silence => Reply::Silence,
        }
    }
}

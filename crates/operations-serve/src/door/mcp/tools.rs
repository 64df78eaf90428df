//! Calls of tools.

use std::sync::Arc;

use operations_core::error::CallError;
use operations_core::json::{self, Object};
use operations_core::registry::Operation;
use serde_json::Value;

use super::catalog::{Catalog, Output};
use super::dialogue::{self, Ended};
use super::generation::Generation;
use super::message::{INVALID_PARAMS, Refusal};
use super::request::{Asked, Reply};
use super::result::{self, Failed};
use super::spilled;
use super::tasks;
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
        return refused(&format!("Unknown tool: {name}"));
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
    let keep = match tasks::wanted(shared, asked, tool.task, params) {
        Ok(keep) => keep,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let mut new = asked.call(&operation, tool.input(arguments));
    new.takes_files = true;
    let mut finishing = Finishing::new(asked, operation, tool.output);
    if let Some(keep) = keep {
        (new, finishing) = match tasks::begin(shared, asked, new, finishing, keep).await {
            Ok(reply) => return reply,
            Err(plain) => plain,
        };
    }
    match dialogue::call(shared, asked, &name, new, params).await {
        Ok(Ended::Done(done)) => finishing.reply(shared, done),
        Ok(Ended::NeedsInput(result)) => Reply::Result(result.into()),
        Err(refusal) => Reply::Refused(refusal),
    }
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
        shared.log_masked(&self.request_id, &error);
        match result::of_error(error, &self.operation.spec, self.caller.identity.is_some()) {
            Failed::Told(draft) => Reply::Result(draft.finished(info).into()),
            Failed::Refused(refusal) => Reply::Refused(refusal),
            Failed::Denied(refusal, draft) => Reply::Denied(refusal, draft.finished(info)),
            Failed::Silence => Reply::Silence,
        }
    }
}

//! Calls of tools.

use std::sync::Arc;

use operations_core::clock;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::{self, Object};
use operations_core::nearest::nearest;
use operations_core::registry::Operation;
use serde_json::Value;
use tokio::time::timeout;

use super::catalog::{Catalog, Output, Tool};
use super::interactive_call::{Ended, InteractiveCall};
use super::message::{INVALID_PARAMS, Refusal};
use super::protocol_version::{self, ProtocolVersion};
use super::request::{Reply, RequestContext};
use super::result::{self, Failed};
use super::running_call::RunningCall;
use super::spilled;
use super::tasks::{self, NoTask, TaskRequest};
use crate::door::http::request::LEVELS_ABOVE_INPUT;
use crate::identity::Caller;
use crate::service::Shared;

pub(super) async fn call(
    shared: &Arc<Shared>,
    catalog: &Catalog,
    context: &RequestContext,
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
        let known = catalog.tool_names_for(context.caller.identity.as_ref(), is_served);
        let hint = nearest(&name, known).map(|name| format!(". Did you mean {name}?"));
        return refused(&format!("Unknown tool: {name}{}", hint.unwrap_or_default()));
    };
    if let Some(refusal) = context.client.lacks(&tool.requires, context.protocol) {
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
    if let Err(refusal) = check_headers(tool, context, arguments) {
        return Reply::Refused(refusal);
    }
    let mut task_request = match tasks::requested(shared, context, tool.task, params) {
        Ok(task_request) => task_request,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let mut new = context.call(&operation, tool.input(arguments));
    new.takes_files = true;
    new.via = Some(context.via(Some(&name)));
    // Before anything is stored. The plain call is then denied like any other, with its status and its record in the audit.
    if task_request.is_some() && shared.calls.authorize(&new).await.is_err() {
        task_request = None;
    }
    let finishing = Finishing::new(context, operation, tool.output);
    if let Some(TaskRequest { keep, after: None }) = task_request {
        match tasks::create(shared, context, keep).await {
            Ok(draft) => {
                new.deadline = draft.until();
                let offers = Some(tasks::run::offers(shared, context));
                let call = RunningCall::new(shared, new, offers, context.held.clone());
                return tasks::begin(shared, context, draft, call, finishing);
            }
            // It can be called, even so, unless it takes too long for that.
            Err(NoTask::Broken) if !tool.task.is_some_and(|task| task.required) => {}
            Err(why) => return Reply::Refused(why.refusal()),
        }
    }
    let later = task_request.and_then(|TaskRequest { keep, after }| Some((keep, after?)));
    if let Some((keep, _)) = later {
        new.deadline = Some(clock::now() + keep);
    }
    let call = InteractiveCall::begin(shared, context, &name, new, params, later.is_some());
    let mut call = match call {
        Ok(call) => call,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let ended = match later {
        None => call.end().await,
        Some((keep, after)) => match timeout(after, call.end()).await {
            Ok(ended) => ended,
            Err(_) => match tasks::create(shared, context, keep).await {
                Ok(draft) => {
                    let call = call.into_running_call();
                    return tasks::begin(shared, context, draft, call, finishing);
                }
                Err(_) => call.end().await,
            },
        },
    };
    match ended {
        Ended::Done(done) => finishing.reply(shared, done),
        Ended::NeedsInput(result) => Reply::Result(result.into()),
    }
}

/// Proxies route calls by headers; they must match the arguments.
fn check_headers(
    tool: &Tool,
    context: &RequestContext,
    arguments: Option<&str>,
) -> Result<(), Refusal> {
    let Some(headers) = context
        .headers
        .as_ref()
        .filter(|_| !tool.mirrored.is_empty())
    else {
        return Ok(());
    };
    let arguments = arguments.and_then(|text| serde_json::from_str(text).ok());
    let arguments = arguments.unwrap_or(Value::Null);
    let mut all = tool.mirrored.iter();
    all.try_for_each(|each| each.check(&arguments, headers))
        .map_err(protocol_version::mismatch)
}

/// What is needed to make a result of the outcome of a call, now or long after its request.
#[derive(Debug)]
pub(super) struct Finishing {
    operation: Arc<Operation>,
    output: Output,
    protocol: ProtocolVersion,
    /// What the server says about itself.
    server: Value,
    /// Who may read a large result.
    caller: Arc<Caller>,
    pub(super) request_id: Arc<str>,
}

impl Finishing {
    fn new(context: &RequestContext, operation: Arc<Operation>, output: Output) -> Self {
        Self {
            operation,
            output,
            protocol: context.protocol,
            server: context.server.clone(),
            caller: Arc::clone(&context.caller),
            request_id: Arc::clone(&context.request_id),
        }
    }

    /// The result for an envelope or an error.
    pub(super) fn reply(
        &self,
        shared: &Shared,
        done: Result<ResponseEnvelope, CallError>,
    ) -> Reply {
        let info = (self.protocol == ProtocolVersion::Stateless).then_some(&self.server);
        let error = match done {
            Err(error) => error,
            Ok(envelope) => {
                let id = self.operation.spec.id();
                let draft = match spilled::offered(shared, &envelope, &self.caller) {
                    Some(file) => Some(spilled::draft(&envelope, &id, self.output, &file)),
                    None => result::of_envelope(
                        &envelope,
                        &id,
                        self.output,
                        self.protocol,
                        &shared.calls.headers,
                    ),
                };
                match draft {
                    Some(draft) => return Reply::Result(draft.finished(info).into()),
                    // We or JavaScript wrote it; anything that is not an envelope is of no use to a client.
                    None => CallError::new("UNKNOWN_ERROR", "The response is not an envelope"),
                }
            }
        };
        let error = result::masked(shared, error, &self.request_id);
        match result::of_error(error, &self.operation.spec, self.caller.identity.is_some()) {
            Failed::Result(draft) => Reply::Result(draft.finished(info).into()),
            Failed::Refused(refusal) => Reply::Refused(refusal),
            Failed::Denied(refusal, draft) => Reply::Denied(refusal, draft.finished(info)),
            Failed::Silence => Reply::Silence,
        }
    }
}

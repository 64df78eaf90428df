//! Calls of tools.

use operations_core::error::CallError;
use operations_core::json::{self, Object};

use super::catalog::Catalog;
use super::dialogue::{self, Ended};
use super::generation::Generation;
use super::message::{INVALID_PARAMS, Refusal};
use super::request::{Asked, Reply};
use super::result::{self, Failed};
use super::spilled;
use crate::door::http::request::LEVELS_ABOVE_INPUT;
use crate::failure;
use crate::service::Shared;

pub(super) async fn call(
    shared: &Shared,
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
    let mut new = asked.call(&operation, tool.input(arguments));
    new.takes_files = true;
    let info = (asked.generation == Generation::Stateless).then_some(&asked.server);
    let done = match dialogue::call(shared, asked, &name, new, params).await {
        Ok(Ended::Done(done)) => done,
        Ok(Ended::NeedsInput(result)) => return Reply::Result(result.into()),
        Err(refusal) => return Reply::Refused(refusal),
    };
    let error = match done {
        Err(error) => error,
        Ok(envelope) => {
            let file = spilled::offered(shared, &envelope, &asked.caller);
            let draft = match file {
                Some(file) => spilled::draft(&envelope, &tool.listed.id, tool.output, &file),
                None => result::of_envelope(
                    &envelope,
                    &tool.listed.id,
                    tool.output,
                    asked.generation,
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
    if failure::is_masked(&error) {
        shared.log_failure(&asked.request_id, &error);
    }
    let has_identity = asked.caller.identity.is_some();
    match result::of_error(error, &operation.spec, has_identity) {
        Failed::Told(draft) => Reply::Result(draft.finished(info).into()),
        Failed::Refused(refusal) => Reply::Refused(refusal),
        Failed::Denied(refusal, draft) => Reply::Denied(refusal, draft.finished(info)),
        Failed::Silence => Reply::Silence,
    }
}

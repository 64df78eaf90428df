//! Requests about tasks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::lock::locked;
use serde_json::{Map, Value};
use tokio::time::timeout;
use uuid::Uuid;

use super::store::{Record, Status};
use super::support::undeclared;
use super::{Live, Tasks, caller_of, wire};
use crate::door::mcp::message::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use crate::door::mcp::protocol_version::ProtocolVersion;
use crate::door::mcp::request::RequestContext;
use crate::service::Shared;

/// How long a request to cancel waits until the work has ended.
const SETTLING: Duration = Duration::from_secs(1);

/// Answers a request about tasks.
pub(in super::super) async fn answer(
    shared: &Arc<Shared>,
    context: &RequestContext,
    params: &Object<'_>,
) -> Option<Result<Bytes, Refusal>> {
    let tasks = shared.mcp.tasks.as_ref()?;
    let is_stateless = context.protocol == ProtocolVersion::Stateless;
    let is_known = match context.method.as_str() {
        "tasks/get" | "tasks/cancel" => true,
        "tasks/update" => is_stateless,
        "tasks/result" => !is_stateless,
        _ => false,
    };
    if !is_known {
        return None;
    }
    if is_stateless && !context.client.tasks {
        return Some(Err(undeclared()));
    }
    let found = match tasks.find(shared, context, params).await {
        Ok(found) => found,
        Err(refusal) => return Some(Err(refusal)),
    };
    Some(match context.method.as_str() {
        "tasks/get" => tasks.get(shared, context, found).await,
        "tasks/cancel" => tasks.cancel(shared, context, found).await,
        "tasks/update" => update(shared, context, &found, params),
        _ => tasks.result(shared, context, found).await,
    })
}

/// A task that was asked about.
enum Found {
    Live(Arc<Live>),
    Stored(Record),
}

impl Found {
    fn record(&self) -> &Record {
        match self {
            Self::Live(live) => &live.record,
            Self::Stored(record) => record,
        }
    }
}

/// The error for a client when the task store does not answer. The reason is logged.
fn unreadable(shared: &Shared, context: &RequestContext, error: &CallError) -> Refusal {
    let message = format!("A task cannot be read: {}", error.message);
    shared.log_failure(&context.request_id, &CallError::failed(message));
    Refusal::new(
        INTERNAL_ERROR,
        "The task cannot be read at the moment. Try again later",
    )
}

impl Tasks {
    /// A task of the caller, by the name that a request has.
    async fn find(
        &self,
        shared: &Shared,
        context: &RequestContext,
        params: &Object<'_>,
    ) -> Result<Found, Refusal> {
        let Some(name) = params.string("taskId") else {
            return Err(Refusal::new(INVALID_PARAMS, "\"taskId\" must be a string"));
        };
        // Tasks of others look the same as unknown ones.
        let unknown = || Refusal::new(INVALID_PARAMS, format!("Unknown task: {name}"));
        let id = Uuid::try_parse(&name).map_err(|_| unknown())?;
        let caller = caller_of(context);
        if let Some(live) = self.live(id) {
            return if live.record.caller == caller {
                Ok(Found::Live(live))
            } else {
                Err(unknown())
            };
        }
        let read = self.store.read(id).await;
        let read = read.map_err(|error| unreadable(shared, context, &error))?;
        let record = read.filter(|record| record.caller == caller);
        record.map(Found::Stored).ok_or_else(unknown)
    }

    async fn get(
        &self,
        shared: &Shared,
        context: &RequestContext,
        found: Found,
    ) -> Result<Bytes, Refusal> {
        let mut task = match &found {
            Found::Live(live) => {
                let talk = locked(&live.talk);
                wire::task(&live.record, Some(&talk), &self.options, context.protocol)
            }
            Found::Stored(record) => wire::task(record, None, &self.options, context.protocol),
        };
        if context.protocol == ProtocolVersion::Handshake {
            return Ok(Value::Object(task).to_string().into());
        }
        if let Found::Stored(record) = &found {
            if let Some(error) = &record.error {
                task.insert("error".to_owned(), error.clone());
            }
            if record.status == Status::Completed {
                let result = self.kept_result(shared, context, record.id).await?;
                return Ok(wire::result_with(task, context, &result).into());
            }
        }
        Ok(wire::result(task, context, "complete").into())
    }

    async fn kept_result(
        &self,
        shared: &Shared,
        context: &RequestContext,
        id: Uuid,
    ) -> Result<String, Refusal> {
        let read = self.store.result(id).await;
        read.map_err(|error| unreadable(shared, context, &error))
    }

    async fn cancel(
        &self,
        shared: &Shared,
        context: &RequestContext,
        found: Found,
    ) -> Result<Bytes, Refusal> {
        let is_stateless = context.protocol == ProtocolVersion::Stateless;
        let live = match found {
            Found::Live(live) => live,
            Found::Stored(record) if record.status == Status::Working => {
                let message = "Another process works on this task, and only that one can cancel it";
                return Err(Refusal::new(INTERNAL_ERROR, message));
            }
            Found::Stored(_) if is_stateless => {
                return Ok(wire::result(Map::new(), context, "complete").into());
            }
            Found::Stored(record) => {
                let message = format!("The task is {} already", record.status.name());
                return Err(Refusal::new(INVALID_PARAMS, message));
            }
        };
        live.cancel.cancel();
        let mut ended = live.ended.clone();
        // It may take longer, and ends all the same.
        let _ = timeout(SETTLING, ended.wait_for(|ended| *ended))
            .await
            .is_ok();
        if is_stateless {
            return Ok(wire::result(Map::new(), context, "complete").into());
        }
        match self.store.read(live.record.id).await {
            Ok(Some(record)) => self.get(shared, context, Found::Stored(record)).await,
            _ => self.get(shared, context, Found::Live(live)).await,
        }
    }

    /// The result for a client of the handshake protocol, who waits for it.
    async fn result(
        &self,
        shared: &Shared,
        context: &RequestContext,
        found: Found,
    ) -> Result<Bytes, Refusal> {
        let id = found.record().id;
        let record = match found {
            Found::Stored(record) => record,
            Found::Live(live) => {
                let mut ended = live.ended.clone();
                let within = context.deadline.map_or(Duration::MAX, clock::until);
                let is_late = timeout(within, ended.wait_for(|ended| *ended))
                    .await
                    .is_err();
                if is_late {
                    let message = "The task goes on. Ask again";
                    return Err(Refusal::new(INTERNAL_ERROR, message));
                }
                let read = self.store.read(id).await;
                let read = read.map_err(|error| unreadable(shared, context, &error))?;
                read.ok_or_else(|| Refusal::new(INTERNAL_ERROR, "The task has expired"))?
            }
        };
        match record.status {
            Status::Completed => {
                let result = self.kept_result(shared, context, id).await?;
                Ok(wire::related(&result, id).into())
            }
            Status::Working => Err(Refusal::new(
                INTERNAL_ERROR,
                "Another process works on this task. Ask again",
            )),
            Status::Cancelled => Err(Refusal::new(INTERNAL_ERROR, "The task was cancelled")),
            Status::Failed => Err(wire::refusal(record.error.as_ref())),
        }
    }
}

/// `tasks/update`: a client responds to a handler's requests. Responses without a request are ignored.
fn update(
    shared: &Shared,
    context: &RequestContext,
    found: &Found,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    let given = params.get("inputResponses");
    let given: Map<String, Value> = given
        .and_then(|given| serde_json::from_str(given).ok())
        .ok_or_else(|| Refusal::new(INVALID_PARAMS, "\"inputResponses\" must be an object"))?;
    if let Found::Live(live) = found {
        let mut talk = locked(&live.talk);
        let mut is_changed = false;
        for (key, answer) in given {
            let is_answer = talk
                .open
                .get(&key)
                .is_some_and(|(_, question)| question.is_answered_by(&answer));
            if is_answer && let Some((waiting, question)) = talk.open.remove(&key) {
                talk.updated = clock::now().floor();
                shared
                    .js
                    .respond_to_js(&waiting, &question.to_js(&Ok(answer)));
                is_changed = true;
            }
        }
        drop(talk);
        if let Some(tasks) = shared.mcp.tasks.as_ref().filter(|_| is_changed) {
            tasks.changed(live);
        }
    }
    Ok(wire::result(Map::new(), context, "complete").into())
}

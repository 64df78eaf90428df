//! What clients ask about their tasks.

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
use super::wanted::undeclared;
use super::{Live, Tasks, caller_of, wire};
use crate::door::mcp::generation::Generation;
use crate::door::mcp::message::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use crate::door::mcp::request::Asked;
use crate::service::Shared;

/// How long somebody who cancels waits until the work has ended.
const SETTLING: Duration = Duration::from_secs(1);

/// Answers a request about tasks.
pub(in super::super) async fn answer(
    shared: &Arc<Shared>,
    asked: &Asked,
    params: &Object<'_>,
) -> Option<Result<Bytes, Refusal>> {
    let tasks = shared.mcp.tasks.as_ref()?;
    let is_stateless = asked.generation == Generation::Stateless;
    let is_known = match asked.method.as_str() {
        "tasks/get" | "tasks/cancel" => true,
        "tasks/update" => is_stateless,
        "tasks/result" => !is_stateless,
        _ => false,
    };
    if !is_known {
        return None;
    }
    if is_stateless && !asked.client.tasks {
        return Some(Err(undeclared()));
    }
    let found = match tasks.find(shared, asked, params).await {
        Ok(found) => found,
        Err(refusal) => return Some(Err(refusal)),
    };
    Some(match asked.method.as_str() {
        "tasks/get" => tasks.get(shared, asked, found).await,
        "tasks/cancel" => tasks.cancel(shared, asked, found).await,
        "tasks/update" => update(shared, asked, &found, params),
        _ => tasks.result(shared, asked, found).await,
    })
}

/// A task that was asked about.
enum Found {
    Live(Arc<Live>),
    Kept(Record),
}

impl Found {
    fn record(&self) -> &Record {
        match self {
            Self::Live(live) => &live.record,
            Self::Kept(record) => record,
        }
    }
}

/// What a client hears when the place where tasks are kept does not answer. The operator hears why.
fn unreadable(shared: &Shared, asked: &Asked, error: &CallError) -> Refusal {
    let message = format!("A task cannot be read: {}", error.message);
    shared.log_failure(&asked.request_id, &CallError::failed(message));
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
        asked: &Asked,
        params: &Object<'_>,
    ) -> Result<Found, Refusal> {
        let Some(name) = params.string("taskId") else {
            return Err(Refusal::new(INVALID_PARAMS, "\"taskId\" must be a string"));
        };
        // The same is said of tasks of others.
        let unknown = || Refusal::new(INVALID_PARAMS, format!("Unknown task: {name}"));
        let id = Uuid::try_parse(&name).map_err(|_| unknown())?;
        let caller = caller_of(asked);
        if let Some(live) = self.live(id) {
            return if live.record.caller == caller {
                Ok(Found::Live(live))
            } else {
                Err(unknown())
            };
        }
        let read = self.store.read(id).await;
        let read = read.map_err(|error| unreadable(shared, asked, &error))?;
        let record = read.filter(|record| record.caller == caller);
        record.map(Found::Kept).ok_or_else(unknown)
    }

    async fn get(&self, shared: &Shared, asked: &Asked, found: Found) -> Result<Bytes, Refusal> {
        let mut task = match &found {
            Found::Live(live) => {
                let talk = locked(&live.talk);
                wire::task(&live.record, Some(&talk), &self.options, asked.generation)
            }
            Found::Kept(record) => wire::task(record, None, &self.options, asked.generation),
        };
        if asked.generation == Generation::Handshake {
            return Ok(Value::Object(task).to_string().into());
        }
        if let Found::Kept(record) = &found {
            if let Some(error) = &record.error {
                task.insert("error".to_owned(), error.clone());
            }
            if record.status == Status::Completed {
                let result = self.kept_result(shared, asked, record.id).await?;
                return Ok(wire::result_with(task, asked, &result).into());
            }
        }
        Ok(wire::result(task, asked, "complete").into())
    }

    async fn kept_result(
        &self,
        shared: &Shared,
        asked: &Asked,
        id: Uuid,
    ) -> Result<String, Refusal> {
        let read = self.store.result(id).await;
        read.map_err(|error| unreadable(shared, asked, &error))
    }

    async fn cancel(&self, shared: &Shared, asked: &Asked, found: Found) -> Result<Bytes, Refusal> {
        let is_stateless = asked.generation == Generation::Stateless;
        let live = match found {
            Found::Live(live) => live,
            Found::Kept(record) if record.status == Status::Working => {
                let message = "Another process works on this task, and only that one can cancel it";
                return Err(Refusal::new(INTERNAL_ERROR, message));
            }
            Found::Kept(_) if is_stateless => {
                return Ok(wire::result(Map::new(), asked, "complete").into());
            }
            Found::Kept(record) => {
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
            return Ok(wire::result(Map::new(), asked, "complete").into());
        }
        match self.store.read(live.record.id).await {
            Ok(Some(record)) => self.get(shared, asked, Found::Kept(record)).await,
            _ => self.get(shared, asked, Found::Live(live)).await,
        }
    }

    /// The result for a client of the older generation, who waits for it.
    async fn result(&self, shared: &Shared, asked: &Asked, found: Found) -> Result<Bytes, Refusal> {
        let id = found.record().id;
        let record = match found {
            Found::Kept(record) => record,
            Found::Live(live) => {
                let mut ended = live.ended.clone();
                let within = asked.deadline.map_or(Duration::MAX, clock::until);
                let is_late = timeout(within, ended.wait_for(|ended| *ended))
                    .await
                    .is_err();
                if is_late {
                    let message = "The task goes on. Ask again";
                    return Err(Refusal::new(INTERNAL_ERROR, message));
                }
                let read = self.store.read(id).await;
                let read = read.map_err(|error| unreadable(shared, asked, &error))?;
                read.ok_or_else(|| Refusal::new(INTERNAL_ERROR, "The task is kept no longer"))?
            }
        };
        match record.status {
            Status::Completed => {
                let result = self.kept_result(shared, asked, id).await?;
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

/// A client answers what a handler wants to know. Answers to nothing that was asked are left out.
fn update(
    shared: &Shared,
    asked: &Asked,
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
                    .host
                    .answer_host(&waiting, &question.told(&Ok(answer)));
                is_changed = true;
            }
        }
        drop(talk);
        if let Some(tasks) = shared.mcp.tasks.as_ref().filter(|_| is_changed) {
            tasks.changed(live);
        }
    }
    Ok(wire::result(Map::new(), asked, "complete").into())
}

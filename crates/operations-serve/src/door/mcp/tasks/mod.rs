//! Calls that outlast their requests: a client gets the name of a task, asks how far it is, and fetches the result when it is
//! there. Clients of 2026-07-28 declare the extension and are given a task by us; those of 2025-11-25 ask for one themselves.

pub(super) mod run;
mod store;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::store::{NoRoom, Record, Status, Store};
use super::generation::Generation;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal};
use super::questions::Question;
use super::request::{Asked, Reply};
use super::tools::Finishing;
use super::underway::Underway;
use crate::identity::Caller;
use crate::service::Shared;

/// The extension of 2026-07-28.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How long somebody who cancels waits until the work has ended.
const SETTLING: Duration = Duration::from_secs(1);
/// Changes that a slow listener has not heard of yet.
const WAITING_CHANGES: usize = 1_024;

/// How a tool can be called as a task.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Support {
    /// Whether it takes too long for anything else.
    pub(super) required: bool,
    /// After how many milliseconds a call of the newer generation becomes a task, where that is not at once.
    #[serde(default)]
    pub(super) after: Option<f64>,
}

impl Support {
    pub(super) fn name(self) -> &'static str {
        if self.required {
            "required"
        } else {
            "optional"
        }
    }
}

/// How a call is to be a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wanted {
    /// How long it is kept, in milliseconds.
    pub(super) keep: f64,
    /// How long it is a plain call; nothing if it never is.
    pub(super) after: Option<Duration>,
}

/// How tasks are kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOptions {
    /// The folder.
    pub dir: PathBuf,
    /// For how long, from the beginning of a task, in milliseconds.
    pub keep: f64,
    /// How often clients should ask, in milliseconds.
    pub poll: f64,
}

/// The tasks of a server.
#[derive(Debug)]
pub(super) struct Tasks {
    options: TaskOptions,
    store: Arc<Store>,
    /// Those that this process works on.
    live: Mutex<HashMap<Uuid, Arc<Live>>>,
    /// Those that are not what they were.
    changes: broadcast::Sender<Changed>,
}

/// A task that is not what it was.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub(super) id: Uuid,
    /// The session of the older generation that has begun it.
    session: Option<Arc<str>>,
}

impl Changed {
    /// Whether this session has begun it.
    pub(super) fn is_of(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }
}

/// A task that is under way.
#[derive(Debug)]
struct Live {
    record: Record,
    session: Option<Arc<str>>,
    cancel: CancellationToken,
    talk: Mutex<Talk>,
    /// Whether its end is kept.
    ended: watch::Receiver<bool>,
}

/// What its handler has said.
#[derive(Debug, Default)]
struct Talk {
    /// Unix milliseconds.
    updated: f64,
    message: Option<String>,
    /// What it wants to know: who waits for the answer, and the question.
    open: BTreeMap<String, (Arc<str>, Question)>,
    /// How many questions it has asked.
    asked: u64,
}

impl Tasks {
    pub(super) fn new(options: TaskOptions) -> Self {
        let store = Arc::new(Store::new(options.dir.clone()));
        Self {
            options,
            store,
            live: Mutex::default(),
            changes: broadcast::Sender::new(WAITING_CHANGES),
        }
    }

    /// What becomes of tasks from now on.
    pub(super) fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.subscribe()
    }

    fn changed(&self, live: &Live) {
        // Nobody may be listening.
        let _ = self.changes.send(Changed {
            id: live.record.id,
            session: live.session.clone(),
        });
    }

    /// A task as `tasks/get` would tell of it: the members of an object, as JSON. Nothing where the caller has none of this name.
    pub(super) async fn told(
        &self,
        caller: &Caller,
        id: Uuid,
        generation: Generation,
    ) -> Option<String> {
        let caller = caller.identity.as_ref().map(|identity| &identity.id);
        let is_theirs = |record: &Record| record.caller.as_ref() == caller;
        if let Some(live) = self.live(id) {
            let said = locked(&live.talk);
            let task = wire::task(&live.record, Some(&said), &self.options, generation);
            return is_theirs(&live.record).then(|| wire::members(task));
        }
        let read = self.on_disk(move |store| store.read(id)).await;
        let record = read.and_then(|read| read).ok().flatten();
        let record = record.filter(is_theirs)?;
        let mut task = wire::task(&record, None, &self.options, generation);
        if generation == Generation::Handshake {
            return Some(wire::members(task));
        }
        if let Some(error) = &record.error {
            task.insert("error".to_owned(), error.clone());
        }
        let mut members = wire::members(task);
        if record.status == Status::Completed {
            let result = self.on_disk(move |store| store.result(id)).await;
            let result = result.and_then(|result| result).ok()?;
            members.push_str(",\"result\":");
            members.push_str(&result);
        }
        Some(members)
    }

    /// Reads and writes files, which may take a while.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> io::Result<T> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(io::Error::other)
    }

    fn live(&self, id: Uuid) -> Option<Arc<Live>> {
        locked(&self.live).get(&id).cloned()
    }

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
        let read = self.on_disk(move |store| store.read(id)).await;
        let read = read.and_then(|read| read).map_err(|error| {
            let error = CallError::failed(format!("A task cannot be read: {error}"));
            shared.log_failure(&asked.request_id, &error);
            Refusal::new(INTERNAL_ERROR, "The task cannot be read")
        })?;
        let record = read.filter(|record| record.caller == caller);
        record.map(Found::Kept).ok_or_else(unknown)
    }
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

/// Why a task has no result that its process did not live to make.
fn lost() -> Value {
    json!({
        "code": INTERNAL_ERROR,
        "message": "The process that worked on this task has ended, and what it did is not known. Call again if that does no harm",
    })
}

fn caller_of(asked: &Asked) -> Option<String> {
    let identity = asked.caller.identity.as_ref();
    identity.map(|identity| identity.id.clone())
}

/// Whether a call of a tool is to be a task.
pub(super) fn wanted(
    shared: &Shared,
    asked: &Asked,
    support: Option<Support>,
    params: &Object<'_>,
) -> Result<Option<Wanted>, Refusal> {
    let Some(tasks) = &shared.mcp.tasks else {
        return Ok(None);
    };
    let keep = tasks.options.keep;
    let is_required = support.is_some_and(|support| support.required);
    if asked.generation == Generation::Stateless {
        return match support {
            Some(Support { after, .. }) if asked.client.tasks => Ok(Some(Wanted {
                keep,
                after: after.map(clock::milliseconds),
            })),
            _ if is_required => Err(undeclared()),
            _ => Ok(None),
        };
    }
    match (params.object("task"), support) {
        (Some(task), Some(_)) => {
            let asked = task.number("ttl").filter(|ttl| *ttl > 0.0);
            Ok(Some(Wanted {
                keep: asked.map_or(keep, |ttl| ttl.min(keep).ceil()),
                // The client wants one, and gets one.
                after: None,
            }))
        }
        (None, _) if is_required => Err(Refusal::new(
            METHOD_NOT_FOUND,
            "This tool takes too long for a plain call. Call it as a task",
        )),
        (None, _) => Ok(None),
        (Some(_), None) => Err(Refusal::new(
            METHOD_NOT_FOUND,
            "This tool cannot be called as a task. Call it without \"task\"",
        )),
    }
}

/// A client of the newer generation must say that it knows tasks.
pub(super) fn undeclared() -> Refusal {
    super::client::missing(
        "This needs a client with the extension for tasks",
        &json!({ "extensions": { EXTENSION: {} } }),
        Generation::Stateless,
    )
}

/// Why a call does not become a task.
pub(super) enum NoTask {
    /// There are too many.
    Full,
    /// They cannot be kept; the operator knows why.
    Broken,
}

impl NoTask {
    /// What a client is told who cannot do without.
    pub(super) fn refusal(&self) -> Refusal {
        let message = match self {
            Self::Full => "There are too many tasks. Try again later",
            Self::Broken => "Tasks cannot be kept at the moment. Try again later",
        };
        Refusal::new(INTERNAL_ERROR, message)
    }
}

/// A new task, for a call that is to become one.
pub(super) async fn create(shared: &Shared, asked: &Asked, keep: f64) -> Result<Draft, NoTask> {
    let tasks = shared.mcp.tasks.as_ref().ok_or(NoTask::Broken)?;
    let (caller, store) = (caller_of(asked), Arc::clone(&tasks.store));
    let created = tasks
        .on_disk(move |known| {
            let record = known.create(caller.as_deref(), keep)?;
            // If nobody waits for it any more, it is dropped right here.
            Ok(Draft {
                store,
                record: Some(record),
            })
        })
        .await;
    match created.map_err(NoRoom::Broken).and_then(|created| created) {
        Ok(draft) => Ok(draft),
        Err(NoRoom::Full) => Err(NoTask::Full),
        Err(NoRoom::Broken(error)) => {
            let error = CallError::failed(format!("Tasks cannot be kept: {error}"));
            shared.log_failure(&asked.request_id, &error);
            Err(NoTask::Broken)
        }
    }
}

/// A task that nobody works on yet. To drop it is to remove it: a client that left before it learnt the name of its task
/// could neither ask for it nor cancel it.
#[derive(Debug)]
pub(super) struct Draft {
    store: Arc<Store>,
    record: Option<Record>,
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            self.store.remove(record.id);
        }
    }
}

/// From now on, a call is a task: what its client is told.
pub(super) fn begin(
    shared: &Arc<Shared>,
    asked: &Asked,
    mut draft: Draft,
    call: Underway,
    finishing: Finishing,
) -> Reply {
    let (Some(tasks), Some(record)) = (&shared.mcp.tasks, draft.record.take()) else {
        return Reply::Refused(NoTask::Broken.refusal());
    };
    let talk = Talk {
        updated: record.updated,
        ..Talk::default()
    };
    let (end, ended) = watch::channel(false);
    let live = Arc::new(Live {
        record,
        session: asked.session.as_deref().map(Into::into),
        cancel: CancellationToken::new(),
        talk: Mutex::new(talk),
        ended,
    });
    locked(&tasks.live).insert(live.record.id, Arc::clone(&live));
    let told = wire::task(&live.record, None, &tasks.options, asked.generation);
    let text = match asked.generation {
        Generation::Handshake => json!({ "task": told }).to_string(),
        Generation::Stateless => wire::result(told, asked, "task"),
    };
    tokio::spawn(run::run(Arc::clone(shared), live, call, finishing, end));
    Reply::Result(text.into())
}

/// Answers a request about tasks.
pub(super) async fn answer(
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

impl Tasks {
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
        let read = self.on_disk(move |store| store.result(id)).await;
        read.and_then(|read| read).map_err(|error| {
            let error = CallError::failed(format!("The result of a task cannot be read: {error}"));
            shared.log_failure(&asked.request_id, &error);
            Refusal::new(INTERNAL_ERROR, "The result cannot be read")
        })
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
        let _ = timeout(SETTLING, ended.wait_for(|ended| *ended))
            .await
            .is_ok();
        if is_stateless {
            return Ok(wire::result(Map::new(), asked, "complete").into());
        }
        let id = live.record.id;
        let read = self.on_disk(move |store| store.read(id)).await;
        match read.and_then(|read| read) {
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
                let read = self.on_disk(move |store| store.read(id)).await;
                let gone = || Refusal::new(INTERNAL_ERROR, "The task cannot be read");
                read.and_then(|read| read).ok().flatten().ok_or_else(gone)?
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

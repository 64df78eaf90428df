//! Calls that outlast their requests: a client gets the name of a task, asks how far it is, and fetches the result when it is
//! there. Clients of 2026-07-28 declare the extension and are given a task by us; those of 2025-11-25 ask for one themselves.

mod begin;
mod requests;
pub(super) mod run;
mod store;
mod support;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

pub(super) use self::begin::{NoTask, begin, create};
pub(super) use self::requests::answer;
use self::store::{Record, Status, Store};
pub(super) use self::support::{Support, TaskRequest, requested, undeclared};
use super::client_requests::ClientRequest;
use super::message::INTERNAL_ERROR;
use super::protocol_version::ProtocolVersion;
use super::request::RequestContext;
use crate::identity::Caller;

/// The extension of 2026-07-28.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Changes that a slow subscriber has not received yet.
const WAITING_CHANGES: usize = 1_024;

/// How tasks are kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOptions {
    /// The folder.
    #[serde(default)]
    pub dir: Option<PathBuf>,
    /// The Redis, instead of a folder: the options of a connection, which hold a password.
    #[serde(default)]
    pub redis: Option<Secret>,
    /// For how long, from the beginning of a task, in milliseconds.
    pub keep: f64,
    /// How often clients should ask, in milliseconds.
    pub poll: f64,
    /// How many bytes all results together may have.
    pub max_bytes: u64,
}

/// JSON that is not to be printed.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(Box<RawValue>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The tasks of a server.
#[derive(Debug)]
pub(super) struct Tasks {
    options: TaskOptions,
    store: Arc<Store>,
    /// Those that this process works on.
    live: Mutex<HashMap<Uuid, Arc<Live>>>,
    /// Those that have changed.
    changes: broadcast::Sender<Changed>,
    /// Work that a server which closes waits for.
    tracker: TaskTracker,
}

/// A task that has changed.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub(super) id: Uuid,
    /// The session of the handshake protocol that has begun it.
    session: Option<Arc<str>>,
}

impl Changed {
    /// Whether this session has begun it.
    pub(super) fn is_of(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }
}

/// A task that is running.
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
    /// The last sign of progress: `{ progress, total?, message? }`.
    progress: Option<Value>,
    /// Its open requests to the client: who waits for the response, and the request.
    open: BTreeMap<String, (Arc<str>, ClientRequest)>,
    /// How many requests it has made.
    asked_count: u64,
}

impl Tasks {
    /// Nothing is read or connected yet.
    pub(super) fn new(options: TaskOptions) -> Result<Self, CallError> {
        let store = Arc::new(Store::new(&options)?);
        Ok(Self {
            options,
            store,
            live: Mutex::default(),
            changes: broadcast::Sender::new(WAITING_CHANGES),
            tracker: TaskTracker::new(),
        })
    }

    /// Waits until the end of every task is stored, or cannot be.
    pub(super) async fn stored(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// What becomes of tasks from now on.
    pub(super) fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.subscribe()
    }

    fn changed(&self, live: &Live) {
        // There may be no receiver.
        let _ = self.changes.send(Changed {
            id: live.record.id,
            session: live.session.clone(),
        });
    }

    /// A task as `tasks/get` has it: the members of an object, as JSON. `None` where the caller has no such task.
    pub(super) async fn members(
        &self,
        caller: &Caller,
        id: Uuid,
        protocol: ProtocolVersion,
    ) -> Option<String> {
        let caller = caller.identity.as_ref().map(|identity| &identity.id);
        let is_theirs = |record: &Record| record.caller.as_ref() == caller;
        if let Some(live) = self.live(id) {
            let said = locked(&live.talk);
            let task = wire::task(&live.record, Some(&said), &self.options, protocol);
            return is_theirs(&live.record).then(|| wire::members(task));
        }
        let record = self.store.read(id).await.ok().flatten();
        let record = record.filter(is_theirs)?;
        let mut task = wire::task(&record, None, &self.options, protocol);
        if protocol == ProtocolVersion::Handshake {
            return Some(wire::members(task));
        }
        if let Some(error) = &record.error {
            task.insert("error".to_owned(), error.clone());
        }
        let mut members = wire::members(task);
        if record.status == Status::Completed {
            let result = self.store.result(id).await.ok()?;
            members.push_str(",\"result\":");
            members.push_str(&result);
        }
        Some(members)
    }

    fn live(&self, id: Uuid) -> Option<Arc<Live>> {
        locked(&self.live).get(&id).cloned()
    }
}

/// Why a task has no result that its process did not live to make.
fn lost() -> Value {
    json!({
        "code": INTERNAL_ERROR,
        "message": "The process that worked on this task has ended, and what it did is not known. Call again if that does no harm",
    })
}

fn caller_of(context: &RequestContext) -> Option<String> {
    let identity = context.caller.identity.as_ref();
    identity.map(|identity| identity.id.clone())
}

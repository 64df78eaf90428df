//! The beginning of a task.

use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::lock::locked;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::store::{NoRoom, Record, Store};
use super::{Live, Talk, caller_of, run, wire};
use crate::door::mcp::generation::Generation;
use crate::door::mcp::message::{INTERNAL_ERROR, Refusal};
use crate::door::mcp::request::{Asked, Reply};
use crate::door::mcp::tools::Finishing;
use crate::door::mcp::underway::Underway;
use crate::service::Shared;

/// Why a call does not become a task.
pub(in super::super) enum NoTask {
    /// There are too many.
    Full,
    /// They cannot be kept; the operator knows why.
    Broken,
}

impl NoTask {
    /// What a client is told who cannot do without.
    pub(in super::super) fn refusal(&self) -> Refusal {
        let message = match self {
            Self::Full => "There are too many tasks. Try again later",
            Self::Broken => "Tasks cannot be kept at the moment. Try again later",
        };
        Refusal::new(INTERNAL_ERROR, message)
    }
}

/// A new task, for a call that is to become one.
pub(in super::super) async fn create(
    shared: &Shared,
    asked: &Asked,
    keep: f64,
) -> Result<Draft, NoTask> {
    let tasks = shared.mcp.tasks.as_ref().ok_or(NoTask::Broken)?;
    let (caller, store) = (caller_of(asked), Arc::clone(&tasks.store));
    // On its own, so that it is dropped right there if nobody waits for it any more.
    let tracker = tasks.tracker.clone();
    let created = tasks.tracker.spawn(async move {
        let record = store.create(caller, keep).await?;
        Ok(Draft {
            store,
            tracker,
            record: Some(record),
        })
    });
    let broken = |error: JoinError| NoRoom::Broken(CallError::unknown(error.to_string()));
    match created.await.map_err(broken).and_then(|created| created) {
        Ok(draft) => Ok(draft),
        Err(NoRoom::Full) => Err(NoTask::Full),
        Err(NoRoom::Broken(error)) => {
            let message = format!("Tasks cannot be kept: {}", error.message);
            shared.log_failure(&asked.request_id, &CallError::failed(message));
            Err(NoTask::Broken)
        }
    }
}

/// A task that nobody works on yet. To drop it is to remove it: a client that left before it learnt the name of its task
/// could neither ask for it nor cancel it.
#[derive(Debug)]
pub(in super::super) struct Draft {
    store: Arc<Store>,
    tracker: TaskTracker,
    record: Option<Record>,
}

impl Draft {
    /// When it is kept no longer, in Unix milliseconds. Whatever comes later is of no use.
    pub(in super::super) fn until(&self) -> Option<f64> {
        self.record.as_ref().map(Record::until)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let (Some(record), Ok(runtime)) = (self.record.take(), Handle::try_current()) {
            let store = Arc::clone(&self.store);
            let removal = async move { store.remove(&record).await };
            self.tracker.spawn_on(removal, &runtime);
        }
    }
}

/// From now on, a call is a task: what its client is told.
pub(in super::super) fn begin(
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
    let work = run::run(Arc::clone(shared), live, call, finishing, end);
    tasks.tracker.spawn(work);
    Reply::Result(text.into())
}

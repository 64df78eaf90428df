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
use crate::door::mcp::message::{INTERNAL_ERROR, Refusal};
use crate::door::mcp::protocol_version::ProtocolVersion;
use crate::door::mcp::request::{Reply, RequestContext};
use crate::door::mcp::running_call::RunningCall;
use crate::door::mcp::tools::Finishing;
use crate::service::Shared;

/// Why a call does not become a task.
pub(in super::super) enum NoTask {
    /// There are too many.
    Full,
    /// They cannot be stored; the reason is logged.
    Broken,
}

impl NoTask {
    /// The error for a client that needs a task.
    pub(in super::super) fn refusal(&self) -> Refusal {
        let message = match self {
            Self::Full => "There are too many tasks. Try again later",
            Self::Broken => "Tasks cannot be stored at the moment. Try again later",
        };
        Refusal::new(INTERNAL_ERROR, message)
    }
}

/// A new task, for a call that is to become one.
pub(in super::super) async fn create(
    shared: &Shared,
    context: &RequestContext,
    keep: f64,
) -> Result<Draft, NoTask> {
    let tasks = shared.mcp.tasks.as_ref().ok_or(NoTask::Broken)?;
    let (caller, store) = (caller_of(context), Arc::clone(&tasks.store));
    // On its own, so that it is dropped right there if it is not waited for any more.
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
            let message = format!("Tasks cannot be stored: {}", error.message);
            shared.log_failure(&context.request_id, &CallError::failed(message));
            Err(NoTask::Broken)
        }
    }
}

/// A task that is not worked on yet. To drop it is to remove it: a client that left before it learnt the name of its task
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

/// From now on, a call is a task: the result that its client gets.
pub(in super::super) fn begin(
    shared: &Arc<Shared>,
    context: &RequestContext,
    mut draft: Draft,
    call: RunningCall,
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
        session: context.session.as_deref().map(Into::into),
        cancel: CancellationToken::new(),
        talk: Mutex::new(talk),
        ended,
    });
    locked(&tasks.live).insert(live.record.id, Arc::clone(&live));
    let members = wire::task(&live.record, None, &tasks.options, context.protocol);
    let text = match context.protocol {
        ProtocolVersion::Handshake => json!({ "task": members }).to_string(),
        ProtocolVersion::Stateless => wire::result(members, context, "task"),
    };
    let work = run::run(Arc::clone(shared), live, call, finishing, end);
    tasks.tracker.spawn(work);
    Reply::Result(text.into())
}

//! What is served, as peers are told of it: whole specs, without the rules who may call them.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use operations_core::access::{AccessControl, Identity, enforce_access};
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use uuid::Uuid;

use crate::host::Wanted;
use crate::service::Shared;

/// How long the host may take to describe its operations.
const PATIENCE: Duration = Duration::from_secs(60);

/// An operation as the host describes it (`facade/call/described.ts`).
#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    access: AccessControl,
    /// What others see of it.
    spec: Box<RawValue>,
}

/// The operations of a registry, at one time.
#[derive(Debug)]
pub(super) struct List {
    revision: u64,
    operations: Vec<Listed>,
}

impl List {
    /// Those that somebody may call, each as JSON.
    pub(super) fn shown_to(
        &self,
        identity: Option<&Identity>,
        is_shown: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let may = |listed: &&Listed| {
            enforce_access(&listed.access, identity, &listed.id).is_ok() && is_shown(&listed.id)
        };
        let shown = self.operations.iter().filter(may);
        shown.map(|listed| listed.spec.get().to_owned()).collect()
    }
}

/// The newest list that is known.
#[derive(Debug, Default)]
pub(super) struct Kept {
    newest: RwLock<Option<Arc<List>>>,
    /// Whoever finds it outdated asks the host; the others wait for that.
    turn: tokio::sync::Mutex<()>,
}

impl Kept {
    /// The list as it is now.
    pub(super) async fn current(&self, shared: &Shared) -> Result<Arc<List>, CallError> {
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        let _turn = self.turn.lock().await;
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        // What changes while it is described makes it outdated.
        let revision = shared.calls.revision();
        let id: Arc<str> = Uuid::new_v4().to_string().into();
        let asked = |_: &str| r#"{"describe":"hub"}"#.to_owned();
        let about = "the list of operations";
        let answers = shared.host.ask(&id, about, Wanted::One, None, asked)?;
        let text = timeout(PATIENCE, answers.first()).await.map_err(|_| {
            CallError::new(Code::Timeout, "It took too long to list the operations")
        })??;
        let operations = serde_json::from_str(&text).map_err(|error| {
            CallError::unknown(format!("The list of operations cannot be read: {error}"))
        })?;
        let list = Arc::new(List {
            revision,
            operations,
        });
        *writing(&self.newest) = Some(Arc::clone(&list));
        Ok(list)
    }

    fn newest(&self, shared: &Shared) -> Option<Arc<List>> {
        let revision = shared.calls.revision();
        reading(&self.newest)
            .as_ref()
            .filter(|list| list.revision == revision)
            .map(Arc::clone)
    }
}

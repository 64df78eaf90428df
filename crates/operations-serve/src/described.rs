//! What is made of the host's description of its operations, kept until they change.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use tokio::sync::Mutex;
use tokio::time::timeout;
use uuid::Uuid;

use crate::host::Wanted;
use crate::service::Shared;

/// How long the host may take to describe its operations.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that is made of a description.
pub(crate) trait Described: Sized + Send + Sync + 'static {
    /// What the host is asked, as JSON.
    const QUESTION: &'static str;

    /// Reads what the host says. `revision` is how often what is served had changed before.
    fn read(text: &str, revision: u64) -> Result<Self, CallError>;

    /// That number.
    fn revision(&self) -> u64;
}

/// The newest that is known.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    newest: RwLock<Option<Arc<T>>>,
    /// Whoever finds it outdated asks the host; the others wait for that.
    turn: Mutex<()>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            newest: RwLock::default(),
            turn: Mutex::default(),
        }
    }
}

impl<T: Described> Kept<T> {
    /// As it is now.
    pub(crate) async fn current(&self, shared: &Shared) -> Result<Arc<T>, CallError> {
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
        let about = "the list of operations";
        let asked = |_: &str| T::QUESTION.to_owned();
        let answers = shared.host.ask(&id, about, Wanted::One, None, asked)?;
        let text = timeout(PATIENCE, answers.first()).await.map_err(|_| {
            CallError::new(Code::Timeout, "It took too long to list the operations")
        })??;
        let made = tokio::task::spawn_blocking(move || T::read(&text, revision)).await;
        let made = made.map_err(|error| CallError::unknown(error.to_string()))?;
        let made = Arc::new(made?);
        *writing(&self.newest) = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The same, if it is known.
    pub(crate) fn newest(&self, shared: &Shared) -> Option<Arc<T>> {
        let revision = shared.calls.revision();
        let newest = reading(&self.newest);
        newest
            .as_ref()
            .filter(|newest| newest.revision() == revision)
            .map(Arc::clone)
    }
}

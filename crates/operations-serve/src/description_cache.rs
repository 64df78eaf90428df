//! What is made of JavaScript's description of its operations, kept until they change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use tokio::sync::Mutex;
use tokio::time::timeout;
use uuid::Uuid;

use crate::js_bridge::Expect;
use crate::service::Shared;

/// How long JavaScript may take to describe its operations.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that is made of a description.
pub(crate) trait FromDescription: Sized + Send + Sync + 'static {
    /// What JavaScript is asked, as JSON.
    const REQUEST: &'static str;

    /// Reads what JavaScript says. `revision` is how often what is served had changed before.
    fn read(text: &str, revision: u64) -> Result<Self, CallError>;

    /// That number.
    fn revision(&self) -> u64;
}

/// The newest that is known.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    newest: RwLock<Option<Arc<T>>>,
    /// The first that finds it outdated asks JavaScript; the others wait for that.
    turn: Mutex<()>,
    /// How many there were.
    made: AtomicU64,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self {
            newest: RwLock::default(),
            turn: Mutex::default(),
            made: AtomicU64::new(0),
        }
    }
}

impl<T: FromDescription> Cached<T> {
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
        let asked = |_: &str| T::REQUEST.to_owned();
        let answers = shared.js.request(&id, about, Expect::One, None, asked)?;
        let text = timeout(PATIENCE, answers.first())
            .await
            .map_err(|_| CallError::new(Code::Timeout, "Listing the operations took too long"))??;
        let made = tokio::task::spawn_blocking(move || T::read(&text, revision)).await;
        let made = made.map_err(|error| CallError::unknown(error.to_string()))?;
        let made = Arc::new(made?);
        self.made.fetch_add(1, Ordering::AcqRel);
        *writing(&self.newest) = Some(Arc::clone(&made));
        Ok(made)
    }

    /// How many there were so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
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

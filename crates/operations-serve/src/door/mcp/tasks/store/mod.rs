//! Tasks where they outlive the process that works on them. What a task is, and what becomes of it, is decided here; a
//! [`Backend`] only stores it: a folder, or Redis.

mod folder;
mod redis;

use std::fmt;

use futures::future::BoxFuture;
use operations_core::clock;
use operations_core::error::CallError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use self::folder::Folder;
use self::redis::Redis;
use super::{TaskOptions, lost};
use crate::door::mcp::message::INTERNAL_ERROR;

/// The most tasks that are kept, and of one caller. Those without an identity are one caller.
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 1_000;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Status {
    /// It is running.
    Working,
    /// There is a result.
    Completed,
    /// There is an error of the protocol.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Status {
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is known of a task, but for its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Record {
    pub(in super::super) id: Uuid,
    /// Whose it is; `None` for a caller without an identity.
    pub(in super::super) caller: Option<String>,
    /// The process that works on it.
    pub(in super::super) owner: Uuid,
    pub(in super::super) status: Status,
    /// Unix milliseconds.
    pub(in super::super) created: f64,
    pub(in super::super) updated: f64,
    /// How long it is kept, from its beginning, in milliseconds.
    pub(in super::super) keep: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) error: Option<Value>,
    /// Whether the result says that the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) is_error: bool,
}

impl Record {
    /// When it is kept no longer, in Unix milliseconds.
    pub(super) fn until(&self) -> f64 {
        self.created + self.keep
    }
}

/// How much is kept.
#[derive(Debug, Clone, Copy)]
struct Limits {
    tasks: usize,
    of_one: usize,
    /// All results together.
    bytes: u64,
}

/// Why there is no new task.
#[derive(Debug)]
pub(super) enum NoRoom {
    /// There are too many.
    Full,
    /// Nothing can be kept at the moment.
    Broken(CallError),
}

impl From<CallError> for NoRoom {
    fn from(error: CallError) -> Self {
        Self::Broken(error)
    }
}

/// What became of the end of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saved {
    /// It is kept.
    Yes,
    /// The task has ended already, and its end is final.
    Over,
    /// There is no room for the result beside those that are kept already.
    NoRoom,
    /// No result may be that large here, whatever else is kept: the most bytes of one.
    TooLarge(usize),
}

/// Where tasks are kept, with room within [`Limits`]. Another process may do the same at the same time.
trait Backend: fmt::Debug + Send + Sync {
    /// Keeps a new task. When this resolves, other processes find it.
    fn add<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), NoRoom>>;

    /// What is known of a task.
    fn read(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, CallError>>;

    /// The result of a task, as JSON.
    fn result(&self, id: Uuid) -> BoxFuture<'_, Result<String, CallError>>;

    /// Replaces a task that is running by its end. To do it again does no harm.
    fn end<'a>(
        &'a self,
        record: &'a Record,
        result: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Saved, CallError>>;

    /// Forgets a task that was never begun.
    fn remove<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, ()>;

    /// Whether a process that works on tasks is still there.
    fn is_alive(&self, owner: Uuid) -> BoxFuture<'_, Result<bool, CallError>>;
}

/// The tasks of a server.
#[derive(Debug)]
pub(super) struct Store {
    /// This process, for others.
    instance: Uuid,
    backend: Box<dyn Backend>,
}

impl Store {
    /// Nothing is read or connected yet.
    pub(super) fn new(options: &TaskOptions) -> Result<Self, CallError> {
        let instance = Uuid::new_v4();
        let limits = Limits {
            tasks: MOST,
            of_one: MOST_OF_ONE,
            bytes: options.max_bytes,
        };
        let backend: Box<dyn Backend> = match (&options.redis, &options.dir) {
            (Some(redis), _) => Box::new(Redis::new(redis, instance, limits)?),
            (None, Some(dir)) => Box::new(Folder::new(dir.clone(), instance, limits)),
            (None, None) => {
                return Err(CallError::invalid("serve: tasks need a folder or a Redis"));
            }
        };
        Ok(Self { instance, backend })
    }

    /// A new task of this process.
    pub(super) async fn create(&self, caller: Option<String>, keep: f64) -> Result<Record, NoRoom> {
        let now = clock::now().floor();
        let record = Record {
            id: Uuid::new_v4(),
            caller,
            owner: self.instance,
            status: Status::Working,
            created: now,
            updated: now,
            keep,
            error: None,
            is_error: false,
        };
        self.backend.add(&record).await?;
        Ok(record)
    }

    /// Keeps the end of a task. A result is JSON. An end that was reported is final.
    pub(super) async fn finish(
        &self,
        record: &Record,
        result: Option<&str>,
    ) -> Result<(), CallError> {
        let most = match self.backend.end(record, result).await? {
            Saved::Yes | Saved::Over => return Ok(()),
            Saved::NoRoom => None,
            Saved::TooLarge(most) => Some(most),
        };
        let bytes = result.map_or(0, str::len);
        let failed = Record {
            status: Status::Failed,
            error: Some(not_kept(bytes, most)),
            is_error: false,
            ..record.clone()
        };
        self.backend.end(&failed, None).await?;
        Ok(())
    }

    /// It was never begun.
    pub(super) async fn remove(&self, record: &Record) {
        self.backend.remove(record).await;
    }

    /// What is known of a task; `None` if it does not exist, or was kept for long enough. One whose process has ended without
    /// an end is lost, and is kept as such.
    pub(super) async fn read(&self, id: Uuid) -> Result<Option<Record>, CallError> {
        let Some(record) = self.known(id).await? else {
            return Ok(None);
        };
        let is_lost = record.status == Status::Working
            && record.owner != self.instance
            && !self.backend.is_alive(record.owner).await?;
        if !is_lost {
            return Ok(Some(record));
        }
        let failed = Record {
            status: Status::Failed,
            updated: clock::now().floor(),
            error: Some(lost()),
            ..record
        };
        if self.backend.end(&failed, None).await? == Saved::Yes {
            return Ok(Some(failed));
        }
        // Its process was faster.
        self.known(id).await
    }

    async fn known(&self, id: Uuid) -> Result<Option<Record>, CallError> {
        let record = self.backend.read(id).await?;
        Ok(record.filter(|record| record.until() >= clock::now()))
    }

    /// The result of a task, which is JSON.
    pub(super) async fn result(&self, id: Uuid) -> Result<String, CallError> {
        self.backend.result(id).await
    }
}

/// Why a task has no result although the work is done. `most` is how large one result may be, where that is the reason.
fn not_kept(bytes: usize, most: Option<usize>) -> Value {
    let why = match most {
        None => format!(
            "there is no room for its result of {bytes} bytes. The operator of the server can give more room to tasks (maxBytes)"
        ),
        Some(most) => format!(
            "its result of {bytes} bytes is larger than the {most} bytes that are kept in Redis. \
             Let the operation return less, or keep tasks in a folder"
        ),
    };
    json!({
        "code": INTERNAL_ERROR,
        "message": format!("The call was carried out, but {why}"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("operations-tasks-{}", Uuid::new_v4())))
        }

        fn store(&self, max_bytes: u64) -> Store {
            let options = TaskOptions {
                dir: Some(self.0.clone()),
                redis: None,
                keep: 60_000.0,
                poll: 1_000.0,
                max_bytes,
            };
            Store::new(&options).expect("a store")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn ended(record: &Record, status: Status) -> Record {
        Record {
            status,
            ..record.clone()
        }
    }

    #[tokio::test]
    async fn a_result_outlives_its_process_and_work_does_not() {
        let folder = Scratch::new();
        let first = folder.store(1_000);
        let done = first.create(Some("ada".to_owned()), 60_000.0).await;
        let done = ended(&done.expect("a task"), Status::Completed);
        let running = first.create(None, 60_000.0).await.expect("a task");
        first.finish(&done, Some("{\"a\":1}")).await.expect("kept");
        let second = folder.store(1_000);
        let seen = second.read(running.id).await.expect("readable");
        assert_eq!(seen.expect("there").status, Status::Working);
        drop(first);
        let seen = second.read(running.id).await.expect("readable");
        let seen = seen.expect("there");
        assert_eq!(seen.status, Status::Failed);
        assert!(seen.error.is_some());
        let seen = second.read(done.id).await.expect("readable");
        assert_eq!(seen, Some(done.clone()));
        let result = second.result(done.id).await.expect("a result");
        assert_eq!(result, "{\"a\":1}");
        assert_eq!(second.read(Uuid::new_v4()).await.expect("readable"), None);
    }

    /// A lock without a holder is removed. One that is about to be held must not appear so.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn processes_that_begin_at_the_same_time_know_of_each_other() {
        for _ in 0..50 {
            let folder = Scratch::new();
            fs::create_dir_all(&folder.0).expect("a folder");
            let stores = [(); 8].map(|()| std::sync::Arc::new(folder.store(1_000)));
            let begun = stores.clone().map(|store| {
                tokio::spawn(async move { store.create(None, 60_000.0).await.expect("a task").id })
            });
            for task in begun {
                let id = task.await.expect("an id");
                for store in &stores {
                    let seen = store.read(id).await.expect("readable").expect("there");
                    assert_eq!(seen.status, Status::Working);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_says_what_to_change() {
        let message = |most| not_kept(7, most)["message"].to_string();
        assert!(message(None).contains("(maxBytes)"));
        let larger = message(Some(5));
        assert!(larger.contains("larger than the 5 bytes"), "{larger}");
        assert!(!larger.contains("maxBytes"), "{larger}");
    }

    #[tokio::test]
    async fn an_end_is_final() {
        let folder = Scratch::new();
        let store = folder.store(1_000);
        let task = store.create(None, 60_000.0).await.expect("a task");
        let cancelled = ended(&task, Status::Cancelled);
        store.finish(&cancelled, None).await.expect("kept");
        let late = ended(&task, Status::Completed);
        store.finish(&late, Some("{}")).await.expect("no failure");
        let seen = store.read(task.id).await.expect("readable");
        assert_eq!(seen, Some(cancelled));
    }

    #[tokio::test]
    async fn results_have_so_much_room() {
        let folder = Scratch::new();
        let store = folder.store(10);
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let task = store.create(None, 60_000.0).await.expect("a task");
            let done = ended(&task, Status::Completed);
            store.finish(&done, Some("{\"a\":1}")).await.expect("kept");
            tasks.push(task.id);
        }
        let mut statuses = Vec::new();
        for id in tasks {
            let seen = store.read(id).await.expect("readable").expect("there");
            statuses.push(seen.status);
        }
        assert_eq!(statuses, [Status::Completed, Status::Failed]);
    }

    #[tokio::test]
    async fn what_was_kept_long_enough_goes() {
        let folder = Scratch::new();
        let store = folder.store(1_000);
        let short = store.create(None, -1.0).await.expect("a task");
        assert_eq!(store.read(short.id).await.expect("readable"), None);
        store.create(None, 60_000.0).await.expect("a task");
        assert!(!folder.0.join(format!("{}.json", short.id)).exists());
    }

    #[tokio::test]
    async fn what_ends_too_late_is_not_written_again() {
        let folder = Scratch::new();
        let store = folder.store(1_000);
        for result in [Some("{}"), None] {
            let late = store.create(None, -1.0).await.expect("a task");
            let done = ended(&late, Status::Completed);
            store.finish(&done, result).await.expect("no failure");
            for kind in ["json", "result"] {
                let file = folder.0.join(format!("{}.{kind}", late.id));
                assert!(!file.exists(), "{kind}");
            }
        }
    }

    #[tokio::test]
    async fn what_processes_left_behind_goes_and_what_is_not_ours_stays() {
        let folder = Scratch::new();
        fs::create_dir_all(&folder.0).expect("a folder");
        let (broken, alone) = (Uuid::new_v4(), Uuid::new_v4());
        let half = format!("{broken}.{}.part", Uuid::new_v4());
        let fresh = format!("{alone}.{}.part", Uuid::new_v4());
        let [record, result] = [format!("{broken}.json"), format!("{alone}.result")];
        let notes = "notes.json".to_owned();
        for name in [&half, &fresh, &record, &result, &notes] {
            fs::write(folder.0.join(name), "{").expect("written");
        }
        let file = fs::File::options().append(true).open(folder.0.join(&half));
        let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        let changed = file.and_then(|file| file.set_modified(an_hour_ago));
        changed.expect("changed");
        let store = folder.store(1_000);
        store.create(None, 60_000.0).await.expect("a task");
        let there = |name: &String| folder.0.join(name).exists();
        assert_eq!([&half, &record, &result].map(there), [false; 3]);
        // Another process may be writing it.
        assert_eq!([&fresh, &notes].map(there), [true; 2]);
    }

    #[tokio::test]
    async fn one_caller_cannot_fill_it() {
        let folder = Scratch::new();
        let store = folder.store(1_000);
        for _ in 0..MOST_OF_ONE {
            store.create(None, 60_000.0).await.expect("a task");
        }
        let refused = store.create(None, 60_000.0).await;
        assert!(matches!(refused, Err(NoRoom::Full)));
        assert!(store.create(Some("ada".to_owned()), 60_000.0).await.is_ok());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn other_users_cannot_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        use std::path::Path;
        let folder = Scratch::new();
        let store = folder.store(1_000);
        let task = store.create(None, 60_000.0).await.expect("a task");
        let done = ended(&task, Status::Completed);
        store.finish(&done, Some("{}")).await.expect("kept");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder.0), 0o700);
        for entry in fs::read_dir(&folder.0).expect("a folder") {
            assert_eq!(mode(&entry.expect("a file").path()), 0o600);
        }
    }
}

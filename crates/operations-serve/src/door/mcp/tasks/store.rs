//! Tasks on disk, so that a result outlives the process that made it. A task is two files: a small record, which is replaced
//! as a whole, and the result. Each process holds a lock for as long as it lives; a task whose process no longer holds its
//! lock is lost.

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use operations_core::clock;
use operations_core::lock::locked;
use operations_spill::private;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The most tasks that are kept, and of one caller. Those without an identity are one caller.
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 1_000;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// It is under way.
    Working,
    /// There is a result.
    Completed,
    /// There is an error of the protocol.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
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
pub(super) struct Record {
    pub(super) id: Uuid,
    /// Whose it is; nothing for somebody without an identity.
    pub(super) caller: Option<String>,
    /// The process that works on it.
    pub(super) owner: Uuid,
    pub(super) status: Status,
    /// Unix milliseconds.
    pub(super) created: f64,
    pub(super) updated: f64,
    /// How long it is kept, from its beginning, in milliseconds.
    pub(super) keep: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Value>,
    /// Whether the result says that the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_error: bool,
}

/// A folder with tasks.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    instance: Uuid,
    opened: Mutex<Option<Opened>>,
}

#[derive(Debug)]
struct Opened {
    /// Held until the process ends.
    _lock: File,
    /// The tasks that there are, those that end first at the front.
    known: VecDeque<Known>,
}

#[derive(Debug)]
struct Known {
    id: Uuid,
    caller: Option<String>,
    until: f64,
}

/// Why there is no new task.
#[derive(Debug)]
pub(super) enum NoRoom {
    /// There are too many.
    Full,
    /// The folder cannot be used.
    Broken(io::Error),
}

impl From<io::Error> for NoRoom {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl Store {
    /// The tasks in a folder, which is made when the first one is.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            instance: Uuid::new_v4(),
            opened: Mutex::default(),
        }
    }

    /// A new task. When this returns, others find it.
    pub(super) fn create(&self, caller: Option<&str>, keep: f64) -> Result<Record, NoRoom> {
        let mut opened = locked(&self.opened);
        let opened = match &mut *opened {
            Some(opened) => opened,
            none => none.insert(self.open()?),
        };
        self.forget_old(opened);
        let of_caller = opened
            .known
            .iter()
            .filter(|each| each.caller.as_deref() == caller)
            .count();
        if opened.known.len() >= MOST || of_caller >= MOST_OF_ONE {
            return Err(NoRoom::Full);
        }
        let now = clock::now().floor();
        let record = Record {
            id: Uuid::new_v4(),
            caller: caller.map(str::to_owned),
            owner: self.instance,
            status: Status::Working,
            created: now,
            updated: now,
            keep,
            error: None,
            is_error: false,
        };
        self.write(&record)?;
        opened.known.push_back(Known {
            id: record.id,
            caller: record.caller.clone(),
            until: now + keep,
        });
        Ok(record)
    }

    /// The end of a task; what it was is replaced. A result is JSON.
    pub(super) fn finish(&self, record: &Record, result: Option<&str>) -> io::Result<()> {
        if let Some(result) = result {
            private::replace(&self.result_file(record.id), result.as_bytes())?;
        }
        self.write(record)
    }

    /// It was never begun.
    pub(super) fn remove(&self, id: Uuid) {
        if let Some(opened) = locked(&self.opened).as_mut() {
            opened.known.retain(|known| known.id != id);
        }
        let _ = fs::remove_file(self.record_file(id));
    }

    /// What is known of a task; nothing if there is none, or it was kept for long enough. One whose process has ended without
    /// an end is lost, and is kept as such.
    pub(super) fn read(&self, id: Uuid) -> io::Result<Option<Record>> {
        let text = match fs::read(self.record_file(id)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut record: Record = serde_json::from_slice(&text).map_err(io::Error::other)?;
        if record.created + record.keep < clock::now() {
            return Ok(None);
        }
        if record.status == Status::Working && !self.is_alive(record.owner) {
            record.status = Status::Failed;
            record.updated = clock::now().floor();
            record.error = Some(super::lost());
            self.write(&record)?;
        }
        Ok(Some(record))
    }

    /// The result of a task, which is JSON.
    pub(super) fn result(&self, id: Uuid) -> io::Result<String> {
        fs::read_to_string(self.result_file(id))
    }

    fn is_alive(&self, owner: Uuid) -> bool {
        if owner == self.instance {
            return true;
        }
        let Ok(lock) = File::open(self.lock_file(owner)) else {
            return false;
        };
        match lock.try_lock() {
            Ok(()) => {
                // Nobody else will ever hold it.
                let _ = fs::remove_file(self.lock_file(owner));
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn open(&self) -> io::Result<Opened> {
        private::folder(&self.folder)?;
        let lock = private::new_file(&self.lock_file(self.instance))?;
        lock.try_lock().map_err(io::Error::from)?;
        let mut known = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let owner = path.file_stem().and_then(|name| name.to_str());
            if path
                .extension()
                .is_some_and(|extension| extension == "lock")
                && let Some(owner) = owner.and_then(|owner| Uuid::try_parse(owner).ok())
            {
                // Locks of processes that were killed go.
                self.is_alive(owner);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
                && let Ok(text) = fs::read(&path)
                && let Ok(record) = serde_json::from_slice::<Record>(&text)
            {
                known.push(Known {
                    id: record.id,
                    caller: record.caller,
                    until: record.created + record.keep,
                });
            }
        }
        known.sort_by(|one, other| one.until.total_cmp(&other.until));
        Ok(Opened {
            _lock: lock,
            known: known.into(),
        })
    }

    /// Those that are asked to be kept for less time wait for those before them.
    fn forget_old(&self, opened: &mut Opened) {
        let now = clock::now();
        while let Some(first) = opened.known.front()
            && first.until < now
        {
            // Whatever cannot be removed is not found any more, even so.
            let _ = fs::remove_file(self.record_file(first.id));
            let _ = fs::remove_file(self.result_file(first.id));
            opened.known.pop_front();
        }
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        private::replace(&self.record_file(record.id), &text)
    }

    fn record_file(&self, id: Uuid) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn result_file(&self, id: Uuid) -> PathBuf {
        self.folder.join(format!("{id}.result"))
    }

    fn lock_file(&self, instance: Uuid) -> PathBuf {
        self.folder.join(format!("{instance}.lock"))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if locked(&self.opened).take().is_some() {
            let _ = fs::remove_file(self.lock_file(self.instance));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("operations-tasks-{}", Uuid::new_v4())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_result_outlives_its_process_and_work_does_not() {
        let folder = Folder::new();
        let first = Store::new(folder.0.clone());
        let done = first.create(Some("ada"), 60_000.0).expect("a task");
        let running = first.create(None, 60_000.0).expect("a task");
        let done = Record {
            status: Status::Completed,
            ..done
        };
        first.finish(&done, Some("{\"a\":1}")).expect("kept");
        let second = Store::new(folder.0.clone());
        let seen = second.read(running.id).expect("readable").expect("there");
        assert_eq!(seen.status, Status::Working);
        drop(first);
        let seen = second.read(running.id).expect("readable").expect("there");
        assert_eq!(seen.status, Status::Failed);
        assert!(seen.error.is_some());
        let seen = second.read(done.id).expect("readable").expect("there");
        assert_eq!(seen, done);
        assert_eq!(second.result(done.id).expect("a result"), "{\"a\":1}");
        assert_eq!(second.read(Uuid::new_v4()).expect("readable"), None);
    }

    #[test]
    fn what_was_kept_long_enough_goes() {
        let folder = Folder::new();
        let store = Store::new(folder.0.clone());
        let short = store.create(None, -1.0).expect("a task");
        assert_eq!(store.read(short.id).expect("readable"), None);
        store.create(None, 60_000.0).expect("a task");
        assert!(!store.record_file(short.id).exists());
    }

    #[test]
    fn one_caller_cannot_fill_it() {
        let folder = Folder::new();
        let store = Store::new(folder.0.clone());
        for _ in 0..MOST_OF_ONE {
            store.create(None, 60_000.0).expect("a task");
        }
        assert!(matches!(store.create(None, 60_000.0), Err(NoRoom::Full)));
        assert!(store.create(Some("ada"), 60_000.0).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        use std::path::Path;
        let folder = Folder::new();
        let store = Store::new(folder.0.clone());
        let task = store.create(None, 60_000.0).expect("a task");
        store.finish(&task, Some("{}")).expect("kept");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder.0), 0o700);
        for entry in fs::read_dir(&folder.0).expect("a folder") {
            assert_eq!(mode(&entry.expect("a file").path()), 0o600);
        }
    }
}

//! Tasks in a folder. A task is two files: a small record, which is replaced as a whole, and the result. Each process holds a
//! lock for as long as it lives; a process that no longer holds its lock has ended.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_spill::private;
use uuid::Uuid;

use super::{Backend, Limits, NoRoom, Record, Saved, Status};

/// How long it may take to write a file.
const LONGEST_WRITE: Duration = Duration::from_secs(60);

/// A folder with tasks.
#[derive(Debug)]
pub(super) struct Folder(Arc<Files>);

#[derive(Debug)]
struct Files {
    folder: PathBuf,
    instance: Uuid,
    limits: Limits,
    opened: Mutex<Option<Opened>>,
}

#[derive(Debug)]
struct Opened {
    /// Held until the process ends.
    _lock: File,
    known: Known,
}

/// The tasks that there are, and sums, so that a new one costs the same however many there are.
#[derive(Debug)]
struct Known {
    tasks: HashMap<Uuid, Task>,
    of_callers: HashMap<Option<String>, usize>,
    bytes: u64,
    /// When the next one is kept no longer.
    soonest: f64,
}

#[derive(Debug)]
struct Task {
    caller: Option<String>,
    until: f64,
    /// Of its result.
    bytes: u64,
}

impl Known {
    fn new() -> Self {
        Self {
            tasks: HashMap::new(),
            of_callers: HashMap::new(),
            bytes: 0,
            soonest: f64::INFINITY,
        }
    }

    fn add(&mut self, record: &Record, bytes: u64) {
        let task = Task {
            caller: record.caller.clone(),
            until: record.until(),
            bytes,
        };
        *self.of_callers.entry(task.caller.clone()).or_default() += 1;
        self.bytes += bytes;
        self.soonest = self.soonest.min(task.until);
        self.tasks.insert(record.id, task);
    }

    fn remove(&mut self, id: Uuid) {
        let Some(Task { caller, bytes, .. }) = self.tasks.remove(&id) else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(count) = self.of_callers.get_mut(&caller) {
            *count -= 1;
            if *count == 0 {
                self.of_callers.remove(&caller);
            }
        }
    }

    /// Takes out those that are kept no longer.
    fn take_old(&mut self, now: f64) -> Vec<Uuid> {
        if now <= self.soonest {
            return Vec::new();
        }
        let old = self.tasks.iter().filter(|(_, task)| task.until < now);
        let old: Vec<Uuid> = old.map(|(id, _)| *id).collect();
        for id in &old {
            self.remove(*id);
        }
        let left = self.tasks.values().map(|task| task.until);
        self.soonest = left.fold(f64::INFINITY, f64::min);
        old
    }

    fn has_room(&self, record: &Record, limits: Limits) -> bool {
        let of_caller = self.of_callers.get(&record.caller).copied();
        let of_caller = of_caller.unwrap_or_default();
        self.tasks.len() < limits.tasks && of_caller < limits.of_one
    }

    /// Takes room for the result of a task that is known, if there is enough. To do it again takes no more.
    fn take_room(&mut self, id: Uuid, bytes: u64, limits: Limits) -> bool {
        let Some(task) = self.tasks.get_mut(&id) else {
            return false;
        };
        let others = self.bytes.saturating_sub(task.bytes);
        let all = others.saturating_add(bytes);
        if all > limits.bytes {
            return false;
        }
        self.bytes = all;
        task.bytes = bytes;
        true
    }
}

impl Folder {
    /// The tasks in a folder, which is made when the first one is.
    pub(super) fn new(folder: PathBuf, instance: Uuid, limits: Limits) -> Self {
        Self(Arc::new(Files {
            folder,
            instance,
            limits,
            opened: Mutex::default(),
        }))
    }

    /// Reads and writes files, which may take a while.
    fn on_disk<T, E>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, E> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, E>>
    where
        T: Send + 'static,
        E: From<CallError> + Send + 'static,
    {
        let files = Arc::clone(&self.0);
        async move {
            let done = tokio::task::spawn_blocking(move || work(&files)).await;
            done.unwrap_or_else(|error| Err(broken(&io::Error::other(error)).into()))
        }
        .boxed()
    }
}

impl Backend for Folder {
    fn add<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), NoRoom>> {
        let record = record.clone();
        self.on_disk(move |files| files.add(&record))
    }

    fn read(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, CallError>> {
        self.on_disk(move |files| files.read(id).map_err(|error| broken(&error)))
    }

    fn result(&self, id: Uuid) -> BoxFuture<'_, Result<String, CallError>> {
        self.on_disk(move |files| {
            fs::read_to_string(files.result_file(id)).map_err(|error| broken(&error))
        })
    }

    fn end<'a>(
        &'a self,
        record: &'a Record,
        result: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Saved, CallError>> {
        let (record, result) = (record.clone(), result.map(str::to_owned));
        self.on_disk(move |files| {
            files
                .end(&record, result.as_deref())
                .map_err(|error| broken(&error))
        })
    }

    fn remove<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, ()> {
        let id = record.id;
        let removed = self.on_disk(move |files| {
            files.remove(id);
            Ok::<_, CallError>(())
        });
        // Whatever cannot be removed goes with its time.
        removed.map(drop).boxed()
    }

    fn is_alive(&self, owner: Uuid) -> BoxFuture<'_, Result<bool, CallError>> {
        self.on_disk(move |files| Ok(files.is_alive(owner)))
    }
}

fn broken(error: &io::Error) -> CallError {
    CallError::failed(format!("The folder cannot be used: {error}"))
}

impl Files {
    fn add(&self, record: &Record) -> Result<(), NoRoom> {
        let mut opened = locked(&self.opened);
        let opened = match &mut *opened {
            Some(opened) => opened,
            none => none.insert(self.open().map_err(|error| broken(&error))?),
        };
        self.forget_old(opened);
        if !opened.known.has_room(record, self.limits) {
            return Err(NoRoom::Full);
        }
        self.write(record).map_err(|error| broken(&error))?;
        opened.known.add(record, 0);
        Ok(())
    }

    fn read(&self, id: Uuid) -> io::Result<Option<Record>> {
        let text = match fs::read(self.record_file(id)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(io::Error::other)
    }

    fn end(&self, record: &Record, result: Option<&str>) -> io::Result<Saved> {
        // Until all is written: what is forgotten meanwhile would be written for good.
        let mut opened = locked(&self.opened);
        if let Some(opened) = opened.as_mut() {
            self.forget_old(opened);
        }
        // What is kept no longer is not written again: it would never be removed or counted.
        if record.until() < clock::now() {
            return Ok(Saved::Over);
        }
        match self.read(record.id)? {
            Some(known) if known.status == Status::Working => {}
            Some(known) if known == *record => return Ok(Saved::Yes),
            _ => return Ok(Saved::Over),
        }
        if let Some(Opened { known, .. }) = opened.as_mut() {
            // The task of another process, which has ended, is ours from now on.
            if !known.tasks.contains_key(&record.id) {
                known.add(record, 0);
            }
            if let Some(result) = result
                && !known.take_room(record.id, result.len() as u64, self.limits)
            {
                return Ok(Saved::NoRoom);
            }
        }
        if let Some(result) = result {
            private::replace(&self.result_file(record.id), result.as_bytes())?;
        }
        self.write(record)?;
        Ok(Saved::Yes)
    }

    fn remove(&self, id: Uuid) {
        if let Some(opened) = locked(&self.opened).as_mut() {
            opened.known.remove(id);
        }
        let _ = fs::remove_file(self.record_file(id));
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
                // No other process will ever hold it.
                let _ = fs::remove_file(self.lock_file(owner));
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn open(&self) -> io::Result<Opened> {
        private::folder(&self.folder)?;
        let lock = self.held_lock()?;
        let mut known = Known::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // What is not named as ours stays as it is.
            let name = path.file_name().and_then(|name| name.to_str());
            let Some((id, kind)) = name.and_then(|name| name.split_once('.')) else {
                continue;
            };
            let Ok(id) = Uuid::try_parse(id) else {
                continue;
            };
            match kind {
                // Locks of processes that were killed go.
                "lock" => {
                    self.is_alive(id);
                }
                "json" => self.take_up(id, &mut known),
                "result" if !self.record_file(id).exists() => {
                    let _ = fs::remove_file(&path);
                }
                kind if kind.split('.').next_back() == Some("part") && is_left_behind(&path) => {
                    let _ = fs::remove_file(&path);
                }
                _ => {}
            }
        }
        Ok(Opened { _lock: lock, known })
    }

    /// The lock of this process. Others find it only when it is held: one that is not held is that of a process that has ended,
    /// and they remove it.
    fn held_lock(&self) -> io::Result<File> {
        let aside = format!("{}.{}.part", self.instance, Uuid::new_v4());
        let aside = self.folder.join(aside);
        let lock = private::new_file(&aside)?;
        lock.try_lock().map_err(io::Error::from)?;
        fs::rename(&aside, self.lock_file(self.instance))?;
        Ok(lock)
    }

    /// Counts a task that was there before this process. One that cannot be read is removed: it could never be asked for.
    fn take_up(&self, id: Uuid, known: &mut Known) {
        let Ok(text) = fs::read(self.record_file(id)) else {
            return;
        };
        match serde_json::from_slice::<Record>(&text) {
            Ok(record) if record.id == id => {
                let result = fs::metadata(self.result_file(id));
                known.add(&record, result.map_or(0, |file| file.len()));
            }
            _ => {
                let _ = fs::remove_file(self.record_file(id));
                let _ = fs::remove_file(self.result_file(id));
            }
        }
    }

    fn forget_old(&self, opened: &mut Opened) {
        for id in opened.known.take_old(clock::now()) {
            // Whatever cannot be removed is not found any more, even so.
            let _ = fs::remove_file(self.record_file(id));
            let _ = fs::remove_file(self.result_file(id));
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

/// Whether the process that wrote half of a file has ended since. Another process may be writing one right now.
fn is_left_behind(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|file| file.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > LONGEST_WRITE)
}

impl Drop for Files {
    fn drop(&mut self) {
        if locked(&self.opened).take().is_some() {
            let _ = fs::remove_file(self.lock_file(self.instance));
        }
    }
}

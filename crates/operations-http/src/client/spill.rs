//! Large bodies in files, written while they are received.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use operations_core::error::CallError;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::message::Spilled;

/// What is written at once.
const BATCH: usize = 256 * 1024;

/// What the configuration says about large bodies.
#[derive(Debug, Clone)]
pub(super) struct SpillSettings {
    /// A body with more bytes goes to a file.
    pub(super) over: usize,
    /// The folder of the files.
    pub(super) dir: PathBuf,
    /// How long a file stays.
    pub(super) keep: Duration,
    /// Bytes of all files together.
    pub(super) quota: u64,
}

/// The files of one service.
#[derive(Debug)]
pub(super) struct SpillStore {
    settings: SpillSettings,
    used: AtomicU64,
}

impl SpillStore {
    pub(super) fn new(settings: SpillSettings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            used: AtomicU64::new(0),
        })
    }

    pub(super) fn over(&self) -> usize {
        self.settings.over
    }

    /// Counts bytes against the quota.
    fn take(&self, bytes: usize) -> Result<(), CallError> {
        let bytes = bytes as u64;
        let quota = self.settings.quota;
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|all| *all <= quota)
            });
        taken.map(drop).map_err(|_| {
            CallError::failed(format!(
                "The response is large, and the files of `spill` would have more than {quota} bytes together. \
                 Raise `spill.quota`, or lower `spill.keep`"
            ))
            .with_details(json!({ "reason": "spill-quota", "quota": quota }))
        })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A file that is being written. To drop it before it is finished is to remove it.
pub(super) struct SpillFile {
    store: Arc<SpillStore>,
    path: PathBuf,
    open: Option<Open>,
    waiting: Vec<u8>,
    bytes: u64,
    is_finished: bool,
}

/// What the thread that writes works with.
struct Open {
    file: File,
    hash: Sha256,
}

impl SpillFile {
    /// A new file, which nobody else may read.
    pub(super) async fn create(store: &Arc<SpillStore>) -> Result<Self, CallError> {
        let dir = store.settings.dir.clone();
        let (file, path) = blocking(move || new_file(&dir)).await?;
        Ok(Self {
            store: Arc::clone(store),
            path,
            open: Some(Open {
                file,
                hash: Sha256::new(),
            }),
            waiting: Vec::with_capacity(BATCH),
            bytes: 0,
            is_finished: false,
        })
    }

    /// Takes a piece of the body. A slow disk slows the connection down.
    pub(super) async fn write(&mut self, piece: &[u8]) -> Result<(), CallError> {
        self.store.take(piece.len())?;
        self.bytes += piece.len() as u64;
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= BATCH {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CallError> {
        let Some(mut open) = self.open.take() else {
            return Err(CallError::failed("The file of a large response was lost"));
        };
        let batch = std::mem::replace(&mut self.waiting, Vec::with_capacity(BATCH));
        let open = blocking(move || {
            open.hash.update(&batch);
            open.file.write_all(&batch)?;
            Ok(open)
        });
        self.open = Some(open.await?);
        Ok(())
    }

    /// The file is complete, and will be removed in time.
    pub(super) async fn finish(mut self) -> Result<Spilled, CallError> {
        self.flush().await?;
        let hash = self.open.take().map(|open| open.hash.finalize());
        let mut sha256 = String::new();
        for byte in hash.into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        self.is_finished = true;
        let (store, path, bytes) = (Arc::clone(&self.store), self.path.clone(), self.bytes);
        tokio::spawn(async move {
            tokio::time::sleep(store.settings.keep).await;
            // It may have been removed by whoever was told of it.
            let _ = blocking(move || std::fs::remove_file(path)).await;
            store.give_back(bytes);
        });
        Ok(Spilled {
            path: self.path.to_string_lossy().into_owned(),
            bytes: self.bytes,
            sha256,
        })
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
            self.store.give_back(self.bytes);
        }
    }
}

/// Work with the disk, on a thread that may wait for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, CallError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| CallError::failed("The process is ending"))?
        .map_err(|error| {
            CallError::failed(format!(
                "A large response cannot be written to a file: {error}"
            ))
            .with_details(json!({ "reason": "spill-failed" }))
        })
}

/// A file of its own in a folder of our own.
fn new_file(dir: &Path) -> std::io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = File::options();
    // It must not be there yet: what lies in its place is not ours to follow or to overwrite.
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(dir)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |time| time.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = dir.join(format!("{}-{now:x}-{count:x}", std::process::id()));
    Ok((options.open(&path)?, path))
}

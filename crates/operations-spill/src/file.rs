//! One file, from its first byte to its removal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use operations_core::error::CallError;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Spilled;
use crate::ledger::SpilledFile;
use crate::private;
use crate::settings::SpillSettings;
use crate::store::SpillStore;

/// What is written at once.
const BATCH: usize = 256 * 1024;

/// A file that is being written. To drop it before it is finished is to remove it.
pub struct SpillFile {
    store: Arc<SpillStore>,
    path: PathBuf,
    open: Option<Open>,
    waiting: Vec<u8>,
    bytes: u64,
    is_finished: bool,
}

/// A file on disk that is removed when this is dropped. It goes wherever the open file goes: a thread that is still making the
/// file, or writes to it, after its caller has gone removes the file when it is done.
struct Unfinished {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl std::fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpillFile")
            .field("path", &self.path)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// What the thread that writes works with. The file is closed before it is removed, which some systems insist on.
struct Open {
    file: File,
    hash: Sha256,
    unfinished: Unfinished,
}

impl SpillFile {
    /// A new file, which no other user may read.
    ///
    /// # Errors
    /// When the disk refuses.
    pub async fn create(store: &Arc<SpillStore>) -> Result<Self, CallError> {
        let settings = store.settings.clone();
        let open = blocking(move || new_file(&settings)).await?;
        Ok(Self {
            store: Arc::clone(store),
            path: open.unfinished.path.clone(),
            open: Some(open),
            waiting: Vec::with_capacity(BATCH),
            bytes: 0,
            is_finished: false,
        })
    }

    /// Takes a piece of the result. A slow disk slows its source down.
    ///
    /// # Errors
    /// When the quota is used up, or the disk refuses.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), CallError> {
        self.store.take(piece.len())?;
        self.bytes += piece.len() as u64;
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= BATCH {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes what waits to be written.
    ///
    /// # Errors
    /// When the disk refuses.
    pub async fn flush(&mut self) -> Result<(), CallError> {
        let Some(mut open) = self.open.take() else {
            return Err(CallError::failed("The file of a large result was lost"));
        };
        let mut full = std::mem::take(&mut self.waiting);
        let (open, mut batch) = blocking(move || {
            open.hash.update(&full);
            open.file.write_all(&full)?;
            full.clear();
            Ok((open, full))
        })
        .await?;
        // One large piece does not make every later batch large.
        batch.shrink_to(2 * BATCH);
        self.waiting = batch;
        self.open = Some(open);
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file is complete, and will be removed in time.
    ///
    /// # Errors
    /// When the disk refuses what is left to be written.
    pub async fn finish(mut self) -> Result<Spilled, CallError> {
        self.flush().await?;
        let hash = self.open.take().map(|mut open| {
            open.unfinished.is_kept = true;
            open.hash.finalize()
        });
        let mut sha256 = String::new();
        for byte in hash.into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        self.is_finished = true;
        let (store, bytes) = (Arc::clone(&self.store), self.bytes);
        let path = self.path.to_string_lossy().into_owned();
        store.ledger.add(
            &path,
            SpilledFile {
                path: self.path.clone(),
                bytes,
                sha256: sha256.clone(),
            },
        );
        let (file, name) = (self.path.clone(), path.clone());
        tokio::spawn(async move {
            tokio::time::sleep(store.settings.keep).await;
            store.ledger.remove(&name);
            // It may have been removed by its reader.
            let _ = blocking(move || std::fs::remove_file(file)).await;
            store.give_back(bytes);
        });
        Ok(Spilled {
            path,
            bytes,
            sha256,
        })
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.is_finished {
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
                "A large result cannot be written to a file: {error}"
            ))
            .with_details(json!({ "reason": "spill-failed", "delivery": "done" }))
        })
}

/// A file of its own in a folder of our own. Its name cannot be guessed: only those who were given it know it.
fn new_file(SpillSettings { dir, owner, .. }: &SpillSettings) -> std::io::Result<Open> {
    private::folder(dir)?;
    let path = dir.join(format!("{owner}-{}", Uuid::new_v4().simple()));
    let file = private::new_file(&path)?;
    Ok(Open {
        file,
        hash: Sha256::new(),
        unfinished: Unfinished {
            path,
            is_kept: false,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a failure should stop them")]

    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::runtime::Builder;

    use super::*;
    use crate::ledger::Ledger;

    fn store(dir: &Path) -> Arc<SpillStore> {
        let settings = SpillSettings {
            over: 1,
            dir: dir.to_owned(),
            owner: "test".to_owned(),
            keep: Duration::from_secs(600),
            quota: 1_000_000_000,
        };
        SpillStore::new(settings, Arc::new(Ledger::default()))
    }

    #[test]
    fn an_abandoned_write_leaves_no_file_behind() {
        let dir = std::env::temp_dir().join(format!("operations-{}", Uuid::new_v4().simple()));
        let store = store(&dir);
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for pause in 0..100 {
                // Given up while the file is made, at one moment or another.
                drop(SpillFile::create(&store).now_or_never());
                std::thread::sleep(Duration::from_micros(pause));
                // And while it is written.
                let mut file = SpillFile::create(&store).await.unwrap();
                let piece = vec![0; BATCH];
                let _ = file.write(&piece).now_or_never();
            }
        });
        // Waits for the threads that work with the disk.
        drop(runtime);
        let left: Vec<_> = std::fs::read_dir(&dir).unwrap().collect();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(left.is_empty(), "{} files are left", left.len());
        assert!(store.take(1_000_000_000).is_ok());
    }

    #[tokio::test]
    async fn a_finished_file_stays() {
        let dir = std::env::temp_dir().join(format!("operations-{}", Uuid::new_v4().simple()));
        let mut file = SpillFile::create(&store(&dir)).await.unwrap();
        file.write(b"abc").await.unwrap();
        let spilled = file.finish().await.unwrap();
        let written = std::fs::read(&spilled.path).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((written.as_slice(), spilled.bytes), (&b"abc"[..], 3));
    }
}

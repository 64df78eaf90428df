//! Results in files, for clients: each gets a name that cannot be guessed, and only its caller may read it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{StreamExt, stream};
use operations_core::envelope::ResponseEnvelope;
use operations_core::json::Object;
use operations_core::lock::locked;
use operations_spill::{Ledger, Range, SpilledFile};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::body::{self, Body, BodyError};
use crate::identity::Caller;

/// What is read at once.
const PIECE: u64 = 128 * 1024;

/// The files that clients may download.
#[derive(Debug)]
pub struct Downloads {
    /// Which files are ours. An envelope can name any.
    ledger: Arc<Ledger>,
    offered: Mutex<HashMap<String, Arc<Download>>>,
}

/// A file that one caller may read.
#[derive(Debug)]
pub struct Download {
    /// What clients know it by.
    pub token: String,
    /// The media type of what is in it.
    pub content_type: String,
    file: Arc<SpilledFile>,
    caller: String,
}

impl Downloads {
    /// None yet.
    #[must_use]
    pub fn new(ledger: Arc<Ledger>) -> Self {
        Self {
            ledger,
            offered: Mutex::default(),
        }
    }

    /// The file that the `meta` of an envelope names, from now on readable for this caller. `None` without a file, and
    /// where the file is not one of ours.
    #[must_use]
    pub fn offer(&self, meta: &Object<'_>, caller: &Caller) -> Option<Arc<Download>> {
        let spill = meta.object("spill")?;
        let path = spill.string("path")?;
        let file = self.ledger.find(&path)?;
        let content_type = spill.string("contentType").unwrap_or_default();
        let download = Arc::new(Download {
            token: Uuid::new_v4().simple().to_string(),
            content_type,
            file,
            caller: caller.id().to_owned(),
        });
        let mut offered = locked(&self.offered);
        // Those whose files were removed are forgotten, so that there are never more than files.
        offered.retain(|_, each| self.is_there(each));
        offered.insert(download.token.clone(), Arc::clone(&download));
        Some(download)
    }

    /// The file of this name, for its caller. Others get the same as for a file that never existed.
    #[must_use]
    pub fn find(&self, token: &str, caller: &Caller) -> Option<Arc<Download>> {
        let found = locked(&self.offered).get(token).map(Arc::clone)?;
        (found.caller == caller.id() && self.is_there(&found)).then_some(found)
    }

    fn is_there(&self, download: &Download) -> bool {
        let path = download.file.path.to_string_lossy();
        self.ledger.find(&path).is_some()
    }
}

impl Download {
    /// How long it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file.bytes
    }

    /// Its hash, in hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.file.sha256
    }

    /// The file as clients see it; `at` is where they can read it.
    #[must_use]
    pub fn to_json(&self, at: (&str, &str)) -> Value {
        let (name, address) = at;
        json!({
            name: address,
            "bytes": self.bytes(),
            "sha256": self.sha256(),
            "contentType": self.content_type,
        })
    }

    /// Whether it is text, as far as its media type says.
    #[must_use]
    pub fn is_text(&self) -> bool {
        let essence = self.content_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        essence.starts_with("text/")
            || matches!(
                essence.as_str(),
                "application/json"
                    | "application/xml"
                    | "application/yaml"
                    | "application/x-ndjson"
            )
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
    }

    /// A part of it, which is small enough for memory.
    ///
    /// # Errors
    ///
    /// When the file is gone, or shorter than it was.
    pub async fn part(&self, range: Range) -> std::io::Result<Vec<u8>> {
        let path = self.file.path.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(range.start))?;
            let mut part = Vec::new();
            file.take(range.end - range.start).read_to_end(&mut part)?;
            Ok(part)
        });
        read.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    /// A part of it as a body, which is read as fast as it is sent.
    ///
    /// # Errors
    ///
    /// When the file is gone.
    pub async fn body(&self, range: Range) -> std::io::Result<Body> {
        let path = self.file.path.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(range.start))?;
            Ok(file)
        });
        let file = opened
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))?;
        let left = range.end - range.start;
        let pieces = stream::unfold(Some((file, left)), |state| async move {
            let (file, left) = state?;
            if left == 0 {
                return None;
            }
            let read = tokio::task::spawn_blocking(move || read_piece(file, left));
            match read.await {
                Ok(Ok((file, piece))) => {
                    let left = left - piece.len() as u64;
                    Some((Ok(piece), Some((file, left))))
                }
                Ok(Err(error)) => Some((Err(BodyError::from(error)), None)),
                Err(error) => Some((Err(BodyError::from(error)), None)),
            }
        });
        Ok(body::fallible(pieces.boxed()))
    }
}

fn read_piece(mut file: File, left: u64) -> std::io::Result<(File, Bytes)> {
    let mut piece = Vec::new();
    file.by_ref()
        .take(left.min(PIECE))
        .read_to_end(&mut piece)?;
    if piece.is_empty() {
        // The file was truncated: the client must not take this for the end.
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok((file, piece.into()))
}

/// An envelope with this in the place of `meta.spill`, or without it: it must not name paths of this machine.
#[must_use]
pub fn with_spill(envelope: ResponseEnvelope, spill: Option<&Value>) -> ResponseEnvelope {
    if envelope.meta_members().get("spill").is_none() {
        return envelope;
    }
    envelope.with_meta_member("spill", spill)
}

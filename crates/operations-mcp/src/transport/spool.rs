//! A message that is too large for memory, on its way through a file to a smaller one that has the data alone.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::utf8::text_of;
use operations_spill::{SpillFile, SpillStore, Spilled, preview};
use serde_json::{Value, json};

use super::Transport;
use super::outline::{Data, Outline};
use super::unescape::Unescape;
use crate::client::conversation::Conversation;
use crate::error::Failure;

/// What is copied at once.
const PIECE: u64 = 256 * 1024;
/// What a preview is made of.
const START: usize = 4_096;
/// The largest `_meta` that is kept of a result in a file.
const META: u64 = 64 * 1024;

/// Where the large result of one call goes, and what became of it.
#[derive(Debug)]
pub struct SpillSlot {
    store: Arc<SpillStore>,
    told: Mutex<Option<InFile>>,
}

/// A result in a file.
#[derive(Debug, Clone)]
pub struct InFile {
    /// The file.
    pub spilled: Spilled,
    /// What is in it.
    pub content_type: &'static str,
    /// Its beginning.
    pub preview: String,
}

impl SpillSlot {
    /// Nothing came yet.
    #[must_use]
    pub fn new(store: Arc<SpillStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            told: Mutex::default(),
        })
    }

    /// A result with more bytes goes to a file.
    pub(crate) fn over(&self) -> usize {
        self.store.over()
    }

    pub(crate) fn store(&self) -> &Arc<SpillStore> {
        &self.store
    }

    /// The file that the result is in, if it is in one.
    pub fn take(&self) -> Option<InFile> {
        locked(&self.told).take()
    }
}

/// Where a message of this length goes, if it is too large for memory.
pub(crate) fn place_for(length: usize, conversation: &Conversation) -> Option<Arc<SpillSlot>> {
    let slot = conversation.requests.any_slot();
    slot.filter(|slot| length > slot.over())
}

/// Takes a message that is there, and too large to stay.
pub(crate) async fn hear_large(
    text: &str,
    slot: &SpillSlot,
    conversation: &Conversation,
    way: &Arc<dyn Transport>,
) {
    let mut spool = Spool::begin(slot.store()).await;
    spool.push(text.as_bytes()).await;
    spool.end(conversation, way, None).await;
}

/// A message on its way to a file.
pub(crate) struct Spool {
    file: Result<SpillFile, CallError>,
    outline: Outline,
    bytes: u64,
}

impl Spool {
    pub(crate) async fn begin(store: &Arc<SpillStore>) -> Self {
        Self {
            file: SpillFile::create(store).await,
            outline: Outline::default(),
            bytes: 0,
        }
    }

    /// Takes the next bytes. A disk that refuses is told of at the end, when it is known whom.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        self.outline.push(bytes);
        self.bytes += bytes.len() as u64;
        if let Ok(file) = &mut self.file
            && let Err(error) = file.write(bytes).await
        {
            self.file = Err(error);
        }
    }

    /// The message is complete: whoever waits for it is told. `awaited` is the only request that it can answer, where that is
    /// known.
    pub(crate) async fn end(
        self,
        conversation: &Conversation,
        way: &Arc<dyn Transport>,
        awaited: Option<u64>,
    ) {
        let requests = &conversation.requests;
        let number = self.outline.number().or(awaited);
        let slot = number.and_then(|number| requests.slot(number));
        let (Some(number), Some(slot)) = (number, slot) else {
            return self.into_memory(conversation, way, number).await;
        };
        let is_large = self.outline.data().is_some_and(|data| {
            let (Data::Json(part) | Data::Text(part)) = data;
            part.range.end - part.range.start > slot.over() as u64
        });
        if !is_large {
            return self.into_memory(conversation, way, Some(number)).await;
        }
        let parses = conversation.config.parses_json_text;
        let outcome = match self.extract(&slot, parses).await {
            Ok((result, in_file)) => {
                *locked(&slot.told) = Some(in_file);
                Ok(result)
            }
            Err(error) => Err(Failure::Spill(Box::new(error))),
        };
        requests.settle(number, outcome);
    }

    /// The data in a file of its own, and what stands for the result.
    async fn extract(
        self,
        slot: &SpillSlot,
        parses_json_text: bool,
    ) -> Result<(String, InFile), CallError> {
        let Self { file, outline, .. } = self;
        let mut raw = file?;
        raw.flush().await?;
        let mut data = SpillFile::create(slot.store()).await?;
        let mut start = Vec::new();
        let (range, mut unescape) = match outline.data() {
            Some(Data::Text(part)) => (
                part.range.start + 1..part.range.end - 1,
                Some(Unescape::default()),
            ),
            Some(Data::Json(part)) => (part.range.clone(), None),
            None => return Err(CallError::failed("There is no data in the result")),
        };
        let is_text = unescape.is_some();
        let mut left = range;
        while left.start < left.end {
            let piece = left.start..left.end.min(left.start + PIECE);
            left.start = piece.end;
            let mut bytes = read(&raw, piece).await?;
            if let Some(unescape) = &mut unescape {
                let mut text = Vec::with_capacity(bytes.len());
                unescape.push(&bytes, &mut text);
                if left.start == left.end {
                    unescape.finish(&mut text);
                }
                bytes = text;
            }
            if start.len() < START {
                start.extend(bytes.iter().copied().take(START - start.len()));
            }
            data.write(&bytes).await?;
        }
        let spilled = data.finish().await?;
        let is_json = !is_text
            || parses_json_text && matches!(start.trim_ascii_start().first(), Some(b'{' | b'['));
        let preview = preview(&start);
        let mut result = json!({ "content": [{ "type": "text", "text": preview }] });
        if let (Some(meta), Some(result)) =
            (small_meta(&raw, &outline).await, result.as_object_mut())
        {
            result.insert("_meta".to_owned(), meta);
        }
        let in_file = InFile {
            spilled,
            content_type: if is_json {
                "application/json"
            } else {
                "text/plain; charset=utf-8"
            },
            preview,
        };
        Ok((result.to_string(), in_file))
    }

    /// What must not be in a file, such as an error, is read as any message is, if it is small enough.
    async fn into_memory(
        self,
        conversation: &Conversation,
        way: &Arc<dyn Transport>,
        number: Option<u64>,
    ) {
        let limit = conversation.config.max_message_bytes;
        if self.bytes > limit as u64 {
            conversation.requests.too_large(number, limit);
            return;
        }
        let read = async {
            let mut raw = self.file?;
            raw.flush().await?;
            read(&raw, 0..self.bytes).await
        };
        match read.await {
            Ok(bytes) => {
                conversation.hear(&text_of(&bytes), way);
            }
            Err(error) => {
                if let Some(number) = number {
                    let failure = Failure::Spill(Box::new(error));
                    conversation.requests.settle(number, Err(failure));
                }
            }
        }
    }
}

async fn small_meta(raw: &SpillFile, outline: &Outline) -> Option<Value> {
    let range = outline.meta.as_ref()?.range.clone();
    if range.end - range.start > META {
        return None;
    }
    let meta = read(raw, range).await.ok()?;
    serde_json::from_slice(&meta).ok().filter(Value::is_object)
}

async fn read(file: &SpillFile, range: Range<u64>) -> Result<Vec<u8>, CallError> {
    let path = file.path().to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        file.take(range.end - range.start).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let read = read
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)));
    read.map_err(|error| {
        CallError::failed(format!(
            "The file of a large result cannot be read: {error}"
        ))
    })
}

//! Files of large results, for values that JavaScript has.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, Env, PromiseRaw, Uint8Array};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_spill::{SpillFile, SpillSettings, described, preview};
use serde_json::json;
use tokio::sync::Mutex;

use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;

/// Where the files of one `spill` go.
#[napi]
pub struct SpillStore {
    bridge: Arc<Bridge>,
    pub(crate) store: Arc<operations_spill::SpillStore>,
}

#[napi]
impl SpillStore {
    /// `settings` is JSON (`facade/registry/spills.ts`).
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, runtime: &Runtime, settings: String) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let settings = bridge.run(&env, || SpillSettings::from_json(&settings))?;
        let store = operations_spill::SpillStore::new(settings, Arc::clone(&runtime.spilled));
        Ok(Self { bridge, store })
    }

    /// A new file.
    #[napi(catch_unwind)]
    pub fn begin(&self) -> SpillWriter {
        SpillWriter {
            bridge: Arc::clone(&self.bridge),
            store: Arc::clone(&self.store),
            file: Arc::default(),
        }
    }
}

/// A file that JavaScript writes. One that is not finished is removed with its object, or by `abandon`.
#[napi]
pub struct SpillWriter {
    bridge: Arc<Bridge>,
    store: Arc<operations_spill::SpillStore>,
    file: Arc<Mutex<Option<Writing>>>,
}

struct Writing {
    file: SpillFile,
    /// The first piece, of which the preview is made.
    start: Vec<u8>,
}

#[napi]
impl SpillWriter {
    /// Writes a piece. The next one may follow when the promise is fulfilled.
    #[napi(catch_unwind)]
    pub fn write<'env>(
        &self,
        env: &'env Env,
        piece: Either<String, Uint8Array>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let (store, file) = (Arc::clone(&self.store), Arc::clone(&self.file));
        let piece = match piece {
            Either::A(text) => text.into_bytes(),
            // JavaScript may change it while it is written.
            Either::B(bytes) => bytes.to_vec(),
        };
        let work = async move {
            let mut place = file.lock().await;
            let writing = match &mut *place {
                Some(writing) => writing,
                empty => empty.insert(Writing {
                    file: SpillFile::create(&store).await?,
                    start: Vec::new(),
                }),
            };
            if writing.start.is_empty() {
                writing.start = piece.iter().copied().take(START).collect();
            }
            writing.file.write(&piece).await
        };
        self.bridge.spawn(env, work, |_, ()| Ok(()))
    }

    /// The file is complete. JSON: `spill` for the envelope, and the `preview`.
    #[napi(catch_unwind)]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        content_type: String,
        is_text: bool,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let file = Arc::clone(&self.file);
        let work = async move {
            let Some(Writing { file, start }) = file.lock().await.take() else {
                return Err(CallError::unknown("Nothing was written"));
            };
            let spilled = file.finish().await?;
            let shown = if is_text {
                preview(&start)
            } else {
                described(&content_type, spilled.bytes)
            };
            let spill = spilled.to_json(&content_type);
            Ok(format!(r#"{{"spill":{spill},"preview":{}}}"#, json!(shown)))
        };
        self.bridge.spawn(env, work, |_, json| Ok(json))
    }

    /// Removes the file.
    #[napi(catch_unwind)]
    pub fn abandon(&self) {
        // A writer that is not done holds it, and drops it then.
        if let Ok(mut file) = self.file.try_lock() {
            *file = None;
        }
    }
}

/// Enough for a preview.
const START: usize = 4_096;

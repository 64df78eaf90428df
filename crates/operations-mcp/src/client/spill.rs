//! A result that is too large for its reader: its data goes to a file.

use std::sync::{Arc, Mutex};

use operations_core::error::CallError;
use operations_core::json::{Document, Json, Kind};
use operations_core::lock::locked;
use operations_spill::{SpillFile, SpillStore, Spilled, preview};
use serde_json::{Value, json};

/// What a preview is made of.
const START: usize = 4_096;
/// The largest `_meta` that is kept of a result in a file.
const META: usize = 64 * 1024;

/// Where the large result of one call goes, and what became of it.
#[derive(Debug)]
pub struct SpillSlot {
    store: Arc<SpillStore>,
    file: Mutex<Option<InFile>>,
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
            file: Mutex::default(),
        })
    }

    /// A result with more bytes may go to a file.
    pub(crate) fn over(&self) -> usize {
        self.store.over()
    }

    /// The file that the result is in, if it is in one.
    pub fn take(&self) -> Option<InFile> {
        locked(&self.file).take()
    }

    /// Writes the data of a result to a file, if it is large and no error, and gives the result that stands for it.
    pub(crate) async fn spill(
        &self,
        result: String,
        parses_json_text: bool,
    ) -> Result<String, CallError> {
        let Ok(document) = Document::parse(result.as_str()) else {
            return Ok(result);
        };
        let root = document.root();
        let is_error = root.get("isError").map(Json::kind) == Some(Kind::Bool(true));
        let Some(data) = Data::of(root).filter(|_| !is_error) else {
            return Ok(result);
        };
        let bytes = data.text().as_bytes();
        if bytes.len() <= self.over() {
            return Ok(result);
        }
        let mut file = SpillFile::create(&self.store).await?;
        file.write(bytes).await?;
        let spilled = file.finish().await?;
        let is_json = match data {
            Data::Json(_) => true,
            Data::Text(text) => parses_json_text && text.trim_start().starts_with(['{', '[']),
        };
        let preview = preview(bytes.get(..START).unwrap_or(bytes));
        let content = json!([{ "type": "text", "text": preview }]);
        let meta = root.get("_meta").filter(|meta| meta.text().len() <= META);
        let small = match meta.map(Json::to_value) {
            Some(meta @ Value::Object(_)) => json!({ "content": content, "_meta": meta }),
            _ => json!({ "content": content }),
        };
        *locked(&self.file) = Some(InFile {
            spilled,
            content_type: if is_json {
                "application/json"
            } else {
                "text/plain; charset=utf-8"
            },
            preview,
        });
        Ok(small.to_string())
    }
}

/// What the data of a result will be.
enum Data<'d> {
    Json(&'d str),
    Text(&'d str),
}

impl<'d> Data<'d> {
    fn of(result: Json<'d>) -> Option<Self> {
        let structured = result.get("structuredContent");
        if let Some(structured) = structured.filter(|json| json.kind() != Kind::Null) {
            return Some(Self::Json(structured.text()));
        }
        let content = result.get("content")?;
        let first = content.element(0).filter(|_| content.element(1).is_none());
        let is_text = |block: &Json<'_>| block.get("type").and_then(Json::as_str) == Some("text");
        let text = first
            .filter(is_text)
            .and_then(|block| block.get("text")?.as_str());
        Some(match text {
            Some(text) => Self::Text(text),
            None => Self::Json(content.text()),
        })
    }

    fn text(&self) -> &str {
        let (Self::Json(text) | Self::Text(text)) = self;
        text
    }
}

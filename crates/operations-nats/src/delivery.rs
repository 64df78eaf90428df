//! What waits for JavaScript: one JSON array for all that is ready.
//!
//! Nothing here is unbounded: answers belong to requests that JavaScript made, events of streams are asked for,
//! and requests are taken only while there is a place for them.

use std::collections::VecDeque;

use operations_core::error::CallError;
use serde_json::{Value, json};

use crate::limits::BATCH_BYTES;

/// One entry of a batch, as JSON. The first element is what it is; `facade/nats/connection.ts` reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item(String);

impl Item {
    /// A call is answered.
    #[must_use]
    pub fn resolved(id: &str, output: &str) -> Self {
        Self(format!("[\"r\",\"{id}\",{output}]"))
    }

    /// A stream has an event.
    #[must_use]
    pub fn event(id: &str, output: &str) -> Self {
        Self(format!("[\"v\",\"{id}\",{output}]"))
    }

    /// A request ends with an error.
    #[must_use]
    pub fn failed(id: &str, error: &CallError) -> Self {
        let error =
            json!({ "code": error.code, "message": error.message, "details": error.details });
        Self(json!(["e", id, error]).to_string())
    }

    /// A stream has ended.
    #[must_use]
    pub fn ended(id: &str) -> Self {
        Self(json!(["d", id]).to_string())
    }

    /// A request is to be served.
    #[must_use]
    pub fn request(payload: &str) -> Self {
        Self(format!("[\"q\",{payload}]"))
    }

    /// Work is no longer wanted.
    #[must_use]
    pub fn aborted(id: &str) -> Self {
        Self(json!(["a", id]).to_string())
    }

    /// A stream that is served may go on.
    #[must_use]
    pub fn credit(id: &str) -> Self {
        Self(json!(["c", id]).to_string())
    }

    /// The item, read again. For tests.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// Items in their order.
#[derive(Debug, Default)]
pub struct Delivery {
    items: VecDeque<Item>,
}

impl Delivery {
    /// Adds items. Says whether there were none before, so that JavaScript must be woken.
    pub fn add(&mut self, items: Vec<Item>) -> bool {
        let must_wake = self.items.is_empty() && !items.is_empty();
        self.items.extend(items);
        must_wake
    }

    /// The next items, as many as fit into one text; nothing when there are none.
    pub fn take(&mut self) -> Option<String> {
        let first = self.items.pop_front()?;
        let mut batch = String::with_capacity(first.0.len() + 2);
        batch.push('[');
        batch.push_str(&first.0);
        while let Some(item) = self.items.front()
            && batch.len() + item.0.len() < BATCH_BYTES
        {
            batch.push(',');
            batch.push_str(&item.0);
            self.items.pop_front();
        }
        batch.push(']');
        Some(batch)
    }
}

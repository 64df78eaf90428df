//! The registered specs, for everything that runs on the native side: adapters, the call protocol,
//! servers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use crate::error::{CallError, InfrastructureErrorCode};
use crate::spec::OperationSpec;

/// Specs by operation id, in the order of registration. They arrive as JSON text and are read when
/// somebody asks: most never are, and registering a thousand operations must stay cheap.
#[derive(Debug, Default)]
pub struct SpecStore {
    specs: Mutex<IndexMap<String, Box<str>>>,
}

impl SpecStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn specs(&self) -> MutexGuard<'_, IndexMap<String, Box<str>>> {
        // A panic cannot leave the map half changed: each use is a single operation on it.
        self.specs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a spec, in place of the one with the same id.
    pub fn set(&self, id: String, json: impl Into<Box<str>>) {
        self.specs().insert(id, json.into());
    }

    /// Forgets a spec. The others keep their order.
    pub fn remove(&self, id: &str) {
        self.specs().shift_remove(id);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.specs().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.specs().is_empty()
    }

    /// All ids, in the order of registration.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.specs().keys().cloned().collect()
    }

    /// A spec.
    ///
    /// # Errors
    ///
    /// When there is none, or its text is not a spec.
    pub fn get(&self, id: &str) -> Result<OperationSpec, CallError> {
        let text = self.specs().get(id).cloned().ok_or_else(|| {
            CallError::new(
                InfrastructureErrorCode::OperationNotFound,
                format!("Operation not found: {id}"),
            )
        })?;
        serde_json::from_str(&text).map_err(|error| {
            CallError::new(
                InfrastructureErrorCode::ValidationError,
                format!("The spec of operation {id} cannot be read: {error}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"{"name":"b","namespace":"a","version":"1","type":"query","description":"",
        "inputSchema":{},"outputSchema":{},"accessControl":{"requiredScopes":["x"]}}"#;

    #[test]
    fn keeps_the_order_and_overwrites() {
        let store = SpecStore::new();
        assert!(store.is_empty());
        store.set("a.b".to_owned(), "{}");
        store.set("a.c".to_owned(), SPEC);
        store.set("a.b".to_owned(), SPEC);
        assert_eq!(store.ids(), ["a.b", "a.c"]);
        assert_eq!(store.len(), 2);
        let spec = store.get("a.b").unwrap();
        assert_eq!(spec.id(), "a.b");
        assert_eq!(spec.access_control.required_scopes, ["x"]);
    }

    #[test]
    fn says_what_is_missing_or_broken() {
        let store = SpecStore::new();
        store.set("a.b".to_owned(), "{}");
        assert!(store.get("a.b").unwrap_err().message.contains("a.b"));
        let missing = store.get("a.z").unwrap_err();
        assert!(missing.is(InfrastructureErrorCode::OperationNotFound));
    }
}

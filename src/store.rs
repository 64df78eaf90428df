//! The specs of a registry, on the native side.

use std::sync::Arc;

use napi_derive::napi;
use operations_core::store::SpecStore as Store;

/// The registered specs. The store goes when the registry that owns it is collected.
#[napi]
pub struct SpecStore {
    store: Arc<Store>,
}

#[napi]
impl SpecStore {
    /// An empty store.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self {
            store: Arc::new(Store::new()),
        }
    }

    /// Keeps a spec, in place of the one with the same id.
    #[napi]
    pub fn set(&self, id: String, json: String) {
        self.store.set(id, json);
    }

    /// Forgets a spec.
    #[napi]
    pub fn remove(&self, id: String) {
        self.store.remove(&id);
    }

    /// The ids, in the order of registration.
    #[napi]
    pub fn ids(&self) -> Vec<String> {
        self.store.ids()
    }
}

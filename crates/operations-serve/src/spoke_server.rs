//! What a spoke does for its hub: calls of operations, as those of any other door. It believes the hub about who calls: it has
//! chosen the hub, and the hub has found out.

use std::sync::{Arc, RwLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::error::CallError;
use operations_core::lock::{reading, writing};
use operations_core::nearest::nearest_id;
use operations_core::registry::Registry;
use operations_websocket::{Answered, Incoming, Serving, errors};
use serde::Deserialize;
use serde_json::json;

use crate::call::Calls;
use crate::calls_from_peer;
use crate::identity::Caller;
use crate::js_bridge::JsBridge;
use crate::options::Limits;
use crate::upstream::AllowedHeaders;

/// What a spoke serves, if it does.
pub struct SpokeServer {
    js: Arc<JsBridge>,
    calls: RwLock<Option<Arc<Calls>>>,
    /// The operations as the hub sees them, each as JSON.
    listed: RwLock<Vec<String>>,
}

impl std::fmt::Debug for SpokeServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpokeServer").finish_non_exhaustive()
    }
}

/// What an operation is called.
#[derive(Deserialize)]
struct Named {
    namespace: String,
    name: String,
}

impl SpokeServer {
    /// Nothing is served yet.
    #[must_use]
    pub fn new(js: Arc<JsBridge>) -> Self {
        Self {
            js,
            calls: RwLock::default(),
            listed: RwLock::default(),
        }
    }

    /// Serves a registry, within these limits.
    pub fn serve(&self, registry: Arc<Registry>, limits: &Limits) {
        let js = Arc::clone(&self.js);
        // The hub decides what its clients see.
        let headers = AllowedHeaders::all();
        *writing(&self.calls) = Some(Arc::new(Calls::new(registry, js, limits, headers)));
    }

    /// Sets the operations as the hub sees them.
    pub fn list(&self, operations: Vec<String>) {
        *writing(&self.listed) = operations;
    }

    /// There is no such operation. Of those that the hub sees, the nearest is named.
    fn not_found(&self, id: &str) -> CallError {
        let listed = reading(&self.listed).clone();
        let known = listed
            .iter()
            .filter_map(|spec| serde_json::from_str::<Named>(spec).ok())
            .map(|named| format!("{}.{}", named.namespace, named.name));
        let known: Vec<String> = known.collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        errors::not_found(id, "spoke", nearest_id(id, &known))
    }
}

impl Serving for SpokeServer {
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
        let calls = reading(&self.calls).clone();
        let Some(calls) = calls else {
            let error = errors::serves_nothing(&incoming.operation_id);
            return async { Err(error) }.boxed();
        };
        let Some(operation) = calls.operation(&incoming.operation_id) else {
            let error = self.not_found(&incoming.operation_id);
            return async { Err(error) }.boxed();
        };
        async move {
            let caller = match &incoming.identity {
                None => Arc::default(),
                Some(text) => Arc::new(Caller::of(text)?),
            };
            calls_from_peer::call(&calls, operation, incoming, caller, None).await
        }
        .boxed()
    }

    fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        let listed = reading(&self.listed).clone();
        async move { Ok(listed) }.boxed()
    }

    fn refuses_offers(&self) -> Option<CallError> {
        Some(takes_no_operations())
    }

    fn offered(&self, _: String) -> BoxFuture<'static, Result<String, CallError>> {
        async { Err(takes_no_operations()) }.boxed()
    }

    fn changed(&self) {
        self.js.notify(r#"{"changed":true}"#);
    }
}

fn takes_no_operations() -> CallError {
    CallError::failed("A spoke takes no operations. Offer them to a hub")
        .with_details(json!({ "reason": "no-hub", "delivery": "none" }))
}

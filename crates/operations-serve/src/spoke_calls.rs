//! What a spoke does for its hub: calls of operations, as those of any other door. It believes the hub about who calls: it has
//! chosen the hub, and the hub has found out.

use std::sync::{Arc, RwLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::error::CallError;
use operations_core::lock::{reading, writing};
use operations_core::nearest::nearest_id;
use operations_core::registry::Registry;
use operations_websocket::{Answered, Incoming, Serving, loss};
use serde::Deserialize;
use serde_json::json;

use crate::call::Calls;
use crate::host::Host;
use crate::identity::Caller;
use crate::options::Limits;
use crate::peer_calls;
use crate::upstream::AllowedHeaders;

/// What a spoke serves, if it does.
pub struct SpokeCalls {
    host: Arc<Host>,
    calls: RwLock<Option<Arc<Calls>>>,
    /// What is told of the operations, each as JSON.
    listed: RwLock<Vec<String>>,
}

impl std::fmt::Debug for SpokeCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpokeCalls").finish_non_exhaustive()
    }
}

/// What an operation is called.
#[derive(Deserialize)]
struct Named {
    namespace: String,
    name: String,
}

impl SpokeCalls {
    /// Nothing is served yet.
    #[must_use]
    pub fn new(host: Arc<Host>) -> Self {
        Self {
            host,
            calls: RwLock::default(),
            listed: RwLock::default(),
        }
    }

    /// Serves a registry, within these limits.
    pub fn serve(&self, registry: Arc<Registry>, limits: &Limits) {
        let mut calls = writing(&self.calls);
        if calls.is_none() {
            let host = Arc::clone(&self.host);
            // The hub decides what its clients see.
            let headers = AllowedHeaders::all();
            *calls = Some(Arc::new(Calls::new(registry, host, limits, headers)));
        }
    }

    /// What is told of the operations.
    pub fn list(&self, operations: Vec<String>) {
        *writing(&self.listed) = operations;
    }

    /// There is no such operation. Of those that the hub was told of, the nearest is named.
    fn not_found(&self, id: &str) -> CallError {
        let listed = reading(&self.listed).clone();
        let known = listed
            .iter()
            .filter_map(|spec| serde_json::from_str::<Named>(spec).ok())
            .map(|named| format!("{}.{}", named.namespace, named.name));
        let known: Vec<String> = known.collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        loss::not_found(id, "spoke", nearest_id(id, &known))
    }
}

impl Serving for SpokeCalls {
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
        let calls = reading(&self.calls).clone();
        let Some(calls) = calls else {
            let error = loss::serves_nothing(&incoming.operation_id);
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
            peer_calls::call(&calls, operation, incoming, caller, None).await
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
        self.host.announce(r#"{"changed":true}"#);
    }
}

fn takes_no_operations() -> CallError {
    CallError::failed("A spoke takes no operations. Offer them to a hub")
        .with_details(json!({ "reason": "no-hub", "delivery": "none" }))
}

//! A connected peer, and what is done for it.

use std::collections::HashSet;
use std::sync::{Arc, RwLock};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use operations_core::access::Identity;
use operations_core::byte_budget::Share;
use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use operations_core::log::Level;
use operations_core::nearest::nearest_id;
use operations_websocket::{Answered, Incoming, Peer, Serving, errors};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::calls_from_peer;
use crate::failure;
use crate::identity::Caller;
use crate::js_bridge::Expect;
use crate::service::Shared;

/// A caller with this scope may call on behalf of others.
const IMPERSONATE: &str = "hub:impersonate";

/// What a spoke may say about one operation.
const OPERATION_BYTES: usize = 1024 * 1024;

/// A connected peer.
#[derive(Debug)]
pub struct Spoke {
    /// Its id among the connected peers.
    pub id: Arc<str>,
    /// How they call themselves; `None` where they do not.
    pub name: String,
    /// Who they are.
    pub caller: Arc<Caller>,
    /// What they have shown to be known again.
    pub instance: Option<String>,
    /// Unix milliseconds.
    pub since: f64,
    /// To call them.
    pub peer: Arc<Peer>,
    /// Cancelled when JavaScript wants the connection closed.
    pub closed: CancellationToken,
    /// The ids under which their operations are registered here.
    pub(super) registered: RwLock<HashSet<String>>,
}

/// What is done for a spoke.
pub(super) struct Serves {
    pub(super) shared: Arc<Shared>,
    pub(super) spoke: Arc<Spoke>,
    /// A JavaScript function decides which operations of spokes are accepted.
    pub(super) has_accept: bool,
    /// Whether callers read the messages of exceptions.
    pub(super) exposes_errors: bool,
    /// What the bytes of its calls and answers are counted by.
    pub(super) bytes: Arc<Share>,
}

impl Serving for Serves {
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
        let (shared, spoke) = (Arc::clone(&self.shared), Arc::clone(&self.spoke));
        let exposes = self.exposes_errors;
        async move {
            let caller = spoke.speaks_as(&incoming)?;
            let Some(operation) = shared.calls.operation(&incoming.operation_id) else {
                return Err(not_found(&shared, &incoming.operation_id, &caller).await);
            };
            let deadline = shared
                .options
                .timeout
                .map(|timeout| (clock::now() + timeout.as_secs_f64() * 1_000.0).ceil());
            let request_id = incoming.request_id.clone();
            let done =
                calls_from_peer::call(&shared.calls, operation, incoming, caller, deadline).await;
            let shown = move |error: CallError| {
                shared.log_masked(&request_id, &error, exposes);
                failure::masked(error, exposes)
            };
            match done {
                Ok(Answered::Many(events)) => {
                    let events = events.map(move |event| event.map_err(&shown));
                    Ok(Answered::Many(events.boxed()))
                }
                Ok(one) => Ok(one),
                Err(error) => Err(shown(error)),
            }
        }
        .boxed()
    }

    fn bytes(&self) -> Option<Arc<Share>> {
        Some(Arc::clone(&self.bytes))
    }

    fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        let (shared, spoke) = (Arc::clone(&self.shared), Arc::clone(&self.spoke));
        async move {
            let listed = shared.hub.listed.current(&shared).await?;
            let own = reading(&spoke.registered).clone();
            let identity = spoke.caller.identity.as_ref();
            let is_shown = |id: &str| !own.contains(id) && shared.calls.operation(id).is_some();
            Ok(listed.shown_to(identity, is_shown))
        }
        .boxed()
    }

    fn keeps_any_offer(&self) -> bool {
        !self.has_accept
    }

    fn offered(&self, operations: String) -> BoxFuture<'static, Result<String, CallError>> {
        let (shared, spoke) = (Arc::clone(&self.shared), Arc::clone(&self.spoke));
        async move {
            let id: Arc<str> = Uuid::new_v4().to_string().into();
            let operations = shared.readable(&spoke, &operations)?;
            let question = |_: &str| {
                let spoke = json!(&*spoke.id);
                format!("{{\"offer\":{{\"spoke\":{spoke},\"operations\":{operations}}}}}")
            };
            let answers =
                shared
                    .js
                    .request(&id, "an offer of operations", Expect::One, None, question)?;
            let answer = answers.first().await?;
            let ids = serde_json::from_str::<Value>(&answer)
                .ok()
                .and_then(|answer| serde_json::from_value(answer.get("operations")?.clone()).ok());
            *writing(&spoke.registered) = ids.unwrap_or_default();
            Ok(answer)
        }
        .boxed()
    }

    fn changed(&self) {
        let news = json!({ "changed": &*self.spoke.id });
        self.shared.js.notify(&news.to_string());
    }

    fn changes(&self) -> BoxStream<'static, ()> {
        let revision = self.shared.calls.changes();
        stream::unfold(revision, |mut revision| async move {
            revision.changed().await.ok()?;
            Some(((), revision))
        })
        .boxed()
    }
}

impl Shared {
    /// The operations of an offer as a list of texts, so that JavaScript can read them one by one. It reads each in one go, so those
    /// that are too long are left out.
    fn readable(&self, spoke: &Spoke, operations: &str) -> Result<String, CallError> {
        let all: Vec<&RawValue> = serde_json::from_str(operations)
            .map_err(|error| CallError::invalid(format!("The offer is not a list: {error}")))?;
        let texts = all.iter().map(|operation| operation.get());
        let texts: Vec<&str> = texts.filter(|text| text.len() <= OPERATION_BYTES).collect();
        let too_long = all.len() - texts.len();
        if too_long > 0 {
            let message = format!(
                "{too_long} operations of spoke {} are left out: the description of one may have {OPERATION_BYTES} bytes",
                json!(spoke.name)
            );
            let properties = [("spoke", json!(spoke.name))];
            self.logger.log(Level::Warning, "hub", message, properties);
        }
        Ok(json!(texts).to_string())
    }
}

/// There is no such operation. The nearest that the caller may call is named.
async fn not_found(shared: &Arc<Shared>, id: &str, caller: &Caller) -> CallError {
    let is_served = |id: &str| shared.calls.operation(id).is_some();
    let known = match shared.hub.listed.current(shared).await {
        Ok(listed) => listed.ids_for(caller.identity.as_ref(), is_served),
        Err(_) => Vec::new(),
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    errors::not_found(id, "hub", nearest_id(id, &known))
}

impl Spoke {
    /// On whose behalf a call is made. That needs the scope for it.
    fn speaks_as(&self, incoming: &Incoming) -> Result<Arc<Caller>, CallError> {
        let Some(text) = &incoming.identity else {
            return Ok(Arc::clone(&self.caller));
        };
        let own = self.caller.identity.as_ref();
        let claimed = Caller::of(text)?;
        if own.is_some() && claimed.identity.as_ref() == own {
            return Ok(Arc::clone(&self.caller));
        }
        let may = |identity: &Identity| identity.scopes.iter().any(|scope| scope == IMPERSONATE);
        if own.is_some_and(may) {
            return Ok(Arc::new(claimed));
        }
        let message = format!(
            "Access denied to operation {}: this connection may not call on behalf of another identity. \
             Leave the identity out, or give the connection's own the scope {IMPERSONATE}",
            incoming.operation_id
        );
        Err(
            CallError::new(Code::AccessDenied, message).with_details(json!({
                "operationId": incoming.operation_id,
                "missingScopes": [IMPERSONATE],
                "reason": "impersonation",
                "delivery": "none",
            })),
        )
    }
}

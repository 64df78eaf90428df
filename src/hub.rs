//! Connections of two peers, for `facade/websocket/` and for the hub of `facade/serve/`.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use operations_core::call::submission::NewRequest;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::mailbox;
use operations_serve::JsBridge;
use operations_serve::options::Limits;
use operations_serve::spoke_server::SpokeServer;
use operations_websocket::{Connection, Options, Peer, Serving};

use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;
use crate::registry::NativeRegistry;

/// The other end of a connection, for calls to it.
#[napi]
pub struct HubPeer {
    bridge: Arc<Bridge>,
    pub(crate) peer: Arc<Peer>,
    mailbox: Arc<mailbox::Mailbox>,
}

impl HubPeer {
    pub(crate) fn new(bridge: Arc<Bridge>, peer: Arc<Peer>, mailbox: &Mailbox) -> Self {
        Self {
            bridge,
            peer,
            mailbox: Arc::clone(&mailbox.inner),
        }
    }
}

#[napi]
impl HubPeer {
    /// Sends calls, as many as there are lines (`operations_core::call::submission`).
    #[napi(catch_unwind)]
    pub fn call_all(&self, env: Env, calls: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            self.peer.call_all(&self.mailbox, &calls);
            Ok(())
        })
    }

    /// Sends a subscription. `payload` is that of `call.requested`.
    #[napi(catch_unwind)]
    pub fn subscribe(
        &self,
        env: Env,
        id: String,
        operation_id: String,
        payload: String,
        idle_timeout: Option<f64>,
    ) -> napi::Result<()> {
        let request = NewRequest::subscription(id, operation_id, payload, idle_timeout);
        self.bridge
            .run(&env, || self.peer.subscribe_host(&self.mailbox, request))
    }

    /// Ends a request, as either side may.
    #[napi(catch_unwind)]
    pub fn abort(&self, id: String) {
        self.peer.abort(&id);
    }

    /// Ends a request because its caller's signal says so.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: String) {
        self.peer.cancel(&id);
    }

    /// The consumer of a stream has left.
    #[napi(catch_unwind)]
    pub fn leave(&self, id: String) {
        self.peer.leave(&id);
    }

    /// The consumer of a stream has read so many events.
    #[napi(catch_unwind)]
    pub fn consumed(&self, id: String, count: u32) {
        self.peer.consumed(&id, count.into());
    }

    /// How many requests have no final answer.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn pending_count(&self) -> u32 {
        u32::try_from(self.peer.pending_count()).unwrap_or(u32::MAX)
    }

    /// What the other end serves, as a JSON list.
    #[napi(catch_unwind)]
    pub fn discover<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, String>> {
        let peer = Arc::clone(&self.peer);
        self.bridge
            .spawn(env, async move { peer.discover().await }, |_, json| {
                Ok(json)
            })
    }
}

/// A spoke's connection to its hub.
#[napi]
pub struct HubConnection {
    bridge: Arc<Bridge>,
    connection: Arc<Connection>,
    js: Arc<JsBridge>,
    calls: Arc<SpokeServer>,
}

/// Connects to a hub. What arrives goes to the mailbox; `options` is JSON (`operations_websocket::Options`).
#[napi(catch_unwind)]
pub(crate) fn connect_hub<'env>(
    env: &'env Env,
    runtime: &Runtime,
    mailbox: &Mailbox,
    options: String,
) -> napi::Result<PromiseRaw<'env, HubConnection>> {
    let mailbox = Arc::clone(&mailbox.inner);
    let bridge = Arc::clone(&runtime.bridge);
    let logger = bridge.logger().clone();
    let js = Arc::new(JsBridge::new(Arc::clone(&mailbox)));
    let calls = Arc::new(SpokeServer::new(Arc::clone(&js)));
    let serving: Arc<dyn Serving> = Arc::clone(&calls) as Arc<dyn Serving>;
    runtime.bridge.spawn(
        env,
        async move {
            let options = Options::read(&options)?;
            Connection::open(options, serving, logger, mailbox).await
        },
        move |_, connection| {
            Ok(HubConnection {
                bridge,
                connection: Arc::new(connection),
                js,
                calls,
            })
        },
    )
}

#[napi]
impl HubConnection {
    /// The hub, to call it. Answers go to the mailbox.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn peer(&self, mailbox: &Mailbox) -> HubPeer {
        let peer = Arc::clone(self.connection.peer());
        HubPeer::new(Arc::clone(&self.bridge), peer, mailbox)
    }

    /// Serves the operations of a registry to the hub, within limits, which are JSON. What the native registry cannot do is
    /// asked of JavaScript.
    #[napi(catch_unwind)]
    pub fn serve(&self, env: Env, registry: &NativeRegistry, limits: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            let limits: Limits = serde_json::from_str(&limits)
                .map_err(|error| CallError::invalid(format!("serve: {error}")))?;
            self.calls.serve(Arc::clone(&registry.registry), &limits);
            Ok(())
        })
    }

    /// Offers operations, each of which is JSON. Resolves to what the hub makes of it, as JSON.
    #[napi(catch_unwind)]
    pub fn offer<'env>(
        &self,
        env: &'env Env,
        operations: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let connection = Arc::clone(&self.connection);
        self.calls.list(operations.clone());
        self.bridge.spawn(
            env,
            async move { connection.offer(operations).await },
            |_, json| Ok(json),
        )
    }

    /// JavaScript is about to begin with a call. Says whether it is still wanted.
    #[napi(catch_unwind)]
    pub fn begin(&self, id: String) -> bool {
        self.js.begin(&id)
    }

    /// Answers, as many as there are lines (`operations_core::call::submission`).
    #[napi(catch_unwind)]
    pub fn answer_all(&self, env: Env, outcomes: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            self.js.respond_all(&outcomes);
            Ok(())
        })
    }

    /// An event of a stream. Says whether it may go on at once.
    #[napi(catch_unwind)]
    pub fn send_event(&self, id: String, output: String) -> bool {
        self.js.respond(&id, &output)
    }

    /// The request has failed.
    #[napi(catch_unwind)]
    pub fn fail(
        &self,
        id: String,
        code: String,
        message: String,
        details: Option<String>,
        is_internal: bool,
    ) {
        let error =
            CallError::from_parts(code, message, details.as_deref()).with_internal(is_internal);
        self.js.fail(&id, error);
    }

    /// A stream is over.
    #[napi(catch_unwind)]
    pub fn complete(&self, id: String) {
        self.js.finish(&id);
    }

    /// What was counted, as JSON.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn stats(&self) -> String {
        self.connection.stats().to_string()
    }

    /// Whether there is a connection, as JSON.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn status(&self) -> String {
        self.connection.status().to_string()
    }

    /// Ends it, after what is being worked on, but not after more than so many milliseconds.
    #[napi(catch_unwind)]
    pub fn close<'env>(
        &self,
        env: &'env Env,
        milliseconds: f64,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let connection = Arc::clone(&self.connection);
        self.bridge.spawn(
            env,
            async move {
                connection.close(clock::milliseconds(milliseconds)).await;
                Ok(())
            },
            |_, ()| Ok(()),
        )
    }
}

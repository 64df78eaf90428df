//! A NATS connection, for `facade/nats/`.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use operations_core::call::submission::NewRequest;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::listed::Listed;
use operations_nats::connection::{Listing, Requester};
use operations_nats::{Connection, Options, discovery, serving};

use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;
use crate::registry::NativeRegistry;
use tokio::runtime::Handle;

/// A connection to NATS.
#[napi]
pub struct NatsConnection {
    bridge: Arc<Bridge>,
    connection: Arc<Connection>,
}

/// Connects. What arrives goes to the mailbox.
#[napi(catch_unwind)]
pub(crate) fn connect_nats<'env>(
    env: &'env Env,
    runtime: &Runtime,
    mailbox: &Mailbox,
    options: String,
) -> napi::Result<PromiseRaw<'env, NatsConnection>> {
    let mailbox = Arc::clone(&mailbox.inner);
    let bridge = Arc::clone(&runtime.bridge);
    let logger = bridge.logger().clone();
    runtime.bridge.spawn(
        env,
        async move {
            let options = Options::read(&options)?;
            Connection::open(options, logger, mailbox).await
        },
        move |_, connection| {
            Ok(NatsConnection {
                bridge,
                connection: Arc::new(connection),
            })
        },
    )
}

#[napi]
impl NatsConnection {
    /// The id under which other connections know this one.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn id(&self) -> String {
        self.connection.id().to_owned()
    }

    /// Sends calls, as many as there are lines (`operations_core::call::submission`).
    #[napi(catch_unwind)]
    pub fn call_all(&self, env: Env, calls: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            self.connection.call_all(calls);
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
        self.bridge.run(&env, || self.connection.request(request))
    }

    /// Ends a request, as either side may.
    #[napi(catch_unwind)]
    pub fn abort(&self, id: String) {
        self.connection
            .act(|now, state, todo| state.caller.abort(now, &id, todo));
    }

    /// Ends a request because its caller's signal says so.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: String) {
        self.connection
            .act(|now, state, todo| state.caller.cancel(now, &id, todo));
    }

    /// The consumer of a stream has left.
    #[napi(catch_unwind)]
    pub fn leave(&self, id: String) {
        self.connection
            .act(|now, state, todo| state.caller.leave(now, &id, todo));
    }

    /// The consumer of a stream has read so many events.
    #[napi(catch_unwind)]
    pub fn consumed(&self, id: String, count: u32) {
        self.connection
            .act(|now, state, todo| state.caller.consumed(now, &id, count.into(), todo));
    }

    /// How many requests have no final answer.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn pending_count(&self) -> u32 {
        let pending = self.connection.act(|_, state, _| state.caller.len());
        u32::try_from(pending).unwrap_or(u32::MAX)
    }

    /// Serves the operations of a registry, so many calls at a time. What the native registry cannot do is asked of
    /// JavaScript; everything is, where JavaScript has to verify who calls.
    #[napi(catch_unwind)]
    pub fn serve<'env>(
        &self,
        env: &'env Env,
        registry: &NativeRegistry,
        concurrency: f64,
        verifies: bool,
        listed: String,
        except: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let connection = Arc::clone(&self.connection);
        let registry = Arc::clone(&registry.registry);
        self.bridge.spawn(
            env,
            async move {
                let concurrency = serving::concurrency(concurrency)?;
                let listed = Listed::read(&listed)?;
                let listing = Listing { listed, except };
                // Not the connection's own thread, which has messages to read.
                let runtime = Handle::current();
                connection
                    .serve(registry, concurrency, verifies, listing, runtime)
                    .await
            },
            |_, ()| Ok(()),
        )
    }

    /// The descriptions of operations have changed: a JSON list.
    #[napi(catch_unwind)]
    pub fn list(&self, env: Env, listed: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            let listed = Listed::read(&listed)?;
            self.connection.act(|_, state, todo| {
                state.worker.list(listed);
                state.say_hello(todo);
            });
            Ok(())
        })
    }

    /// JavaScript has verified a peer that asks what is served: an identity as JSON, or nothing.
    #[napi(catch_unwind)]
    pub fn introduce(&self, to: String, question: String, identity: Option<String>) {
        let identity = identity.and_then(|text| serde_json::from_str(&text).ok());
        self.connection.act(|_, state, todo| {
            state.verified(&to, &question, identity.as_ref(), todo);
        });
    }

    /// JavaScript is about to begin with a call. Says whether it is still wanted.
    #[napi(catch_unwind)]
    pub fn begin(&self, id: String) -> bool {
        self.connection
            .act(|now, state, todo| state.worker.begin(now, &id, todo))
    }

    /// The event loop of JavaScript has turned.
    #[napi(catch_unwind)]
    pub fn turned(&self) {
        self.connection
            .act(|now, state, todo| state.worker.host_turned(now, todo));
    }

    /// Answers calls that are served and ends the work on them, as many as there are lines
    /// (`operations_core::call::submission`).
    #[napi(catch_unwind)]
    pub fn answer_all(&self, env: Env, outcomes: String) -> napi::Result<()> {
        self.bridge.run(&env, || {
            self.connection.answer_all(outcomes);
            Ok(())
        })
    }

    /// Sends an event of a stream that is served. Says whether it may go on at once.
    #[napi(catch_unwind)]
    pub fn send_event(&self, env: Env, id: String, output: String) -> napi::Result<bool> {
        self.bridge.run(&env, || {
            self.connection
                .act(|_, state, todo| state.worker.respond(&id, &output, todo))
        })
    }

    /// Fails a request that is served.
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
        self.connection
            .act(|_, state, todo| state.worker.fail(&id, &error, todo));
    }

    /// Ends a stream that is served.
    #[napi(catch_unwind)]
    pub fn complete(&self, id: String) {
        self.connection
            .act(|_, state, todo| state.worker.complete(&id, todo));
    }

    /// Which workers serve what an identity may call, as JSON. So is the identity.
    #[napi(catch_unwind)]
    pub fn discover<'env>(
        &self,
        env: &'env Env,
        milliseconds: f64,
        asking: String,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let connection = Arc::clone(&self.connection);
        self.bridge.spawn(
            env,
            async move {
                let requester: Requester = serde_json::from_str(&asking)
                    .map_err(|error| CallError::invalid(format!("discover: {error}")))?;
                let found = connection
                    .discover(clock::milliseconds(milliseconds), requester)
                    .await?;
                Ok(discovery::summary(found))
            },
            |_, json| Ok(json),
        )
    }

    /// What was counted, as JSON.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn stats(&self) -> String {
        self.connection
            .act(|_, state, _| state.stats.to_json(state.worker.len()).to_string())
    }

    /// Whether there is a connection, as JSON.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn status(&self) -> String {
        self.connection
            .act(|_, state, _| state.status.to_json().to_string())
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

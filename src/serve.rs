//! A registry that is served to others, for `facade/serve/`.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::{Env, PromiseRaw, within_runtime_if_available};
use napi_derive::napi;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::spec::{DeclaredError, OperationSpec};
use operations_serve::door::http::{About, OperationDescriptor, Routed, Routes, success};
use operations_serve::embedded::Embedded;
use operations_serve::failure::{Outcome, outcome_among};
use operations_serve::identity::Caller;
use operations_serve::listener::{self, Listener};
use operations_serve::{JsBridge, Options, Service};
use tokio::runtime::Handle;

use crate::hub::HubPeer;
use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;
use crate::registry::{NativeRegistry, read};
use crate::serve_embedded::ServedExchange;

/// The OpenAPI document of operations, as JSON. `operations` describes all of them, `about` says what the document says beside
/// them, `shown` has the ids of those that are in it, and `identity` is whom it is for; all but the ids are JSON.
#[napi(js_name = "openApiOf", catch_unwind)]
pub(crate) fn open_api_of(
    env: Env,
    runtime: &Runtime,
    operations: String,
    about: String,
    shown: Vec<String>,
    identity: Option<String>,
) -> napi::Result<String> {
    runtime.bridge.run(&env, || {
        let about = About::read(&about)?;
        let operations = OperationDescriptor::read_all(&operations)?.into_iter();
        let routes = Routes::new(
            operations.map(|each| Arc::new(Routed::new(each))).collect(),
            0,
        );
        let caller = identity.as_deref().map(Caller::of).transpose()?;
        let shown: HashSet<String> = shown.into_iter().collect();
        Ok(routes.document(&about, |operation| {
            let is_for = |caller: &Caller| operation.is_for(caller.identity.as_ref());
            shown.contains(&operation.id()) && caller.as_ref().is_none_or(is_for)
        }))
    })
}

/// The status that the HTTP door answers a failed call with; nothing where it closes the connection. `error` is JSON, and so are
/// the errors that the operation declares.
#[napi(catch_unwind)]
pub(crate) fn http_status_of_failure(
    env: Env,
    runtime: &Runtime,
    error: String,
    declared: String,
    has_identity: bool,
) -> napi::Result<Option<u32>> {
    runtime.bridge.run(&env, || {
        let error: CallError = read(&error)?;
        let declared: Vec<DeclaredError> = read(&declared)?;
        Ok(match outcome_among(&error, &declared, has_identity) {
            Outcome::Answer(status) => Some(u32::from(status.as_u16())),
            Outcome::Closed => None,
        })
    })
}

/// Whether an operation can be a resource of MCP at this address.
#[napi(catch_unwind)]
#[must_use]
pub(crate) fn is_resource_uri(uri: String) -> bool {
    operations_serve::door::mcp::is_resource_uri(&uri)
}

/// The status that the HTTP door answers a call with that has not failed.
#[napi(catch_unwind)]
#[must_use]
pub(crate) fn http_status_of_answer(
    upstream: Option<f64>,
    is_tool_error: bool,
    has_content: bool,
) -> u32 {
    u32::from(success(upstream, is_tool_error, has_content).as_u16())
}

/// A registry that is served.
#[napi]
pub struct RegistryServer {
    bridge: Arc<Bridge>,
    js: Arc<JsBridge>,
    service: Service,
    listener: Arc<OnceLock<Listener>>,
    embedded: Embedded,
    runtime: Handle,
}

#[napi]
impl RegistryServer {
    /// What the native registry cannot do is asked of JavaScript, through the mailbox. `options` is JSON
    /// (`operations_serve::Options`).
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        mailbox: &Mailbox,
        registry: &NativeRegistry,
        options: String,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let js = Arc::new(JsBridge::new(Arc::clone(&mailbox.inner)));
        let service = bridge.run(&env, || {
            let options = Options::read(&options)?;
            let registry = Arc::clone(&registry.registry);
            Service::new(
                options,
                registry,
                Arc::clone(&js),
                bridge.logger().clone(),
                Arc::clone(&runtime.spilled),
            )
        })?;
        Ok(Self {
            bridge,
            js,
            embedded: Embedded::new(service.clone()),
            service,
            listener: Arc::default(),
            runtime: within_runtime_if_available(Handle::current),
        })
    }

    /// Opens a port. Resolves to the URL.
    #[napi(catch_unwind)]
    pub fn listen<'env>(
        &self,
        env: &'env Env,
        host: String,
        port: u32,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let service = self.service.clone();
        let opened = Arc::clone(&self.listener);
        self.bridge.spawn(
            env,
            async move {
                let port = u16::try_from(port)
                    .map_err(|_| CallError::invalid("serve: port must be 65535 or less"))?;
                let listener = Listener::open(service, &host, port).await?;
                Ok(opened.get_or_init(|| listener).url())
            },
            |_, url| Ok(url),
        )
    }

    /// What `listen` would warn of. A name that cannot be looked up is an error of `listen`.
    #[napi(catch_unwind)]
    pub fn listener_warnings<'env>(
        &self,
        env: &'env Env,
        host: String,
        port: u32,
    ) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
        let service = self.service.clone();
        let port = u16::try_from(port).unwrap_or_default();
        self.bridge.spawn(
            env,
            async move { Ok(listener::warnings(&service, &host, port).await) },
            |_, warnings| Ok(warnings),
        )
    }

    /// A peer that is connected to the hub; nothing if it has left. Answers to its requests go to the mailbox.
    #[napi(catch_unwind)]
    pub fn spoke(&self, id: String, mailbox: &Mailbox) -> Option<HubPeer> {
        let spoke = self.service.shared().hub.spoke(&id)?;
        let peer = Arc::clone(&spoke.peer);
        let bridge = Arc::clone(&self.bridge);
        Some(HubPeer::new(bridge, peer, mailbox))
    }

    /// Closes the connection of a spoke.
    #[napi(catch_unwind)]
    pub fn close_spoke(&self, id: String) {
        if let Some(spoke) = self.service.shared().hub.spoke(&id) {
            spoke.closed.cancel();
        }
    }

    /// A request that JavaScript is about to bring.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn exchange(&self) -> ServedExchange {
        ServedExchange::new(Arc::clone(&self.bridge), self.embedded.exchange())
    }

    /// Serves these operations only.
    #[napi(catch_unwind)]
    pub fn show_only(&self, ids: Vec<String>) {
        let ids: HashSet<String> = ids.into_iter().collect();
        self.service.shared().calls.show_only(ids);
    }

    /// Has the MCP door offer these operations as well, which JavaScript does. Each is JSON (`OperationSpec`).
    #[napi(catch_unwind)]
    pub fn add_tools(&self, env: Env, specs: Vec<String>) -> napi::Result<()> {
        self.bridge.run(&env, || {
            let specs = specs.iter().map(|spec| read(spec));
            let specs: Vec<OperationSpec> = specs.collect::<Result<_, _>>()?;
            self.service.shared().calls.add_tools(specs);
            Ok(())
        })
    }

    /// Serves this one too, or not any more.
    #[napi(catch_unwind)]
    pub fn show(&self, id: String, is_shown: bool) {
        self.service.shared().calls.show(&id, is_shown);
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
            self.js.respond_soon(outcomes, &self.runtime);
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

    /// A call says how far it is: a JSON object.
    #[napi(catch_unwind)]
    pub fn tell_progress(&self, id: String, progress: String) {
        self.js.send_progress(&id, &progress);
    }

    /// A call has a log line for its client: a JSON object.
    #[napi(catch_unwind)]
    pub fn tell_log(&self, id: String, line: String) {
        self.js.send_log(&id, &line);
    }

    /// A call asks its client: a JSON list. Answers arrive as events.
    #[napi(catch_unwind)]
    pub fn ask_client(&self, id: String, questions: String) {
        self.js.request_from_caller(&id, &questions);
    }

    /// A call waits for a person: it holds no permit meanwhile.
    #[napi(catch_unwind)]
    pub fn release_permit(&self, id: String) {
        self.js.release_permit(&id);
    }

    /// It goes on: resolves when it has its permit again.
    #[napi(catch_unwind)]
    pub fn regain_permit<'env>(
        &self,
        env: &'env Env,
        id: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let js = Arc::clone(&self.js);
        self.bridge
            .spawn(env, async move { js.regain_permit(&id).await }, |_, ()| {
                Ok(())
            })
    }

    /// The resource at an address has changed: clients that are subscribed to it are notified.
    #[napi(catch_unwind)]
    pub fn resource_updated(&self, uri: String) {
        self.service.shared().resource_updated(&uri);
    }

    /// Speaks MCP over standard input and output, with a client that has this identity, which is JSON. Resolves when they
    /// are gone.
    #[napi(catch_unwind)]
    pub fn converse<'env>(
        &self,
        env: &'env Env,
        identity: Option<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let embedded = self.embedded.clone();
        self.bridge.spawn(
            env,
            async move {
                let caller = match identity {
                    None => Caller::default(),
                    Some(identity) => Caller::of(&identity)?,
                };
                embedded.converse(Arc::new(caller)).await
            },
            |_, ()| Ok(()),
        )
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
        self.service.shared().counts().to_string()
    }

    /// Ends it, after what is being worked on, but not after more than so many milliseconds.
    #[napi(catch_unwind)]
    pub fn close<'env>(
        &self,
        env: &'env Env,
        milliseconds: f64,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let listener = Arc::clone(&self.listener);
        let embedded = self.embedded.clone();
        self.bridge.spawn(
            env,
            async move {
                let drain = clock::milliseconds(milliseconds);
                match listener.get() {
                    Some(listener) => listener.close(drain).await,
                    None => embedded.close(drain).await,
                }
                Ok(())
            },
            |_, ()| Ok(()),
        )
    }
}

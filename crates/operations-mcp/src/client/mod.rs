//! A server as its users see it.

mod call;
mod callbacks;
mod connect;
mod connection;
pub(crate) mod conversation;
mod handler;
mod handshake;
mod input_required;
mod lifecycle;
mod list;
pub(crate) mod requests;
mod result;
#[cfg(test)]
mod scripted;
mod server_requests;
mod spill;
mod status;
mod task;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::log::Logger;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::call::Call;
pub use self::call::{CallOptions, Started};
pub use self::callbacks::{ClientCallbacks, ClientRequest};
use self::connection::{Connection, Request};
pub use self::handler::ToolHandler;
use self::list::{List, ToolTraits};
pub use self::requests::OnProgress;
use self::server_requests::ServerRequests;
pub use self::spill::{InFile, SpillSlot};
use crate::auth::Authorization;
use crate::config::{Http, ServerConfig, Target};
use crate::error::{About, Delivery};
use crate::transport::{Kind, Outgoing, message};

/// A server, connected or not, from its first connection to its last: whether it had to be started again for a call is
/// not the caller's concern.
pub struct Client {
    pub(crate) runtime: Handle,
    server_requests: Arc<ServerRequests>,
    tools_changed: Arc<Notify>,
    authorization: Option<Arc<Authorization>>,
    /// Held while a connection is made: when the next may be.
    not_before: AsyncMutex<Option<Instant>>,
    /// Failures in a row.
    failures: AtomicU32,
    /// The last call was refused for want of a token.
    is_unauthorized: AtomicBool,
    /// The current connection, for those who must not wait for a new one.
    current: Mutex<Option<Arc<Connection>>>,
    seen: Mutex<Seen>,
    pub(crate) closed: CancellationToken,
    /// Everything that runs for this client, its connections and its process.
    tasks: TaskTracker,
}

/// What is remembered beyond a connection.
#[derive(Default)]
pub(crate) struct Seen {
    connecting: bool,
    /// It was stopped because it was not called.
    is_idle: bool,
    /// As they were listed, once they were.
    tools: Option<Vec<String>>,
    /// Each tool, with what must be known to call it.
    names: HashMap<String, ToolTraits>,
    last_error: Option<Value>,
    /// How many starts have failed, and why the last one did.
    failed_starts: u64,
    failed_start: Option<CallError>,
    stderr: String,
}

/// Something else than a tool that a server can be asked for.
#[derive(Debug, Clone, Copy)]
pub enum Query<'a> {
    /// All tools, read anew, as a JSON array.
    Tools,
    /// All resources, as a JSON array.
    Resources,
    /// All templates of resources, as a JSON array.
    ResourceTemplates,
    /// All prompts, as a JSON array.
    Prompts,
    /// The resource at an address.
    Resource(&'a str),
    /// A prompt by its name, with arguments as a JSON object.
    Prompt(&'a str, Option<&'a str>),
}

impl Client {
    /// A server that is not connected yet. What runs in the background runs on `runtime`.
    pub fn new(
        config: ServerConfig,
        callbacks: Arc<dyn ClientCallbacks>,
        logger: Logger,
        runtime: Handle,
    ) -> Self {
        let authorization = match &config.target {
            Target::Http(Http {
                url,
                oauth: Some(settings),
                ..
            }) => {
                let secrets = config.secrets.clone();
                let callbacks = Arc::clone(&callbacks);
                Some(Arc::new(Authorization::new(
                    url, settings, callbacks, secrets,
                )))
            }
            _ => None,
        };
        Self {
            runtime,
            server_requests: Arc::new(ServerRequests::new(Arc::new(config), callbacks, logger)),
            tools_changed: Arc::new(Notify::new()),
            authorization,
            not_before: AsyncMutex::default(),
            failures: AtomicU32::new(0),
            is_unauthorized: AtomicBool::new(false),
            current: Mutex::default(),
            seen: Mutex::default(),
            closed: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Connects, and describes the server and its tools, as JSON.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, does not speak the protocol or takes too long.
    pub async fn connect(self: &Arc<Self>) -> Result<String, CallError> {
        let connection = self.connection().await?;
        Ok(connection.described())
    }

    /// Calls a tool. `arguments` is a JSON object; the result is JSON as the server wrote it.
    ///
    /// # Errors
    ///
    /// When the arguments are no object, and when the call fails in any way but by the tool's own word.
    pub async fn call_tool(
        self: &Arc<Self>,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let call = self.named("tools/call", name, arguments, options)?;
        self.call(call, cancel).await
    }

    /// Calls a tool without waiting: on a server that is connected, the request is sent before this returns, by this
    /// thread. `done` is called once, by whichever thread learns of the end, and not before this returns.
    ///
    /// # Errors
    ///
    /// When the arguments are no object; `done` is not called then.
    pub fn start_tool(
        self: &Arc<Self>,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        done: impl FnOnce(Result<String, CallError>) + Send + 'static,
    ) -> Result<Started, CallError> {
        let call = self.named("tools/call", name, arguments, options)?;
        Ok(self.start(call, done))
    }

    /// What this thread sends from now on may wait for [`Client::release`], which must follow soon. Requests that are made
    /// together are then one write for us, and one read for the server.
    pub fn hold(&self) {
        if let Some(connection) = self.live() {
            connection.transport.hold();
        }
    }

    /// Sends what waits. On a connection that was lost nothing does.
    pub fn release(&self) {
        if let Some(connection) = self.live() {
            Arc::clone(&connection.transport).release();
        }
    }

    /// Notifies the server that the roots have changed. One that is not connected asks for them when it is.
    pub fn roots_changed(&self) {
        let connection = self.live().filter(|it| !it.facts.is_stateless());
        if let Some(connection) = connection {
            let method = "notifications/roots/list_changed";
            Arc::clone(&connection.transport).send(Outgoing {
                kind: Kind::Notification { method },
                text: message::notification(method, ""),
            });
        }
    }

    /// Asks for something else than a tool. The answer is JSON as the server wrote it.
    ///
    /// # Errors
    ///
    /// As for a tool.
    pub async fn query(
        self: &Arc<Self>,
        query: Query<'_>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        match query {
            Query::Tools => self.list(List::Tools, cancel).await,
            Query::Resources => self.list(List::Resources, cancel).await,
            Query::ResourceTemplates => self.list(List::ResourceTemplates, cancel).await,
            Query::Prompts => self.list(List::Prompts, cancel).await,
            Query::Resource(uri) => {
                let mut request = Request::new("resources/read");
                request.name = Some(uri.into());
                request.params = format!(r#""uri":{}"#, message::text(uri));
                self.call(self.prepare(request, options), cancel).await
            }
            Query::Prompt(name, arguments) => {
                let call = self.named("prompts/get", name, arguments, options)?;
                self.call(call, cancel).await
            }
        }
    }

    /// A call of something that has a name and takes arguments.
    fn named(
        &self,
        method: &'static str,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
    ) -> Result<Call, CallError> {
        let mut request = Request::new(method);
        request.name = Some(name.into());
        request.params = format!(r#""name":{}"#, message::text(name));
        if let Some(arguments) = arguments {
            let arguments = arguments.trim();
            if !arguments.starts_with('{') || !arguments.ends_with('}') {
                let what = "the arguments must be an object";
                let about = About::tool(self.config(), name);
                let (code, reason) = (Code::ValidationError, "invalid-input");
                return Err(about.error(code, reason, Delivery::None, what));
            }
            request.params.push_str(r#","arguments":"#);
            request.params.push_str(&message::one_line(arguments));
        }
        let listed = if method == "tools/call" {
            let seen = self.seen();
            seen.names.get(name).map(|tool| tool.must_be_task)
        } else {
            None
        };
        // Servers of 2026-07-28 decide by themselves, and ignore it.
        if listed == Some(true) {
            request.params.push_str(r#","task":{}"#);
        }
        let mut call = self.prepare(request, options);
        call.was_listed = listed.is_some();
        Ok(call)
    }
}

#[cfg(test)]
pub(crate) fn test_conversation(max_message_bytes: usize) -> Arc<conversation::Conversation> {
    let mut config = scripted::config(serde_json::json!({}));
    config.max_message_bytes = max_message_bytes;
    Arc::new(scripted::client(config).conversation())
}

//! A server as its users see it.

mod call;
mod connect;
mod connection;
pub(crate) mod conversation;
mod handshake;
mod host;
mod lifecycle;
mod list;
mod questions;
pub(crate) mod requests;

use std::sync::Arc;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::log::Logger;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub use self::call::{CallOptions, Started};
use self::connection::{Connection, Request};
pub use self::host::{Host, Question};
use self::lifecycle::Lifecycle;
use self::list::List;
pub use self::requests::OnProgress;
use crate::config::ServerConfig;
use crate::error::About;
use crate::transport::message;

/// A server, connected or not.
#[derive(Clone)]
pub struct Client {
    server: Arc<Lifecycle>,
}

impl Client {
    /// A server that is not connected yet. What runs in the background runs on `runtime`.
    pub fn new(config: ServerConfig, host: Arc<dyn Host>, logger: Logger, runtime: Handle) -> Self {
        Self {
            server: Arc::new(Lifecycle::new(config, host, logger, runtime)),
        }
    }

    /// Connects, and tells about the server and its tools, as JSON.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, does not speak the protocol or takes too long.
    pub async fn connect(&self) -> Result<String, CallError> {
        let connection = self.server.connection().await?;
        Ok(facts(&connection))
    }

    /// Calls a tool. `arguments` is a JSON object; the result is JSON as the server wrote it.
    ///
    /// # Errors
    ///
    /// When the arguments are no object, and when the call fails in any way but by the tool's own word.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let request = self.named("tools/call", name, arguments)?;
        let call = self.server.prepare(request, options);
        self.server.call(call, cancel).await
    }

    /// Calls a tool without waiting: on a server that is connected, the request is sent before this returns, by this
    /// thread. `done` is called once, by whichever thread learns of the end, and not before this returns.
    ///
    /// # Errors
    ///
    /// When the arguments are no object; `done` is not called then.
    pub fn start_tool(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        done: impl FnOnce(Result<String, CallError>) + Send + 'static,
    ) -> Result<Started, CallError> {
        let request = self.named("tools/call", name, arguments)?;
        let call = self.server.prepare(request, options);
        Ok(self.server.start(call, done))
    }

    /// Gets a prompt.
    ///
    /// # Errors
    ///
    /// As for a tool.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let request = self.named("prompts/get", name, arguments)?;
        let call = self.server.prepare(request, options);
        self.server.call(call, cancel).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// As for a tool.
    pub async fn read_resource(
        &self,
        uri: &str,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let mut request = Request::new("resources/read");
        request.name = Some(uri.into());
        request.params = format!(r#""uri":{}"#, message::text(uri));
        let call = self.server.prepare(request, options);
        self.server.call(call, cancel).await
    }

    /// All resources, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_resources(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.server.list(List::Resources, cancel).await
    }

    /// All templates of resources, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_resource_templates(
        &self,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        self.server.list(List::ResourceTemplates, cancel).await
    }

    /// All prompts, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_prompts(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.server.list(List::Prompts, cancel).await
    }

    /// All tools, read anew, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_tools(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.server.list(List::Tools, cancel).await
    }

    /// Ends the connection and the process. Returns when both are gone; doing it twice is harmless.
    pub async fn close(&self) {
        self.server.close().await;
    }

    /// Begins to end everything, without waiting for it.
    pub fn abandon(&self) {
        self.server.abandon();
    }

    /// What is known about the server, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        self.server.status()
    }

    /// A request for something that has a name and takes arguments.
    fn named(
        &self,
        method: &'static str,
        name: &str,
        arguments: Option<&str>,
    ) -> Result<Request, CallError> {
        let mut request = Request::new(method);
        request.name = Some(name.into());
        request.params = format!(r#""name":{}"#, message::text(name));
        if let Some(arguments) = arguments {
            let arguments = arguments.trim();
            if !arguments.starts_with('{') || !arguments.ends_with('}') {
                let mut about = About::server(self.server.config());
                about.tool = Some(name);
                let what = "the arguments must be an object";
                let details = json!({ "mayHaveExecuted": false });
                return Err(about.error(Code::ValidationError, what, details));
            }
            request.params.push_str(r#","arguments":"#);
            request.params.push_str(&message::one_line(arguments));
        }
        Ok(request)
    }
}

fn facts(connection: &Connection) -> String {
    let server = &connection.server;
    let about = json!({
        "protocolVersion": server.version,
        "serverInfo": server.info,
        "capabilities": server.capabilities,
        "instructions": server.instructions,
        "pid": connection.process.as_ref().map(|process| process.pid),
    });
    format!(r#"{{"about":{about},{}}}"#, connection.tools.members())
}

#[cfg(test)]
pub(crate) fn test_conversation(max_message_bytes: usize) -> Arc<conversation::Conversation> {
    struct Nobody;
    impl Host for Nobody {
        fn ask(
            &self,
            _: Question,
            _: String,
        ) -> futures::future::BoxFuture<'static, Result<String, String>> {
            Box::pin(std::future::pending())
        }
        fn tools_changed(&self, _: String) {}
    }
    let mut config = ServerConfig::from_json("demo", r#"{"command":"x"}"#).unwrap();
    config.max_message_bytes = max_message_bytes;
    let runtime = Handle::current();
    let server = Lifecycle::new(config, Arc::new(Nobody), Logger::silent(), runtime);
    Arc::new(server.conversation())
}

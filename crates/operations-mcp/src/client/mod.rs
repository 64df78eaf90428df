//! A server as its users see it.

mod asking;
mod call;
pub(crate) mod connection;
pub(crate) mod handler;
pub(crate) mod host;
mod listing;
mod opening;
mod request;
mod session;
pub(crate) mod slot;
pub(crate) mod tap;

use std::sync::Arc;
use std::time::Duration;

use operations_core::error::CallError;
use operations_core::log::Logger;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client::call::Ask;
use crate::client::connection::Connection;
use crate::client::listing::List;
use crate::client::session::Session;
use crate::config::ServerConfig;

pub use self::host::{Host, Question};
pub use self::slot::OnProgress;

/// How one call is treated.
#[derive(Default)]
pub struct CallOptions {
    /// In place of the server's own.
    pub timeout: Option<Duration>,
    /// Whether progress starts the time anew; the server's own setting when there is none.
    pub reset_timeout_on_progress: Option<bool>,
    /// Receives progress as JSON.
    pub on_progress: Option<OnProgress>,
}

/// A server, connected or not.
#[derive(Clone)]
pub struct Client {
    session: Arc<Session>,
}

impl Client {
    /// A server that is not connected yet.
    pub fn new(config: ServerConfig, host: Arc<dyn Host>, logger: Logger) -> Self {
        Self {
            session: Arc::new(Session::new(config, host, logger)),
        }
    }

    /// Connects, and tells about the server and its tools, as JSON.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, does not speak the protocol or takes too long.
    pub async fn connect(&self) -> Result<String, CallError> {
        let connection = self.session.connection().await?;
        Ok(facts(&connection))
    }

    /// Calls a tool; the result is JSON as the server wrote it.
    ///
    /// # Errors
    ///
    /// When the arguments cannot be read, and when the call fails in any way but by the tool's own word.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let ask = Ask::Tool {
            name: name.to_owned(),
            arguments: self.session.arguments(name, arguments)?,
        };
        self.session.ask(ask, Some(name), options, cancel).await
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
        let ask = Ask::Prompt {
            name: name.to_owned(),
            arguments: self.session.arguments(name, arguments)?,
        };
        self.session.ask(ask, None, options, cancel).await
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
        let uri = uri.to_owned();
        self.session
            .ask(Ask::Resource { uri }, None, options, cancel)
            .await
    }

    /// All resources, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_resources(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.session.list(List::Resources, cancel).await
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
        self.session.list(List::ResourceTemplates, cancel).await
    }

    /// All prompts, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_prompts(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.session.list(List::Prompts, cancel).await
    }

    /// All tools, read anew, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_tools(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.session.list(List::Tools, cancel).await
    }

    /// Ends the connection and the process. Returns when both are gone; doing it twice is harmless.
    pub async fn close(&self) {
        self.session.close().await;
    }

    /// Begins to end everything, without waiting for it.
    pub fn abandon(&self) {
        self.session.abandon();
    }

    /// What is known about the server, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        self.session.status()
    }
}

fn facts(connection: &Connection) -> String {
    let info = connection.info.as_deref();
    let about = json!({
        "protocolVersion": info.map(|info| info.protocol_version.to_string()),
        "serverInfo": info.and_then(|info| info.server_info.clone()),
        "capabilities": info.map(|info| info.capabilities.clone()),
        "instructions": info.and_then(|info| info.instructions.clone()),
        "pid": connection.process.as_ref().map(|process| process.pid),
    });
    format!(r#"{{"about":{about},"tools":{}}}"#, connection.tools)
}

//! Tools of MCP servers.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::access::AccessControl;
use operations_core::error::CallError;
use operations_core::log::{Level, Logger};
use operations_core::spec::OperationType;
use operations_mcp::{Client, ClientCallbacks, ClientRequest, ServerConfig, ToolHandler};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use crate::imported::usable_schema;
use crate::operation::Operation;
use crate::registry::{Collisions, Origin, Registry};

/// An MCP server whose tools are to be registered: a program that is started, or a URL.
///
/// ```no_run
/// use operations::{AccessControl, McpServer, Registry};
/// use serde_json::json;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), operations::CallError> {
/// let registry = Registry::new();
/// let files = McpServer::command("files", "npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/tmp"])
///     .access(AccessControl::scopes(["files"]))
///     .import(&registry)
///     .await?;
/// println!("{:?}", files.ids());
/// files.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is started before import"]
pub struct McpServer {
    name: String,
    settings: Map<String, Value>,
    args: Vec<String>,
    env: Map<String, Value>,
    headers: Map<String, Value>,
    secrets: Vec<String>,
    tools: Tools,
    logger: Logger,
}

/// Which tools become operations, and as what.
#[derive(Clone, Default)]
struct Tools {
    include: Option<Vec<String>>,
    access: AccessControl,
    trusts_annotations: bool,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl McpServer {
    fn new(name: impl Into<String>, setting: &str, value: String) -> Self {
        Self {
            name: name.into(),
            settings: Map::from_iter([(setting.to_owned(), value.into())]),
            args: Vec::new(),
            env: Map::new(),
            headers: Map::new(),
            secrets: Vec::new(),
            tools: Tools::default(),
            logger: Logger::silent(),
        }
    }

    /// A server that is started, and speaks over its standard streams. `name` is the namespace of its tools.
    pub fn command(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(name, "command", command.into())
    }

    /// A server at a URL. `name` is the namespace of its tools.
    pub fn url(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, "url", url.into())
    }

    /// Arguments of the command.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable for the command. Of this program's own, it gets only what every program needs.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        let lower = name.to_ascii_lowercase();
        let kinds = ["token", "key", "secret", "pass", "auth", "credential"];
        if kinds.iter().any(|kind| lower.contains(kind)) {
            self.secrets.push(value.clone());
        }
        self.env.insert(name, value.into());
        self
    }

    /// Where the command runs.
    pub fn current_dir(self, folder: impl Into<String>) -> Self {
        self.setting("cwd", folder.into().into())
    }

    /// Sends a header with every request. Its value appears in no message.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let value = value.into();
        // `Bearer token` is a secret, and so is the token alone.
        let words = value.split(' ').skip(1).map(ToOwned::to_owned);
        self.secrets.extend(words);
        self.secrets.push(value.clone());
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sends `Authorization: Bearer <token>` with every request.
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// How long a call may take (default: a minute).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.setting("timeout", (timeout.as_secs_f64() * 1_000.0).into())
    }

    /// How long the server may take from its start to its list of tools (default: half a minute).
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        self.setting("connectTimeout", (timeout.as_secs_f64() * 1_000.0).into())
    }

    /// Makes an error of a result with `isError`, which is an envelope otherwise.
    pub fn tool_errors_fail(self) -> Self {
        self.setting("throwsToolErrors", true.into())
    }

    /// Imports these tools only.
    pub fn include<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.tools.include = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Who may call the tools. Without rules, every caller may.
    pub fn access(mut self, rules: AccessControl) -> Self {
        self.tools.access = rules;
        self
    }

    /// Makes queries of tools that say of themselves that they only read. Only for servers that you trust.
    pub fn trust_annotations(mut self) -> Self {
        self.tools.trusts_annotations = true;
        self
    }

    /// A function for log lines.
    pub fn log(mut self, line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.logger = Logger::new(move |record| line(&record.message));
        self
    }

    fn setting(mut self, name: &str, value: Value) -> Self {
        self.settings.insert(name.to_owned(), value);
        self
    }

    /// Connects, registers the tools, and follows the server when it has others.
    ///
    /// # Errors
    ///
    /// When a setting cannot be used, when the server cannot be started or reached, and when an operation has the name of a tool.
    pub async fn import(mut self, registry: &Registry) -> Result<McpConnection, CallError> {
        // What a child inherits of it is decided where it is started.
        let host_env = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?.into()))
        });
        let host_env: Map<String, Value> = host_env.collect();
        let more = [
            ("args", self.args.into()),
            ("env", self.env.into()),
            ("headers", self.headers.into()),
            ("secrets", self.secrets.into()),
            ("hostEnv", host_env.into()),
        ];
        let more = more.map(|(name, value): (&str, Value)| (name.to_owned(), value));
        self.settings.extend(more);
        let config =
            ServerConfig::from_json(&self.name, &Value::Object(self.settings).to_string())?;
        let importing = Arc::new(Importing {
            name: self.name,
            registry: registry.clone(),
            source: Origin::new(None),
            tools: self.tools,
            logger: self.logger.clone(),
            connected: OnceLock::new(),
        });
        let callbacks = Arc::clone(&importing) as Arc<dyn ClientCallbacks>;
        let client = Client::new(config, callbacks, self.logger, Handle::current());
        let connection = McpConnection {
            client: Arc::new(client),
            importing,
        };
        let listed = connection.client.connect().await?;
        let about: Value = serde_json::from_str(&listed).unwrap_or_default();
        let version = about.pointer("/about/serverInfo/version");
        let version = version.and_then(Value::as_str).unwrap_or("1.0.0");
        let importing = &connection.importing;
        let connected = (Arc::downgrade(&connection.client), version.to_owned());
        let _ = importing.connected.set(connected);
        importing.take(&listed, Collisions::Refuse)?;
        Ok(connection)
    }
}

/// A connected MCP server, whose tools are registered until it is closed or dropped.
///
/// ```no_run
/// # use operations::{McpServer, Registry};
/// # async fn example(registry: &Registry) -> Result<(), operations::CallError> {
/// let server = McpServer::url("notes", "https://notes.example.com/mcp").import(registry).await?;
/// assert!(server.ids().contains(&"notes.find".to_owned()));
/// server.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "its tools are removed when this is dropped"]
pub struct McpConnection {
    client: Arc<Client>,
    importing: Arc<Importing>,
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConnection")
            .field("name", &self.importing.name)
            .finish_non_exhaustive()
    }
}

impl McpConnection {
    /// The ids of the tools as they are registered now.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let Importing {
            registry, source, ..
        } = &*self.importing;
        registry.ids_of(*source)
    }

    /// Whether it is connected, how many tools it has and what went wrong last, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        self.client.status()
    }

    /// Removes the tools, and ends the connection and the process.
    pub async fn close(self) {
        self.client.close().await;
    }
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        self.importing.end();
        self.client.abandon();
    }
}

/// The import of one server's tools.
struct Importing {
    name: String,
    registry: Registry,
    source: Origin,
    tools: Tools,
    logger: Logger,
    /// Once it is connected: the client, and the version of the server.
    connected: OnceLock<(Weak<Client>, String)>,
}

/// A list of tools, each as JSON.
#[derive(Deserialize)]
struct Listed {
    tools: Vec<String>,
}

/// A tool, as its server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    title: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    output_schema: Value,
    #[serde(default)]
    annotations: Value,
}

impl Importing {
    fn take(&self, listed: &str, collisions: Collisions) -> Result<Vec<String>, CallError> {
        let listed: Listed = serde_json::from_str(listed)
            .map_err(|error| CallError::failed(format!("MCP server '{}': {error}", self.name)))?;
        let tools = listed.tools.iter();
        let tools = tools.filter_map(|tool| serde_json::from_str::<Tool>(tool).ok());
        let operations = tools.filter_map(|tool| self.operation(tool));
        self.registry
            .follow(self.source, operations.collect(), collisions)
    }

    fn operation(&self, tool: Tool) -> Option<Operation> {
        let Tools {
            include,
            access,
            trusts_annotations,
        } = &self.tools;
        let is_included = include
            .as_ref()
            .is_none_or(|names| names.contains(&tool.name));
        if !is_included || tool.name.is_empty() {
            return None;
        }
        let words = |value: &Value| {
            value
                .as_str()
                .filter(|it| !it.is_empty())
                .map(ToOwned::to_owned)
        };
        let hint = |name| tool.annotations.get(name);
        let title = words(&tool.title).or_else(|| words(hint("title")?));
        let only_reads = *trusts_annotations && hint("readOnlyHint") == Some(&Value::Bool(true));
        let kind = if only_reads {
            OperationType::Query
        } else {
            OperationType::Mutation
        };
        let (client, version) = self.connected.get()?;
        let handler = ToolHandler {
            client: client.upgrade()?,
            tool: tool.name.clone(),
            spills: None,
        };
        let input = usable_schema(Some(&tool.input_schema));
        let output = usable_schema(Some(&tool.output_schema));
        let description = words(&tool.description).or_else(|| title.clone());
        let mut operation = Operation::new(
            kind,
            &self.name,
            &tool.name,
            input,
            output,
            Arc::new(handler),
        )
        .description(description.unwrap_or(tool.name))
        .version(version)
        .access(access.clone());
        operation.about.title = title;
        operation.about.annotations = tool.annotations.as_object().cloned();
        Some(operation)
    }

    fn end(&self) {
        // An empty list has nothing to collide with.
        let _ = self
            .registry
            .follow(self.source, Vec::new(), Collisions::LeaveOut);
    }
}

impl ClientCallbacks for Importing {
    fn request(
        &self,
        request: ClientRequest,
        _: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        let refusal = format!(
            "this program does not answer requests of kind {}",
            request.as_str()
        );
        async { Err(refusal) }.boxed()
    }

    fn tools_changed(&self, tools: String) {
        if let Err(error) = self.take(&tools, Collisions::LeaveOut) {
            let message = format!(
                "The tools of MCP server '{}' cannot be taken over: {error}",
                self.name
            );
            self.logger.log(Level::Warning, "mcp", message, []);
        }
    }

    fn status_changed(&self) {}
}

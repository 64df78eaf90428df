//! A server as its users see it: it is called, and whether it had to be started again for that is not
//! their concern.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::log::{Level, Logger};
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::call::{self, Ask};
use crate::config::ServerConfig;
use crate::connection::{Connection, log_connected};
use crate::failure::{About, Failure};
use crate::handler::Handler;
use crate::host::Host;
use crate::listing::{self, List};
use crate::request::Patience;
use crate::slot::OnProgress;

/// The first pause before a server that failed is tried again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A call waits for a pause that is as short as this; otherwise it fails at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// Changes of the tool list that follow each other closely are read as one.
const SETTLE: Duration = Duration::from_millis(50);

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
    inner: Arc<Inner>,
}

struct Inner {
    handler: Handler,
    state: AsyncMutex<State>,
    /// The current connection, for those who must not wait for a new one.
    current: Mutex<Option<Arc<Connection>>>,
    seen: Mutex<Seen>,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    failures: u32,
    not_before: Option<Instant>,
}

/// What is remembered beyond a connection.
#[derive(Default)]
struct Seen {
    connecting: bool,
    tools: String,
    names: HashMap<String, bool>,
    last_error: Option<Value>,
    stderr: String,
}

impl Client {
    /// A server that is not connected yet.
    pub fn new(config: ServerConfig, host: Arc<dyn Host>, logger: Logger) -> Self {
        let handler = Handler {
            config: Arc::new(config),
            host,
            logger,
            tools_changed: Arc::new(Notify::new()),
        };
        Self {
            inner: Arc::new(Inner {
                handler,
                state: AsyncMutex::default(),
                current: Mutex::default(),
                seen: Mutex::default(),
                closed: CancellationToken::new(),
            }),
        }
    }

    /// Connects, and tells about the server and its tools, as JSON.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, does not speak the protocol or takes too long.
    pub async fn connect(&self) -> Result<String, CallError> {
        let connection = self.inner.connection().await?;
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
            arguments: self.inner.arguments(name, arguments)?,
        };
        self.inner.ask(ask, Some(name), options, cancel).await
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
            arguments: self.inner.arguments(name, arguments)?,
        };
        self.inner.ask(ask, None, options, cancel).await
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
        self.inner
            .ask(Ask::Resource { uri }, None, options, cancel)
            .await
    }

    /// All resources, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_resources(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.inner.list(List::Resources, cancel).await
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
        self.inner.list(List::ResourceTemplates, cancel).await
    }

    /// All prompts, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_prompts(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.inner.list(List::Prompts, cancel).await
    }

    /// All tools, read anew, as a JSON array.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or refuses.
    pub async fn list_tools(&self, cancel: &CancellationToken) -> Result<String, CallError> {
        self.inner.list(List::Tools, cancel).await
    }

    /// Ends the connection and the process. Returns when both are gone; doing it twice is harmless.
    pub async fn close(&self) {
        self.inner.closed.cancel();
        let connection = self.inner.current().take();
        if let Some(connection) = connection {
            self.inner.remember_words(&connection);
            connection.close().await;
        }
        // A connection that was just being made is given up by its maker, who holds the lock.
        drop(self.inner.state.lock().await);
    }

    /// Begins to end everything, without waiting for it.
    pub fn abandon(&self) {
        self.inner.closed.cancel();
        // The connection ends when the last call that uses it does.
        drop(self.inner.current().take());
    }

    /// What is known about the server, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        self.inner.status()
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

impl Inner {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&self) -> &ServerConfig {
        &self.handler.config
    }

    fn arguments(&self, name: &str, text: Option<&str>) -> Result<Option<JsonObject>, CallError> {
        let Some(text) = text else { return Ok(None) };
        serde_json::from_str(text).map_err(|error| {
            let mut about = About::server(self.config());
            about.tool = Some(name);
            let what = format!("the arguments must be an object, at most 128 levels deep: {error}");
            about.error(Code::ValidationError, &what, json!({}))
        })
    }

    fn live(&self) -> Option<Arc<Connection>> {
        self.current()
            .as_ref()
            .filter(|connection| !connection.lost.is_cancelled())
            .map(Arc::clone)
    }

    fn is_closed(&self) -> CallError {
        let what = "it was closed; create a client anew to use it again";
        let details = json!({ "mayHaveExecuted": false });
        About::server(self.config()).error(Code::ExecutionError, what, details)
    }

    /// The connection; a new one if there is none, or if it was lost.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let mut state = self.state.lock().await;
        // Another call may have connected while this one waited.
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if self.closed.is_cancelled() {
            return Err(self.is_closed());
        }
        let before = self.current().take();
        if let Some(before) = &before {
            self.remember_words(before);
            if !self.config().reconnect {
                *self.current() = Some(Arc::clone(before));
                let what = "the connection was lost, and 'reconnect' is off";
                let details = json!({ "mayHaveExecuted": false });
                let about = before.about(None, true).await;
                return Err(about.error(Code::ExecutionError, what, details));
            }
        }
        self.pause(&state).await?;
        self.seen().connecting = true;
        let opened = tokio::select! {
            opened = Connection::open(self.handler.clone()) => opened,
            () = self.closed.cancelled() => Err(self.is_closed()),
        };
        self.seen().connecting = false;
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.not_before = None;
                self.adopt(&connection);
                Ok(connection)
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                let pause = FIRST_PAUSE.saturating_mul(1 << state.failures.min(10));
                state.not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
                let mut seen = self.seen();
                seen.last_error = serde_json::to_value(&error).ok();
                if let Some(stderr) = error
                    .details
                    .as_ref()
                    .and_then(|details| details.get("stderr"))
                {
                    seen.stderr = stderr.as_str().unwrap_or_default().to_owned();
                }
                Err(error)
            }
        }
    }

    /// A server that failed is left alone for a while.
    async fn pause(&self, state: &State) -> Result<(), CallError> {
        let Some(not_before) = state.not_before else {
            return Ok(());
        };
        let left = not_before.saturating_duration_since(Instant::now());
        if left <= PATIENCE {
            sleep(left).await;
            return Ok(());
        }
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let what = format!(
            "it failed {} times in a row and is tried again in {left} ms; the call was not carried out",
            state.failures
        );
        let details = json!({
            "mayHaveExecuted": false,
            "retryInMs": left,
            "lastError": self.seen().last_error,
        });
        Err(About::server(self.config()).error(Code::ExecutionError, &what, details))
    }

    fn adopt(self: &Arc<Self>, connection: &Arc<Connection>) {
        log_connected(connection, &self.handler.logger);
        let is_first = {
            let mut seen = self.seen();
            let is_first = seen.tools.is_empty();
            seen.last_error = None;
            is_first
        };
        self.note_tools(&connection.tools, !is_first);
        self.keep_tools(connection);
        let mut current = self.current();
        if !self.closed.is_cancelled() {
            *current = Some(Arc::clone(connection));
        }
    }

    /// Remembers the tools, and tells if they are others than before.
    fn note_tools(&self, tools: &str, tell: bool) {
        let changed = {
            let mut seen = self.seen();
            let changed = seen.tools != tools;
            if changed {
                seen.names = listing::tool_names(tools);
                tools.clone_into(&mut seen.tools);
            }
            changed
        };
        if changed && tell {
            self.handler.host.tools_changed(tools.to_owned());
        }
    }

    /// Reads the tools again whenever the server says that they have changed.
    fn keep_tools(self: &Arc<Self>, connection: &Arc<Connection>) {
        let inner = Arc::downgrade(self);
        let connection = Arc::downgrade(connection);
        let changed = Arc::clone(&self.handler.tools_changed);
        let Some(lost) = connection
            .upgrade()
            .map(|connection| connection.lost.clone())
        else {
            return;
        };
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = changed.notified() => {}
                    () = lost.cancelled() => return,
                }
                sleep(SETTLE).await;
                let (Some(inner), Some(connection)) = (inner.upgrade(), connection.upgrade())
                else {
                    return;
                };
                match connection.list(List::Tools, &lost).await {
                    Ok(tools) => inner.note_tools(&tools, true),
                    Err(failure) => {
                        let error = About::server(inner.config()).failure(failure);
                        let facts = [("server", json!(inner.config().name))];
                        let logger = &inner.handler.logger;
                        logger.log(Level::Warning, "mcp", error.message, facts);
                    }
                }
            }
        });
    }

    fn remember_words(&self, connection: &Connection) {
        if let Some(process) = &connection.process {
            self.seen().stderr = self.config().secrets.hide(&process.stderr.text());
        }
    }

    async fn list(
        self: &Arc<Self>,
        list: List,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let connection = self.connection_for(cancel).await?;
        match connection.list(list, cancel).await {
            Ok(entries) => {
                if list == List::Tools {
                    self.note_tools(&entries, true);
                }
                Ok(entries)
            }
            Err(failure) => Err(self.told(&connection, None, failure).await),
        }
    }

    async fn connection_for(
        self: &Arc<Self>,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, CallError> {
        tokio::select! {
            biased;
            connection = self.connection() => connection,
            () = cancel.cancelled() => {
                let details = json!({ "mayHaveExecuted": false });
                let what = "the call was aborted before it was sent";
                Err(About::server(self.config()).error(Code::Aborted, what, details))
            }
        }
    }

    async fn ask(
        self: &Arc<Self>,
        what: Ask,
        tool: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let config = self.config();
        let patience = Patience {
            limit: options.timeout.unwrap_or(config.timeout),
            reset_on_progress: options
                .reset_timeout_on_progress
                .unwrap_or(config.reset_timeout_on_progress),
        };
        let on_progress: Option<Arc<dyn Fn(&str) + Send + Sync>> =
            options.on_progress.map(Arc::from);
        let mut second = false;
        loop {
            let connection = self.connection_for(cancel).await?;
            let progress = on_progress
                .clone()
                .map(|listener| Box::new(move |json: &str| listener(json)) as OnProgress);
            let asked = call::ask(&connection, &what, patience, progress, cancel).await;
            match asked {
                Ok(result) => {
                    self.state_is_well().await;
                    return Ok(result);
                }
                Err(failure) if !second && self.may_repeat(&failure, tool, &what) => second = true,
                Err(failure) => return Err(self.told(&connection, tool, failure).await),
            }
        }
    }

    /// Whether a call that met its server's end may be sent to the next one: if it never left us, or if
    /// doing it twice does no harm.
    fn may_repeat(&self, failure: &Failure, tool: Option<&str>, what: &Ask) -> bool {
        if !self.config().reconnect || self.closed.is_cancelled() {
            return false;
        }
        let harmless = match (what, tool) {
            (Ask::Tool { .. }, Some(tool)) => self.seen().names.get(tool) == Some(&true),
            _ => true,
        };
        failure.never_left() || (harmless && matches!(failure, Failure::Lost { .. }))
    }

    /// A server that answers is no failing one. Only a failing one's state is looked at.
    async fn state_is_well(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.failures = 0;
        }
    }

    async fn told(
        &self,
        connection: &Connection,
        tool: Option<&str>,
        failure: Failure,
    ) -> CallError {
        let died = matches!(failure, Failure::Lost { .. });
        let mut about = connection.about(tool, died).await;
        // A refusal or a time limit says it all; words from long ago would only confuse.
        if matches!(
            failure,
            Failure::Refused(_) | Failure::Aborted | Failure::TooLarge(_)
        ) {
            about.stderr.clear();
        }
        let error = about.failure(failure);
        self.seen().last_error = serde_json::to_value(&error).ok();
        error
    }

    fn status(&self) -> Value {
        let connection = self.live();
        let seen = self.seen();
        let state = if self.closed.is_cancelled() {
            "closed"
        } else if connection.is_some() {
            "connected"
        } else if seen.connecting {
            "connecting"
        } else if self.current().is_some() {
            "lost"
        } else {
            "failed"
        };
        let stderr = self
            .current()
            .as_ref()
            .and_then(|connection| connection.process.as_ref())
            .map_or_else(
                || seen.stderr.clone(),
                |process| self.config().secrets.hide(&process.stderr.text()),
            );
        let info = connection
            .as_ref()
            .and_then(|connection| connection.info.clone());
        json!({
            "state": state,
            "tools": seen.names.len(),
            "lastError": seen.last_error,
            "stderr": stderr,
            "pid": connection.as_ref().and_then(|connection| connection.process.as_ref()).map(|process| process.pid),
            "protocolVersion": info.as_ref().map(|info| info.protocol_version.to_string()),
        })
    }
}

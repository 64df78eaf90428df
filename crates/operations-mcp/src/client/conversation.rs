//! What is said on one connection. Both transports bring every message of the server's here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use operations_core::log::{Level, Logger};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::requests::Requests;
use super::server_requests::ServerRequests;
use crate::config::ServerConfig;
use crate::error::Failure;
use crate::transport::Transport;
use crate::transport::message::{self, Message, RpcError};

/// Lines that are no messages are logged up to this number.
const LOGGED_LINES: usize = 20;
/// And up to this length.
const LOGGED_LENGTH: usize = 200;
/// A server's log lines are cut here.
const LOGGED_WORDS: usize = 2 * 1024;

/// Our side of one connection.
pub(crate) struct Conversation {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) server_requests: Arc<ServerRequests>,
    /// Notified when the server says that its tools have changed.
    pub(crate) tools_changed: Arc<Notify>,
    /// The client's: what runs for this connection too.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when nothing can be asked any more.
    pub(crate) lost: CancellationToken,
    /// Whether the server speaks the stateless revision.
    pub(crate) is_stateless: AtomicBool,
    pub(crate) logger: Logger,
    odd_lines: AtomicUsize,
}

impl Conversation {
    pub(crate) fn new(
        server_requests: Arc<ServerRequests>,
        tools_changed: Arc<Notify>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            config: Arc::clone(&server_requests.config),
            logger: server_requests.logger.clone(),
            requests: Arc::default(),
            server_requests,
            tools_changed,
            tasks,
            lost: CancellationToken::new(),
            is_stateless: AtomicBool::new(false),
            odd_lines: AtomicUsize::new(0),
        }
    }

    /// Takes what the server said: a message, or a batch of them. `transport` is the way for answers. Whether
    /// there was a message in it.
    pub(crate) fn hear(&self, text: &str, transport: &Arc<dyn Transport>) -> bool {
        let mut heard = false;
        for text in message::split(text) {
            match Message::read(text) {
                Some(message) => {
                    heard = true;
                    self.take(&message, transport);
                }
                None => self.take_malformed(text),
            }
        }
        heard
    }

    /// A message that cannot be read. If it is the answer to a request, there will be no other one.
    fn take_malformed(&self, text: &str) {
        if text.trim_start().starts_with('{') && !text.contains("\"method\"") {
            let number = message::number_at_edge(text, text);
            if let Some(id) = number.or_else(|| message::number_at_edge(text, "}")) {
                let reason = "its answer is not JSON, or no message of JSON-RPC 2.0".to_owned();
                self.requests.settle(id, Err(Failure::Odd(reason)));
            }
        }
        self.note_odd_line(text);
    }

    fn take(&self, message: &Message<'_>, transport: &Arc<dyn Transport>) {
        match (message.method.as_deref(), message.id) {
            (Some(method), Some(id)) => self.server_request(method, id.get(), message, transport),
            (Some(method), None) => self.notification(method, message),
            (None, _) => self.answer(message),
        }
    }

    fn answer(&self, message: &Message<'_>) {
        let outcome = match (message.result, message.error) {
            (Some(result), _) => Ok(result.get().to_owned()),
            (None, Some(error)) => Err(Failure::Refused(RpcError::read(error))),
            (None, None) => Err(Failure::Odd("there is no result in it".to_owned())),
        };
        // A server that could not read a request says so without an id. Other answers without one of our
        // numbers answer nothing.
        let complaint = || match message.id.map(RawValue::get) {
            None | Some("null") if message.error.is_some() => self.requests.only_one(),
            _ => None,
        };
        if let Some(id) = message.number().or_else(complaint) {
            self.requests.settle(id, outcome);
        }
    }

    fn server_request(
        &self,
        method: &str,
        id: &str,
        message: &Message<'_>,
        transport: &Arc<dyn Transport>,
    ) {
        // In the stateless revision a server may only ask in the course of a request of ours.
        let is_out_of_turn = self.is_stateless.load(Ordering::Acquire)
            && method != "ping"
            && self.requests.is_empty();
        let params = message.params.map(RawValue::get);
        self.server_requests
            .take(self, method, id, params, is_out_of_turn, transport);
    }

    fn notification(&self, method: &str, message: &Message<'_>) {
        let params = message.params.map(RawValue::get);
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                if let Some(token) = message::progress_token(params) {
                    self.requests.progress(token, params);
                }
            }
            // The list that we have when a subscription begins is older. There are no notifications about what changed in between.
            (
                "notifications/tools/list_changed" | "notifications/subscriptions/acknowledged",
                _,
            ) => self.tools_changed.notify_one(),
            ("notifications/message", Some(params)) => self.log_words(params),
            ("notifications/cancelled", Some(params)) => self.server_requests.withdrawn(params),
            _ => {}
        }
    }

    fn log_words(&self, params: &str) {
        #[derive(Deserialize)]
        struct Words {
            level: String,
            data: Value,
        }
        let Ok(Words { level, data }) = serde_json::from_str(params) else {
            return;
        };
        let level = match level.as_str() {
            "debug" => Level::Debug,
            "info" | "notice" => Level::Info,
            "warning" => Level::Warning,
            _ => Level::Error,
        };
        let text = data
            .as_str()
            .map_or_else(|| data.to_string(), str::to_owned);
        let cut: String = text.chars().take(LOGGED_WORDS).collect();
        self.log(
            level,
            &format!("MCP server '{}' says: {cut}", self.config.name),
        );
    }

    pub(crate) fn note_odd_line(&self, text: &str) {
        let text = text.trim();
        let before = self.odd_lines.fetch_add(1, Ordering::Relaxed);
        if text.is_empty() || before > LOGGED_LINES {
            return;
        }
        let name = &self.config.name;
        let message = if before == LOGGED_LINES {
            format!(
                "MCP server '{name}' goes on writing lines that are no messages; they are not logged any more"
            )
        } else {
            let cut: String = text.chars().take(LOGGED_LENGTH).collect();
            format!("MCP server '{name}' wrote a line that is no message: {cut}")
        };
        self.log(Level::Warning, &message);
    }

    /// Logs something about the server, without what must not be shown.
    pub(crate) fn log(&self, level: Level, message: &str) {
        let facts = [("server", json!(self.config.name))];
        let message = self.config.secrets.hide(message);
        self.logger.log(level, "mcp", message, facts);
    }

    /// Nothing can be said any more. `unsent` are requests that did not leave us.
    pub(crate) fn lose(&self, unsent: &[u64]) {
        self.lost.cancel();
        self.requests.lose(unsent);
    }
}

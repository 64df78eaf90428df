//! How a client keeps a connection: when one is made, how long a server that fails is left alone, and the end.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::conversation::Conversation;
use super::list::{self, List, Tools};
use super::{Client, Seen, connect};
use crate::auth::Authorization;
use crate::config::ServerConfig;
use crate::error::{About, Delivery};

/// The first pause before a server that failed is tried again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A call waits for a pause that is as short as this; otherwise it fails at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// Changes of the tool list that follow each other closely are read as one.
const SETTLE: Duration = Duration::from_millis(50);
/// The list is read at most once in this time, which doubles while the server goes on changing it.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

impl Client {
    /// What is about to be said on a new connection.
    pub(crate) fn conversation(&self) -> Conversation {
        let questions = Arc::clone(&self.questions);
        Conversation::new(questions, Arc::clone(&self.tools_changed))
    }

    pub(crate) fn authorization(&self) -> Option<Arc<Authorization>> {
        self.authorization.clone()
    }

    pub(crate) fn is_asking_user(&self) -> bool {
        let authorization = self.authorization.as_ref();
        authorization.is_some_and(|authorization| authorization.is_asking())
    }

    pub(crate) fn logger(&self) -> &Logger {
        &self.questions.logger
    }

    /// Ends the connection and the process. Returns when both are gone; doing it twice is harmless.
    pub async fn close(&self) {
        self.closed.cancel();
        let connection = self.current().take();
        if let Some(connection) = connection {
            self.remember_words(&connection);
            connection.close().await;
        }
        // A connection that was just being made is given up by its maker, who holds the lock.
        drop(self.not_before.lock().await);
    }

    /// Begins to end everything, without waiting for it.
    pub fn abandon(&self) {
        self.closed.cancel();
        // The connection ends when the last call that uses it does.
        drop(self.current().take());
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        locked(&self.current)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.questions.config
    }

    pub(crate) fn live(&self) -> Option<Arc<Connection>> {
        self.current()
            .as_ref()
            .filter(|connection| !connection.is_lost())
            .map(Arc::clone)
    }

    /// The error of a call that did not leave us.
    pub(super) fn not_sent(&self, code: Code, reason: &'static str, what: &str) -> CallError {
        About::server(self.config()).error(code, reason, Delivery::None, what)
    }

    fn is_closed(&self) -> CallError {
        let what = "it was closed; create a client anew to use it again";
        self.not_sent(Code::ExecutionError, "closed", what)
    }

    /// The connection; a new one if there is none, or if it was lost.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let mut not_before = self.not_before.lock().await;
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
                let about = before.about(None, true).await;
                let (code, reason) = (Code::ExecutionError, "connection-lost");
                return Err(about.error(code, reason, Delivery::None, what));
            }
        }
        self.pause(*not_before).await?;
        self.seen().connecting = true;
        let opened = tokio::select! {
            opened = connect::open(self) => opened,
            () = self.closed.cancelled() => Err(self.is_closed()),
        };
        self.seen().connecting = false;
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *not_before = None;
                self.adopt(&connection);
                Ok(connection)
            }
            Err(error) => {
                let failures = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
                let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(10));
                *not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
                let mut seen = self.seen();
                seen.last_error = serde_json::to_value(&error).ok();
                if let Some(stderr) = error
                    .details
                    .as_ref()
                    .and_then(|details| details.get("stderr"))
                {
                    stderr
                        .as_str()
                        .unwrap_or_default()
                        .clone_into(&mut seen.stderr);
                }
                Err(error)
            }
        }
    }

    /// A server that failed is left alone for a while.
    async fn pause(&self, not_before: Option<Instant>) -> Result<(), CallError> {
        let Some(not_before) = not_before else {
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
            self.failures.load(Ordering::Acquire)
        );
        let details = json!({
            "retryInMs": left,
            "lastError": self.seen().last_error,
        });
        let about = About::server(self.config());
        let (code, reason) = (Code::ExecutionError, "backing-off");
        Err(about.error_with(code, reason, Delivery::None, &what, details))
    }

    pub(super) fn adopt(self: &Arc<Self>, connection: &Arc<Connection>) {
        connection.log_connected(self.logger());
        let is_first = {
            let mut seen = self.seen();
            let is_first = seen.tools.is_none();
            seen.last_error = None;
            is_first
        };
        self.note_tools(&connection.tools, !is_first);
        self.keep_tools(connection);
        tokio::spawn(Connection::listen(Arc::downgrade(connection)));
        let mut current = self.current();
        if !self.closed.is_cancelled() {
            *current = Some(Arc::clone(connection));
        }
    }

    /// Remembers the tools, and tells if they are others than before.
    fn note_tools(&self, tools: &Tools, tell: bool) {
        let changed = {
            let mut seen = self.seen();
            let changed = seen.tools.as_ref() != Some(&tools.texts);
            if changed {
                seen.names = list::tool_names(&tools.texts);
                seen.tools = Some(tools.texts.clone());
            }
            changed
        };
        if changed && tell {
            let members = tools.members();
            self.questions.host.tools_changed(format!("{{{members}}}"));
        }
    }

    /// A list of the server's, read anew.
    pub(crate) async fn list(
        self: &Arc<Self>,
        list: List,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let limit = self.config().connect_timeout;
        let connection = self.connected(limit, cancel).await?;
        let listed = match list {
            List::Tools => connection.tools(cancel).await.map(|tools| {
                self.note_tools(&tools, true);
                list::array(&tools.texts)
            }),
            _ => connection.list(list, cancel).await,
        };
        match listed {
            Ok(entries) => Ok(entries),
            Err(failure) => Err(self.told(&connection, None, failure).await),
        }
    }

    /// Reads the tools again whenever the server says that they have changed.
    fn keep_tools(self: &Arc<Self>, connection: &Arc<Connection>) {
        let server = Arc::downgrade(self);
        let connection = Arc::downgrade(connection);
        let changed = Arc::clone(&self.tools_changed);
        let Some(lost) = connection
            .upgrade()
            .map(|connection| connection.conversation.lost.clone())
        else {
            return;
        };
        tokio::spawn(async move {
            let mut rest = FIRST_REST;
            let mut read_at: Option<Instant> = None;
            loop {
                tokio::select! {
                    () = changed.notified() => {}
                    () = lost.cancelled() => return,
                }
                let soonest = read_at.map(|read_at| read_at + rest);
                if let Some(soonest) = soonest.filter(|soonest| *soonest > Instant::now()) {
                    rest = (rest * 2).min(LONGEST_REST);
                    tokio::select! {
                        () = sleep_until(soonest) => {}
                        () = lost.cancelled() => return,
                    }
                } else {
                    rest = FIRST_REST;
                    sleep(SETTLE).await;
                }
                let (Some(server), Some(connection)) = (server.upgrade(), connection.upgrade())
                else {
                    return;
                };
                match connection.tools(&lost).await {
                    Ok(tools) => server.note_tools(&tools, true),
                    Err(failure) => {
                        let error = About::server(server.config()).failure(failure);
                        let facts = [("server", json!(server.config().name))];
                        server
                            .logger()
                            .log(Level::Warning, "mcp", error.message, facts);
                    }
                }
                read_at = Some(Instant::now());
            }
        });
    }

    fn remember_words(&self, connection: &Connection) {
        if let Some(process) = &connection.process {
            self.seen().stderr = self.config().secrets.hide(&process.stderr.text());
        }
    }

    /// A server that answers is no failing one.
    pub(crate) fn is_well(&self) {
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Release);
        }
    }

    /// What is known about the server, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
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
        json!({
            "state": state,
            "tools": seen.names.len(),
            "lastError": seen.last_error,
            "stderr": stderr,
            "pid": connection.as_ref().and_then(|connection| connection.process.as_ref()).map(|process| process.pid),
            "protocolVersion": connection.as_ref().map(|connection| &connection.facts.version),
        })
    }
}

//! How a client keeps a connection: when one is made, how long a server that fails is left alone, and the end.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};
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
/// A process that lived for so long had no reason in its start to end.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// A call waits for a pause that is as short as this; otherwise it fails at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// Changes of the tool list that follow each other closely are read as one.
const SETTLE: Duration = Duration::from_millis(50);
/// The list is read at most once in this time, which doubles while the server goes on changing it.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How long a close waits for tasks, once the connection is gone.
const LAST_TASKS: Duration = Duration::from_secs(10);

impl Client {
    /// What is about to be said on a new connection.
    pub(crate) fn conversation(&self) -> Conversation {
        let server_requests = Arc::clone(&self.server_requests);
        let changed = Arc::clone(&self.tools_changed);
        Conversation::new(server_requests, changed, self.tasks.clone())
    }

    pub(crate) fn authorization(&self) -> Option<Arc<Authorization>> {
        self.authorization.clone()
    }

    pub(crate) fn is_authorizing(&self) -> bool {
        let authorization = self.authorization.as_ref();
        authorization.is_some_and(|authorization| authorization.is_authorizing())
    }

    pub(crate) fn logger(&self) -> &Logger {
        &self.server_requests.logger
    }

    /// Ends the connection, the process and every task. Returns when all are gone; doing it twice is harmless.
    pub async fn close(&self) {
        self.closed.cancel();
        let connection = self.current().take();
        if let Some(connection) = connection {
            self.remember_words(&connection);
            connection.close().await;
        }
        // A connection that was just being made is given up by its maker, who holds the lock.
        drop(self.not_before.lock().await);
        self.tasks.close();
        let _ = timeout(LAST_TASKS, self.tasks.wait()).await;
    }

    /// Begins to end everything, without waiting for it.
    pub fn abandon(&self) {
        self.closed.cancel();
        // The connection ends when the last call that uses it does.
        drop(self.current().take());
    }

    pub(super) fn current(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        locked(&self.current)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.server_requests.config
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

    /// The connection; a new one if needed.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let failed_starts = self.seen().failed_starts;
        let mut not_before = self.not_before.lock().await;
        // Another call may have connected while this one waited.
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if self.closed.is_cancelled() {
            return Err(self.is_closed());
        }
        // One start is for all who waited for it, also where it failed.
        let failed_start = {
            let seen = self.seen();
            let has_failed = seen.failed_starts != failed_starts;
            seen.failed_start.clone().filter(|_| has_failed)
        };
        if let Some(error) = failed_start {
            return Err(error);
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
            if before.process.is_some() {
                *not_before = self.after_death(before.since.elapsed());
            }
        }
        self.pause(*not_before).await?;
        self.seen().connecting = true;
        self.announce();
        let opened = tokio::select! {
            opened = connect::open(self) => opened,
            () = self.closed.cancelled() => Err(self.is_closed()),
        };
        self.seen().connecting = false;
        let connected = match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *not_before = None;
                self.adopt(&connection);
                Ok(connection)
            }
            Err(error) => {
                *not_before = Some(self.failed());
                let mut seen = self.seen();
                seen.last_error = serde_json::to_value(&error).ok();
                seen.failed_starts += 1;
                seen.failed_start = Some(error.clone());
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
        };
        self.announce();
        connected
    }

    /// Counts a failure. When the server may be tried again.
    fn failed(&self) -> Instant {
        let failures = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(10));
        Instant::now() + pause.min(LONGEST_PAUSE)
    }

    /// When a process may be started again after one that lived for so long. The first that dies early has a successor at once.
    fn after_death(&self, lived: Duration) -> Option<Instant> {
        if lived >= LONG_LIFE {
            self.is_well();
        }
        let is_first = self.failures.load(Ordering::Acquire) == 0;
        let not_before = self.failed();
        (!is_first).then_some(not_before)
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
        self.watch(connection);
        self.tasks
            .spawn(Connection::listen(Arc::downgrade(connection)));
        let mut current = self.current();
        if !self.closed.is_cancelled() {
            *current = Some(Arc::clone(connection));
        }
    }

    /// Remembers the tools, and notifies if they have changed.
    fn note_tools(&self, tools: &Tools, notify: bool) {
        let changed = {
            let mut seen = self.seen();
            let changed = seen.tools.as_ref() != Some(&tools.texts);
            if changed {
                seen.names = list::tool_names(&tools.texts);
                seen.tools = Some(tools.texts.clone());
            }
            changed
        };
        if changed && notify {
            let members = tools.members();
            self.server_requests
                .callbacks
                .tools_changed(format!("{{{members}}}"));
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
            Err(failure) => Err(self.error_for(&connection, None, failure).await),
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
        self.tasks.spawn(async move {
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
                    Err(_) if lost.is_cancelled() => return,
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

    pub(super) fn remember_words(&self, connection: &Connection) {
        if let Some(process) = &connection.process {
            self.seen().stderr = self.config().secrets.hide(&process.stderr.text());
        }
    }

    /// A server that answers is no failing one.
    pub(crate) fn is_well(&self) {
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Release);
        }
        if self.is_unauthorized.load(Ordering::Relaxed) {
            self.is_unauthorized.store(false, Ordering::Release);
            self.seen().last_error = None;
            self.announce();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::CallOptions;
    use crate::client::scripted::{Scripted, client, scripted};

    async fn assert_nothing_lives_after_close(client: &Client) {
        assert!(!client.tasks.is_empty());
        client.close().await;
        assert!(client.tasks.is_empty());
    }

    #[tokio::test]
    async fn no_task_outlives_a_closed_client() {
        let script = Scripted::silent();
        let client = scripted(json!({ "answersElicitation": true }), Arc::clone(&script));
        let (sender, ended) = tokio::sync::oneshot::channel();
        let options = CallOptions::default();
        let done = |outcome: Result<String, CallError>| sender.send(outcome.is_err()).unwrap();
        let _started = client.start_tool("x", None, options, done).unwrap();
        // The user is asked, and never answers.
        script.say(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#);
        assert_nothing_lives_after_close(&client).await;
        assert!(ended.await.unwrap());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn no_task_outlives_a_process() {
        let answers = r#"
            read -r discover; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
            read -r initialize; echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18",
                "capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}' | tr -d '\n'; echo
            read -r initialized; read -r list; echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}'
            while read -r _; do :; done"#;
        let settings = json!({ "command": "sh", "args": ["-c", answers] }).to_string();
        let config = ServerConfig::from_json("demo", &settings).unwrap();
        let client = Arc::new(client(config));
        client.connect().await.unwrap();
        assert_nothing_lives_after_close(&client).await;
    }

    #[tokio::test]
    async fn no_task_outlives_a_connection_that_was_being_made() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let settings = json!({ "url": url }).to_string();
        let client = Arc::new(client(ServerConfig::from_json("demo", &settings).unwrap()));
        let started = client.start_tool("x", None, CallOptions::default(), |_| {});
        assert!(started.is_ok());
        // It is reached, and never answers.
        let _reached = listener.accept().await.unwrap();
        assert_nothing_lives_after_close(&client).await;
    }
}

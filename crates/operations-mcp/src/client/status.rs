//! Whether a server runs, and why not: what its users see of it, and servers that stop between calls.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::connection::Connection;
use super::{Client, list};

/// How often an idle server is checked in the time after which it stops.
const LOOKS: u32 = 4;

impl Client {
    /// The tools of a server that is not connected, each as JSON: those that were listed last time. A list that differs when the
    /// server is connected is reported.
    pub fn set_known_tools(&self, tools: Vec<String>) {
        let mut seen = self.seen();
        seen.names = list::tool_names(&tools);
        seen.tools = Some(tools);
    }

    /// Ends the connection and the process. The next call starts the server again, at once.
    pub async fn stop(&self) {
        let mut not_before = self.not_before.lock().await;
        *not_before = None;
        self.failures.store(0, Ordering::Release);
        let connection = self.current().take();
        self.put_to_rest(connection, false).await;
    }

    /// `not_before` must be locked: no other process of this server starts before the old one is gone.
    async fn put_to_rest(&self, connection: Option<Arc<Connection>>, is_idle: bool) {
        {
            let mut seen = self.seen();
            seen.is_idle = is_idle;
            seen.last_error = None;
        }
        if let Some(connection) = connection {
            self.remember_words(&connection);
            connection.close().await;
        }
        self.announce();
    }

    /// Reports that the state may have changed.
    pub(super) fn announce(&self) {
        self.server_requests.callbacks.status_changed();
    }

    /// Reports the end of a connection, and stops a server that is not called for a while.
    pub(super) fn watch(self: &Arc<Self>, connection: &Arc<Connection>) {
        let server = Arc::downgrade(self);
        let connection = Arc::downgrade(connection);
        let Some(lost) = connection.upgrade().map(|it| it.conversation.lost.clone()) else {
            return;
        };
        let tick = self.config().idle.map(|idle| idle / LOOKS);
        self.tasks.spawn(async move {
            let mut quiet = 0;
            let mut begun = 0;
            loop {
                let pause = async {
                    match tick {
                        Some(tick) => sleep(tick).await,
                        None => pending().await,
                    }
                };
                tokio::select! {
                    () = pause => {}
                    () = lost.cancelled() => {
                        if let Some(server) = server.upgrade() {
                            server.announce();
                        }
                        return;
                    }
                }
                let Some(server) = server.upgrade() else {
                    return;
                };
                let Some((is_used, now)) = server.usage(&connection) else {
                    return;
                };
                quiet = if is_used || now != begun {
                    0
                } else {
                    quiet + 1
                };
                begun = now;
                if quiet >= LOOKS && server.stop_unused(&connection).await {
                    return;
                }
            }
        });
    }

    /// Whether calls use the connection, and how many requests there were. Nothing if it is not the current one any more.
    fn usage(&self, connection: &Weak<Connection>) -> Option<(bool, u64)> {
        let current = self.current();
        let current = current
            .as_ref()
            .filter(|current| Arc::as_ptr(current) == connection.as_ptr())?;
        // One reference is the client's own. Every call has another.
        let is_used = Arc::strong_count(current) > 1;
        Some((is_used, current.conversation.requests.begun()))
    }

    async fn stop_unused(&self, connection: &Weak<Connection>) -> bool {
        let _starting = self.not_before.lock().await;
        let unused = {
            let mut current = self.current();
            current.take_if(|current| {
                Arc::as_ptr(current) == connection.as_ptr() && Arc::strong_count(current) == 1
            })
        };
        let is_unused = unused.is_some();
        if is_unused {
            self.put_to_rest(unused, true).await;
        }
        is_unused
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
        } else if seen.last_error.is_some() {
            "failed"
        } else if seen.is_idle {
            "idle"
        } else {
            "stopped"
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

//! One connection to a server, from the moment when it works to its end.

use std::sync::Arc;
use std::time::Duration;

use operations_core::log::{Level, Logger};
use rmcp::RoleClient;
use rmcp::model::{ServerPeerInfo, SubscriptionFilter};
use rmcp::service::RunningService;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::client::handler::Handler;
use crate::client::listing::{self, List};
use crate::client::request::{Link, Patience};
use crate::client::tap::Tap;
use crate::error::{About, Failure};
use crate::process::ServerProcess;

/// How long the end of a process is awaited for the sake of a better message.
pub(crate) const POST_MORTEM: Duration = Duration::from_secs(2);
/// How long its last words are.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long rmcp may take to say goodbye: the deletion of an HTTP session takes a request.
const GOODBYE: Duration = Duration::from_secs(3);

/// A connection that works, or did.
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(crate) handler: Handler,
    pub(crate) process: Option<Arc<ServerProcess>>,
    pub(crate) info: Option<Arc<ServerPeerInfo>>,
    /// The tools, as a JSON array.
    pub(crate) tools: String,
    /// Cancelled when nothing can be sent any more.
    pub(crate) lost: CancellationToken,
    close: CancellationToken,
    gone: CancellationToken,
}

impl Connection {
    /// Takes over a service that has shaken hands. `end_input` ends the input of its process.
    pub(crate) fn new(
        service: RunningService<RoleClient, Handler>,
        handler: Handler,
        process: Option<Arc<ServerProcess>>,
        tap: Arc<Tap>,
        end_input: CancellationToken,
    ) -> Self {
        let link = Link {
            peer: service.peer().clone(),
            tap,
            max_message_bytes: handler.config.max_message_bytes,
        };
        let connection = Self {
            link,
            handler,
            process,
            info: service.peer().peer_info(),
            tools: String::new(),
            lost: CancellationToken::new(),
            close: CancellationToken::new(),
            gone: CancellationToken::new(),
        };
        connection.watch(service, end_input);
        connection
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_cancelled() || self.link.peer.is_transport_closed()
    }

    /// A list of the server's.
    pub(crate) async fn list(
        &self,
        list: List,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let config = &self.handler.config;
        let patience = Patience {
            limit: config.connect_timeout,
            reset_on_progress: false,
        };
        let logger = &self.handler.logger;
        listing::all(&self.link, list, patience, cancel, &config.name, logger).await
    }

    /// Sees the connection to its end: the goodbye, then the process.
    fn watch(&self, service: RunningService<RoleClient, Handler>, end_input: CancellationToken) {
        let (lost, close, gone) = (self.lost.clone(), self.close.clone(), self.gone.clone());
        let process = self.process.clone();
        tokio::spawn(async move {
            let stop = service.cancellation_token();
            let mut waiting = Box::pin(service.waiting());
            tokio::select! {
                _ = &mut waiting => {}
                () = close.cancelled() => {
                    lost.cancel();
                    stop.cancel();
                    if process.is_some() {
                        end_input.cancel();
                    } else {
                        let _ = timeout(GOODBYE, &mut waiting).await;
                    }
                }
            }
            lost.cancel();
            drop(waiting);
            end_input.cancel();
            if let Some(process) = process {
                process.end().await;
            }
            gone.cancel();
        });
    }

    /// Servers of the newer generation tell about changes only to those who ask for it.
    pub(crate) fn listen(&self) {
        let Some(info) = &self.info else { return };
        let announces = info
            .capabilities
            .tools
            .as_ref()
            .is_some_and(|tools| tools.list_changed == Some(true));
        if info.protocol_version.has_initialize() || !announces {
            return;
        }
        let (peer, lost) = (self.link.peer.clone(), self.lost.clone());
        let changed = Arc::clone(&self.handler.tools_changed);
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let listening = async {
                let mut subscription = peer.listen(filter).await.ok()?;
                while let Ok(Some(_)) = subscription.next().await {
                    changed.notify_one();
                }
                Some(())
            };
            tokio::select! {
                _ = listening => {}
                () = lost.cancelled() => {}
            }
        });
    }

    /// Begins to say goodbye.
    pub(crate) fn begin_close(&self) {
        self.lost.cancel();
        self.close.cancel();
    }

    /// Says goodbye. Returns when everything of it is gone.
    pub(crate) async fn close(&self) {
        self.close.cancel();
        self.gone.cancelled().await;
    }

    /// What is known about the end of the server, for messages.
    pub(crate) async fn about<'a>(&'a self, tool: Option<&'a str>, died: bool) -> About<'a> {
        let mut about = About::server(&self.handler.config);
        about.tool = tool;
        if let Some(process) = &self.process {
            if died {
                about.exit = process.exit_within(POST_MORTEM).await;
                process.stderr.ended_within(LAST_WORDS).await;
            }
            about.stderr = process.stderr.text();
        }
        about
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

/// Writes that a server is there.
pub(crate) fn log_connected(connection: &Connection, logger: &Logger) {
    let config = &connection.handler.config;
    let protocol = connection
        .info
        .as_ref()
        .map(|info| info.protocol_version.to_string());
    let message = format!("MCP server '{}' is connected", config.name);
    let facts = [
        ("server", json!(config.name)),
        ("protocol", json!(protocol)),
    ];
    logger.log(Level::Debug, "mcp", message, facts);
}

//! One connection to a server: from the start of the process, or the first request, to the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::log::{Level, Logger};
use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, ServerPeerInfo, SubscriptionFilter};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use serde_json::json;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::config::{ServerConfig, Stdio, Target};
use crate::failure::{About, Failure, transport_reason};
use crate::handler::Handler;
use crate::http;
use crate::listing::{self, List};
use crate::process::{self, ServerProcess};
use crate::request::{Link, Patience};
use crate::stdio::StdioTransport;
use crate::tap::Tap;

/// How long a server on stdio may ponder the question which protocol it speaks. Servers of the older
/// generation answer it with an error, at once; those that stay silent are asked the older way.
const DISCOVER: Duration = Duration::from_secs(1);
/// How long the end of a process is awaited for the sake of a better message.
const POST_MORTEM: Duration = Duration::from_secs(1);
/// How long its last words are.
const LAST_WORDS: Duration = Duration::from_millis(300);
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

/// What a connection is waiting for, for the message when it waits too long.
#[derive(Clone, Default)]
struct Phase(Arc<Mutex<&'static str>>);

impl Phase {
    fn set(&self, phase: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn get(&self) -> &'static str {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Starts or reaches the server, agrees on a protocol and reads the list of tools, all within the
    /// configured time.
    pub(crate) async fn open(handler: Handler) -> Result<Self, CallError> {
        let deadline = Instant::now() + handler.config.connect_timeout;
        match Self::open_once(&handler, deadline, Some(DISCOVER)).await {
            // It speaks the newer protocol alone, and started slowly.
            Err(Refusal { late: true, .. }) => Self::open_once(&handler, deadline, None).await,
            outcome => outcome,
        }
        .map_err(|refusal| refusal.error)
    }

    async fn open_once(
        handler: &Handler,
        deadline: Instant,
        discover: Option<Duration>,
    ) -> Result<Self, Refusal> {
        let config = &handler.config;
        let started = match &config.target {
            Target::Stdio(how) => Some(start(handler, how)?),
            Target::Http(_) => None,
        };
        let (process, streams) = started.map_or((None, None), |started| {
            let streams = (started.stdin, started.stdout);
            (Some(Arc::new(started.process)), Some(streams))
        });
        let phase = Phase::default();
        let tap = Arc::new(Tap::new(&config.name, handler.logger.clone()));
        let opening = Opening {
            handler: handler.clone(),
            process: process.clone(),
            tap: Arc::clone(&tap),
            phase: phase.clone(),
            discover,
        };
        let failed = match timeout_at(deadline, opening.run(streams)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(failed)) => failed,
            Err(_) => Failed::too_slow(config, phase.get()),
        };
        let mut about = About::server(config);
        if let Some(process) = &process {
            if failed.closed {
                about.exit = process.gone_within(POST_MORTEM).await;
            }
            process.kill().await;
            process.stderr.ended_within(LAST_WORDS).await;
            about.stderr = process.stderr.text();
        }
        Err(Refusal {
            error: about.error(failed.code, &failed.reason, failed.details),
            late: tap.answered_late(),
        })
    }
}

/// A connection that is being made.
struct Opening {
    handler: Handler,
    process: Option<Arc<ServerProcess>>,
    tap: Arc<Tap>,
    phase: Phase,
    discover: Option<Duration>,
}

/// A connection that was not made. `late`: the server answered what we had given up on.
struct Refusal {
    error: CallError,
    late: bool,
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self { error, late: false }
    }
}

impl Opening {
    async fn run(self, streams: Option<(ChildStdin, ChildStdout)>) -> Result<Connection, Failed> {
        let Self {
            handler,
            process,
            tap,
            phase,
            discover,
        } = self;
        let config = Arc::clone(&handler.config);
        let end_input = CancellationToken::new();
        phase.set("the answer to the first message");
        let service = match (&config.target, streams) {
            (Target::Http(endpoint), _) => {
                let client = http::tapped(&handler, &tap).map_err(Failed::call_error)?;
                let transport =
                    http::transport(client, &handler, endpoint).map_err(Failed::call_error)?;
                serve(handler.clone(), transport).await?
            }
            (Target::Stdio(_), Some((stdin, stdout))) => {
                let limit = config.max_message_bytes;
                let ended = end_input.clone();
                let tap = Arc::clone(&tap);
                let transport = StdioTransport::new(stdin, stdout, tap, limit, ended, discover);
                serve(handler.clone(), transport).await?
            }
            (Target::Stdio(_), None) => return Err(Failed::new("its streams are missing")),
        };
        phase.set("the list of tools");
        let link = Link {
            peer: service.peer().clone(),
            tap,
            max_message_bytes: config.max_message_bytes,
        };
        let info = service.peer().peer_info();
        let mut connection = Connection {
            link,
            handler,
            process,
            info,
            tools: String::new(),
            lost: CancellationToken::new(),
            close: CancellationToken::new(),
            gone: CancellationToken::new(),
        };
        connection.watch(service, end_input);
        let tools = connection
            .list(List::Tools, &CancellationToken::new())
            .await;
        match tools {
            Ok(tools) => {
                connection.listen();
                connection.tools = tools;
                Ok(connection)
            }
            Err(failure) => {
                connection.close.cancel();
                Err(Failed::listing(failure, &connection))
            }
        }
    }
}

impl Connection {
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
    fn listen(&self) {
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
                about.exit = process.gone_within(POST_MORTEM).await;
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

fn start(handler: &Handler, how: &Stdio) -> Result<process::Started, CallError> {
    let config = &handler.config;
    process::start(config, how, &handler.logger).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => match &how.cwd {
                Some(cwd) if !std::path::Path::new(cwd).is_dir() => {
                    format!("its folder '{cwd}' does not exist")
                }
                _ => format!(
                    "there is no program '{}'. Is it installed, and in PATH?",
                    how.command
                ),
            },
            _ => format!("'{}' cannot be run: {error}", how.command),
        };
        let what = format!("it could not be started: {why}");
        About::server(config).error(Code::ExecutionError, &what, json!({}))
    })
}

async fn serve<T, E, A>(
    handler: Handler,
    transport: T,
) -> Result<RunningService<RoleClient, Handler>, Failed>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    handler
        .serve_with_lifecycle(transport, lifecycle)
        .await
        .map_err(Failed::handshake)
}

/// Why a connection did not come about.
struct Failed {
    code: Code,
    reason: String,
    details: serde_json::Value,
    /// Whether the other side went away.
    closed: bool,
}

impl Failed {
    fn new(reason: impl std::fmt::Display) -> Self {
        Self {
            code: Code::ExecutionError,
            reason: format!("it could not be connected: {reason}"),
            details: json!({}),
            closed: false,
        }
    }

    fn too_slow(config: &ServerConfig, phase: &str) -> Self {
        let limit = u64::try_from(config.connect_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            code: Code::Timeout,
            reason: format!(
                "it was not ready within {limit} ms: still waiting for {phase}. 'connectTimeout' in the \
                 configuration sets the limit"
            ),
            details: json!({ "timeout": limit, "phase": phase }),
            closed: false,
        }
    }

    fn call_error(error: CallError) -> Self {
        Self {
            details: error.details.unwrap_or_else(|| json!({})),
            ..Self::new(error.message)
        }
    }

    fn handshake(error: ClientInitializeError) -> Self {
        use ClientInitializeError as E;
        match error {
            E::ConnectionClosed(_) => Self {
                closed: true,
                ..Self::new("it closed the connection before it was ready")
            },
            E::TransportError { error, .. } => Self {
                closed: true,
                ..Self::new(transport_reason(error.error.as_ref()))
            },
            E::JsonRpcError(error) => Self {
                details: json!({ "rpcCode": error.code.0, "rpcMessage": error.message }),
                ..Self::new(format!("error {}: {}", error.code.0, error.message))
            },
            E::LegacyFallbackFailed { fallback, .. } => Self::handshake(*fallback),
            E::ExpectedInitResponse(_) | E::ExpectedInitResult(_) => {
                Self::new("its answer to the first message is not what the protocol prescribes")
            }
            other => Self::new(other.to_string()),
        }
    }

    fn listing(failure: Failure, connection: &Connection) -> Self {
        let closed = matches!(failure, Failure::Lost { .. });
        let error = About::server(&connection.handler.config).failure(failure);
        let reason = if closed {
            "it closed the connection before it was ready".to_owned()
        } else {
            error.message
        };
        Self {
            details: error.details.unwrap_or_else(|| json!({})),
            closed,
            ..Self::new(reason)
        }
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

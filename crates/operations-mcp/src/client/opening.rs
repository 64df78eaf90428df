//! How a connection comes about: the start of the process, or the first request; the handshake; the list
//! of tools.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::AuthClient;
use serde_json::json;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::auth::Authorization;
use crate::client::connection::{Connection, LAST_WORDS, POST_MORTEM};
use crate::client::handler::Handler;
use crate::client::listing::List;
use crate::client::tap::Tap;
use crate::config::{Http, OAuth, Stdio, Target};
use crate::error::About;
use crate::error::Failed;
use crate::process::{self, ServerProcess};
use crate::transport::http;
use crate::transport::stdio::StdioTransport;

/// How long a server on stdio may ponder the question which protocol it speaks. Servers of the older
/// generation answer it with an error, at once; those that stay silent are asked the older way.
const DISCOVER: Duration = Duration::from_secs(1);

type Service = RunningService<RoleClient, Handler>;

/// Starts or reaches the server, agrees on a protocol and reads the list of tools, all within the
/// configured time.
pub(crate) async fn open(handler: Handler) -> Result<Connection, CallError> {
    let deadline = Instant::now() + handler.config.connect_timeout;
    match open_once(&handler, deadline, Some(DISCOVER)).await {
        // It speaks the newer protocol alone, and started slowly.
        Err(Refusal { late: true, .. }) => open_once(&handler, deadline, None).await,
        outcome => outcome,
    }
    .map_err(|refusal| refusal.error)
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

async fn open_once(
    handler: &Handler,
    deadline: Instant,
    discover: Option<Duration>,
) -> Result<Connection, Refusal> {
    let config = &handler.config;
    let started = match &config.target {
        Target::Stdio(how) => Some(start(handler, how)?),
        Target::Http(_) => None,
    };
    let (process, streams) = started.map_or((None, None), |started| {
        let streams = (started.stdin, started.stdout);
        (Some(Arc::new(started.process)), Some(streams))
    });
    let opening = Opening {
        handler: handler.clone(),
        process: process.clone(),
        tap: Arc::new(Tap::new(&config.name, handler.logger.clone())),
        phase: Phase::default(),
        discover,
    };
    let failed = match timeout_at(deadline, opening.run(streams)).await {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(failed)) => failed,
        Err(_) => Failed::too_slow(config, opening.phase.get()),
    };
    let mut about = About::server(config);
    if let Some(process) = &process {
        if failed.closed {
            about.exit = process.exit_within(POST_MORTEM).await;
        }
        process.kill().await;
        process.stderr.ended_within(LAST_WORDS).await;
        about.stderr = process.stderr.text();
    }
    Err(Refusal {
        error: about.error(failed.code, &failed.reason, failed.details),
        late: opening.tap.answered_late(),
    })
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

/// What an opening is waiting for, for the message when it waits too long.
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

/// A connection that is being made.
struct Opening {
    handler: Handler,
    process: Option<Arc<ServerProcess>>,
    tap: Arc<Tap>,
    phase: Phase,
    discover: Option<Duration>,
}

impl Opening {
    async fn run(&self, streams: Option<(ChildStdin, ChildStdout)>) -> Result<Connection, Failed> {
        let Self { handler, tap, .. } = self;
        let config = &handler.config;
        let end_input = CancellationToken::new();
        self.phase.set("the answer to the first message");
        let service = match (&config.target, streams) {
            (Target::Http(endpoint), _) => self.reach(endpoint).await?,
            (Target::Stdio(_), Some((stdin, stdout))) => {
                let limit = config.max_message_bytes;
                let (tap, ended) = (Arc::clone(tap), end_input.clone());
                let transport =
                    StdioTransport::new(stdin, stdout, tap, limit, ended, self.discover);
                serve(handler, transport).await.map_err(Failed::handshake)?
            }
            (Target::Stdio(_), None) => return Err(Failed::new("its streams are missing")),
        };
        self.phase.set("the list of tools");
        let process = self.process.clone();
        let mut connection = Connection::new(
            service,
            handler.clone(),
            process,
            Arc::clone(tap),
            end_input,
        );
        let cancel = CancellationToken::new();
        match connection.list(List::Tools, &cancel).await {
            Ok(tools) => {
                connection.listen();
                connection.tools = tools;
                Ok(connection)
            }
            Err(failure) => Err(Failed::listing(failure, config)),
        }
    }

    /// Over HTTP.
    async fn reach(&self, endpoint: &Http) -> Result<Service, Failed> {
        let Self { handler, tap, .. } = self;
        if let Some(settings) = &endpoint.oauth {
            return self.reach_with_token(endpoint, settings).await;
        }
        let client = http::tapped(handler, tap)?;
        let transport = http::transport(client, handler, endpoint)?;
        let served = serve(handler, transport).await;
        served.map_err(|error| Failed::handshake(error).at(&endpoint.url))
    }

    /// With the tokens that are there; if the server does not want them, the user is asked, once.
    async fn reach_with_token(&self, endpoint: &Http, settings: &OAuth) -> Result<Service, Failed> {
        let Self { handler, tap, .. } = self;
        let authorization = Authorization {
            handler,
            url: &endpoint.url,
            settings,
        };
        let mut manager = authorization.known().await?;
        let mut asked = false;
        loop {
            let client = http::tapped(handler, tap)?;
            let client = AuthClient::new(client, manager);
            let transport = http::transport(client, handler, endpoint)?;
            match serve(handler, transport).await {
                Ok(service) => return Ok(service),
                Err(error) if !asked && error.is_authorization_required() => {
                    asked = true;
                    self.phase.set("the user's permission");
                    let challenge = error.auth_challenge().unwrap_or_default();
                    manager = authorization.ask(challenge).await?;
                    self.phase.set("the answer to the first message");
                }
                Err(error) => return Err(Failed::handshake(error).at(&endpoint.url)),
            }
        }
    }
}

async fn serve<T, E, A>(handler: &Handler, transport: T) -> Result<Service, ClientInitializeError>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    handler
        .clone()
        .serve_with_lifecycle(transport, lifecycle)
        .await
}

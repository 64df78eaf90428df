//! How a connection comes about: the start of the process, or the first request; the handshake; the list
//! of tools.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Client;
use super::connection::{Connection, LAST_WORDS, POST_MORTEM};
use super::conversation::Conversation;
use super::handshake::{self, First};
use crate::config::{Http, HttpKind, Stdio, Target};
use crate::error::{About, Delivery, Failure, NotConnected};
use crate::process::{self, ServerProcess};
use crate::transport::Transport;
use crate::transport::http::HttpTransport;
use crate::transport::stdio::StdioTransport;

/// How long a server on stdio may ponder the question which protocol it speaks. Servers of the older
/// generation answer it with an error, at once; those that stay silent are asked the older way.
const DISCOVER: Duration = Duration::from_secs(1);

/// Starts or reaches the server, agrees on a protocol and reads the list of tools, all within the
/// configured time.
pub(crate) async fn open(client: &Client) -> Result<Connection, CallError> {
    let deadline = Instant::now() + client.config().connect_timeout;
    let discover = match &client.config().target {
        Target::Stdio(_) => Some(DISCOVER),
        // Every request has an answer.
        Target::Http(_) => None,
    };
    let config = client.config();
    let started = match &config.target {
        Target::Stdio(how) => Some(start(client, how)?),
        Target::Http(_) => None,
    };
    let (process, streams) = started.map_or((None, None), |started| {
        let streams = (started.stdin, started.stdout);
        (Some(Arc::new(started.process)), Some(streams))
    });
    let opening = Opening {
        client,
        process: process.clone(),
        phase: Phase::default(),
        discover,
    };
    let failed = match timeout_at(deadline, opening.run(streams)).await {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(failed)) => failed,
        Err(_) => NotConnected::too_slow(config, opening.phase()),
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
    Err(about.error_with(
        failed.code,
        "not-connected",
        Delivery::None,
        &failed.reason,
        failed.details,
    ))
}

fn start(client: &Client, how: &Stdio) -> Result<process::Started, CallError> {
    let config = client.config();
    process::start(config, how, client.logger(), &client.tasks).map_err(|error| {
        // Each system has an error of its own for a folder that is not there; Windows' does not even say "not found".
        let why = match &how.cwd {
            Some(cwd) if !std::path::Path::new(cwd).exists() => {
                format!("its folder '{cwd}' does not exist")
            }
            Some(cwd) if !std::path::Path::new(cwd).is_dir() => {
                format!("its folder '{cwd}' is not a folder")
            }
            _ if error.kind() == std::io::ErrorKind::NotFound => format!(
                "there is no program '{}'. Is it installed, and in PATH?",
                how.command
            ),
            _ => format!("'{}' cannot be run: {error}", how.command),
        };
        let what = format!("it could not be started: {why}");
        About::server(config).error(Code::ExecutionError, "not-started", Delivery::None, &what)
    })
}

/// What an opening is waiting for, for the message when it waits too long.
#[derive(Default)]
struct Phase(Mutex<&'static str>);

impl Phase {
    fn set(&self, phase: &'static str) {
        *locked(&self.0) = phase;
    }
}

/// A connection that is being made.
struct Opening<'a> {
    client: &'a Client,
    process: Option<Arc<ServerProcess>>,
    phase: Phase,
    discover: Option<Duration>,
}

impl Opening<'_> {
    fn phase(&self) -> &'static str {
        if self.client.is_authorizing() {
            return "the user's permission";
        }
        *locked(&self.phase.0)
    }

    async fn run(
        &self,
        streams: Option<(ChildStdin, ChildStdout)>,
    ) -> Result<Connection, NotConnected> {
        let agreed = match (&self.client.config().target, streams) {
            (Target::Http(endpoint), _) => self.over_http(endpoint).await?,
            (Target::Stdio(_), Some((stdin, stdout))) => {
                let conversation = Arc::new(self.client.conversation());
                let transport = StdioTransport::new(stdin, stdout, Arc::clone(&conversation));
                let first = First::Discover(self.discover);
                self.agree(conversation, transport, first).await
            }
            (Target::Stdio(_), None) => return Err(NotConnected::new("its streams are missing")),
        };
        let mut connection = agreed.map_err(|failure| self.located(failure))?;
        self.phase.set("the list of tools");
        let tools = connection.tools(&CancellationToken::new()).await;
        connection.tools = tools.map_err(|failure| self.located(failure))?;
        Ok(connection)
    }

    fn located(&self, failure: Failure) -> NotConnected {
        match &self.client.config().target {
            Target::Http(endpoint) => NotConnected::from(failure).at(&endpoint.url),
            Target::Stdio(_) => failure.into(),
        }
    }

    async fn agree(
        &self,
        conversation: Arc<Conversation>,
        transport: Arc<dyn Transport>,
        first: First,
    ) -> Result<Connection, Failure> {
        let mut connection = Connection::new(conversation, transport, self.process.clone());
        self.phase.set("the answer to the first message");
        handshake::agree(&mut connection, first).await?;
        Ok(connection)
    }

    /// Over streamable HTTP, or, with a server that does not know that, over HTTP+SSE.
    async fn over_http(&self, at: &Http) -> Result<Result<Connection, Failure>, NotConnected> {
        let transport = || {
            let conversation = Arc::new(self.client.conversation());
            let authorization = self.client.authorization();
            HttpTransport::new(at, authorization, Arc::clone(&conversation))
                .map(|transport| (conversation, transport))
        };
        let mut failed = None;
        if at.kind != HttpKind::Sse {
            let (conversation, transport) = transport()?;
            let first = First::Discover(self.discover);
            match self.agree(conversation, transport, first).await {
                Err(failure) if at.kind == HttpKind::Either && failure.is_other_protocol() => {
                    failed = Some(failure);
                }
                agreed => return Ok(agreed),
            }
        }
        let (conversation, transport) = transport()?;
        self.phase.set("the stream of events");
        let opened = match transport.open_stream().await {
            Ok(()) => self.agree(conversation, transport, First::Initialize).await,
            Err(failure) => {
                transport.close().await;
                Err(failure)
            }
        };
        // What a server says that knows neither is about the newer one.
        Ok(opened.map_err(|failure| failed.unwrap_or(failure)))
    }
}

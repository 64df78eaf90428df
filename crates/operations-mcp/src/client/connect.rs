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
use super::handshake;
use crate::config::{Stdio, Target};
use crate::error::{About, Delivery, NotConnected};
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
        conversation: Arc::new(client.conversation()),
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
    process::start(config, how, client.logger()).map_err(|error| {
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
    conversation: Arc<Conversation>,
    phase: Phase,
    discover: Option<Duration>,
}

impl Opening<'_> {
    fn phase(&self) -> &'static str {
        if self.client.is_asking_user() {
            return "the user's permission";
        }
        *locked(&self.phase.0)
    }

    async fn run(
        &self,
        streams: Option<(ChildStdin, ChildStdout)>,
    ) -> Result<Connection, NotConnected> {
        let config = self.client.config();
        let conversation = Arc::clone(&self.conversation);
        let transport: Arc<dyn Transport> = match (&config.target, streams) {
            (Target::Http(endpoint), _) => {
                let authorization = self.client.authorization();
                HttpTransport::new(endpoint, authorization, conversation)?
            }
            (Target::Stdio(_), Some((stdin, stdout))) => {
                StdioTransport::new(stdin, stdout, conversation)
            }
            (Target::Stdio(_), None) => return Err(NotConnected::new("its streams are missing")),
        };
        let conversation = Arc::clone(&self.conversation);
        let mut connection = Connection::new(conversation, transport, self.process.clone());
        let located = |failed: NotConnected| match &config.target {
            Target::Http(endpoint) => failed.at(&endpoint.url),
            Target::Stdio(_) => failed,
        };
        self.phase.set("the answer to the first message");
        handshake::agree(&mut connection, self.discover)
            .await
            .map_err(|failure| located(failure.into()))?;
        self.phase.set("the list of tools");
        let tools = connection.tools(&CancellationToken::new()).await;
        connection.tools = tools.map_err(|failure| located(failure.into()))?;
        Ok(connection)
    }
}

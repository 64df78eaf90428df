//! A server's process, and everything that it starts.
//!
//! A task of its own owns the process tree. When the last handle goes, when the server ends by
//! itself, and when the host dies, by whatever signal, the whole tree goes.

pub(crate) mod environment;
pub(crate) mod stderr;

#[cfg(unix)]
mod escaped_children;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio as Pipe};
use std::sync::Arc;
use std::time::Duration;

use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use self::platform::Tree;
use self::stderr::StderrTail;
use crate::config::{ServerConfig, Stdio};

/// How long a server may take to leave once its input has ended.
const LEAVE: Duration = Duration::from_secs(2);
/// How long it may take once it was asked to.
const ASKED: Duration = Duration::from_secs(2);
/// How long the system may take to remove what was killed.
const REMOVED: Duration = Duration::from_secs(2);
/// How long its standard error is read after that.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often a process is polled whose end is not signalled: a host that handles `SIGCHLD` itself
/// may keep the signal from us.
const LOOK: Duration = Duration::from_millis(500);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "ended with exit code {code}"),
            (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

enum Order {
    /// To record what the server has started.
    Scan,
    Ask,
    Kill,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) pid: u32,
    pub(crate) stderr: Arc<StderrTail>,
    orders: mpsc::UnboundedSender<Order>,
    end: watch::Receiver<End>,
}

/// How far the end of a tree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    No,
    /// The server has ended; what it started may still be there.
    Server(Exit),
    /// Nothing is left.
    All(Exit),
}

/// A server that was just started, and the two streams to talk to it.
pub(crate) struct Started {
    pub(crate) process: ServerProcess,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// Starts a server. Must be called on the Tokio runtime.
pub(crate) fn start(
    server: &ServerConfig,
    how: &Stdio,
    logger: &Logger,
    tasks: &TaskTracker,
) -> io::Result<Started> {
    let mut command = Command::new(platform::program(how));
    command
        .args(&how.args)
        .env_clear()
        .envs(&how.env)
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .kill_on_drop(true);
    if let Some(cwd) = &how.cwd {
        command.current_dir(cwd);
    }
    let mut tree = Tree::spawn(command, &server.name, logger)?;
    let (Some(stdin), Some(stdout), Some(errors)) = tree.take_streams() else {
        return Err(io::Error::other("the standard streams are missing"));
    };
    let stderr = Arc::new(StderrTail::default());
    let (orders, received) = mpsc::unbounded_channel();
    let (announce, end) = watch::channel(End::No);
    let reading = stderr::read(
        errors,
        Arc::clone(&stderr),
        server.name.clone(),
        server.secrets.clone(),
        logger.clone(),
    );
    let mut tree_end = end.clone();
    tasks.spawn(async move {
        // A process that escaped the tree may hold the stream open for ever.
        let gone = async {
            let _ = tree_end.wait_for(|end| matches!(end, End::All(_))).await;
            sleep(LAST_WORDS).await;
        };
        tokio::select! {
            () = reading => {}
            () = gone => {}
        }
    });
    let pid = tree.pid();
    let (name, logger) = (server.name.clone(), logger.clone());
    tasks.spawn(supervise(tree, received, announce, name, logger));
    Ok(Started {
        process: ServerProcess {
            pid,
            stderr,
            orders,
            end,
        },
        stdin,
        stdout,
    })
}

/// Owns the tree until it is gone.
async fn supervise(
    mut tree: Tree,
    mut orders: mpsc::UnboundedReceiver<Order>,
    announce: watch::Sender<End>,
    server: String,
    logger: Logger,
) {
    let mut handles = true;
    let status = loop {
        tokio::select! {
            status = tree.wait() => break status.ok(),
            order = orders.recv(), if handles => match order {
                Some(Order::Scan) => tree.scan(),
                Some(Order::Ask) => tree.ask(),
                Some(Order::Kill) => tree.kill(),
                None => {
                    handles = false;
                    tree.kill();
                }
            },
            () = sleep(LOOK) => {
                if let Some(status) = tree.try_wait() {
                    break Some(status);
                }
                tree.scan();
            }
        }
    };
    let exit = exit_of(status);
    let _ = announce.send(End::Server(exit));
    // What it started and left behind goes with it.
    tree.kill();
    let survivors = tree.reap().await;
    if !survivors.is_empty() {
        let message = format!(
            "MCP server '{server}' has ended, but processes that it started could not be ended: {survivors:?}"
        );
        logger.log(Level::Warning, "mcp", message, [("server", json!(server))]);
    }
    let _ = announce.send(End::All(exit));
}

fn exit_of(status: Option<ExitStatus>) -> Exit {
    #[cfg(unix)]
    let signal = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
    #[cfg(not(unix))]
    let signal = None;
    Exit {
        code: status.and_then(|status| status.code()),
        signal,
    }
}

impl ServerProcess {
    /// How the server ended, if it does within the given time.
    pub(crate) async fn exit_within(&self, limit: Duration) -> Option<Exit> {
        self.end_within(limit, |end| *end != End::No).await
    }

    /// Waits until the whole tree is gone, at most for the given time.
    async fn gone_within(&self, limit: Duration) -> Option<Exit> {
        self.end_within(limit, |end| matches!(end, End::All(_)))
            .await
    }

    async fn end_within(&self, limit: Duration, far: impl FnMut(&End) -> bool) -> Option<Exit> {
        let mut end = self.end.clone();
        let reached = end.wait_for(far);
        match timeout(limit, reached).await.ok()?.as_deref() {
            Ok(End::Server(exit) | End::All(exit)) => Some(*exit),
            // The task ended without a word: the runtime is going down, and the tree with it.
            Ok(End::No) | Err(_) => None,
        }
    }

    /// Records what the server has started, while it is still known to be its child.
    pub(crate) fn scan(&self) {
        let _ = self.orders.send(Order::Scan);
    }

    /// Ends the tree. Its input has already ended; it is given time to leave, then asked, then killed.
    pub(crate) async fn end(&self) -> Option<Exit> {
        if let Some(exit) = self.gone_within(LEAVE).await {
            return Some(exit);
        }
        let _ = self.orders.send(Order::Ask);
        if platform::CAN_ASK
            && let Some(exit) = self.gone_within(ASKED).await
        {
            return Some(exit);
        }
        self.kill().await
    }

    /// Ends the tree at once.
    pub(crate) async fn kill(&self) -> Option<Exit> {
        let _ = self.orders.send(Order::Kill);
        self.gone_within(REMOVED).await
    }
}

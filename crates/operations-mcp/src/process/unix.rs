//! A process group with a watchdog as its leader.
//!
//! The watchdog is a shell that does nothing but read from a pipe whose other end the host holds. When
//! the host ends, whichever way, the kernel closes the pipe; the watchdog then asks the group to leave, and
//! after a moment kills it, itself included. The server joins the group before its first instruction, so there is no moment at which it
//! could be left behind; and as long as the watchdog is not reaped, its group id is not given to
//! anybody else. A parent-death signal would do less: it reaches the child alone, and it is sent when
//! the *thread* that started the child ends.

use std::io;
use std::process::{ExitStatus, Stdio as Pipe};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::config::Stdio;

/// A process can be asked to leave.
pub(super) const CAN_ASK: bool = true;

const SHELL: &str = "/bin/sh";
/// A host that ends without closing its servers owes them the chance to write down what they know. Where
/// `sleep` takes no fractions, there is no such moment.
const WATCH: &str = "trap '' HUP INT QUIT TERM; while read -r _; do :; done; \
     kill -TERM 0; sleep 0.3; kill -KILL 0";
const NAME: &str = "alkdev-operations-watchdog";

/// The program of a command.
pub(super) fn program(how: &Stdio) -> &str {
    &how.command
}

/// A server and everything that it starts.
pub(super) struct Tree {
    child: Child,
    group: Group,
}

struct Group {
    id: Pid,
    /// Holds the host's end of the pipe too.
    watchdog: Option<Child>,
    alive: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if self.alive {
            // A group that is gone needs no signal.
            let _ = killpg(self.id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

impl Tree {
    pub(super) fn spawn(mut command: Command, server: &str, logger: &Logger) -> io::Result<Self> {
        let watchdog = match watchdog() {
            Ok(child) => Some(child),
            Err(error) => {
                let message = format!(
                    "MCP server '{server}' runs without a watchdog, because {SHELL} cannot be started \
                     ({error}): if this program is killed, the server may outlive it"
                );
                logger.log(Level::Warning, "mcp", message, [("server", json!(server))]);
                None
            }
        };
        let leader = watchdog.as_ref().and_then(Child::id).and_then(group_id);
        // Without a watchdog the server leads a group of its own.
        command.process_group(leader.map_or(0, Pid::as_raw));
        let child = command.spawn()?;
        let id = leader
            .or_else(|| child.id().and_then(group_id))
            .ok_or_else(|| io::Error::other("the process has no id"))?;
        Ok(Self {
            child,
            group: Group {
                id,
                watchdog,
                alive: true,
            },
        })
    }

    pub(super) fn take_streams(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    pub(super) fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The watchdog does not listen to this one.
    pub(super) fn ask(&mut self) {
        self.group.signal(Signal::SIGTERM);
    }

    pub(super) fn kill(&mut self) {
        self.group.signal(Signal::SIGKILL);
    }

    /// Reaps the watchdog, and waits until the system has removed the rest. After that the group id may be
    /// given to others.
    pub(super) async fn bury(&mut self) {
        if let Some(watchdog) = &mut self.group.watchdog {
            for _ in 0..20 {
                let limit = Duration::from_millis(50);
                if tokio::time::timeout(limit, watchdog.wait()).await.is_ok()
                    || !matches!(watchdog.try_wait(), Ok(None))
                {
                    break;
                }
            }
        }
        // Bounded: where nobody reaps orphans, as in some containers, their remains stay for ever.
        for _ in 0..100 {
            if killpg(self.group.id, None).is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.group.alive = false;
    }
}

fn group_id(pid: u32) -> Option<Pid> {
    i32::try_from(pid)
        .ok()
        .filter(|pid| *pid > 1)
        .map(Pid::from_raw)
}

fn watchdog() -> io::Result<Child> {
    Command::new(SHELL)
        .args(["-c", WATCH, NAME])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Pipe::piped())
        .stdout(Pipe::null())
        .stderr(Pipe::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

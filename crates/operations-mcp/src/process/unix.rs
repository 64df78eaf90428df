//! A process group with a watchdog as its leader.
//!
//! The watchdog is a shell that does nothing but read from a pipe whose other end the host holds. When
//! the host ends, whichever way, the kernel closes the pipe; the watchdog then asks the group to leave, and
//! after a moment kills it, itself included. The server joins the group before its first instruction, so there is no moment at which it
//! could be left behind; and as long as the watchdog is not reaped, its group id is not given to
//! anybody else. A parent-death signal would do less: it reaches the child alone, and it is sent when
//! the *thread* that started the child ends.
//!
//! A process can leave its group. The server itself is always ended by its own number too; what it started is looked for
//! ([`super::escaped_children`]), and the watchdog gets all that was found. At the end, both look for a variable of the
//! environment, by which daemons are found that have lost their parent at once.

use std::fs::File;
use std::io::{self, Write as _};
use std::process::{ExitStatus, Stdio as Pipe};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::escaped_children::{EscapedChildren, Member};
use crate::config::Stdio;

/// A process can be asked to leave.
pub(super) const CAN_ASK: bool = true;

const SHELL: &str = "/bin/sh";
/// A host that ends without closing its servers owes them the chance to write down what they know. Where
/// `sleep` takes no fractions, there is no such moment.
///
/// What it reads are processes that may have left the group, each with the time of its start.
const WATCH: &str = r#"trap '' HUP INT QUIT TERM
left=
while read -r one; do left="$left $one"; done
started() { read -r stat < "/proc/$1/stat" && set -- ${stat##*) } && echo "${20}"; }
children() { for child in $(cat "/proc/$1"/task/*/children); do echo "$child:$(started "$child")"; children "$child"; done; }
marked() { for one in $(grep -Fls "ALKDEV_OPERATIONS_SERVER=$$-$(started $$)." /proc/[0-9]*/environ); do one="${one%/environ}"; one="${one#/proc/}"; echo "$one:$(started "$one")"; done; }
reach() { for one in $left; do [ "${one#*:}" = "$(started "${one%:*}")" ] && kill "-$1" "${one%:*}"; done; }
for one in $left; do left="$left $(children "${one%:*}")"; done
left="$left $(marked)"
kill -TERM 0; reach TERM; sleep 0.3; reach KILL; kill -KILL 0"#;
const NAME: &str = "alkdev-operations-watchdog";
const REAPER: &str = "operations-reap";

/// How long the ends of processes that were killed are waited for, at most, and how often they are checked.
const REAPING: Duration = Duration::from_secs(5);
const REAPING_STEP: Duration = Duration::from_millis(5);

/// The program of a command.
pub(super) fn program(how: &Stdio) -> &str {
    &how.command
}

/// A server and everything that it starts.
pub(super) struct Tree {
    /// There until this is dropped.
    child: Option<Child>,
    group: Group,
    escaped: EscapedChildren,
}

struct Group {
    id: Pid,
    watchdog: Option<Child>,
    /// The host's end of the pipe to the watchdog.
    life: Option<File>,
    alive: bool,
}

impl Group {
    /// Names a process for the watchdog to end with the group.
    fn report(&mut self, member: Member) {
        if let Some(life) = &mut self.life {
            // A watchdog that is gone was ended with its group.
            let _ = life.write_all(member.line().as_bytes());
        }
    }

    fn signal(&self, signal: Signal) {
        if self.alive {
            // A group that is gone needs no signal.
            let _ = killpg(self.id, signal);
        }
    }
}

impl Drop for Tree {
    /// The runtime goes down, that of a worker thread for instance, while the process lives on. Nothing else would take note
    /// of their ends, and what is left of them would stay in the system's table.
    fn drop(&mut self) {
        if !self.group.alive {
            return;
        }
        self.kill();
        let killed = [self.child.take(), self.group.watchdog.take()];
        // On a thread of its own: this may be dropped on a thread of the runtime. Without one, they are killed all the same.
        let reaper = std::thread::Builder::new().name(REAPER.to_owned());
        let _ = reaper.spawn(move || reap(killed.into_iter().flatten().collect()));
    }
}

/// Waits until the system has removed these.
fn reap(mut killed: Vec<Child>) {
    for _ in 0..REAPING.as_millis() / REAPING_STEP.as_millis() {
        killed.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        if killed.is_empty() {
            return;
        }
        std::thread::sleep(REAPING_STEP);
    }
}

impl Tree {
    pub(super) fn spawn(mut command: Command, server: &str, logger: &Logger) -> io::Result<Self> {
        let (watchdog, life) = match watchdog() {
            Ok((child, life)) => (Some(child), Some(life)),
            Err(error) => {
                let message = format!(
                    "MCP server '{server}' runs without a watchdog, because {SHELL} cannot be started \
                     ({error}): if this program is killed, the server may outlive it"
                );
                logger.log(Level::Warning, "mcp", message, [("server", json!(server))]);
                (None, None)
            }
        };
        let leader = watchdog.as_ref().and_then(Child::id).and_then(group_id);
        // Without a watchdog the server leads a group of its own.
        command.process_group(leader.map_or(0, Pid::as_raw));
        let escaped = EscapedChildren::new(leader.map(Pid::as_raw));
        command.envs(escaped.mark());
        let child = command.spawn()?;
        let id = leader
            .or_else(|| child.id().and_then(group_id))
            .ok_or_else(|| io::Error::other("the process has no id"))?;
        let mut group = Group {
            id,
            watchdog,
            life,
            alive: true,
        };
        if let Some(server) = child.id().and_then(group_id) {
            group.report(Member::of(server.as_raw()));
        }
        Ok(Self {
            child: Some(child),
            group,
            escaped,
        })
    }

    fn server(&self) -> Option<Pid> {
        // It has no id any more once it was reaped.
        self.child.as_ref()?.id().and_then(group_id)
    }

    /// Looks for what has left the group.
    pub(super) fn scan(&mut self) {
        let server = self.server().map(Pid::as_raw);
        for member in self.escaped.scan(server, self.group.id.as_raw()) {
            self.group.report(member);
        }
    }

    fn signal(&mut self, signal: Signal) {
        self.scan();
        for member in self.escaped.scan_marked(self.group.id.as_raw()) {
            self.group.report(member);
        }
        self.group.signal(signal);
        if let Some(server) = self.server() {
            let _ = kill(server, signal);
        }
        self.escaped.signal(signal);
    }

    pub(super) fn take_streams(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let Some(child) = &mut self.child else {
            return (None, None, None);
        };
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).unwrap_or_default()
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.child {
            Some(child) => child.wait().await,
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// The watchdog does not listen to this one.
    pub(super) fn ask(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    pub(super) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
    }

    /// Reaps the watchdog, and waits until the system has removed the rest. After that the group id may be
    /// given to others. Returns those that could not be ended.
    pub(super) async fn reap(&mut self) -> Vec<i32> {
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
        // Bounded: where orphans are not reaped, as in some containers, their remains stay for ever.
        for _ in 0..100 {
            if killpg(self.group.id, None).is_err() && self.escaped.alive().is_empty() {
                break;
            }
            // Those that were found may have started others since.
            self.scan();
            self.escaped.signal(Signal::SIGKILL);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.group.alive = false;
        self.escaped.alive()
    }
}

fn group_id(pid: u32) -> Option<Pid> {
    i32::try_from(pid)
        .ok()
        .filter(|pid| *pid > 1)
        .map(Pid::from_raw)
}

fn watchdog() -> io::Result<(Child, File)> {
    let mut watchdog = Command::new(SHELL)
        .args(["-c", WATCH, NAME])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Pipe::piped())
        .stdout(Pipe::null())
        .stderr(Pipe::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let life = watchdog.stdin.take();
    let life = life.ok_or_else(|| io::Error::other("it has no input"))?;
    Ok((watchdog, life.into_owned_fd()?.into()))
}

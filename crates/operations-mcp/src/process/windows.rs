//! A Job Object: when its last handle closes, which the system sees to even when the host is ended by
//! force, everything in it is ended. Windows knows no polite request for programs without a window, so a
//! server that does not leave when its input ends is ended.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use operations_core::log::Logger;
use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::config::Stdio;

/// There is no polite request.
pub(super) const CAN_ASK: bool = false;

/// The program of a command. `npx` and its like are scripts (`npx.cmd`), which the system only finds by
/// their full name; the standard library then runs them with the right quoting.
pub(super) fn program(how: &Stdio) -> PathBuf {
    let given = Path::new(&how.command);
    if given.extension().is_some() || given.components().count() > 1 {
        return given.to_owned();
    }
    let variable = |name: &str| {
        how.env
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    };
    let folders = variable("PATH").unwrap_or_default();
    let endings = variable("PATHEXT").unwrap_or(".COM;.EXE;.BAT;.CMD");
    std::env::split_paths(folders)
        .flat_map(|folder| {
            endings
                .split(';')
                .map(move |ending| folder.join(format!("{}{ending}", how.command)))
        })
        .find(|path| path.is_file())
        .unwrap_or_else(|| given.to_owned())
}

/// A server and everything that it starts.
pub(super) struct Tree {
    child: Box<dyn ChildWrapper>,
    pid: u32,
}

impl Tree {
    pub(super) fn spawn(command: Command, _server: &str, _logger: &Logger) -> io::Result<Self> {
        let child = CommandWrap::from(command)
            .wrap(KillOnDrop)
            .wrap(JobObject)
            .spawn()?;
        let pid = child.id().unwrap_or_default();
        Ok(Self { child, pid })
    }

    pub(super) fn take_streams(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (
            self.child.stdin().take(),
            self.child.stdout().take(),
            self.child.stderr().take(),
        )
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The end of the server alone: what it left behind is then ended. Waiting for the whole job would
    /// hold a thread.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }

    pub(super) fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.inner_mut().try_wait().ok().flatten()
    }

    /// Nothing leaves a job.
    #[allow(clippy::unused_self, reason = "the same methods on every platform")]
    pub(super) fn scan(&mut self) {}

    #[allow(clippy::unused_self, reason = "the same methods on every platform")]
    pub(super) fn ask(&mut self) {}

    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    #[allow(
        clippy::unused_async,
        clippy::unused_self,
        reason = "the same methods on every platform"
    )]
    pub(super) async fn reap(&mut self) -> Vec<i32> {
        Vec::new()
    }
}

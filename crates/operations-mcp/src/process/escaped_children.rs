//! What a server has started and what then left its group, by `setsid` for instance. Linux shows the parent of each process, so these
//! are looked for there, and by a variable of their environment, which they inherit; on other systems they are not found.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A server with more descendants than this is not scanned any further.
const MOST: usize = 10_000;

/// The variable that marks what a server has started. The watchdog knows its value too.
const MARK: &str = "ALKDEV_OPERATIONS_SERVER";

/// A process. Its number alone could be given to another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pid: i32,
    /// When it was started, in a unit of the system's; zero where that is unknown.
    started: u64,
}

impl Member {
    pub(super) fn of(pid: i32) -> Self {
        let started = About::read(pid).map_or(0, |about| about.started);
        Self { pid, started }
    }

    fn is_alive(self) -> bool {
        About::read(self.pid).is_some_and(|about| about.started == self.started && !about.is_over)
    }

    /// The line for the watchdog.
    pub(super) fn line(self) -> String {
        match self {
            Self { pid, started: 0 } => format!("{pid}:\n"),
            Self { pid, started } => format!("{pid}:{started}\n"),
        }
    }
}

/// What the system says about a process.
#[derive(Debug, PartialEq, Eq)]
struct About {
    group: i32,
    started: u64,
    /// It has ended, and was not reaped.
    is_over: bool,
}

impl About {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name of a program stands in parentheses, and may hold some.
    fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(16)?.parse().ok()?;
        Some(Self {
            group,
            started,
            is_over: matches!(state, "Z" | "X"),
        })
    }
}

/// Those that were seen outside of the group.
#[derive(Debug, Default)]
pub(super) struct EscapedChildren {
    left: Vec<Member>,
    mark: Option<String>,
}

impl EscapedChildren {
    /// Of a server with this watchdog.
    pub(super) fn new(watchdog: Option<i32>) -> Self {
        let watchdog = watchdog.filter(|_| cfg!(target_os = "linux"));
        let mark = watchdog.map(|pid| format!("{pid}-{}.", Member::of(pid).started));
        Self {
            left: Vec::new(),
            mark,
        }
    }

    /// The variable for the environment of the server.
    pub(super) fn mark(&self) -> Option<(&'static str, &str)> {
        Some((MARK, self.mark.as_deref()?))
    }

    /// Looks at every process for the mark: one that has left the group and has lost its parent is no descendant any more. Returns those that
    /// are new.
    pub(super) fn scan_marked(&mut self, group: i32) -> Vec<Member> {
        let (Some((name, value)), Ok(processes)) = (self.mark(), fs::read_dir("/proc")) else {
            return Vec::new();
        };
        let mark = format!("{name}={value}");
        let pids: Vec<i32> = processes
            .filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid| has_variable(*pid, mark.as_bytes()))
            .collect();
        let mut found = Vec::new();
        for pid in pids {
            self.add(pid, group, &mut found);
        }
        found
    }

    /// Looks for descendants of a server that are outside of its group. Returns those that are new.
    pub(super) fn scan(&mut self, server: Option<i32>, group: i32) -> Vec<Member> {
        if !cfg!(target_os = "linux") {
            return Vec::new();
        }
        self.left.retain(|member| member.is_alive());
        let mut found = Vec::new();
        let mut next: Vec<i32> = self.left.iter().map(|member| member.pid).collect();
        next.extend(server);
        let mut seen = 0;
        while let Some(pid) = next.pop() {
            seen += 1;
            if seen > MOST {
                break;
            }
            next.extend(children(pid));
            self.add(pid, group, &mut found);
        }
        found
    }

    /// Adds a process that is alive outside of the group, unless it is known.
    fn add(&mut self, pid: i32, group: i32, found: &mut Vec<Member>) {
        let Some(about) = About::read(pid) else {
            return;
        };
        let member = Member {
            pid,
            started: about.started,
        };
        if about.group != group && !about.is_over && !self.left.contains(&member) {
            self.left.push(member);
            found.push(member);
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        for member in self.left.iter().filter(|member| member.is_alive()) {
            // One that has just ended needs no signal.
            let _ = kill(Pid::from_raw(member.pid), signal);
        }
    }

    /// Those that are still there.
    pub(super) fn alive(&self) -> Vec<i32> {
        let alive = self.left.iter().filter(|member| member.is_alive());
        alive.map(|member| member.pid).collect()
    }
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|children| {
            let children = children.split_ascii_whitespace();
            children
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Whether a process was started with this variable. That of other users cannot be read.
fn has_variable(pid: i32, variable: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|each| each == variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_anything() {
        let rest = "S 7 12 13 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        for name in ["sh", "a b", "x) S 1 (y"] {
            let about = About::parse(&format!("42 ({name}) {rest}")).unwrap();
            assert_eq!(
                (about.group, about.started, about.is_over),
                (12, 4711, false)
            );
        }
        assert_eq!(About::parse("42 (sh) Z 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_alive_and_no_other_one_with_its_number() {
        let me = i32::try_from(std::process::id()).unwrap();
        let member = Member::of(me);
        assert!(member.is_alive());
        let other = Member {
            started: member.started + 1,
            ..member
        };
        assert!(!other.is_alive());
        let mut escaped = EscapedChildren::default();
        assert_eq!(escaped.scan(Some(me), -1).first(), Some(&member));
        assert!(escaped.scan(Some(me), -1).is_empty());
        assert!(escaped.alive().contains(&me));
    }
}

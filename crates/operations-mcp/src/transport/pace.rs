//! When a child's answers are read again, while many calls are under way.
//!
//! A child writes each answer by itself, and a write that wakes a reader costs it several times as much as one that does not.
//! While many answers are to come, reading waits for a moment. Then one read brings several answers, JavaScript is woken
//! once for them, and the child is done sooner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeMetrics};

/// Fewer calls than these are never kept waiting.
const MANY: usize = 8;
/// The least time between two reads. Linux adds some 50 us to it.
const NAP: Duration = Duration::from_micros(50);
/// A child that has not answered for so long is not a busy one.
const SLOW: Duration = Duration::from_micros(300);
/// If a read has brought one answer for every so many calls that are left, the child may soon have nothing to do.
const SHARE: usize = 3;
/// If a read has brought so many bytes, the pipe may soon be full.
const MUCH: usize = 8 * 1024;

/// A timer of the runtime is too coarse, and its threads, if they waited for events, would be woken by every write. So the thread
/// sleeps, and no other thread of the process at the same time, whatever the number of children.
static IS_NAPPING: AtomicBool = AtomicBool::new(false);

/// What was read since it last waited.
pub(super) struct Pace {
    runtime: RuntimeMetrics,
    since: Instant,
    lines: usize,
    bytes: usize,
}

impl Pace {
    pub(super) fn new(runtime: &Handle) -> Self {
        Self {
            runtime: runtime.metrics(),
            since: Instant::now(),
            lines: 0,
            bytes: 0,
        }
    }

    /// A line was read, or a part of one.
    pub(super) fn add(&mut self, bytes: usize) {
        self.lines += 1;
        self.bytes += bytes;
    }

    /// Waits, if that is of use while so many calls are under way. To be called when all that was read has been heard.
    pub(super) fn before_reading(&mut self, calls: usize) {
        if self.is_worth_waiting(calls, self.since.elapsed()) && self.is_idle() {
            nap();
        }
        (self.lines, self.bytes) = (0, 0);
        self.since = Instant::now();
    }

    fn is_worth_waiting(&self, calls: usize, took: Duration) -> bool {
        calls >= MANY
            && (1..MUCH).contains(&self.bytes)
            && self.lines * SHARE < calls
            && took < SLOW
    }

    /// Whether the runtime can do without this thread. Other systems sleep for much longer than they are asked to.
    fn is_idle(&self) -> bool {
        cfg!(unix) && self.runtime.num_workers() > 1 && self.runtime.global_queue_depth() == 0
    }
}

fn nap() {
    if !IS_NAPPING.swap(true, Ordering::Acquire) {
        thread::sleep(NAP);
        IS_NAPPING.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_waits_unless_many_answers_are_to_come_soon() {
        let after = |lines: usize, bytes: usize| {
            let mut pace = Pace::new(&Handle::current());
            (0..lines).for_each(|_| pace.add(bytes));
            pace
        };
        let soon = Duration::from_micros(100);
        assert!(after(2, 200).is_worth_waiting(31, soon));
        for (what, pace, calls, took) in [
            ("the only call", after(1, 200), 0, soon),
            ("few calls", after(1, 200), 7, soon),
            ("a slow server", after(2, 200), 31, SLOW),
            ("most have come", after(11, 200), 31, soon),
            ("large answers", after(1, MUCH), 31, soon),
            ("nothing was read", after(0, 0), 31, soon),
        ] {
            assert!(!pace.is_worth_waiting(calls, took), "{what}");
        }
    }
}

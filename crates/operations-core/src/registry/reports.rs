//! Reports about calls that ran natively, on their way to the host.
//!
//! Reports wait in a bounded queue and are taken in batches: the host is woken once for all that came within a moment, not once
//! for each call. Reports of calls that find the queue full are dropped and counted. Decisions about access are never dropped: code which
//! keeps a record of them needs each. While too many of them wait, [`Reports::takes_decisions`] says so, and calls go to the host,
//! which reports its own decisions and is slow exactly as long as it is behind.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::lock::locked;

/// How long the first report of a batch waits for others.
const MOMENT: Duration = Duration::from_millis(20);
/// So many are worth waking the host at once.
const ENOUGH: usize = 1_024;
/// What one take hands out.
const BATCH: usize = 4_096;
/// Reports of calls that wait, and their bytes. Beyond either, they are dropped.
const MOST_CALLS: usize = 16_384;
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Decisions that wait. Beyond that, calls go to the host.
const MOST_DECISIONS: usize = 16_384;

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Access was granted or denied.
    Decision = 0,
    /// A call has ended.
    Call = 1,
}

#[derive(Debug, Default)]
struct State {
    /// The members of a JSON array, each with its kind.
    waiting: VecDeque<(Kind, String)>,
    calls: usize,
    call_bytes: usize,
    decisions: usize,
    /// Since the last take.
    dropped: u64,
    /// The host was woken, or will be.
    is_announced: bool,
    /// It was woken without waiting for a moment.
    is_urgent: bool,
}

/// A queue that is filled on any thread and emptied on the host's.
pub struct Reports {
    state: Mutex<State>,
    wake: Box<dyn Fn() + Send + Sync>,
    own: Weak<Self>,
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").finish_non_exhaustive()
    }
}

impl Reports {
    /// `wake` is called, from any thread, when there is something to take.
    #[must_use]
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            state: Mutex::default(),
            wake: Box::new(wake),
            own: Weak::clone(own),
        })
    }

    /// Whether decisions about access may be made here. If not, the host is behind.
    #[must_use]
    pub fn takes_decisions(&self) -> bool {
        locked(&self.state).decisions < MOST_DECISIONS
    }

    /// `report` is JSON.
    pub(super) fn push(&self, kind: Kind, report: String) {
        let mut state = locked(&self.state);
        match kind {
            Kind::Decision => state.decisions += 1,
            Kind::Call if state.calls >= MOST_CALLS || state.call_bytes >= MOST_BYTES => {
                state.dropped += 1;
                return;
            }
            Kind::Call => {
                state.calls += 1;
                state.call_bytes += report.len();
            }
        }
        state.waiting.push_back((kind, report));
        let is_first = !std::mem::replace(&mut state.is_announced, true);
        let is_urgent = state.waiting.len() >= ENOUGH && !state.is_urgent;
        state.is_urgent |= is_urgent;
        drop(state);
        if is_urgent {
            (self.wake)();
        } else if is_first {
            self.wake_soon();
        }
    }

    fn wake_soon(&self) {
        let own = Weak::clone(&self.own);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                sleep(MOMENT).await;
                if let Some(reports) = own.upgrade() {
                    (reports.wake)();
                }
            })),
            Err(_) => (self.wake)(),
        }
    }

    /// What is there, as a JSON array: how many reports were dropped since the last take, whether there is more to take (1 or 0),
    /// and the reports, each `[kind, report, ...]`. Nothing when nothing is.
    pub fn take(&self) -> Option<String> {
        let mut state = locked(&self.state);
        if state.waiting.is_empty() && state.dropped == 0 {
            state.is_announced = false;
            state.is_urgent = false;
            return None;
        }
        let count = state.waiting.len().min(BATCH);
        let taken: Vec<(Kind, String)> = state.waiting.drain(..count).collect();
        for (kind, report) in &taken {
            match kind {
                Kind::Decision => state.decisions -= 1,
                Kind::Call => {
                    state.calls -= 1;
                    state.call_bytes -= report.len();
                }
            }
        }
        let dropped = std::mem::take(&mut state.dropped);
        let has_more = !state.waiting.is_empty();
        state.is_announced = has_more;
        state.is_urgent = has_more;
        drop(state);
        let room: usize = taken.iter().map(|(_, report)| report.len() + 8).sum();
        let mut text = String::with_capacity(room + 32);
        // Writing to a string does not fail.
        let _ = write!(text, "[{dropped},{}", u8::from(has_more));
        for (kind, report) in taken {
            let _ = write!(text, ",[{},", kind as u8);
            text.push_str(&report);
            text.push(']');
        }
        text.push(']');
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn reports() -> (Arc<Reports>, UnboundedReceiver<()>) {
        let (wake, woken) = unbounded_channel();
        let reports = Reports::new(move || {
            let _ = wake.send(());
        });
        (reports, woken)
    }

    fn take(reports: &Reports) -> Value {
        reports.take().map_or(Value::Null, |text| {
            serde_json::from_str(&text).expect("a batch is JSON")
        })
    }

    #[tokio::test]
    async fn what_comes_within_a_moment_is_one_batch_and_one_wake_up() {
        let (reports, mut woken) = reports();
        reports.push(Kind::Decision, "1".to_owned());
        reports.push(Kind::Call, "2".to_owned());
        assert!(woken.try_recv().is_err());
        woken.recv().await.expect("a wake-up");
        assert_eq!(take(&reports), json!([0, 0, [0, 1], [1, 2]]));
        assert_eq!(take(&reports), Value::Null);
        reports.push(Kind::Call, "3".to_owned());
        woken.recv().await.expect("another wake-up");
        assert!(woken.try_recv().is_err());
    }

    #[tokio::test]
    async fn many_wake_the_host_at_once_and_only_once() {
        let (reports, mut woken) = reports();
        for _ in 0..2 * ENOUGH {
            reports.push(Kind::Call, "0".to_owned());
        }
        assert!(woken.try_recv().is_ok());
        assert!(woken.try_recv().is_err());
    }

    #[test]
    fn calls_are_dropped_and_counted_and_decisions_are_kept() {
        let (reports, _) = reports();
        for number in 0..MOST_CALLS + 10 {
            reports.push(Kind::Call, number.to_string());
            reports.push(Kind::Decision, number.to_string());
        }
        assert!(!reports.takes_decisions());
        let (mut calls, mut decisions, mut dropped) = (0, 0, 0);
        loop {
            let batch = take(&reports);
            let batch = batch.as_array().expect("a batch");
            dropped += batch[0].as_u64().expect("a number");
            for item in batch.iter().skip(2) {
                *(if item[0] == json!(0) {
                    &mut decisions
                } else {
                    &mut calls
                }) += 1;
            }
            if batch[1] == json!(0) {
                break;
            }
        }
        assert_eq!(
            (calls, decisions, dropped),
            (MOST_CALLS, MOST_CALLS + 10, 10)
        );
        assert!(reports.takes_decisions());
        let state = locked(&reports.state);
        assert_eq!((state.calls, state.call_bytes, state.decisions), (0, 0, 0));
    }

    #[test]
    fn large_reports_are_bounded_by_their_bytes() {
        let (reports, _) = reports();
        let large = format!("\"{}\"", "x".repeat(1024 * 1024));
        for _ in 0..20 {
            reports.push(Kind::Call, large.clone());
        }
        let batch = take(&reports);
        assert_eq!(
            (batch[0].as_u64(), batch.as_array().map(Vec::len)),
            (Some(4), Some(18))
        );
    }
}

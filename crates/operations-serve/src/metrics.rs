//! What became of calls, by operation, for Prometheus. The number of series is bounded: operations beyond it share one.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Instant;

use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::limits::{Refused, Stats};
use operations_core::lock::{reading, writing};
use operations_core::table::Table;

/// Operations with series of their own.
const MOST_OPERATIONS: usize = 500;
/// Limits with series of their own.
const MOST_LIMITS: usize = 500;
/// Whose series the rest shares. No operation has this id: ids have a dot.
const OTHER: &str = "other";
/// Where limits are set whose name is the id of an operation (`facade/registry/limits.ts`).
const OPERATION_SCOPE: &str = "operation";

/// The upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// How a call ended: well, with a code of ours, or with one of the operation's own.
const OUTCOMES: [&str; 9] = [
    "ok",
    "OPERATION_NOT_FOUND",
    "ACCESS_DENIED",
    "VALIDATION_ERROR",
    "TIMEOUT",
    "ABORTED",
    "EXECUTION_ERROR",
    "UNKNOWN_ERROR",
    "declared",
];
const ABORTED: usize = 5;
const DECLARED: usize = 8;

/// What became of the calls of one operation.
#[derive(Debug, Default)]
struct Series {
    running: AtomicU64,
    outcomes: [AtomicU64; OUTCOMES.len()],
    buckets: [AtomicU64; BUCKETS.len()],
    /// In microseconds.
    took: AtomicU64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Metrics {
    by_operation: RwLock<Table<String, Arc<Series>>>,
    other: Arc<Series>,
}

/// A call that is counted. One that is dropped before its end was aborted.
#[derive(Debug)]
pub struct Timed {
    series: Arc<Series>,
    began: Instant,
    outcome: usize,
}

impl Metrics {
    /// A call of an operation begins.
    #[must_use]
    pub fn call(&self, operation_id: &str) -> Timed {
        let series = self.series(operation_id);
        series.running.fetch_add(1, Ordering::Relaxed);
        Timed {
            series,
            began: Instant::now(),
            outcome: ABORTED,
        }
    }

    fn series(&self, operation_id: &str) -> Arc<Series> {
        if let Some(series) = reading(&self.by_operation).get(operation_id) {
            return Arc::clone(series);
        }
        let mut all = writing(&self.by_operation);
        if all.len() >= MOST_OPERATIONS && !all.contains_key(operation_id) {
            return Arc::clone(&self.other);
        }
        Arc::clone(all.entry(operation_id.to_owned()).or_default())
    }

    /// All series as text, and those of limits. Operations that the reader may not see are added up.
    pub fn write(&self, text: &mut String, limits: Vec<Stats>, is_visible: impl Fn(&str) -> bool) {
        let all = reading(&self.by_operation);
        let (mut named, hidden): (Vec<_>, Vec<_>) = all
            .iter()
            .map(|(id, series)| (id.as_str(), series))
            .partition(|(id, _)| is_visible(id));
        named.sort_unstable_by_key(|(id, _)| *id);
        let other = Arc::new(Series::default());
        if !hidden.is_empty() || all.len() >= MOST_OPERATIONS {
            for series in hidden
                .iter()
                .map(|(_, series)| *series)
                .chain([&self.other])
            {
                other.add(series);
            }
            named.push((OTHER, &other));
        }
        write_calls(text, &named);
        drop(all);
        // The other scopes are names that the operator gave.
        let (mut shown, hidden): (Vec<_>, Vec<_>) = limits
            .into_iter()
            .partition(|each| each.scope != OPERATION_SCOPE || is_visible(&each.name));
        let beyond = shown.split_off(shown.len().min(MOST_LIMITS));
        shown.extend(sum(beyond.into_iter().chain(hidden)));
        if !shown.is_empty() {
            write_limits(text, &shown);
        }
    }
}

impl Series {
    fn add(&self, other: &Self) {
        let add = |sum: &AtomicU64, number: &AtomicU64| {
            sum.fetch_add(number.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        add(&self.running, &other.running);
        add(&self.took, &other.took);
        let counts = self.outcomes.iter().chain(&self.buckets);
        for (sum, number) in counts.zip(other.outcomes.iter().chain(&other.buckets)) {
            add(sum, number);
        }
    }
}

impl Timed {
    /// The call has ended.
    pub fn end<T>(mut self, outcome: &Result<T, CallError>) {
        self.ended(outcome.as_ref().err());
    }

    /// How the call will have ended.
    pub fn ended(&mut self, error: Option<&CallError>) {
        self.outcome = match error {
            None => 0,
            Some(error) => InfrastructureErrorCode::ALL
                .iter()
                .position(|code| error.is(*code))
                .map_or(DECLARED, |at| at + 1),
        };
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let series = &self.series;
        series.running.fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = series.outcomes.get(self.outcome) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        series.took.fetch_add(micros, Ordering::Relaxed);
        let seconds = took.as_secs_f64();
        if let Some(at) = BUCKETS.iter().position(|end| seconds <= *end)
            && let Some(bucket) = series.buckets.get(at)
        {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        let _ = writeln!($text, $($format)*);
    }};
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_calls(text: &mut String, all: &[(&str, &Arc<Series>)]) {
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    head(
        text,
        "operations_calls_total",
        "counter",
        "Calls that have ended, by operation and outcome.",
    );
    for (id, series) in all {
        for (outcome, count) in OUTCOMES.iter().zip(&series.outcomes) {
            let count = read(count);
            if count > 0 {
                line!(
                    text,
                    "operations_calls_total{{operation=\"{}\",outcome=\"{outcome}\"}} {count}",
                    escaped(id)
                );
            }
        }
    }
    head(
        text,
        "operations_calls_running",
        "gauge",
        "Calls and streams that are running, by operation.",
    );
    for (id, series) in all {
        let running = read(&series.running);
        line!(
            text,
            "operations_calls_running{{operation=\"{}\"}} {running}",
            escaped(id)
        );
    }
    head(
        text,
        "operations_call_duration_seconds",
        "histogram",
        "How long calls and streams took, by operation.",
    );
    for (id, series) in all {
        let id = escaped(id);
        let mut below = 0;
        for (end, count) in BUCKETS.iter().zip(&series.buckets) {
            below += read(count);
            line!(
                text,
                "operations_call_duration_seconds_bucket{{operation=\"{id}\",le=\"{end}\"}} {below}"
            );
        }
        let count: u64 = series.outcomes.iter().map(read).sum();
        let sum = read(&series.took) as f64 / 1e6;
        line!(
            text,
            "operations_call_duration_seconds_bucket{{operation=\"{id}\",le=\"+Inf\"}} {count}\n\
             operations_call_duration_seconds_sum{{operation=\"{id}\"}} {sum}\n\
             operations_call_duration_seconds_count{{operation=\"{id}\"}} {count}"
        );
    }
}

/// Limits that have no series of their own, added up.
fn sum(limits: impl Iterator<Item = Stats>) -> Option<Stats> {
    limits
        .reduce(|sum, each| Stats {
            running: sum.running + each.running,
            waiting: sum.waiting + each.waiting,
            overrunning: sum.overrunning + each.overrunning,
            admitted: sum.admitted + each.admitted,
            refused: Refused {
                overloaded: sum.refused.overloaded + each.refused.overloaded,
                rate_limited: sum.refused.rate_limited + each.refused.rate_limited,
                circuit_open: sum.refused.circuit_open + each.refused.circuit_open,
            },
            ..Stats::default()
        })
        .map(|sum| Stats {
            scope: OTHER.to_owned(),
            name: OTHER.to_owned(),
            breaker: None,
            opened: None,
            ..sum
        })
}

fn write_limits(text: &mut String, limits: &[Stats]) {
    let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Stats) -> Option<u64>| {
        head(text, name, kind, help);
        for stats in limits {
            if let Some(value) = value(stats) {
                line!(text, "{name}{{{}}} {value}", place(stats));
            }
        }
    };
    let count = |number: usize| u64::try_from(number).ok();
    family(
        "operations_limit_running",
        "gauge",
        "Calls that hold a place, by where the limits were set.",
        &|stats| count(stats.running),
    );
    family(
        "operations_limit_waiting",
        "gauge",
        "Calls that wait for a place or for the rate.",
        &|stats| count(stats.waiting),
    );
    family(
        "operations_limit_admitted_total",
        "counter",
        "Calls that were let through.",
        &|stats| Some(stats.admitted),
    );
    family(
        "operations_breaker_state",
        "gauge",
        "Where a breaker stands: 0 closed, 1 half-open, 2 open.",
        &|stats| {
            Some(match stats.breaker? {
                "closed" => 0,
                "half-open" => 1,
                _ => 2,
            })
        },
    );
    family(
        "operations_breaker_opened_total",
        "counter",
        "How often a breaker has opened.",
        &|stats| stats.opened,
    );
    let name = "operations_limit_refused_total";
    head(text, name, "counter", "Calls that were refused, by reason.");
    for stats in limits {
        let Refused {
            overloaded,
            rate_limited,
            circuit_open,
        } = stats.refused;
        for (reason, value) in [
            ("overloaded", overloaded),
            ("rate-limited", rate_limited),
            ("circuit-open", circuit_open),
        ] {
            line!(
                text,
                "{name}{{{},reason=\"{reason}\"}} {value}",
                place(stats)
            );
        }
    }
}

fn place(stats: &Stats) -> String {
    format!(
        "scope=\"{}\",name=\"{}\"",
        escaped(&stats.scope),
        escaped(&stats.name)
    )
}

/// A label's value: ids and names come from strangers.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_a_number_operations_share_one_series() {
        let metrics = Metrics::default();
        for number in 0..MOST_OPERATIONS + 7 {
            let call = metrics.call(&format!("a.op{number}"));
            call.end(&Ok::<(), CallError>(()));
        }
        let mut text = String::new();
        metrics.write(&mut text, Vec::new(), |_| true);
        let series = text
            .lines()
            .filter(|line| line.starts_with("operations_calls_total"));
        assert_eq!(series.count(), MOST_OPERATIONS + 1);
        assert!(
            text.contains("operations_calls_total{operation=\"other\",outcome=\"ok\"} 7\n"),
            "{text}"
        );
    }

    #[test]
    fn names_from_strangers_stay_within_their_label() {
        let metrics = Metrics::default();
        drop(metrics.call("a.\"} 1\nevil{b=\"\\"));
        let mut text = String::new();
        metrics.write(&mut text, Vec::new(), |_| true);
        assert!(
            text.contains(
                r#"operations_calls_total{operation="a.\"} 1\nevil{b=\"\\",outcome="ABORTED"} 1"#
            ),
            "{text}"
        );
        assert!(!text.lines().any(|line| line.starts_with("evil")));
    }

    #[test]
    fn limits_beyond_a_number_are_added_up() {
        let limits = (0..MOST_LIMITS + 3).map(|number| Stats {
            scope: "operation".to_owned(),
            name: format!("a.op{number}"),
            admitted: 2,
            ..Stats::default()
        });
        let mut text = String::new();
        Metrics::default().write(&mut text, limits.collect(), |_| true);
        assert!(
            text.contains("operations_limit_admitted_total{scope=\"other\",name=\"other\"} 6\n"),
            "{text}"
        );
    }
}

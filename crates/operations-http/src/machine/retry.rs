//! When a request is sent again: a call that failed, a stream that broke.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use crate::message::ResponseHead;

/// How a request failed, as far as another try has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// No connection was made, so the server has seen nothing of it.
    NeverConnected,
    /// The connection broke afterwards; the server may have acted already.
    ConnectionLost,
    /// The server answered with this status.
    Status(u16),
}

impl Cause {
    /// Whether a later try may fare better.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        match self {
            Self::NeverConnected | Self::ConnectionLost => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
        }
    }

    /// Whether a request may be sent again: the method says so, or the server has not seen it.
    #[must_use]
    pub fn allows_another_try(self, method: &str) -> bool {
        let idempotent = ["GET", "HEAD", "PUT", "DELETE"]
            .iter()
            .any(|safe| method.eq_ignore_ascii_case(safe));
        self == Self::NeverConnected || (idempotent && self.is_passing())
    }
}

/// How often and how patiently to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries after the first one; 0 is off.
    pub retries: u32,
    /// The pause before the first of them; it doubles each time.
    pub first_delay: Duration,
    /// No pause is longer. A server that asks for more gets no further try.
    pub longest_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 0,
            first_delay: Duration::from_millis(250),
            longest_delay: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// The pause before try number `retry` (1 is the first after the initial one), or `None` when
    /// the failure is final. `jitter` is a random number from 0 to 1: clients that failed together
    /// must not come back together.
    #[must_use]
    pub fn delay(
        &self,
        retry: u32,
        method: &str,
        cause: Cause,
        retry_after: Option<Duration>,
        jitter: f64,
    ) -> Option<Duration> {
        if retry == 0 || retry > self.retries || !cause.allows_another_try(method) {
            return None;
        }
        if let Some(asked) = retry_after {
            return (asked <= self.longest_delay).then_some(asked);
        }
        let doubled = 2_u32.saturating_pow(retry - 1);
        let whole = self.first_delay.saturating_mul(doubled);
        let whole = whole.min(self.longest_delay);
        let jitter = if jitter.is_finite() {
            jitter.clamp(0.0, 1.0)
        } else {
            1.0
        };
        Some(whole / 2 + (whole / 2).mul_f64(jitter))
    }
}

/// How a stream is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// Attempts in a row that bring no event, or hold for a moment only.
    pub max_retries: u32,
    /// Requests are repeated whatever their method, although the server may then do its work twice.
    pub any_method: bool,
}

/// What is known when a stream has ended, or an attempt to open it again has failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lost {
    /// Attempts in a row that brought no event, or held for a moment only.
    pub attempts: u32,
    /// How the last attempt failed; nothing when the stream has ended.
    pub cause: Option<Cause>,
    /// What the stream said in `retry:`, in milliseconds.
    pub stream_asks: Option<u64>,
    /// What the server said in `Retry-After`.
    pub server_asks: Option<Duration>,
}

impl Reconnect {
    /// The pause before the next attempt, or nothing when there is to be none. What the stream asked
    /// for is the least, and doubles while attempts fail. `jitter` is a random number from 0 to 1.
    #[must_use]
    pub fn delay(self, lost: Lost, jitter: f64) -> Option<Duration> {
        const DEFAULT: Duration = Duration::from_secs(1);
        // Whatever a server says: asked for no pause, it would be called without one.
        const SHORTEST: Duration = Duration::from_millis(500);
        const LONGEST_DOUBLED: Duration = Duration::from_secs(30);
        const LONGEST: Duration = Duration::from_secs(300);
        let is_hopeless = lost.cause.is_some_and(|cause| !cause.is_passing());
        let asked = lost.server_asks.unwrap_or_default();
        if is_hopeless || lost.attempts >= self.max_retries || asked > LONGEST {
            return None;
        }
        let base = lost.stream_asks.map_or(DEFAULT, Duration::from_millis);
        let base = base.clamp(SHORTEST, LONGEST);
        let doubled = base.saturating_mul(2_u32.saturating_pow(lost.attempts));
        let whole = doubled.min(LONGEST_DOUBLED.max(base));
        let pause = whole + (whole / 2).mul_f64(jitter.clamp(0.0, 1.0));
        Some(pause.max(asked))
    }
}

/// What a response asks for in `Retry-After`, if it asks.
pub(super) fn asked_pause(head: &ResponseHead) -> Option<Duration> {
    let value = head.headers.get("retry-after")?.as_str()?;
    retry_after(value, SystemTime::now())
}

/// What a `Retry-After` header asks for: seconds, or a date. A date that has passed means now.
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds is for ever.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// A number from 0 up to 1. Nothing secret depends on it.
pub(super) fn random_fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

//! Which failures are worth another try, and when.

use std::time::{Duration, SystemTime};

use super::date;
use operations_core::error::CallError;

/// How a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No connection was made, so the server has seen nothing of it.
    NeverConnected,
    /// The connection broke afterwards; the server may have acted already.
    ConnectionLost,
    /// The server answered with this status.
    Status(u16),
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
        failure: Failure,
        retry_after: Option<Duration>,
        jitter: f64,
    ) -> Option<Duration> {
        if retry == 0 || retry > self.retries || !is_safe(method, failure) {
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

/// Whether a request may be sent again: the method says so, or the server has not seen it.
#[must_use]
pub fn is_safe(method: &str, failure: Failure) -> bool {
    let idempotent = ["GET", "HEAD", "PUT", "DELETE"]
        .iter()
        .any(|safe| method.eq_ignore_ascii_case(safe));
    match failure {
        Failure::NeverConnected => true,
        Failure::ConnectionLost => idempotent,
        Failure::Status(status) => {
            idempotent && matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
        }
    }
}

/// What a `Retry-After` header asks for: seconds, or a date. A date that has passed means now.
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds is for ever.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = date::parse(value)?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// The pause before a stream is opened again, for attempt number `attempt` in a row (1 is the first).
/// `asked` is what the stream said in `retry:`, in milliseconds; it is the least, and doubles while
/// attempts fail. `jitter` is a random number from 0 to 1.
#[must_use]
pub fn reconnection_delay(asked: Option<u64>, attempt: u32, jitter: f64) -> Duration {
    const USUAL: Duration = Duration::from_secs(1);
    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST_DOUBLED: Duration = Duration::from_secs(30);
    const LONGEST: Duration = Duration::from_secs(300);
    let base = asked.map_or(USUAL, Duration::from_millis);
    let base = base.clamp(SHORTEST, LONGEST);
    let doubled = base.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    let whole = doubled.min(LONGEST_DOUBLED.max(base));
    whole + (whole / 2).mul_f64(jitter.clamp(0.0, 1.0))
}

/// The error with the number of tries, where there was more than one.
#[must_use]
pub fn with_tries(mut error: CallError, tries: u32) -> CallError {
    if tries > 1 {
        error.message = format!("{} (tried {tries} times)", error.message);
    }
    error
}

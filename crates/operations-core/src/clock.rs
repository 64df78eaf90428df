//! What time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Unix milliseconds, as JavaScript counts them, with their fraction.
#[must_use]
pub fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
        * 1_000.0
}

/// The time from now to a moment in Unix milliseconds; none at all when it has passed. A moment that is further away
/// than can be counted is as good as never.
#[must_use]
pub fn until(moment: f64) -> Duration {
    let left = (moment - now()).max(0.0) / 1_000.0;
    Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)
}

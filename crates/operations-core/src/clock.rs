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

/// A number of milliseconds, as JavaScript has them. What is no time at all counts as none; what is longer than a
/// century counts as one, because clocks overflow.
#[must_use]
pub fn milliseconds(given: f64) -> Duration {
    const CENTURY: f64 = 100.0 * 365.0 * 86_400_000.0;
    Duration::try_from_secs_f64(given.clamp(0.0, CENTURY) / 1_000.0).unwrap_or_default()
}

/// The time from now to a moment in Unix milliseconds; none at all when it has passed.
#[must_use]
pub fn until(moment: f64) -> Duration {
    milliseconds(moment - now())
}

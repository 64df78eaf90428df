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

/// A moment in Unix milliseconds as ISO 8601 has it, like `2026-07-28T09:30:00.250Z`. What is out of all proportion is written
/// as the beginning of time.
#[must_use]
pub fn iso(moment: f64) -> String {
    const DAY: i64 = 86_400_000;
    // The years that are written with four digits.
    let is_in_range = (-62_135_596_800_000.0..253_402_300_800_000.0).contains(&moment);
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    let moment = if is_in_range {
        moment.floor() as i64
    } else {
        0
    };
    let (days, rest) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
    // The era of 400 years that begins on the first of March of the year 0, as leap days then come last in a year.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 {
        (year + era * 400, month + 3)
    } else {
        (year + era * 400 + 1, month - 9)
    };
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, millisecond) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// The time from now to a moment in Unix milliseconds; none at all when it has passed.
#[must_use]
pub fn until(moment: f64) -> Duration {
    milliseconds(moment - now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_iso_8601() {
        for (moment, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
            (1_785_230_999_250.7, "2026-07-28T09:29:59.250Z"),
            (4_107_542_399_999.0, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000Z"),
            (f64::NAN, "1970-01-01T00:00:00.000Z"),
            (1e300, "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(moment), text);
        }
    }
}

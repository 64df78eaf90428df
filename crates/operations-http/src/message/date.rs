//! The dates of HTTP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Reads a date in any of the three notations that HTTP has had: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. Dates before 1970 are no use to
/// anybody here and count as unreadable.
#[must_use]
pub fn parse(text: &str) -> Option<SystemTime> {
    let words: Vec<&str> = text
        .split([' ', ',', '-', '\t'])
        .filter(|word| !word.is_empty())
        .collect();
    let ([_, day, month, year, clock, "GMT" | "UTC" | "+0000"] | [_, month, day, clock, year]) =
        *words.as_slice()
    else {
        return None;
    };
    let month = MONTHS
        .iter()
        .position(|name| month.eq_ignore_ascii_case(name))?;
    let month = u64::try_from(month).ok()?;
    let day: u64 = number(day).filter(|day| (1..=31).contains(day))?;
    let year = match (number(year)?, year.len()) {
        (short @ 70..=99, 2) => 1900 + short,
        (short, 2) => 2000 + short,
        (year @ 1970..=9999, 4) => year,
        _ => return None,
    };
    let mut clock = clock.split(':');
    let mut next = |limit: u64| clock.next().and_then(number).filter(|part| *part <= limit);
    let (hours, minutes, seconds) = (next(23)?, next(59)?, next(60)?);
    if clock.next().is_some() {
        return None;
    }
    let seconds =
        days_since_1970(year, month, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn number(text: &str) -> Option<u64> {
    // `parse` would take a sign as well.
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Days of the calendar; `month` counts from 0, `year` from 1970 on.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let before_year = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let index = usize::try_from(month).unwrap_or_default();
    let before_month = BEFORE_MONTH.get(index).copied().unwrap_or_default();
    before_year + before_month + u64::from(is_leap && month > 1) + (day - 1)
}

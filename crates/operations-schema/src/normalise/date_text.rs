//! Times as text, exactly as JavaScript's `Date.prototype.toISOString` writes them.

/// The farthest time from 1970, in milliseconds, that a Date can hold.
const MAX_TIME: f64 = 8.64e15;
const MILLISECONDS_PER_DAY: i64 = 86_400_000;
/// Days in 400 years of the Gregorian calendar.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 1 March of year 0 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_468;

/// Whether a number is the time of some Date.
#[must_use]
pub(super) fn is_time(milliseconds: f64) -> bool {
    milliseconds.fract() == 0.0 && milliseconds.abs() <= MAX_TIME
}

/// What `new Date(milliseconds).toISOString()` gives; none for what is no time.
#[must_use]
pub(super) fn time_to_text(milliseconds: f64) -> Option<String> {
    if !is_time(milliseconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and far below 2^53")]
    let time = milliseconds as i64;
    let (days, rest) = (
        time.div_euclid(MILLISECONDS_PER_DAY),
        time.rem_euclid(MILLISECONDS_PER_DAY),
    );
    let (year, month, day) = date_of(days);
    let (hours, rest) = (rest / 3_600_000, rest % 3_600_000);
    let (minutes, rest) = (rest / 60_000, rest % 60_000);
    let (seconds, milliseconds) = (rest / 1000, rest % 1000);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        ..0 => format!("-{:06}", -year),
        _ => format!("+{year:06}"),
    };
    Some(format!(
        "{year}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z"
    ))
}

/// The time that `text` is the ISO form of; none for any other spelling, because then the text
/// could not be restored from the time.
#[must_use]
pub(super) fn text_to_time(text: &str) -> Option<f64> {
    let (year, rest) = match text.as_bytes().first()? {
        b'+' | b'-' => text.split_at_checked(7)?,
        _ => text.split_at_checked(4)?,
    };
    let field = |from: usize, to: usize| -> Option<i64> {
        let digits = rest.get(from..to)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)?
            .parse()
            .ok()
    };
    let year: i64 = year.parse().ok()?;
    let (month, day) = (field(1, 3)?, field(4, 6)?);
    let (hours, minutes, seconds) = (field(7, 9)?, field(10, 12)?, field(13, 15)?);
    let milliseconds = field(16, 19)?;
    let days = days_of(year, month, day);
    let time = days * MILLISECONDS_PER_DAY
        + hours * 3_600_000
        + minutes * 60_000
        + seconds * 1000
        + milliseconds;
    // Writing it again finds every other flaw: separators, 31 April, 25 hours.
    let time = time as f64;
    (time_to_text(time).as_deref() == Some(text)).then_some(time)
}

/// Year, month and day of a day counted from 1970. Years begin in March here, so that the day that
/// leap years add is the last one.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The inverse of [`date_of`].
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970
}

#[cfg(test)]
mod tests {
    use super::{text_to_time, time_to_text};

    #[test]
    fn times_are_written_as_javascript_writes_them() {
        for (time, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000_123.0, "2023-11-14T22:13:20.123Z"),
            (8.64e15, "+275760-09-13T00:00:00.000Z"),
            (-8.64e15, "-271821-04-20T00:00:00.000Z"),
            (-62_167_219_200_000.0, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001.0, "-000001-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(time_to_text(time).as_deref(), Some(text));
            assert_eq!(text_to_time(text), Some(time));
        }
        assert_eq!(time_to_text(f64::NAN), None);
        assert_eq!(time_to_text(1.5), None);
        assert_eq!(time_to_text(8.64e15 + 1.0), None);
    }

    #[test]
    fn only_the_canonical_spelling_is_a_time() {
        for text in [
            "",
            "2024-01-01",
            "2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00.000",
            "2024-01-01T00:00:00.000+00:00",
            "2024-02-30T00:00:00.000Z",
            "2024-01-01T24:00:00.000Z",
            "2024-01-01 00:00:00.000Z",
            "+002024-01-01T00:00:00.000Z",
            "2024-01-01T00:00:00.000Zx",
            "ä024-01-01T00:00:00.000Z",
            "99999999",
        ] {
            assert_eq!(text_to_time(text), None, "{text:?}");
        }
    }
}

//! Dates and times of RFC 3339.

use std::sync::LazyLock;

use regex::Regex;

/// Reads exactly `count` digits from the front.
fn digits(text: &[u8], count: usize) -> Option<(u32, &[u8])> {
    let (head, rest) = text.split_at_checked(count)?;
    let mut number = 0;
    for byte in head {
        number = number * 10 + char::from(*byte).to_digit(10)?;
    }
    Some((number, rest))
}

fn byte(text: &[u8], wanted: u8) -> Option<&[u8]> {
    text.split_first()
        .filter(|(first, _)| **first == wanted)
        .map(|(_, rest)| rest)
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

fn date(text: &[u8]) -> Option<&[u8]> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(byte(rest, b'-')?, 2)?;
    let (day, rest) = digits(byte(rest, b'-')?, 2)?;
    ((1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)).then_some(rest)
}

fn time(text: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(byte(rest, b':')?, 2)?;
    let (second, mut rest) = digits(byte(rest, b':')?, 2)?;
    if let Some(fraction) = byte(rest, b'.') {
        let count = fraction
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        rest = fraction.get(count..).filter(|_| count > 0)?;
    }
    let (offset, rest) = offset(rest)?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // A leap second is the last second of a day in UTC.
    let utc = (i64::from(hour) * 60 + i64::from(minute) - offset).rem_euclid(24 * 60);
    (second < 60 || utc == 23 * 60 + 59).then_some(rest)
}

/// The offset in minutes.
fn offset(text: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, rest) = text.split_first()?;
    let sign = match sign {
        b'Z' | b'z' => return Some((0, rest)),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hour, rest) = digits(rest, 2)?;
    let (minute, rest) = digits(byte(rest, b':')?, 2)?;
    (hour <= 23 && minute <= 59).then_some((sign * i64::from(hour * 60 + minute), rest))
}

pub(super) fn is_date(text: &str) -> bool {
    date(text.as_bytes()).is_some_and(<[u8]>::is_empty)
}

pub(super) fn is_time(text: &str) -> bool {
    time(text.as_bytes()).is_some_and(<[u8]>::is_empty)
}

pub(super) fn is_date_time(text: &str) -> bool {
    let both = || {
        let (separator, rest) = date(text.as_bytes())?.split_first()?;
        matches!(separator, b'T' | b't').then(|| time(rest))?
    };
    both().is_some_and(<[u8]>::is_empty)
}

/// The grammar of RFC 3339, appendix A.
static DURATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = r"(\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)";
    let time = r"(T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S))";
    Regex::new(&format!(r"(?-u)^P({date}{time}?|{time}|\d+W)$")).ok()
});

pub(super) fn is_duration(text: &str) -> bool {
    DURATION
        .as_ref()
        .is_some_and(|duration| duration.is_match(text))
}

//! Which part of a file is requested (RFC 9110, section 14).

/// A part of a file: its first byte, and the one after its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// Nothing of what was asked for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsatisfiable;

/// The part that a `Range` header asks for. Nothing where the whole is to be sent: for another unit, for several parts, and for
/// what cannot be read, all of which a server may ignore.
///
/// # Errors
/// When the part begins behind the end.
pub fn asked_range(header: &str, bytes: u64) -> Result<Option<Range>, Unsatisfiable> {
    let Some(spec) = header.trim().strip_prefix("bytes=") else {
        return Ok(None);
    };
    let Some((first, last)) = spec.split_once('-') else {
        return Ok(None);
    };
    let number = |text: &str| {
        let text = text.trim();
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that is too large is behind every end.
        is_digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match (number(first), number(last)) {
        (Some(start), Some(last)) if start <= last => Range {
            start,
            end: last.saturating_add(1).min(bytes),
        },
        (Some(start), None) if last.trim().is_empty() => Range { start, end: bytes },
        (None, Some(length)) if first.trim().is_empty() => Range {
            start: bytes.saturating_sub(length),
            end: bytes,
        },
        _ => return Ok(None),
    };
    if range.start >= range.end {
        return Err(Unsatisfiable);
    }
    Ok(Some(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_the_specification_has_them() {
        let of = |header| asked_range(header, 100);
        let part = |start, end| Ok(Some(Range { start, end }));
        assert_eq!(of("bytes=0-9"), part(0, 10));
        assert_eq!(of("bytes=90-200"), part(90, 100));
        assert_eq!(of("bytes=90-"), part(90, 100));
        assert_eq!(of("bytes=-10"), part(90, 100));
        assert_eq!(of("bytes=-1000"), part(0, 100));
        assert_eq!(of("bytes=0-99999999999999999999999"), part(0, 100));
        for behind in [
            "bytes=100-",
            "bytes=100-200",
            "bytes=-0",
            "bytes=99999999999999999999999-",
        ] {
            assert_eq!(of(behind), Err(Unsatisfiable), "{behind}");
        }
        for odd in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=9-1",
            "bytes=1-2,5-6",
            "lines=1-2",
            "bytes=+1-2",
            "bytes=a-b",
        ] {
            assert_eq!(of(odd), Ok(None), "{odd}");
        }
        assert_eq!(asked_range("bytes=0-", 0), Err(Unsatisfiable));
    }
}

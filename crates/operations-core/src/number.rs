//! Numbers of JavaScript as whole ones. What is not a number or below zero is zero; what is too large is the largest.

/// A whole number.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub fn whole(given: f64) -> u64 {
    given as u64
}

/// A number of bytes, or of members.
#[must_use]
pub fn size(given: f64) -> usize {
    usize::try_from(whole(given)).unwrap_or(usize::MAX)
}

/// A small number of something.
#[must_use]
pub fn count(given: f64) -> u32 {
    u32::try_from(whole(given)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_out_of_range_are_the_nearest_in_it() {
        for (given, expected) in [
            (1.9, 1),
            (-3.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, u32::MAX),
        ] {
            assert_eq!(count(given), expected);
        }
        assert_eq!(size(f64::INFINITY), usize::MAX);
        assert_eq!(whole(4_294_967_296.0), 4_294_967_296);
    }
}

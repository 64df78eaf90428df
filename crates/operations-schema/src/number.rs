//! Numbers as JavaScript has them.

use std::fmt::Write as _;

/// A number as JavaScript's `String(number)` writes it.
#[must_use]
pub fn to_js_string(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity".into()
        } else {
            "-Infinity".into()
        };
    }
    if number == 0.0 {
        return "0".into();
    }
    // Rust's shortest digits are JavaScript's; only the layout differs.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|digit| *digit != '.').collect();
    let mut out = String::new();
    if number < 0.0 {
        out.push('-');
    }
    write_digits(&mut out, &digits, exponent);
    out
}

/// Whether a JavaScript number holds what a number of JSON says. A fraction may be rounded, as `0.1` is. Beyond 2^53 and below the
/// smallest normal number, where a neighbour is far away, JavaScript must write the same value again.
#[must_use]
pub fn holds(text: &str) -> bool {
    const LARGEST_DENSE: f64 = 9_007_199_254_740_992.0;
    let Ok(number) = text.parse::<f64>() else {
        return false;
    };
    let is_dense = (f64::MIN_POSITIVE..LARGEST_DENSE).contains(&number.abs());
    is_dense || number.is_finite() && significand(text) == significand(&format!("{number:e}"))
}

/// The digits of a number that count, and where its point is before the first of them.
fn significand(text: &str) -> (String, i64) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let digits = digits.trim_matches('0');
    if digits.is_empty() {
        return (String::new(), 0);
    }
    let shift = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let point = exponent.saturating_add(shift(whole.len()) - shift(leading));
    (digits.to_owned(), point)
}

fn write_digits(out: &mut String, digits: &str, exponent: i32) {
    let count = i32::try_from(digits.len()).unwrap_or(0);
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    match exponent {
        0..=20 if count <= exponent + 1 => {
            out.push_str(digits);
            out.extend(std::iter::repeat_n(
                '0',
                usize::try_from(exponent + 1 - count).unwrap_or(0),
            ));
        }
        0..=20 => {
            let point = usize::try_from(exponent + 1).unwrap_or(0);
            let (whole, fraction) = digits.split_at_checked(point).unwrap_or((digits, ""));
            let _ = write!(out, "{whole}.{fraction}");
        }
        -6..=-1 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n(
                '0',
                usize::try_from(-exponent - 1).unwrap_or(0),
            ));
            out.push_str(digits);
        }
        _ => {
            out.push_str(first);
            if !rest.is_empty() {
                let _ = write!(out, ".{rest}");
            }
            let _ = write!(
                out,
                "e{}{}",
                if exponent < 0 { '-' } else { '+' },
                exponent.abs()
            );
        }
    }
}

/// JavaScript's `===` on numbers, which is also JSON Schema's equality.
#[must_use]
#[expect(clippy::float_cmp, reason = "exact equality is the rule")]
pub fn same_number(one: f64, other: f64) -> bool {
    one == other
}

/// JavaScript's `value % divisor === 0`.
#[must_use]
pub fn js_is_multiple(value: f64, divisor: f64) -> bool {
    value % divisor == 0.0
}

/// Whether `value` is a multiple of `divisor` as decimals: the shortest digits that name each
/// number are taken at their word, so 0.3 is a multiple of 0.1.
#[must_use]
pub fn is_decimal_multiple(value: f64, divisor: f64) -> bool {
    if !value.is_finite() || !divisor.is_finite() || divisor == 0.0 {
        return false;
    }
    let whole = 2_f64.powi(53);
    if value.fract() == 0.0
        && divisor.fract() == 0.0
        && value.abs() < whole
        && divisor.abs() < whole
    {
        return value % divisor == 0.0;
    }
    let (Some(value), Some(divisor)) = (Decimal::new(value), Decimal::new(divisor)) else {
        return false;
    };
    value.is_multiple_of(&divisor)
}

/// A number as whole digits and a power of ten.
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    fn new(number: f64) -> Option<Self> {
        let scientific = format!("{:e}", number.abs());
        let (mantissa, exponent) = scientific.split_once('e')?;
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        let digits: String = mantissa.chars().filter(|digit| *digit != '.').collect();
        Some(Self {
            digits: digits.parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(fraction).ok()?,
        })
    }

    /// `digits * 10^exponent mod other.digits * 10^other.exponent == 0`.
    fn is_multiple_of(&self, other: &Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        let shift = self.exponent - other.exponent;
        if shift >= 0 {
            // digits * 10^shift mod other.digits, step by step so that nothing overflows.
            let divisor = u128::from(other.digits);
            let mut rest = u128::from(self.digits) % divisor;
            for _ in 0..shift {
                rest = rest * 10 % divisor;
                if rest == 0 {
                    return true;
                }
            }
            rest == 0
        } else {
            // digits must be a multiple of other.digits * 10^-shift; digits are below 10^17.
            let Ok(power) = u32::try_from(-shift) else {
                return false;
            };
            let scale = 10_u128.checked_pow(power);
            let divisor = scale.and_then(|scale| scale.checked_mul(u128::from(other.digits)));
            divisor.is_some_and(|divisor| u128::from(self.digits) % divisor == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        let cases = [
            (1.0, "1"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (123_456.789, "123456.789"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (-2.5e30, "-2.5e+30"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (number, text) in cases {
            assert_eq!(to_js_string(number), text);
        }
    }

    #[test]
    fn multiples_are_exact_in_decimals() {
        assert!(is_decimal_multiple(0.0075, 0.0001) && !is_decimal_multiple(0.007_51, 0.0001));
        assert!(
            is_decimal_multiple(0.3, 0.1)
                && is_decimal_multiple(1e308, 0.123_456_789 / 0.123_456_789)
        );
        assert!(is_decimal_multiple(4.5, 1.5) && !is_decimal_multiple(35.0, 1.5));
        assert!(is_decimal_multiple(0.0, 0.01) && is_decimal_multiple(12_391_239_123.0, 1e-8));
        assert!(is_decimal_multiple(1e308, 5e-324) == is_decimal_multiple(1e308, 5e-324));
        assert!(!is_decimal_multiple(f64::NAN, 1.0) && !is_decimal_multiple(1.0, 0.0));
    }
}

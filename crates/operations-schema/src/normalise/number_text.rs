//! Text that is the JavaScript notation of a number.
//!
//! A conversion between a number and a string is lossless only when it survives the way back, and
//! "back" means JavaScript's own notation in every representation, also where no JavaScript runs.

use crate::number::to_js_string;

/// No number in JavaScript's notation is longer. The bound keeps huge strings from being parsed for
/// nothing.
const LONGEST: usize = 32;

/// The number that `text` is the JavaScript notation of; `None` for every other spelling, because
/// then the text could not be restored from the number (`"007"`, `"1e3"`, `" 1"`, `"-0"`).
#[must_use]
pub(super) fn text_to_number(text: &str) -> Option<f64> {
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && to_js_string(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::text_to_number;
    use crate::number::to_js_string;

    #[test]
    fn only_the_canonical_spelling_is_a_number() {
        for text in [
            "42",
            "-1.5",
            "0.1",
            "1e+21",
            "5e-324",
            "0",
            "0.000001",
            "1e-7",
            "123456789012345680000",
            "1.7976931348623157e+308",
        ] {
            let number = text_to_number(text).unwrap_or(f64::NAN);
            assert_eq!(to_js_string(number), text);
        }
        for text in [
            "",
            " ",
            "007",
            "1e3",
            "+1",
            "1.0",
            " 1",
            "1 ",
            "-0",
            "0x10",
            "1_000",
            "NaN",
            "Infinity",
            "inf",
            ".5",
            "5.",
            "9007199254740993",
            "null",
            "true",
        ] {
            assert_eq!(text_to_number(text), None, "{text:?}");
        }
    }
}

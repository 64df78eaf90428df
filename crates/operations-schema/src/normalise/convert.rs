//! Converting a value to another type without losing anything: the way back must give the very
//! same value.

use num_bigint::BigInt;

use super::date_text::{is_time, text_to_time, time_to_text};
use super::normaliser::Normaliser;
use super::number_text::text_to_number;
use super::types::{self, Types};
use super::view::View;
use crate::ir::Const;
use crate::number::to_js_string;
use crate::value_access::{Class, Result, Special, ValueBuilder};

/// A value that can be converted at all. `null` and `undefined` cannot: the word "null" in a string
/// is a word.
enum Scalar {
    Bool(bool),
    Number(f64),
    BigInt(BigInt),
    Text(String),
    Time(f64),
}

/// The longest text that can be the spelling of something else; a bigint may have many digits.
const MAX_TEXT: usize = 4096;

/// What it costs to try a conversion.
const CONVERSION: u64 = 40;

/// What is tried, in this order, where several types are allowed.
const TARGETS: [Types; 5] = [
    Types::BOOLEAN,
    Types::NUMBER,
    Types::BIGINT,
    Types::STRING,
    Types::DATE,
];

impl<A: ValueBuilder> Normaliser<'_, '_, A> {
    /// The value as one of the allowed types; none when something would be lost.
    pub(super) fn convert(
        &mut self,
        view: &View<'_>,
        value: A::Value,
        class: Class,
    ) -> Result<Option<A::Value>> {
        if view.types == Types::ALL || view.types == Types::NONE {
            return Ok(None);
        }
        let Some(scalar) = self.scalar(value, class)? else {
            return Ok(None);
        };
        for id in &view.literals {
            self.walk.spend(CONVERSION)?;
            let constant = self.walk.program.constant(*id);
            let types = types::of_constant(constant);
            if view.types.meets(types)
                && let Some(converted) = convert_scalar(&scalar, types)
                && is_constant(&converted, constant)
            {
                return self.make_scalar(&converted);
            }
        }
        let everything = [view.types];
        let order: &[Types] = if view.preferred.is_empty() {
            &everything
        } else {
            &view.preferred
        };
        for allowed in order {
            self.walk.spend(CONVERSION)?;
            for target in TARGETS {
                // Where every object is allowed, the schema does not ask for a Date.
                if target == Types::DATE && allowed.meets(Types::PLAIN) {
                    continue;
                }
                let target = target.and(*allowed).and(view.types);
                if target != Types::NONE
                    && let Some(converted) = convert_scalar(&scalar, target)
                    && let Some(made) = self.make_scalar(&converted)?
                {
                    // A Date has properties, about which the schema may have something to say.
                    self.chose |= matches!(converted, Scalar::Time(_));
                    return Ok(Some(made));
                }
            }
        }
        Ok(None)
    }

    fn scalar(&mut self, value: A::Value, class: Class) -> Result<Option<Scalar>> {
        Ok(Some(match class {
            Class::Bool(value) => Scalar::Bool(value),
            Class::Number(number) => Scalar::Number(number),
            Class::BigInt => Scalar::BigInt(self.walk.bigint_value(value)?),
            Class::String => {
                if self.walk.utf16_length(value)? > MAX_TEXT {
                    return Ok(None);
                }
                Scalar::Text(self.walk.text(value, str::to_owned)?)
            }
            Class::Object => match self.walk.date(value)? {
                Some(time) => Scalar::Time(time),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn make_scalar(&mut self, scalar: &Scalar) -> Result<Option<A::Value>> {
        match scalar {
            Scalar::Bool(value) => Ok(Some(self.walk.access.make_bool(*value))),
            Scalar::Number(number) => Ok(self.walk.access.make_number(*number)),
            Scalar::BigInt(number) => self.walk.access.make_bigint(number),
            Scalar::Text(text) => self.make_string(text).map(Some),
            Scalar::Time(time) => self.walk.access.make_special(Special::Date(Some(*time))),
        }
    }
}

/// Converts to a type of `target`, which allows one of [`TARGETS`] or a part of it.
fn convert_scalar(scalar: &Scalar, target: Types) -> Option<Scalar> {
    if target.meets(Types::BOOLEAN) {
        return match scalar {
            Scalar::Text(text) if text == "true" => Some(Scalar::Bool(true)),
            Scalar::Text(text) if text == "false" => Some(Scalar::Bool(false)),
            _ => None,
        };
    }
    if target.meets(Types::NUMBER) {
        let number = match scalar {
            Scalar::Text(text) => text_to_number(text),
            Scalar::BigInt(big) => bigint_to_number(big),
            Scalar::Time(time) => is_time(*time).then_some(*time),
            _ => None,
        }?;
        let fits = number.fract() == 0.0 || target.meets(Types::FRACTION);
        return fits.then_some(Scalar::Number(number));
    }
    if target.meets(Types::BIGINT) {
        return match scalar {
            Scalar::Number(number) => number_to_bigint(*number),
            Scalar::Text(text) => text_to_bigint(text),
            _ => None,
        }
        .map(Scalar::BigInt);
    }
    if target.meets(Types::STRING) {
        return match scalar {
            Scalar::Bool(value) => Some(value.to_string()),
            Scalar::Number(number) => Some(to_js_string(*number)),
            Scalar::BigInt(big) => Some(big.to_string()),
            Scalar::Time(time) => time_to_text(*time),
            Scalar::Text(_) => None,
        }
        .map(Scalar::Text);
    }
    if target.meets(Types::DATE) {
        return match scalar {
            Scalar::Text(text) => text_to_time(text),
            Scalar::Number(number) => is_time(*number).then_some(*number),
            _ => None,
        }
        .map(Scalar::Time);
    }
    None
}

#[expect(clippy::float_cmp, reason = "a literal is met exactly or not at all")]
fn is_constant(scalar: &Scalar, constant: &Const) -> bool {
    match (scalar, constant) {
        (Scalar::Bool(one), Const::Bool(two)) => one == two,
        (Scalar::Number(one), Const::Number(two)) => one == two,
        (Scalar::BigInt(one), Const::BigInt(two)) => one.to_string() == **two,
        (Scalar::Text(one), Const::String(two)) => *one == **two,
        _ => false,
    }
}

/// The number that equals a bigint exactly.
fn bigint_to_number(big: &BigInt) -> Option<f64> {
    // The nearest number, by way of the text: it equals the bigint if it turns into it again.
    let number: f64 = big.to_string().parse().ok()?;
    (number_to_bigint(number)? == *big).then_some(number)
}

/// The bigint that equals a whole number.
fn number_to_bigint(number: f64) -> Option<BigInt> {
    if !number.is_finite() || number.fract() != 0.0 {
        return None;
    }
    // Rust writes every digit of a whole number.
    format!("{number:.0}").parse().ok()
}

/// The bigint that `text` is the JavaScript notation of.
fn text_to_bigint(text: &str) -> Option<BigInt> {
    let number: BigInt = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(scalar: &Scalar, target: Types) -> Option<String> {
        Some(match convert_scalar(scalar, target)? {
            Scalar::Bool(value) => format!("{value}"),
            Scalar::Number(number) => to_js_string(number),
            Scalar::BigInt(number) => format!("{number}n"),
            Scalar::Text(text) => format!("{text:?}"),
            Scalar::Time(time) => format!("@{time}"),
        })
    }

    #[test]
    fn what_survives_the_way_back_is_converted() {
        let text = |text: &str| Scalar::Text(text.to_owned());
        for (scalar, target, expected) in [
            (text("42"), Types::NUMBER, Some("42")),
            (text("42"), Types::INTEGER, Some("42")),
            (text("4.2"), Types::INTEGER, None),
            (text("007"), Types::NUMBER, None),
            (text(""), Types::NUMBER, None),
            (text("true"), Types::BOOLEAN, Some("true")),
            (text("True"), Types::BOOLEAN, None),
            (text("1"), Types::BOOLEAN, None),
            (
                text("12345678901234567890"),
                Types::BIGINT,
                Some("12345678901234567890n"),
            ),
            (text("-0"), Types::BIGINT, None),
            (text("1_0"), Types::BIGINT, None),
            (
                text("2024-01-01T00:00:00.000Z"),
                Types::DATE,
                Some("@1704067200000"),
            ),
            (text("2024-01-01"), Types::DATE, None),
            (Scalar::Number(42.0), Types::STRING, Some("\"42\"")),
            (Scalar::Number(1e21), Types::STRING, Some("\"1e+21\"")),
            (Scalar::Number(1.0), Types::BOOLEAN, None),
            (
                Scalar::Number(1e21),
                Types::BIGINT,
                Some("1000000000000000000000n"),
            ),
            (Scalar::Number(1.5), Types::BIGINT, None),
            (Scalar::Number(0.0), Types::DATE, Some("@0")),
            (Scalar::Number(0.5), Types::DATE, None),
            (Scalar::Bool(true), Types::STRING, Some("\"true\"")),
            (Scalar::Bool(true), Types::NUMBER, None),
            (Scalar::BigInt(BigInt::from(7)), Types::NUMBER, Some("7")),
            (
                Scalar::BigInt(BigInt::from(9_007_199_254_740_993_i64)),
                Types::NUMBER,
                None,
            ),
            (
                Scalar::BigInt(BigInt::from(7)),
                Types::STRING,
                Some("\"7\""),
            ),
            (
                Scalar::Time(0.0),
                Types::STRING,
                Some("\"1970-01-01T00:00:00.000Z\""),
            ),
            (Scalar::Time(5.0), Types::NUMBER, Some("5")),
            (Scalar::Time(f64::NAN), Types::STRING, None),
            (Scalar::Time(f64::NAN), Types::NUMBER, None),
        ] {
            assert_eq!(shown(&scalar, target).as_deref(), expected);
        }
    }
}

//! The wording.

use std::fmt::{Display, Formatter, Result};

use crate::ir::{Const, TypeSet};
use crate::number::to_js_string;

/// What is said of a size that is too small, and of one that is too large. `{}` stands for the bound.
pub(super) type SizeMessages = [&'static str; 2];

pub(super) const STRING_LENGTH: SizeMessages = [
    "Expected string length greater or equal to {}",
    "Expected string length less or equal to {}",
];
pub(super) const BYTE_LENGTH: SizeMessages = [
    "Expected byte length greater or equal to {}",
    "Expected byte length less or equal to {}",
];
pub(super) const ARRAY_LENGTH: SizeMessages = [
    "Expected array length to be greater or equal to {}",
    "Expected array length to be less or equal to {}",
];
pub(super) const MATCHING_ELEMENTS: SizeMessages = [
    "Expected array to contain at least {} matching values",
    "Expected array to contain no more than {} matching values",
];
pub(super) const PROPERTIES: SizeMessages = [
    "Expected object to have at least {} properties",
    "Expected object to have no more than {} properties",
];

/// One of these with its bound.
pub(super) struct Bound(pub(super) &'static str, pub(super) f64);

impl Display for Bound {
    fn fmt(&self, text: &mut Formatter<'_>) -> Result {
        text.write_str(&self.0.replace("{}", &to_js_string(self.1)))
    }
}

/// A number as JavaScript writes it into a text.
pub(super) struct JsNumber(pub(super) f64);

impl Display for JsNumber {
    fn fmt(&self, text: &mut Formatter<'_>) -> Result {
        text.write_str(&to_js_string(self.0))
    }
}

/// A constant as JavaScript writes it into a text.
impl Display for Const {
    fn fmt(&self, text: &mut Formatter<'_>) -> Result {
        match self {
            Self::Undefined => text.write_str("undefined"),
            Self::Null => text.write_str("null"),
            Self::Bool(value) => value.fmt(text),
            Self::Number(number) | Self::Date(number) => JsNumber(*number).fmt(text),
            Self::String(string) | Self::BigInt(string) => text.write_str(string),
            Self::Array(_) => text.write_str("an array"),
            Self::Object(_) => text.write_str("an object"),
            Self::Slot(_) => text.write_str("a live value"),
        }
    }
}

/// What a literal expects.
pub(super) struct Literal<'p>(pub(super) &'p Const);

impl Display for Literal<'_> {
    fn fmt(&self, text: &mut Formatter<'_>) -> Result {
        match self.0 {
            Const::String(string) => write!(text, "Expected '{string}'"),
            other => write!(text, "Expected {other}"),
        }
    }
}

/// What a JSON Schema's `type` expects.
pub(super) struct Types(pub(super) TypeSet);

impl Display for Types {
    fn fmt(&self, text: &mut Formatter<'_>) -> Result {
        let mut words = self.0.words();
        match (words.next(), words.next()) {
            (Some(word), None) => write!(text, "Expected {word}"),
            _ => text.write_str("Expected union value"),
        }
    }
}

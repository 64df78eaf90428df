//! The wording.

use std::cmp::Ordering;

use crate::ir::{Bounds, Const, TypeSet};
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

/// A constant as JavaScript writes it into a text.
pub(super) fn const_text(constant: &Const) -> String {
    match constant {
        Const::Undefined => "undefined".into(),
        Const::Null => "null".into(),
        Const::Bool(value) => value.to_string(),
        Const::Number(number) => to_js_string(*number),
        Const::String(text) => text.to_string(),
        Const::BigInt(digits) => digits.to_string(),
        Const::Date(time) => to_js_string(*time),
        Const::Array(_) => "an array".into(),
        Const::Object(_) => "an object".into(),
        Const::Slot(_) => "a live value".into(),
    }
}

/// What a literal expects.
pub(super) fn literal(constant: &Const) -> String {
    match constant {
        Const::String(text) => format!("Expected '{text}'"),
        other => format!("Expected {}", const_text(other)),
    }
}

/// The bounds that a value does not keep to, in TypeBox's order. `compare` says how it compares with one, `shown`
/// how one is written.
pub(super) fn bounds<T: Copy>(
    noun: &str,
    bounds: &Bounds<T>,
    compare: impl Fn(T) -> Option<Ordering>,
    is_multiple: impl Fn(T) -> bool,
    shown: impl Fn(T) -> String,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut test = |bound: Option<T>, holds: &dyn Fn(T) -> bool, words: &str| {
        if let Some(bound) = bound
            && !holds(bound)
        {
            found.push(format!("Expected {noun} to be {words} {}", shown(bound)));
        }
    };
    let compare = &compare;
    let is = |wanted: fn(Ordering) -> bool| move |bound| compare(bound).is_some_and(wanted);
    test(bounds.exclusive_maximum, &is(Ordering::is_lt), "less than");
    test(
        bounds.exclusive_minimum,
        &is(Ordering::is_gt),
        "greater than",
    );
    test(bounds.maximum, &is(Ordering::is_le), "less or equal to");
    test(bounds.minimum, &is(Ordering::is_ge), "greater or equal to");
    test(bounds.multiple_of, &is_multiple, "a multiple of");
    found
}

/// The same for a number.
pub(super) fn number(
    noun: &str,
    value: f64,
    node: &Bounds<f64>,
    is_multiple: fn(f64, f64) -> bool,
) -> Vec<String> {
    bounds(
        noun,
        node,
        |bound| value.partial_cmp(&bound),
        |divisor| is_multiple(value, divisor),
        to_js_string,
    )
}

/// What a JSON Schema's `type` expects.
pub(super) fn types(types: TypeSet) -> String {
    let mut words = types.words();
    match (words.next(), words.next()) {
        (Some(word), None) => format!("Expected {word}"),
        _ => "Expected union value".into(),
    }
}

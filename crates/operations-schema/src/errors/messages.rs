//! The wording.

use crate::ir::{Bounds, Const, TypeSet};
use crate::number::to_js_string;

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

/// The bounds of a number, in TypeBox's order.
pub(super) fn number(
    noun: &str,
    value: f64,
    node: &Bounds<f64>,
    is_multiple: fn(f64, f64) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut test = |bound: Option<f64>, holds: fn(f64, f64) -> bool, words: &str| {
        if let Some(bound) = bound
            && !holds(value, bound)
        {
            found.push(format!(
                "Expected {noun} to be {words} {}",
                to_js_string(bound)
            ));
        }
    };
    test(
        node.exclusive_maximum,
        |value, bound| value < bound,
        "less than",
    );
    test(
        node.exclusive_minimum,
        |value, bound| value > bound,
        "greater than",
    );
    test(
        node.maximum,
        |value, bound| value <= bound,
        "less or equal to",
    );
    test(
        node.minimum,
        |value, bound| value >= bound,
        "greater or equal to",
    );
    test(node.multiple_of, is_multiple, "a multiple of");
    found
}

/// What a JSON Schema's `type` expects.
pub(super) fn types(types: TypeSet) -> String {
    let mut words = types.words();
    match (words.next(), words.next()) {
        (Some(word), None) => format!("Expected {word}"),
        _ => "Expected union value".into(),
    }
}

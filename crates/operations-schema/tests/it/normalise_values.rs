//! Values without parts, arrays and tuples: converting, replacing, keeping.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use crate::normalise_support::{expect, expect_keeping, expect_same, program_of, short, try_run};
use operations_schema::Mode;
use serde_json::{Value, json};

fn kind(name: &str) -> Value {
    json!({ "~": name })
}

#[test]
fn what_loses_nothing_is_converted() {
    for (schema, value, expected) in [
        (kind("Number"), json!("42"), json!(42)),
        (kind("Number"), json!("-1.5"), json!(-1.5)),
        (kind("Integer"), json!("42"), json!(42)),
        (kind("String"), json!(42), json!("42")),
        (kind("String"), json!(0.1), json!("0.1")),
        (kind("String"), json!(1e21), json!("1e+21")),
        (kind("String"), json!(true), json!("true")),
        (kind("Boolean"), json!("true"), json!(true)),
        (kind("Boolean"), json!("false"), json!(false)),
        (json!({ "~": "Literal", "const": 7 }), json!("7"), json!(7)),
        (
            json!({ "~": "Literal", "const": "7" }),
            json!(7),
            json!("7"),
        ),
        (
            json!({ "~": "Literal", "const": true }),
            json!("true"),
            json!(true),
        ),
    ] {
        expect(&schema, &value, &expected, &[]);
    }
}

#[test]
fn what_would_lose_something_is_replaced() {
    for (schema, value, expected) in [
        (kind("Number"), json!("007"), json!(0)),
        (kind("Number"), json!("1e3"), json!(0)),
        (kind("Number"), json!(" 1"), json!(0)),
        (kind("Number"), json!(""), json!(0)),
        (kind("Number"), json!("9007199254740993"), json!(0)),
        (kind("Number"), json!("Infinity"), json!(0)),
        (kind("Number"), json!(true), json!(0)),
        (kind("Number"), json!(null), json!(0)),
        (kind("Number"), json!([1]), json!(0)),
        (kind("Integer"), json!(1.5), json!(0)),
        (kind("Integer"), json!("1.5"), json!(0)),
        (kind("Boolean"), json!(1), json!(false)),
        (kind("Boolean"), json!("TRUE"), json!(false)),
        (kind("Boolean"), json!(""), json!(false)),
        (kind("String"), json!(null), json!("")),
        (kind("String"), json!({}), json!("")),
        (kind("Null"), json!("null"), json!(null)),
        (kind("Null"), json!(0), json!(null)),
        (
            json!({ "~": "Literal", "const": "a" }),
            json!(null),
            json!("a"),
        ),
        (json!({ "~": "Number", "default": 9 }), json!("x"), json!(9)),
        (
            json!({ "~": "String", "minLength": 2 }),
            json!([]),
            json!("  "),
        ),
        (
            json!({ "~": "String", "pattern": "^x$", "default": "x" }),
            json!([]),
            json!("x"),
        ),
    ] {
        expect(&schema, &value, &expected, &["replaced "]);
    }
}

#[test]
fn what_breaks_a_rule_is_kept() {
    for (schema, value) in [
        (json!({ "~": "Number", "minimum": 5 }), json!(1)),
        (json!({ "~": "Number", "multipleOf": 5 }), json!(1)),
        (json!({ "~": "String", "minLength": 5 }), json!("a")),
        (json!({ "~": "String", "pattern": "^x$" }), json!("y")),
        (json!({ "~": "String", "format": "date" }), json!("soon")),
        (json!({ "~": "Literal", "const": "a" }), json!("b")),
        (json!({ "~": "Literal", "const": 1 }), json!(1.5)),
        (
            json!({ "~": "Array", "items": kind("Number"), "minItems": 3 }),
            json!([1]),
        ),
        (
            json!({ "~": "Array", "items": kind("Number"), "maxItems": 1 }),
            json!([1, 2]),
        ),
        (
            json!({ "~": "Array", "items": kind("Number"), "uniqueItems": true }),
            json!([1, 1]),
        ),
        (
            json!({ "~": "TemplateLiteral", "pattern": "^(a|b)$" }),
            json!("c"),
        ),
    ] {
        expect(&schema, &value, &value, &["kept "]);
    }
    // Converted first, then found to break a rule.
    expect(
        &json!({ "~": "Number", "minimum": 50 }),
        &json!("42"),
        &json!(42),
        &["kept "],
    );
    expect(
        &json!({ "~": "Literal", "const": 1 }),
        &json!("2"),
        &json!(2),
        &["kept "],
    );
}

#[test]
fn what_cannot_be_made_leaves_the_value() {
    for schema in [
        json!({ "~": "String", "pattern": "^x$" }),
        json!({ "~": "String", "format": "date" }),
        json!({ "~": "Never" }),
        json!({ "~": "RegExp", "source": "^x$", "flags": "" }),
        json!({ "~": "Date" }),
        json!({ "~": "BigInt" }),
        json!({ "~": "Array", "items": kind("Number"), "uniqueItems": true, "minItems": 2 }),
        json!({ "~": "Array", "items": kind("Number"), "contains": kind("Number") }),
        json!({ "~": "Array", "items": kind("Number"), "minItems": 1e9 }),
        json!({ "~": "String", "minLength": 1e12 }),
    ] {
        expect(&schema, &json!(null), &json!(null), &["stuck "]);
    }
    let undefined = try_run(
        &program_of(&json!({ "~": "Undefined" })),
        &json!(null),
        Mode::Normalise,
    )
    .unwrap();
    assert!(undefined.value.is_none() && undefined.changed && undefined.valid);
    assert_eq!(
        undefined.notes.iter().map(short).collect::<Vec<_>>(),
        ["replaced "]
    );
    expect(
        &json!({ "~": "Not", "not": kind("Null") }),
        &json!(null),
        &json!(null),
        &["stuck "],
    );
    expect(
        &json!({ "~": "Not", "not": kind("Null"), "default": 1 }),
        &json!(null),
        &json!(1),
        &["replaced "],
    );
}

#[test]
fn an_unknown_format_is_no_obstacle() {
    expect(
        &json!({ "~": "String", "format": "colour" }),
        &json!(null),
        &json!(""),
        &["replaced "],
    );
}

#[test]
fn elements_are_normalised() {
    let schema = json!({ "~": "Array", "items": kind("Number") });
    expect_same(&schema, &json!([1, 2, 3]));
    expect_same(&schema, &json!([]));
    expect(
        &schema,
        &json!([1, "2", "x"]),
        &json!([1, 2, 0]),
        &["replaced /2"],
    );
    expect(&schema, &json!({ "0": 1 }), &json!([]), &["replaced "]);
    expect(
        &json!({ "~": "Array", "items": kind("Number"), "uniqueItems": true }),
        &json!(null),
        &json!([]),
        &["replaced "],
    );
}

#[test]
fn tuples_have_a_length() {
    let schema = json!({
        "~": "Tuple", "items": [kind("Number"), kind("String")], "minItems": 2, "maxItems": 2,
        "additionalItems": false
    });
    expect_same(&schema, &json!([1, "a"]));
    expect(&schema, &json!([1, "a", true]), &json!([1, "a"]), &[]);
    expect(&schema, &json!([1]), &json!([1, ""]), &[]);
    expect(&schema, &json!([]), &json!([0, ""]), &[]);
    expect(&schema, &json!(["1", 2]), &json!([1, "2"]), &[]);
    expect(&schema, &json!(null), &json!([0, ""]), &["replaced "]);
    let value = json!([1, "a", true]);
    expect_keeping(&schema, &value, &value, &["kept "]);
}

#[test]
fn template_literals_are_made_when_they_are_finite() {
    let finite = json!({ "~": "TemplateLiteral", "pattern": "^(on|off)-(1|2)$" });
    expect(&finite, &json!(null), &json!("on-1"), &["replaced "]);
    let endless = json!({ "~": "TemplateLiteral", "pattern": "^(.*)$" });
    expect(&endless, &json!(null), &json!(null), &["stuck "]);
    let digits = json!({ "~": "TemplateLiteral", "pattern": "^(0|[1-9][0-9]*)$" });
    expect(&digits, &json!(5), &json!("5"), &[]);
}

#[test]
fn defaults_are_brought_into_shape_too() {
    let schema = json!({
        "~": "Object", "required": ["a"],
        "properties": { "a": {
            "~": "Object", "required": ["x"], "properties": { "x": kind("Number") },
            "default": { "x": "1", "y": 2 }
        } }
    });
    expect(&schema, &json!({}), &json!({ "a": { "x": 1 } }), &[]);
    // A default of the wrong type is the author's word all the same.
    let unfit = json!({
        "~": "Object", "required": ["a"],
        "properties": { "a": { "~": "String", "default": null } }
    });
    expect(&unfit, &json!({}), &json!({ "a": null }), &["default /a"]);
    expect(
        &unfit,
        &json!({ "a": [] }),
        &json!({ "a": null }),
        &["default /a", "replaced /a"],
    );
}

#[test]
fn recursive_schemas_end() {
    let tree = json!({
        "~": "Object", "$id": "T", "required": ["value", "children"],
        "properties": {
            "value": kind("Number"),
            "children": { "~": "Array", "items": { "~": "This", "$ref": "T" } }
        }
    });
    expect(
        &tree,
        &json!({ "value": "1", "children": [{ "value": 2, "extra": 1 }] }),
        &json!({ "value": 1, "children": [{ "value": 2, "children": [] }] }),
        &[],
    );
    let endless = json!({
        "~": "Object", "$id": "E", "required": ["next"],
        "properties": { "next": { "~": "This", "$ref": "E" } }
    });
    expect(&endless, &json!({}), &json!({}), &["unfilled /next"]);
    expect(&endless, &json!(1), &json!(1), &["stuck "]);
    let endless_default = json!({
        "~": "Object", "$id": "E", "required": ["next"],
        "properties": { "next": { "~": "This", "$ref": "E", "default": {} } }
    });
    expect(
        &endless_default,
        &json!({}),
        &json!({}),
        &["unfilled /next"],
    );
    expect(
        &endless_default,
        &json!({ "next": {} }),
        &json!({ "next": {} }),
        &["unfilled /next/next"],
    );
}

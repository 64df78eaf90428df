//! Unions and intersections.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use crate::normalise_support::{expect, expect_same};
use serde_json::{Value, json};

fn object(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    json!({ "~": "Object", "properties": properties, "required": required })
}

fn union(variants: &[Value]) -> Value {
    json!({ "~": "Union", "anyOf": variants })
}

fn literal(value: impl Into<Value>) -> Value {
    json!({ "~": "Literal", "const": value.into() })
}

fn number() -> Value {
    json!({ "~": "Number" })
}

fn string() -> Value {
    json!({ "~": "String" })
}

#[test]
fn only_variants_that_pass_compete() {
    let small = object(&json!({ "a": number() }));
    let large = object(&json!({ "a": number(), "b": string() }));
    for variants in [[small.clone(), large.clone()], [large, small]] {
        let schema = union(&variants);
        expect_same(&schema, &json!({ "a": 1 }));
        expect_same(&schema, &json!({ "a": 1, "b": "x" }));
        expect(
            &schema,
            &json!({ "a": 1, "b": "x", "c": 0 }),
            &json!({ "a": 1, "b": "x" }),
            &[],
        );
        expect(&schema, &json!({ "a": 1, "b": 2 }), &json!({ "a": 1 }), &[]);
    }
}

#[test]
fn else_the_highest_score_wins() {
    let cat = object(&json!({ "kind": literal("cat"), "lives": number() }));
    let dog = object(&json!({ "kind": literal("dog"), "good": { "~": "Boolean" } }));
    let schema = union(&[cat, dog]);
    expect(
        &schema,
        &json!({ "kind": "dog" }),
        &json!({ "kind": "dog", "good": false }),
        &[],
    );
    expect(
        &schema,
        &json!({ "kind": "dog", "lives": 9 }),
        &json!({ "kind": "dog", "good": false }),
        &[],
    );
    expect(
        &schema,
        &json!({ "good": 1 }),
        &json!({ "kind": "dog", "good": false }),
        &["replaced /good"],
    );
    expect(
        &schema,
        &json!({}),
        &json!({ "kind": "cat", "lives": 0 }),
        &[],
    );
    expect(
        &schema,
        &json!(1),
        &json!({ "kind": "cat", "lives": 0 }),
        &["replaced "],
    );
}

#[test]
fn a_union_of_literals_is_an_enum() {
    let schema = union(&[literal("a"), literal("b"), literal(1)]);
    expect_same(&schema, &json!("b"));
    expect(&schema, &json!("z"), &json!("z"), &["kept "]);
    expect(&schema, &json!(2), &json!(2), &["kept "]);
    expect(&schema, &json!(null), &json!("a"), &["replaced "]);
    expect(
        &union(&[literal("1"), literal("2")]),
        &json!(2),
        &json!("2"),
        &[],
    );
}

#[test]
fn a_value_of_some_variants_type_is_kept() {
    let schema = union(&[
        json!({ "~": "Null" }),
        json!({ "~": "String", "format": "date" }),
    ]);
    expect_same(&schema, &json!(null));
    expect_same(&schema, &json!("2024-01-31"));
    expect(&schema, &json!("soon"), &json!("soon"), &["kept "]);
    let arrays = union(&[
        json!({ "~": "Null" }),
        json!({ "~": "Array", "items": number() }),
    ]);
    expect(&arrays, &json!(["1"]), &json!([1]), &[]);
}

#[test]
fn conversion_comes_before_replacement() {
    let schema = union(&[number(), json!({ "~": "Boolean" })]);
    expect(&schema, &json!("true"), &json!(true), &[]);
    expect(&schema, &json!("5"), &json!(5), &[]);
    expect(&schema, &json!("x"), &json!(0), &["replaced "]);
    expect(
        &union(&[string(), number()]),
        &json!(true),
        &json!("true"),
        &[],
    );
}

#[test]
fn the_default_of_a_union_replaces() {
    let mut schema = union(&[number(), string()]);
    schema["default"] = json!("none");
    expect(&schema, &json!(null), &json!("none"), &["replaced "]);
    expect_same(&schema, &json!(1));
}

#[test]
fn a_filled_value_may_turn_another_variant_on() {
    let plain = object(&json!({ "k": { "~": "String", "default": "d" }, "a": number() }));
    let tagged = object(&json!({ "k": literal("d") }));
    let schema = union(&[plain, tagged]);
    // What matters is that the result is stable; `expect` normalises twice.
    expect(&schema, &json!({ "a": "1" }), &json!({ "k": "d" }), &[]);
}

#[test]
fn intersections_keep_what_any_branch_declares() {
    let schema = json!({ "~": "Intersect", "allOf": [
        object(&json!({ "a": number(), "deep": object(&json!({ "x": number() })) })),
        object(&json!({ "b": string(), "deep": object(&json!({ "y": number() })) })),
    ] });
    expect_same(
        &schema,
        &json!({ "a": 1, "b": "x", "deep": { "x": 1, "y": 2 } }),
    );
    expect(
        &schema,
        &json!({ "a": "1", "b": "x", "c": 1, "deep": { "x": 1, "z": 3 } }),
        &json!({ "a": 1, "b": "x", "deep": { "x": 1, "y": 0 } }),
        &[],
    );
    expect(
        &schema,
        &json!(null),
        &json!({ "a": 0, "deep": { "x": 0, "y": 0 }, "b": "" }),
        &["replaced "],
    );
}

#[test]
fn one_open_branch_opens_an_intersection() {
    let mut open = object(&json!({ "b": string() }));
    open["additionalProperties"] = json!(true);
    let schema = json!({ "~": "Intersect", "allOf": [object(&json!({ "a": number() })), open] });
    expect_same(&schema, &json!({ "a": 1, "b": "x", "c": 1 }));
    let record = json!({ "~": "Record", "patternProperties": { "^(.*)$": { "~": "Unknown" } } });
    let schema = json!({ "~": "Intersect", "allOf": [object(&json!({ "a": number() })), record] });
    expect_same(&schema, &json!({ "a": 1, "c": 1 }));
}

#[test]
fn unevaluated_properties_of_an_intersection() {
    let branches = [
        object(&json!({ "a": number() })),
        object(&json!({ "b": string() })),
    ];
    let closed = json!({ "~": "Intersect", "allOf": branches, "unevaluatedProperties": false });
    expect(
        &closed,
        &json!({ "a": 1, "b": "", "c": 1 }),
        &json!({ "a": 1, "b": "" }),
        &[],
    );
    let rest = json!({ "~": "Intersect", "allOf": branches, "unevaluatedProperties": number() });
    expect(
        &rest,
        &json!({ "a": 1, "b": "", "c": "1" }),
        &json!({ "a": 1, "b": "", "c": 1 }),
        &[],
    );
}

#[test]
fn what_was_made_is_the_same_text_to_a_pattern_as_what_was_sent() {
    let object = |inner: &str| json!({ "~": "Object", "required": ["a"], "properties": { "a": { "~": inner } } });
    // `undefined` would match; an object does not.
    let pattern = json!({ "~": "RegExp", "source": "^[a-z]+$", "flags": "" });
    let schema = json!({ "~": "Union", "anyOf": [object("Never"), pattern] });
    let notes = ["unfilled /a", "kept "];
    expect(&schema, &json!({}), &json!({}), &notes);
    expect(&schema, &json!({ "b": 1 }), &json!({}), &notes);
}

#[test]
fn a_contradiction_leaves_the_value() {
    let schema = json!({ "~": "Intersect", "allOf": [number(), string()] });
    for value in [json!(1), json!("1"), json!(null)] {
        expect(&schema, &value, &value, &["stuck "]);
    }
}

#[test]
fn unions_inside_intersections() {
    let schema = json!({ "~": "Intersect", "allOf": [
        object(&json!({ "id": number() })),
        union(&[object(&json!({ "a": number() })), object(&json!({ "b": number() }))]),
    ] });
    expect_same(&schema, &json!({ "id": 1, "b": 2 }));
    expect(
        &schema,
        &json!({ "id": 1, "b": "2", "z": 0 }),
        &json!({ "id": 1, "b": 2 }),
        &[],
    );
}

#[test]
fn a_union_with_unknown_is_never_touched() {
    let small = object(&json!({ "a": number() }));
    let schema = union(&[small.clone(), json!({ "~": "Unknown" })]);
    expect_same(&schema, &json!({ "a": 1, "b": 2 }));
    expect_same(&schema, &json!(["x"]));
    expect_same(&schema, &json!("x"));
    expect_same(
        &json!({ "anyOf": [{ "properties": { "a": {} } }, {}] }),
        &json!({ "b": 2 }),
    );
}

#[test]
fn only_the_branch_that_requires_a_property_asks_for_it() {
    let either = union(&[string(), json!({ "~": "Any" })]);
    let mut optional = number();
    optional["~?"] = json!(true);
    let schema = json!({ "~": "Intersect", "allOf": [
        object(&json!({ "p": either })),
        { "~": "Object", "properties": { "p": optional }, "required": [] },
    ] });
    // TypeBox accepts the object without the property, and so nothing is missing.
    expect_same(&schema, &json!({}));
}

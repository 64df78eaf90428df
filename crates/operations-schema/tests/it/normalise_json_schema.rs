//! JSON Schemas: the same rules where the keywords are others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use crate::normalise_support::{expect, expect_keeping, expect_same};
use serde_json::json;

#[test]
fn declared_properties_close_an_object() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "number" } } });
    expect(&schema, &json!({ "a": 1, "b": 2 }), &json!({ "a": 1 }), &[]);
    expect_keeping(
        &schema,
        &json!({ "a": 1, "b": 2 }),
        &json!({ "a": 1, "b": 2 }),
        &[],
    );
    expect_same(&schema, &json!({}));
    let untyped = json!({ "properties": { "a": { "type": "number" } } });
    expect(
        &untyped,
        &json!({ "a": "1", "b": 2 }),
        &json!({ "a": 1 }),
        &[],
    );
    expect_same(&untyped, &json!("no object"));
}

#[test]
fn an_object_without_properties_is_free() {
    for schema in [
        json!({ "type": "object" }),
        json!({ "type": "object", "required": ["a"] }),
        json!({ "minProperties": 1 }),
        json!({ "type": "object", "patternProperties": { "^x": { "type": "number" } } }),
        json!({ "type": "object", "additionalProperties": {} }),
        json!({ "properties": { "z": {} }, "additionalProperties": true }),
        json!(true),
        json!({}),
    ] {
        expect_same(&schema, &json!({ "a": 1, "b": { "c": 2 } }));
    }
    let closed = json!({ "type": "object", "additionalProperties": false });
    expect(&closed, &json!({ "a": 1 }), &json!({}), &[]);
}

#[test]
fn patterns_declare_too() {
    let schema = json!({
        "properties": { "a": { "type": "string" } },
        "patternProperties": { "^x-": { "type": "number" } }
    });
    expect(
        &schema,
        &json!({ "a": "", "x-1": "5", "y": 1 }),
        &json!({ "a": "", "x-1": 5 }),
        &[],
    );
}

#[test]
fn required_without_a_schema() {
    let schema = json!({ "properties": { "a": {} }, "required": ["a", "b"] });
    expect_same(&schema, &json!({ "a": 1, "b": 2 }));
    expect(
        &schema,
        &json!({}),
        &json!({}),
        &["unfilled /a", "unfilled /b"],
    );
    let typed = json!({ "properties": { "a": { "type": "string" } }, "required": ["a"] });
    expect(&typed, &json!({}), &json!({ "a": "" }), &[]);
}

#[test]
fn branches_declare_together() {
    let schema = json!({
        "$defs": { "base": { "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] } },
        "allOf": [{ "$ref": "#/$defs/base" }, { "properties": { "name": { "type": "string" } } }],
        "properties": { "own": { "type": "boolean" } }
    });
    expect(
        &schema,
        &json!({ "id": "1", "name": 5, "own": "true", "other": 0 }),
        &json!({ "id": 1, "name": "5", "own": true }),
        &[],
    );
    expect(&schema, &json!({}), &json!({ "id": 0 }), &[]);
}

#[test]
fn conditions_choose_and_both_sides_declare() {
    let schema = json!({
        "properties": { "kind": { "enum": ["a", "b"] } },
        "if": { "properties": { "kind": { "const": "a" } }, "required": ["kind"] },
        "then": { "properties": { "x": { "type": "number" } } },
        "else": { "properties": { "y": { "type": "number" } } }
    });
    expect(
        &schema,
        &json!({ "kind": "a", "x": "1", "y": "2", "z": 3 }),
        &json!({ "kind": "a", "x": 1, "y": "2" }),
        &[],
    );
    expect(
        &schema,
        &json!({ "kind": "b", "x": "1", "y": "2" }),
        &json!({ "kind": "b", "x": "1", "y": 2 }),
        &[],
    );
}

#[test]
fn dependent_schemas_declare() {
    let schema = json!({
        "properties": { "card": { "type": "number" } },
        "dependentSchemas": { "card": { "properties": { "address": { "type": "string" } }, "required": ["address"] } },
        "dependentRequired": { "card": ["name"] }
    });
    expect(
        &schema,
        &json!({ "card": 1, "name": "n", "z": 1 }),
        &json!({ "card": 1, "name": "n", "address": "" }),
        &[],
    );
    expect_same(&schema, &json!({ "address": 5 }));
}

#[test]
fn any_of_and_one_of_are_unions() {
    for word in ["anyOf", "oneOf"] {
        let schema = json!({ word: [
            { "type": "object", "properties": { "k": { "const": "a" }, "x": { "type": "number" } }, "required": ["k", "x"] },
            { "type": "object", "properties": { "k": { "const": "b" }, "y": { "type": "number" } }, "required": ["k", "y"] },
        ] });
        expect(
            &schema,
            &json!({ "k": "b", "x": 1, "y": 2 }),
            &json!({ "k": "b", "y": 2 }),
            &[],
        );
        expect(
            &schema,
            &json!({ "k": "b", "x": 1 }),
            &json!({ "k": "b", "y": 0 }),
            &[],
        );
        expect(&schema, &json!({}), &json!({ "k": "a", "x": 0 }), &[]);
    }
}

#[test]
fn variants_are_scored_through_references() {
    let schema = json!({
        "$defs": {
            "pet": { "type": "object", "properties": { "kind": { "type": "string" } }, "required": ["kind"] },
            "cat": { "allOf": [{ "$ref": "#/$defs/pet" }, { "properties": { "kind": { "const": "cat" }, "lives": { "type": "number" } }, "required": ["lives"] }] },
            "dog": { "allOf": [{ "$ref": "#/$defs/pet" }, { "properties": { "kind": { "const": "dog" }, "good": { "type": "boolean" } }, "required": ["good"] }] }
        },
        "oneOf": [{ "$ref": "#/$defs/cat" }, { "$ref": "#/$defs/dog" }]
    });
    expect(
        &schema,
        &json!({ "kind": "dog", "x": 1 }),
        &json!({ "kind": "dog", "good": false }),
        &[],
    );
}

#[test]
fn type_lists_convert_to_what_fits() {
    let schema = json!({ "type": ["boolean", "number"] });
    expect(&schema, &json!("true"), &json!(true), &[]);
    expect(&schema, &json!("5"), &json!(5), &[]);
    expect(
        &json!({ "type": ["string", "null"] }),
        &json!(5),
        &json!("5"),
        &[],
    );
    expect_same(&json!({ "type": ["string", "null"] }), &json!(null));
    expect(
        &json!({ "type": ["string", "null"] }),
        &json!([]),
        &json!(""),
        &["replaced "],
    );
    expect(
        &json!({ "type": "integer" }),
        &json!(1.5),
        &json!(0),
        &["replaced "],
    );
    expect_same(&json!({ "type": "integer" }), &json!(1.0));
}

#[test]
fn nullable_allows_null() {
    let schema = json!({ "type": "string", "nullable": true });
    expect_same(&schema, &json!(null));
    expect(&schema, &json!(1), &json!("1"), &[]);
    let listed = json!({ "type": "string", "nullable": true, "enum": ["a"] });
    expect_same(&listed, &json!(null));
}

#[test]
fn enums_and_constants() {
    let schema = json!({ "enum": ["a", "b", 3] });
    expect_same(&schema, &json!(3));
    expect(&schema, &json!("c"), &json!("c"), &["kept "]);
    expect(&schema, &json!(4), &json!(4), &["kept "]);
    expect(&schema, &json!("3"), &json!("3"), &["kept "]);
    expect(&schema, &json!(null), &json!("a"), &["replaced "]);
    expect(&json!({ "enum": ["1"] }), &json!(1), &json!("1"), &[]);
    expect(&json!({ "const": 5 }), &json!("5"), &json!(5), &[]);
    expect(&json!({ "const": 5 }), &json!(6), &json!(6), &["kept "]);
    let object = json!({ "properties": { "k": { "const": "v" } }, "required": ["k"] });
    expect(&object, &json!({}), &json!({ "k": "v" }), &[]);
}

#[test]
fn broken_rules_are_kept() {
    for (schema, value) in [
        (json!({ "type": "string", "pattern": "^x" }), json!("y")),
        (json!({ "type": "string", "format": "uuid" }), json!("y")),
        (json!({ "type": "number", "maximum": 1 }), json!(2)),
        (
            json!({ "type": "array", "items": { "type": "number" }, "maxItems": 1 }),
            json!([1, 2]),
        ),
        (json!({ "not": { "type": "number" } }), json!(2)),
    ] {
        expect(&schema, &value, &value, &["kept "]);
    }
    expect(&json!(false), &json!(1), &json!(1), &["stuck "]);
}

#[test]
fn positional_items_fix_no_length() {
    let schema = json!({ "prefixItems": [{ "type": "number" }, { "type": "string" }] });
    expect_same(&schema, &json!([1]));
    expect_same(&schema, &json!([1, "a", true]));
    expect(&schema, &json!(["1", 2]), &json!([1, "2"]), &[]);
    let closed = json!({ "prefixItems": [{ "type": "number" }], "items": false });
    expect(&closed, &json!([1, 2]), &json!([1, 2]), &["stuck /1"]);
}

#[test]
fn recursive_references() {
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "number" }, "next": { "$ref": "#" } },
        "required": ["value"]
    });
    expect(
        &schema,
        &json!({ "value": "1", "next": { "next": { "value": 3, "x": 1 } } }),
        &json!({ "value": 1, "next": { "next": { "value": 3 }, "value": 0 } }),
        &[],
    );
}

#[test]
fn unevaluated_properties() {
    let schema = json!({
        "allOf": [{ "properties": { "a": { "type": "number" } } }],
        "unevaluatedProperties": false
    });
    expect(&schema, &json!({ "a": 1, "b": 2 }), &json!({ "a": 1 }), &[]);
    let rest = json!({
        "allOf": [{ "properties": { "a": { "type": "number" } } }],
        "unevaluatedProperties": { "type": "number" }
    });
    expect(
        &rest,
        &json!({ "a": 1, "b": "2" }),
        &json!({ "a": 1, "b": 2 }),
        &[],
    );
}

#[test]
fn kinds_and_json_schemas_nest() {
    let schema = json!({
        "~": "Object", "required": ["a"],
        "properties": { "a": { "type": "object", "properties": { "n": { "type": "number" } } } }
    });
    expect(
        &schema,
        &json!({ "a": { "n": "1", "x": 0 } }),
        &json!({ "a": { "n": 1 } }),
        &[],
    );
}

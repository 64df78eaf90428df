//! Properties: what goes, what stays, what is filled.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use crate::normalise_support::{expect, expect_keeping, expect_same};
use serde_json::{Value, json};

fn object(properties: &Value, required: &Value) -> Value {
    json!({ "~": "Object", "type": "object", "properties": properties, "required": required })
}

#[test]
fn undeclared_properties_are_removed() {
    let schema = object(&json!({ "a": { "~": "Number" } }), &json!(["a"]));
    expect(&schema, &json!({ "a": 1, "b": 2 }), &json!({ "a": 1 }), &[]);
    expect_same(&schema, &json!({ "a": 1 }));
    expect(
        &object(&json!({}), &json!([])),
        &json!({ "a": 1 }),
        &json!({}),
        &[],
    );
}

#[test]
fn they_stay_when_nothing_is_to_be_removed() {
    let schema = object(&json!({ "a": { "~": "Number" } }), &json!(["a"]));
    let value = json!({ "a": 1, "b": 2 });
    expect_keeping(&schema, &value, &value, &[]);
    expect_keeping(&schema, &json!({ "b": 2 }), &json!({ "b": 2, "a": 0 }), &[]);
    let mut closed = schema;
    closed["additionalProperties"] = json!(false);
    expect(&closed, &value, &json!({ "a": 1 }), &[]);
    expect_keeping(&closed, &value, &value, &["kept /b"]);
}

#[test]
fn they_stay_when_additional_properties_are_allowed() {
    let mut schema = object(&json!({ "a": { "~": "Number" } }), &json!(["a"]));
    schema["additionalProperties"] = json!(true);
    expect_same(&schema, &json!({ "a": 1, "b": 2 }));
    schema["additionalProperties"] = json!({ "~": "Number" });
    expect_same(&schema, &json!({ "a": 1, "b": 2 }));
    expect(
        &schema,
        &json!({ "a": 1, "b": "2" }),
        &json!({ "a": 1, "b": 2 }),
        &[],
    );
    expect(
        &schema,
        &json!({ "a": 1, "b": "x" }),
        &json!({ "a": 1, "b": 0 }),
        &["replaced /b"],
    );
}

#[test]
fn only_the_way_to_a_change_is_copied() {
    let inner = object(&json!({ "x": { "~": "Number" } }), &json!(["x"]));
    let schema = object(
        &json!({ "one": inner, "two": inner }),
        &json!(["one", "two"]),
    );
    expect(
        &schema,
        &json!({ "one": { "x": 1 }, "two": { "x": 2, "y": 3 } }),
        &json!({ "one": { "x": 1 }, "two": { "x": 2 } }),
        &[],
    );
}

#[test]
fn missing_required_properties_are_filled() {
    let schema = object(
        &json!({
            "text": { "~": "String" },
            "number": { "~": "Number", "minimum": 3 },
            "flag": { "~": "Boolean", "default": true },
            "list": { "~": "Array", "items": { "~": "Integer" }, "minItems": 2 },
            "inner": object(&json!({ "a": { "~": "Null" } }), &json!(["a"])),
        }),
        &json!(["text", "number", "flag", "list", "inner"]),
    );
    let filled = json!({
        "text": "", "number": 3, "flag": true, "list": [0, 0], "inner": { "a": null }
    });
    expect(&schema, &json!({}), &filled, &[]);
}

#[test]
fn missing_optional_properties_stay_missing() {
    let schema = object(
        &json!({ "a": { "~": "Number", "~?": true, "default": 1 } }),
        &json!([]),
    );
    expect_same(&schema, &json!({}));
}

#[test]
fn what_cannot_be_made_stays_missing() {
    let pattern = json!({ "~": "String", "pattern": "^a+$" });
    let schema = object(
        &json!({ "a": pattern, "b": { "~": "Number" } }),
        &json!(["a", "b"]),
    );
    expect(&schema, &json!({}), &json!({ "b": 0 }), &["unfilled /a"]);
    let nested = object(&json!({ "inner": schema }), &json!(["inner"]));
    expect(&nested, &json!({}), &json!({}), &["unfilled /inner"]);
    for kind in ["Never", "Unheard"] {
        let schema = object(&json!({ "a": { "~": kind } }), &json!(["a"]));
        expect(&schema, &json!({}), &json!({}), &["unfilled /a"]);
    }
}

#[test]
fn unknown_properties_are_never_touched() {
    for kind in ["Unknown", "Any"] {
        let schema = object(&json!({ "a": { "~": kind } }), &json!(["a"]));
        expect_same(&schema, &json!({ "a": { "deep": [1, { "x": null }] } }));
        // In JSON a missing property is what `undefined` is elsewhere.
        expect(&schema, &json!({}), &json!({}), &["unfilled /a"]);
        expect_same(&json!({ "~": kind }), &json!({ "a": 1 }));
    }
}

#[test]
fn names_are_data() {
    let properties: Value = serde_json::from_str(
        r#"{ "__proto__": { "~": "Number" }, "constructor": { "~": "String" } }"#,
    )
    .unwrap();
    let schema = object(&properties, &json!(["__proto__", "constructor"]));
    let value: Value =
        serde_json::from_str(r#"{ "__proto__": "5", "constructor": "x", "toString": 1 }"#).unwrap();
    let expected: Value =
        serde_json::from_str(r#"{ "__proto__": 5, "constructor": "x" }"#).unwrap();
    expect(&schema, &value, &expected, &[]);
    let filled: Value = serde_json::from_str(r#"{ "__proto__": 0, "constructor": "" }"#).unwrap();
    expect(&schema, &json!({}), &filled, &[]);
}

#[test]
fn paths_are_json_pointers() {
    let schema = object(
        &json!({ "a/b": { "~": "Array", "items": { "~": "Null" } } }),
        &json!(["a/b"]),
    );
    expect(
        &schema,
        &json!({ "a/b": [null, 1] }),
        &json!({ "a/b": [null, null] }),
        &["replaced /a~1b/1"],
    );
}

#[test]
fn records_keep_keys_that_do_not_match() {
    let record = |additional: Option<Value>| {
        let mut schema = json!({
            "~": "Record", "type": "object",
            "patternProperties": { "^[0-9]+$": { "~": "Number" } }
        });
        if let Some(additional) = additional {
            schema["additionalProperties"] = additional;
        }
        schema
    };
    expect_same(&record(None), &json!({ "1": 1, "a": "b" }));
    expect(
        &record(None),
        &json!({ "1": "1", "a": "b" }),
        &json!({ "1": 1, "a": "b" }),
        &[],
    );
    expect(
        &record(Some(json!(false))),
        &json!({ "1": 1, "a": "b" }),
        &json!({ "1": 1 }),
        &[],
    );
    expect(
        &record(Some(json!({ "~": "Boolean" }))),
        &json!({ "1": 1, "a": "true" }),
        &json!({ "1": 1, "a": true }),
        &[],
    );
    expect(&record(None), &json!([1]), &json!({}), &["replaced "]);
}

#[test]
fn broken_rules_about_the_object_are_kept() {
    let mut schema = object(&json!({ "a": { "~": "Number" } }), &json!(["a"]));
    schema["minProperties"] = json!(2);
    expect(
        &schema,
        &json!({ "a": 1, "b": 2 }),
        &json!({ "a": 1 }),
        &["kept "],
    );
}

#[test]
fn wrong_types_are_replaced_whole() {
    let schema = object(&json!({ "a": { "~": "Number" } }), &json!(["a"]));
    for value in [json!(null), json!(1), json!("x"), json!([1, 2])] {
        expect(&schema, &value, &json!({ "a": 0 }), &["replaced "]);
    }
}

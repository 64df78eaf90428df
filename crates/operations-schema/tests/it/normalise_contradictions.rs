//! Schemas that contradict themselves, as the fuzzer found them: normalisation keeps its promises.

use crate::normalise_support::{expect, expect_same, run};
use operations_schema::{Mode, What};
use serde_json::json;

#[test]
fn a_record_whose_pattern_is_none_keeps_every_property() {
    for additional in [json!(false), json!(true), json!({ "~": "Never" })] {
        let schema = json!({
            "~": "Record",
            "patternProperties": { "(": { "~": "String" } },
            "additionalProperties": additional
        });
        let value = json!({ "a": 53 });
        for mode in [Mode::Normalise, Mode::Keep] {
            let done = run(&schema, &value, mode);
            assert_eq!(done.value.as_ref(), Some(&value), "{schema}");
            assert!(!done.valid, "{schema}");
        }
    }
}

#[test]
fn a_tuple_is_as_long_as_its_maximum_says() {
    let anything = json!({ "~": "Unknown" });
    let shorter = json!({ "~": "Tuple", "items": [anything], "maxItems": 0 });
    expect_same(&shorter, &json!([]));
    let longer = json!({ "~": "Tuple", "items": [{ "~": "Number" }], "maxItems": 3 });
    expect_same(&longer, &json!([1, 2, 3]));
    expect(&longer, &json!(["1", 2, 3, 4]), &json!([1, 2, 3]), &[]);
}

#[test]
fn a_tuple_without_a_usable_maximum_goes_by_its_schemas() {
    for maximum in [json!(1.5), json!(-1), json!(1e300), json!("2")] {
        let schema = json!({ "~": "Tuple", "items": [{ "~": "Number" }], "maxItems": maximum });
        let done = run(&schema, &json!([1, 2]), Mode::Normalise);
        assert_eq!(done.value, Some(json!([1])), "{schema}");
        assert!(!done.valid, "{schema}");
    }
}

#[test]
fn unevaluated_properties_spare_what_typebox_holds_to_be_known() {
    let part = json!({ "~": "Object", "properties": { "a.c": { "~": "String", "~?": true } } });
    let intersect = |parts: serde_json::Value| json!({ "~": "Intersect", "allOf": parts, "unevaluatedProperties": { "~": "Number" } });
    // TypeBox reads names as patterns, and no names at all as the pattern of the empty name.
    expect_same(
        &intersect(json!([part])),
        &json!({ "a.c": "x", "abc": "1" }),
    );
    expect_same(&intersect(json!([])), &json!({ "": true }));
    expect(
        &intersect(json!([])),
        &json!({ "b": "1" }),
        &json!({ "b": 1 }),
        &[],
    );
}

#[test]
fn a_thousand_broken_rules_are_told_in_no_time() {
    let rules: Vec<_> = (0..5_000).map(|_| json!({ "maxLength": 0 })).collect();
    let schema = json!({ "allOf": rules });
    let done = run(&schema, &json!("text"), Mode::Normalise);
    assert!(!done.valid);
    let kept = |note: &operations_schema::Note| matches!(note.what, What::Kept { .. });
    assert!(done.notes.iter().all(kept), "{:?}", done.notes.first());
}

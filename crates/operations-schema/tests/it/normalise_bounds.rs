//! Nothing that a schema or a value contains may hang, crash or exhaust the process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use std::thread;
use std::time::{Duration, Instant};

use crate::normalise_support::{program_of, try_run, typebox};
use operations_schema::json::Document;
use operations_schema::{CompileOptions, Interrupt, Mode, Program, compile};
use serde_json::{Value, json};

/// What a thread of a small program has.
const SMALL_STACK: usize = 1024 * 1024;

/// Levels that are within the bounds of the check in every build.
const SAFE_LEVELS: usize = 60;

/// `"1"` in so many brackets.
fn nested(levels: usize, open: &str, close: &str) -> Document {
    let text = format!("{}\"1\"{}", open.repeat(levels), close.repeat(levels));
    Document::parse(text).unwrap()
}

fn arrays(levels: usize) -> Document {
    nested(levels, "[", "]")
}

fn objects(levels: usize) -> Document {
    nested(levels, r#"{"next":"#, r#","undeclared":1}"#)
}

/// Runs in a thread with little stack.
fn on_a_small_stack(schema: Value, value: Document) -> Result<bool, Interrupt> {
    thread::Builder::new()
        .stack_size(SMALL_STACK)
        .spawn(move || try_without_result(&program_of(&schema), &value))
        .unwrap()
        .join()
        .unwrap()
}

fn try_without_result(program: &Program, value: &Document) -> Result<bool, Interrupt> {
    let mut host = operations_schema::value_access::JsonAccess::new();
    operations_schema::normalise(program, &mut host, value.into(), Mode::Normalise)
        .map(|result| result.changed)
}

fn tree(inner: &Value) -> Value {
    json!({
        "~": "Object", "$id": "T", "required": [],
        "properties": { "next": inner, "x": { "~": "Number" } }
    })
}

#[test]
fn a_deep_value_is_walked_to_the_limit() {
    let this = json!({ "~": "This", "$ref": "T", "~?": true });
    let safe = on_a_small_stack(tree(&this), objects(SAFE_LEVELS));
    assert_eq!(safe, Ok(true));
    let endless = on_a_small_stack(tree(&this), objects(100_000));
    assert!(matches!(endless, Err(Interrupt::Limit(_))), "{endless:?}");
    let array = json!({ "~": "Array", "$id": "A", "items": { "~": "Union", "anyOf": [
        { "~": "This", "$ref": "A" }, { "~": "Number" }
    ] } });
    let safe = on_a_small_stack(array.clone(), arrays(SAFE_LEVELS));
    assert_eq!(safe, Ok(true));
    let endless = on_a_small_stack(array, arrays(100_000));
    assert!(matches!(endless, Err(Interrupt::Limit(_))), "{endless:?}");
}

#[test]
fn deep_json_schemas_too() {
    let schema = json!({
        "type": "object",
        "properties": { "next": { "allOf": [{ "anyOf": [{ "$ref": "#" }, { "type": "number" }] }] } }
    });
    let safe = on_a_small_stack(schema.clone(), objects(SAFE_LEVELS));
    assert_eq!(safe, Ok(true));
    let deep = on_a_small_stack(schema, objects(100_000));
    assert!(matches!(deep, Err(Interrupt::Limit(_))), "{deep:?}");
}

#[test]
fn values_are_made_on_a_small_stack_too() {
    let mut schema = json!({ "~": "Number" });
    for level in 0..200 {
        schema = json!({
            "~": "Object", "required": ["a"], "properties": { "a": schema },
            "description": level
        });
        if level % 2 == 1 {
            schema["default"] = json!({});
        }
    }
    // Too deep to be made, so the value stays; what matters is that it ends.
    assert_eq!(
        on_a_small_stack(schema, Document::from(&json!({}))),
        Ok(false)
    );
    let shallow = (0..40).fold(
        json!({ "~": "Number" }),
        |inner, _| json!({ "~": "Object", "required": ["a"], "properties": { "a": inner } }),
    );
    assert_eq!(
        on_a_small_stack(shallow, Document::from(&json!({}))),
        Ok(true)
    );
}

fn quickly<R>(what: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = what();
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "took {:?}",
        start.elapsed()
    );
    result
}

#[test]
fn fan_out_ends_in_a_limit_or_an_answer() {
    // Each definition offers the next one twice: 2^64 ways.
    let mut definitions = json!({});
    for level in 0..64 {
        let next = format!("#/$defs/d{}", level + 1);
        definitions[format!("d{level}")] =
            json!({ "anyOf": [{ "$ref": next }, { "allOf": [{ "$ref": next }] }] });
    }
    definitions["d64"] = json!({ "properties": { "a": { "type": "number" } }, "required": ["b"] });
    let schema = json!({ "$defs": definitions, "$ref": "#/$defs/d0" });
    let program = program_of(&schema);
    let result = quickly(|| try_run(&program, &json!({ "a": "1" }), Mode::Normalise));
    assert!(matches!(result, Err(Interrupt::Limit(_)) | Ok(_)));
    let result = quickly(|| try_run(&program, &json!("text"), Mode::Normalise));
    assert!(matches!(result, Err(Interrupt::Limit(_)) | Ok(_)));
}

#[test]
fn values_made_from_nothing_are_bounded() {
    let mut definitions = json!({ "d30": { "type": "string" } });
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions[format!("d{level}")] = json!({
            "type": "object", "properties": { "l": next, "r": next }, "required": ["l", "r"]
        });
    }
    let schema = json!({ "$defs": definitions, "$ref": "#/$defs/d0" });
    let program = program_of(&schema);
    let done = quickly(|| try_run(&program, &json!(null), Mode::Normalise)).unwrap();
    assert_eq!(done.value, Some(json!(null)));
    assert_eq!(done.notes.len(), 1 + usize::from(done.notes.len() > 1));
}

#[test]
fn a_large_value_gets_the_work_it_needs() {
    let schema = json!({ "~": "Array", "items": { "~": "Union", "anyOf": [
        { "~": "Object", "required": ["a"], "properties": { "a": { "~": "Number" } } },
        { "~": "Object", "required": ["b"], "properties": { "b": { "~": "Number" } } },
    ] } });
    let items: Vec<Value> = (0..100_000).map(|n| json!({ "b": n, "x": "y" })).collect();
    let done = try_run(&program_of(&schema), &Value::Array(items), Mode::Normalise).unwrap();
    assert!(done.changed && done.notes.is_empty());
    assert_eq!(done.value.unwrap()[99_999], json!({ "b": 99_999 }));
}

#[test]
fn notes_are_bounded() {
    let schema = json!({ "~": "Array", "items": { "~": "Number" } });
    let items: Vec<Value> = (0..5_000).map(|_| json!(null)).collect();
    let document = Document::from(&Value::Array(items));
    let mut host = operations_schema::value_access::JsonAccess::new();
    let program = program_of(&schema);
    let result =
        operations_schema::normalise(&program, &mut host, (&document).into(), Mode::Normalise)
            .unwrap();
    assert_eq!(result.notes.len() + result.omitted_notes, 5_000);
    assert_eq!(result.notes.len(), 1_000);
}

#[test]
fn a_schema_that_leads_back_to_itself_ends() {
    for schema in [
        json!({ "allOf": [{ "$ref": "#" }], "properties": { "a": { "type": "number" } } }),
        json!({ "anyOf": [{ "$ref": "#" }, { "type": "number" }] }),
        json!({ "if": { "$ref": "#" }, "then": { "$ref": "#" } }),
        json!({ "$ref": "#" }),
    ] {
        let Ok(program) = compile(&typebox(&schema), &CompileOptions::default()) else {
            continue;
        };
        for value in [json!({ "a": "1", "b": 2 }), json!("x"), json!([1])] {
            let _ = quickly(|| try_run(&program, &value, Mode::Normalise));
        }
    }
}

//! OpenAPI's `nullable`: null passes, wherever the word stands; nothing else changes.

use operations_schema::json::Document;
use operations_schema::{
    CompileOptions, JsonAccess, Mode, Source, check, collect_errors, compile, normalise,
};
use serde_json::{Value, json};

fn verdicts(schema: &Value, value: &Value) -> (bool, bool) {
    let source = Source::try_from(schema).unwrap();
    let program = compile(&source, &CompileOptions::default()).unwrap();
    let document = &Document::from(value);
    let passes = check(&program, &mut JsonAccess::new(), document.into()).unwrap();
    let errors = collect_errors(&program, &mut JsonAccess::new(), document.into(), 10).unwrap();
    assert_eq!(passes, errors.is_empty(), "{schema} {value}");
    let mut builder = JsonAccess::new();
    let result = normalise(&program, &mut builder, document.into(), Mode::Normalise).unwrap();
    (passes, result.changed)
}

#[test]
fn null_passes_and_stays() {
    for schema in [
        json!({ "type": "string", "nullable": true }),
        json!({ "type": "string", "enum": ["a"], "nullable": true }),
        json!({ "enum": ["a"], "nullable": true }),
        json!({ "const": "a", "nullable": true }),
        json!({ "allOf": [{ "type": "object", "required": ["a"] }], "nullable": true }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "number" }], "nullable": true }),
        json!({ "oneOf": [{ "type": "string" }], "nullable": true }),
        json!({ "not": { "type": "null" }, "nullable": true }),
        json!({ "$ref": "#/$defs/a", "nullable": true, "$defs": { "a": { "type": "object" } } }),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": { "x": { "$ref": "#/definitions/a", "nullable": true } },
            "definitions": { "a": { "type": "object" } },
            "nullable": true
        }),
    ] {
        assert_eq!(verdicts(&schema, &Value::Null), (true, false), "{schema}");
    }
}

#[test]
fn nothing_else_changes() {
    let schema = json!({ "allOf": [{ "type": "string" }], "nullable": true });
    assert!(!verdicts(&schema, &json!(1)).0);
    assert!(verdicts(&schema, &json!("a")).0);
    for nullable in [json!(false), json!("true"), json!(1)] {
        assert!(
            !verdicts(
                &json!({ "type": "string", "nullable": nullable }),
                &Value::Null
            )
            .0
        );
    }
}

//! Nothing that a schema or a value contains may hang the process or overflow its stack.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::time::{Duration, Instant};

use operations_schema::bounds::{MAX_OPEN_RULES, MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH};
use operations_schema::json::Document;
use operations_schema::{
    CompileOptions, Interrupt, JsonAccess, Limit, Program, SchemaError, Source, ValueError, check,
    collect_errors, compile,
};
use serde_json::{Value, json};

fn program(schema: &Value) -> Program {
    compile(
        &Source::try_from(schema).unwrap(),
        &CompileOptions::default(),
    )
    .unwrap()
}

fn verdict(program: &Program, value: &Value) -> Result<bool, Interrupt> {
    passes(program, &Document::from(value))
}

fn passes(program: &Program, document: &Document) -> Result<bool, Interrupt> {
    check(program, &mut JsonAccess::new(), document.into())
}

fn errors(
    program: &Program,
    document: &Document,
    max: usize,
) -> Result<Vec<ValueError>, Interrupt> {
    collect_errors(program, &mut JsonAccess::new(), document.into(), max)
}

/// Runs in a thread with as little stack as any platform gives: the main thread of Windows.
fn in_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

/// `null` in so many brackets.
fn nested(levels: usize, open: &str, close: &str) -> Document {
    let text = format!("{}null{}", open.repeat(levels), close.repeat(levels));
    Document::parse(text).unwrap()
}

fn arrays(levels: usize) -> Document {
    nested(levels, "[", "]")
}

fn objects(levels: usize) -> Document {
    nested(levels, r#"{"a":"#, "}")
}

const RECURSIVE: [&str; 6] = [
    r##"{"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}"##,
    r##"{"anyOf":[{"type":"null"},{"allOf":[{"oneOf":[{"items":{"$ref":"#"},"properties":{"a":{"$ref":"#"}}}]}]}]}"##,
    r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"x","items":{"$dynamicRef":"#x"},"properties":{"a":{"$dynamicRef":"#x"}}}"##,
    r##"{"unevaluatedItems":{"$ref":"#"},"unevaluatedProperties":{"$ref":"#"}}"##,
    r##"{"uniqueItems":true,"contains":{"$ref":"#"},"patternProperties":{"":{"$ref":"#"}}}"##,
    r##"{"not":{"not":{"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}}}"##,
];

#[test]
fn a_deep_value_is_an_answer_or_a_limit() {
    in_a_small_stack(|| {
        for text in RECURSIVE {
            let program = program(&serde_json::from_str(text).unwrap());
            for levels in [
                60,
                MAX_VALUE_DEPTH as usize - 1,
                MAX_VALUE_DEPTH as usize + 2,
                100_000,
            ] {
                for value in [arrays(levels), objects(levels)] {
                    let answer = passes(&program, &value);
                    match answer {
                        Ok(_) => assert!(levels < MAX_VALUE_DEPTH as usize, "{text} {levels}"),
                        Err(interrupt) => {
                            assert!(matches!(interrupt, Interrupt::Limit(_)), "{text} {levels}");
                            assert!(levels > 60, "{text} {levels} {interrupt}");
                        }
                    }
                    let _ = errors(&program, &value, 10);
                }
            }
        }
    });
}

#[test]
fn a_deep_value_that_fails_at_the_bottom_is_reported() {
    in_a_small_stack(|| {
        let program = program(&json!({"type": ["array", "boolean"], "items": {"$ref": "#"}}));
        let value = arrays(MAX_OPEN_RULES.min(MAX_VALUE_DEPTH) as usize - 2);
        assert_eq!(errors(&program, &value, 10).unwrap().len(), 1);
    });
}

#[test]
fn typebox_recursion_is_bounded_too() {
    in_a_small_stack(|| {
        let text = r#"["o","Object",0,"$id","T","properties",["o",null,0,"a",["o","Union",0,"anyOf",["a",["o","Null",0],["o","This",0,"$ref","T"]]]],"required",["a","a"]]"#;
        let program = compile(
            &Source::from_encoded(text).unwrap(),
            &CompileOptions::default(),
        )
        .unwrap();
        let half = (MAX_OPEN_RULES / 2 - 2).min(MAX_VALUE_DEPTH - 1) as usize;
        for (levels, wanted) in [(half, Some(true)), (100_000, None)] {
            let answer = passes(&program, &objects(levels));
            match wanted {
                Some(wanted) => assert_eq!(answer, Ok(wanted)),
                None => assert!(matches!(answer, Err(Interrupt::Limit(_)))),
            }
        }
    });
}

#[test]
fn a_schema_that_only_refers_to_itself_is_refused_or_limited() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
    ] {
        let answer = compile(
            &Source::try_from(&schema).unwrap(),
            &CompileOptions::default(),
        );
        assert!(
            matches!(answer, Err(SchemaError::Circular { .. })),
            "{schema}"
        );
    }
    in_a_small_stack(|| {
        for schema in [
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"not": {"$ref": "#"}}),
            json!({"if": {"$ref": "#"}, "then": true}),
            json!({"unevaluatedProperties": false, "oneOf": [{"$ref": "#"}]}),
        ] {
            let program = program(&schema);
            assert_eq!(
                verdict(&program, &json!({"a": 1})),
                Err(Limit::Rules.into()),
                "{schema}"
            );
        }
    });
}

#[test]
fn fan_out_ends_soon() {
    // Each level refers twice to the next: 2^40 visits without a bound.
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut definitions = serde_json::Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            definitions.insert(format!("l{level}"), json!({keyword: [next, next]}));
        }
        definitions.insert(
            "l40".into(),
            json!({"type": if keyword == "anyOf" { "string" } else { "object" }}),
        );
        let program = program(&json!({"$ref": "#/$defs/l0", "$defs": definitions}));
        let start = Instant::now();
        let answer = verdict(&program, &json!({"a": 1}));
        let errors = errors(&program, &Document::from(&json!({"a": 1})), 10);
        assert!(start.elapsed() < Duration::from_secs(20));
        if keyword == "oneOf" {
            // Two of two match at the bottom, so every level above fails without looking further.
            assert!(answer.is_ok() || answer == Err(Limit::Work.into()));
        } else {
            assert_eq!(answer, Err(Limit::Work.into()), "{keyword}");
            assert_eq!(errors, Err(Limit::Work.into()), "{keyword}");
        }
    }
}

#[test]
fn a_large_value_earns_more_work_only_for_a_schema_of_the_users_own() {
    let value = |count: usize| Value::Array((0..count).map(|number| json!(number % 10)).collect());
    let own = compile(
        &Source::from_encoded(
            r#"["o","Array",0,"items",["o","Intersect",0,"allOf",["a",["o","Integer",0],["o","Number",0,"minimum",0],["o","Number",0,"maximum",9]]]]"#,
        )
        .unwrap(),
        &CompileOptions::default(),
    )
    .unwrap();
    assert_eq!(verdict(&own, &value(2_000_000)), Ok(true));
    // A tenth of a second is the same for every value.
    let outside = program(
        &json!({"items": {"allOf": [{"type": "integer"}, {"minimum": 0}, {"maximum": 9}, {"not": {"const": 11}}]}}),
    );
    assert_eq!(verdict(&outside, &value(100_000)), Ok(true));
    assert_eq!(
        verdict(&outside, &value(2_000_000)),
        Err(Limit::Work.into())
    );
}

#[test]
fn schemas_are_bounded() {
    in_a_small_stack(|| {
        let deep =
            (0..MAX_SCHEMA_DEPTH + 10).fold(Value::Null, |value, _| Value::Array(vec![value]));
        assert_eq!(Source::try_from(&deep), Err(SchemaError::TooDeep));
        let mut schema = json!({"type": "string"});
        for _ in 0..(MAX_SCHEMA_DEPTH / 2 - 2) {
            schema = json!({"properties": {"a": schema}});
        }
        let source = Source::try_from(&schema).unwrap();
        let program = compile(&source, &CompileOptions::default()).unwrap();
        assert_eq!(verdict(&program, &json!({"a": {"a": 1}})), Ok(true));
    });
}

#[test]
fn a_wide_schema_compiles_in_linear_time() {
    let properties: serde_json::Map<String, Value> = (0..50_000)
        .map(|number| {
            (
                format!("p{number}"),
                json!({"$ref": format!("#/$defs/d{}", number % 100)}),
            )
        })
        .collect();
    let definitions: serde_json::Map<String, Value> = (0..100)
        .map(|number| (format!("d{number}"), json!({"minimum": number})))
        .collect();
    let start = Instant::now();
    let program = program(&json!({"properties": properties, "$defs": definitions}));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(program.nodes().len(), 50_101);
    assert_eq!(verdict(&program, &json!({"p99": 98})), Ok(false));
}

#[test]
fn errors_are_bounded_in_number_and_length() {
    let long = "x".repeat(100_000);
    let program = program(&json!({"items": {"const": long}}));
    let value = Value::Array(vec![json!(1); 5000]);
    let errors = errors(&program, &Document::from(&value), 7).unwrap();
    assert_eq!(errors.len(), 7);
    assert!(errors.iter().all(|error| error.message.len() < 1100));
}

#[test]
fn backtracking_is_a_limit() {
    let program = program(&json!({"pattern": "^(a|a)*(?=!)b"}));
    let value = Value::String(format!("{}!", "a".repeat(4000)));
    assert_eq!(verdict(&program, &value), Err(Limit::Backtracking.into()));
}

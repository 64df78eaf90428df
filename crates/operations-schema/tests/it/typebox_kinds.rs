//! TypeBox kinds through the facade's encoding, on JSON values: verdicts, paths and wording. What
//! JSON cannot hold is tested against live values on the JavaScript side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use operations_schema::compile::compile;
use operations_schema::json::Document;
use operations_schema::{
    CompileOptions, Interrupt, JsonAccess, Program, SchemaError, Source, check, collect_errors,
};
use serde_json::{Value, json};

fn program(text: &str) -> Program {
    compile(
        &Source::from_encoded(text).unwrap(),
        &CompileOptions::default(),
    )
    .unwrap()
}

fn passes(text: &str, value: &Value) -> bool {
    let document = Document::from(value);
    check(&program(text), &mut JsonAccess::new(), (&document).into()).unwrap()
}

/// Path and message of every error.
fn errors(text: &str, value: &Value) -> Vec<(String, String)> {
    let document = &Document::from(value);
    let errors =
        collect_errors(&program(text), &mut JsonAccess::new(), document.into(), 100).unwrap();
    errors
        .into_iter()
        .map(|error| (error.path, error.message))
        .collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted
        .iter()
        .map(|(path, message)| ((*path).to_owned(), (*message).to_owned()))
        .collect()
}

const STRING: &str = r#"["o","String",0]"#;
const NUMBER: &str = r#"["o","Number",0]"#;
const NULL: &str = r#"["o","Null",0]"#;

fn object(properties: &[(&str, &str)], required: &[&str], rest: &str) -> String {
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, schema)| format!(",{},{schema}", json!(name)))
        .collect();
    let required: Vec<String> = required
        .iter()
        .map(|name| format!(",{}", json!(name)))
        .collect();
    let (properties, required) = (properties.concat(), required.concat());
    format!(
        r#"["o","Object",0,"properties",["o",null,0{properties}],"required",["a"{required}]{rest}]"#
    )
}

#[test]
fn kinds_without_parts() {
    let cases = [
        (r#"["o","Any",0]"#, "1", true),
        (r#"["o","Unknown",0]"#, "null", true),
        (r#"["o","Never",0]"#, "1", false),
        (NULL, "null", true),
        (NULL, "0", false),
        (r#"["o","Boolean",0]"#, "false", true),
        (r#"["o","Integer",0,"minimum",2,"multipleOf",3]"#, "9", true),
        (r#"["o","Integer",0]"#, "1.5", false),
        (r#"["o","Integer",0]"#, "1.0", true),
        (r#"["o","Number",0,"exclusiveMaximum",2]"#, "2", false),
        (r#"["o","Number",0,"multipleOf",0.1]"#, "0.3", false),
        (r#"["o","Literal",0,"const","x"]"#, "\"x\"", true),
        (r#"["o","Literal",0,"const",1]"#, "true", false),
        (r#"["o","Literal",0,"const",["n","1"]]"#, "1", false),
        (r#"["o","String",0,"minLength",2]"#, "\"😀\"", true),
        (r#"["o","String",0,"pattern","^..$"]"#, "\"😀\"", true),
        (r#"["o","String",0,"format","email"]"#, "\"x\"", false),
        (r#"["o","String",0,"format","nobody-knows"]"#, "\"x\"", true),
        (
            r#"["o","TemplateLiteral",0,"pattern","^a(b|c)$"]"#,
            "\"ac\"",
            true,
        ),
        (
            r#"["o","RegExp",0,"source","^[A-Z]+$","flags","i"]"#,
            "\"abc\"",
            true,
        ),
        (r#"["o","RegExp",0,"source","^12$","flags",""]"#, "12", true),
        (
            r#"["o","RegExp",0,"source","1,2","flags",""]"#,
            "[1,2]",
            true,
        ),
        (r#"["o","Undefined",0]"#, "null", false),
        (r#"["o","Void",0]"#, "null", false),
        (r#"["o","Date",0]"#, "\"2020-01-01\"", false),
        (r#"["o","BigInt",0]"#, "1", false),
        (r#"["o","Iterator",0,"items",["o","Any",0]]"#, "[]", true),
        (r#"["o","AsyncIterator",0]"#, "[]", false),
        (r#"["o","Function",0]"#, "{}", false),
    ];
    for (schema, value, wanted) in cases {
        assert_eq!(
            passes(schema, &serde_json::from_str(value).unwrap()),
            wanted,
            "{schema} {value}"
        );
    }
}

#[test]
fn objects() {
    let schema = object(&[("a", STRING), ("b", NUMBER)], &["a"], "");
    assert!(passes(&schema, &json!({"a": "x", "z": 1})));
    assert!(!passes(&schema, &json!({"b": 1})) && !passes(&schema, &json!([])));
    assert!(!passes(&schema, &json!({"a": "x", "b": null})));
    let closed = object(&[("a", STRING)], &["a"], r#","additionalProperties",false"#);
    assert!(!passes(&closed, &json!({"a": "x", "z": 1})));
    let typed = object(
        &[("a", STRING)],
        &["a"],
        &format!(r#","additionalProperties",{NUMBER}"#),
    );
    assert!(
        passes(&typed, &json!({"a": "x", "z": 1})) && !passes(&typed, &json!({"a": "x", "z": ""}))
    );
    let counted = object(&[], &[], r#","minProperties",1,"maxProperties",2"#);
    assert!(passes(&counted, &json!({"a": 1})) && !passes(&counted, &json!({})));
    // Names of Object.prototype count only as own properties.
    let proto = object(
        &[("constructor", r#"["o","Any",0]"#), ("__proto__", STRING)],
        &["constructor"],
        "",
    );
    assert!(!passes(&proto, &json!({})) && passes(&proto, &json!({"constructor": 1})));
    assert!(!passes(&proto, &json!({"constructor": 1, "__proto__": 2})));
}

#[test]
fn required_properties_that_may_be_undefined_must_be_there() {
    let maybe = r#"["o","Union",0,"anyOf",["a",["o","Undefined",0],["o","String",0]]]"#;
    for (schema, missing) in [
        (maybe, false),
        (r#"["o","Unknown",0]"#, false),
        (STRING, false),
    ] {
        assert_eq!(
            passes(&object(&[("a", schema)], &["a"], ""), &json!({})),
            missing,
            "{schema}"
        );
    }
    assert!(passes(&object(&[("a", maybe)], &[], ""), &json!({})));
}

#[test]
fn arrays_and_tuples() {
    let unique = format!(
        r#"["o","Array",0,"items",["o","Any",0],"uniqueItems",true,"contains",{NULL},"maxContains",1]"#
    );
    assert!(passes(&unique, &json!([null, 1, "1", {"a": 1}, {"a": 2}])));
    assert!(!passes(
        &unique,
        &json!([{"a": 1, "b": 2}, null, {"b": 2, "a": 1}])
    ));
    assert!(!passes(&unique, &json!([1])));
    let tuple =
        format!(r#"["o","Tuple",0,"items",["a",{STRING},{NUMBER}],"minItems",2,"maxItems",2]"#);
    assert!(passes(&tuple, &json!(["a", 1])) && !passes(&tuple, &json!(["a"])));
    assert_eq!(
        errors(&tuple, &json!(["a"])),
        pairs(&[("", "Expected tuple to have 2 elements")])
    );
    assert!(passes(r#"["o","Array",0]"#, &json!([])) && !passes(r#"["o","Array",0]"#, &json!([1])));
}

#[test]
fn records() {
    let record = format!(r#"["o","Record",0,"patternProperties",["o",null,0,"^x",{NUMBER}]]"#);
    assert!(passes(&record, &json!({"x1": 1, "y": "z"})) && !passes(&record, &json!({"x1": ""})));
    let closed = format!(
        r#"["o","Record",0,"patternProperties",["o",null,0,"^x",{NUMBER}],"additionalProperties",false]"#
    );
    assert!(!passes(&closed, &json!({"x": 1, "y": 1})));
    assert_eq!(
        errors(&closed, &json!({"y": 1, "z": 1})),
        pairs(&[("/y", "Unexpected property")])
    );
}

#[test]
fn unions_intersections_and_not() {
    let union = format!(r#"["o","Union",0,"anyOf",["a",{STRING},{NULL}]]"#);
    assert_eq!(
        errors(&union, &json!(1)),
        pairs(&[("", "Expected union value")])
    );
    let left = object(&[("a", STRING)], &["a"], "");
    let right = object(&[("b", NUMBER)], &["b"], "");
    let both = format!(
        r#"["o","Intersect",0,"allOf",["a",{left},{right}],"unevaluatedProperties",false]"#
    );
    assert!(
        passes(&both, &json!({"a": "", "b": 1}))
            && !passes(&both, &json!({"a": "", "b": 1, "c": 1}))
    );
    assert_eq!(
        errors(&both, &json!({"a": "", "b": 1, "c": 1})),
        pairs(&[("/c", "Unexpected property")])
    );
    assert_eq!(
        errors(&both, &json!({"a": "", "b": ""})),
        pairs(&[
            ("/b", "Expected number"),
            ("", "Expected all values to match")
        ])
    );
    let not = format!(r#"["o","Not",0,"not",{STRING}]"#);
    assert!(passes(&not, &json!(1)));
    assert_eq!(
        errors(&not, &json!("")),
        pairs(&[("", "Value should not match")])
    );
}

#[test]
fn references() {
    let tree = r#"["o","Object",0,"$id","T0","properties",["o",null,0,"next",["o","Union",0,"anyOf",["a",["o","Null",0],["o","This",0,"$ref","T0"]]]],"required",["a","next"]]"#;
    assert!(passes(tree, &json!({"next": {"next": null}})) && !passes(tree, &json!({"next": {}})));
    let import = r#"["o","Import",0,"$defs",["o",null,0,"A",["o","Object",0,"$id","A","properties",["o",null,0,"b",["o","Ref",0,"$ref","B"]],"required",["a","b"]],"B",["o","String",0,"$id","B"]],"$ref","A"]"#;
    assert!(passes(import, &json!({"b": ""})) && !passes(import, &json!({"b": 1})));
    let lost =
        Source::from_encoded(r#"["o","Array",0,"items",["o","Ref",0,"$ref","Nowhere"]]"#).unwrap();
    match compile(&lost, &CompileOptions::default()) {
        Err(SchemaError::Unresolved { reference, at }) => {
            assert_eq!((reference.as_str(), at.as_str()), ("Nowhere", "/items"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_typebox_throws_on_is_invalid_as_a_whole() {
    let unknown = r#"["o","Nobody",16,0]"#;
    assert!(!passes(unknown, &json!(1)));
    assert_eq!(
        errors(unknown, &json!(1)),
        pairs(&[("", "Expected kind 'Nobody'")])
    );
    assert!(!passes(
        &format!(r#"["o","Not",0,"not",{unknown}]"#),
        &json!(1)
    ));
    assert!(!passes(
        &format!(r#"["o","Union",0,"anyOf",["a",{unknown},{NUMBER}]]"#),
        &json!(1)
    ));
    assert!(passes(
        &format!(r#"["o","Union",0,"anyOf",["a",{NUMBER},{unknown}]]"#),
        &json!(1)
    ));
    assert!(!passes(r#"["o","String",0,"pattern","("]"#, &json!("(")));
    assert!(!passes(r#"["o","Object",0]"#, &json!({})));
}

#[test]
fn errors_come_in_typebox_order_with_pointers() {
    let schema = object(
        &[
            ("a/b~c", STRING),
            ("n", r#"["o","Number",0,"minimum",1e21,"multipleOf",2]"#),
        ],
        &["a/b~c"],
        r#","additionalProperties",false"#,
    );
    assert_eq!(
        errors(&schema, &json!({"n": 1, "x": 1})),
        pairs(&[
            ("/a~1b~0c", "Expected required property"),
            ("/x", "Unexpected property"),
            ("/a~1b~0c", "Expected string"),
            ("/n", "Expected number to be greater or equal to 1e+21"),
            ("/n", "Expected number to be a multiple of 2"),
        ])
    );
    let text = r#"["o","String",0,"minLength",3,"maxLength",1,"pattern","^z","format","uuid"]"#;
    assert_eq!(
        errors(text, &json!("ab")),
        pairs(&[
            ("", "Expected string length greater or equal to 3"),
            ("", "Expected string length less or equal to 1"),
            ("", "Expected string to match '^z'"),
            ("", "Expected string to match 'uuid' format"),
        ])
    );
    let literal = r#"["o","Literal",0,"const","it"]"#;
    assert_eq!(errors(literal, &json!(1)), pairs(&[("", "Expected 'it'")]));
}

#[test]
fn json_schema_inside_typebox() {
    let nested = r##"["o",null,0,"type","object","properties",["o",null,0,"x",["o",null,0,"$ref","#/$defs/d"]],"$defs",["o",null,0,"d",["o",null,0,"maxLength",1]]]"##;
    let schema = object(&[("a", nested)], &["a"], "");
    assert!(
        passes(&schema, &json!({"a": {"x": "😀"}})) && !passes(&schema, &json!({"a": {"x": "ab"}}))
    );
    assert!(!passes(&schema, &json!({})));
    // What FromSchema made keeps its kind and has JSON Schema's meaning.
    let converted = r#"["o","Tuple",2,"prefixItems",["a",["o","String",2,"type","string"]]]"#;
    assert!(passes(converted, &json!(["a", 1])) && !passes(converted, &json!([1])));
}

#[test]
fn dialects_of_json_schema() {
    let schema = json!({"type": "string", "nullable": true, "minLength": 1});
    let source = Source::try_from(&schema).unwrap();
    let program = compile(
        &source,
        &CompileOptions {
            openapi: true,
            ..CompileOptions::default()
        },
    )
    .unwrap();
    let verdict = |value: Value| -> Result<bool, Interrupt> {
        let document = Document::from(&value);
        check(&program, &mut JsonAccess::new(), (&document).into())
    };
    assert_eq!(verdict(Value::Null), Ok(true));
    assert_eq!(verdict(json!("")), Ok(false));
    let exclusive = json!({"minimum": 1, "exclusiveMinimum": true});
    let program = compile(
        &Source::try_from(&exclusive).unwrap(),
        &CompileOptions::default(),
    )
    .unwrap();
    let one = Document::from(&json!(1));
    assert_eq!(
        check(&program, &mut JsonAccess::new(), (&one).into()),
        Ok(false)
    );
}

#[test]
fn a_schema_with_a_wrong_keyword_says_where() {
    for (schema, at) in [
        (
            json!({"properties": {"a": {"type": "strin"}}}),
            "/properties/a",
        ),
        (json!({"allOf": [{"pattern": "("}]}), "/allOf/0"),
        (json!({"items": {"$ref": "#/nowhere"}}), "/items"),
        (json!({"anyOf": {}}), ""),
    ] {
        let error = compile(
            &Source::try_from(&schema).unwrap(),
            &CompileOptions::default(),
        )
        .unwrap_err();
        assert!(error.to_string().contains(&format!("at {at:?}")), "{error}");
    }
}

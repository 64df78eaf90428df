//! Whatever a schema from outside asks for is paid for: each attack ends at the bound, and twice the attack
//! costs about twice the work. Work is counted, not timed.

use operations_schema::bounds::{NORMALISE_FACTOR, WORK_FROM_OUTSIDE};
use operations_schema::check::check_within;
use operations_schema::json::Document;
use operations_schema::work::Budget;
use operations_schema::{
    CompileOptions, Interrupt, JsonAccess, Limit, Mode, Program, Source, compile,
};
use serde_json::{Map, Value, json};

fn program(schema: &Value) -> Program {
    compile(
        &Source::try_from(schema).unwrap(),
        &CompileOptions::default(),
    )
    .unwrap()
}

fn list<T: Into<Value>>(count: usize, make: impl Fn(usize) -> T) -> Value {
    Value::Array((0..count).map(|index| make(index).into()).collect())
}

fn object(count: usize, make: impl Fn(usize) -> (String, Value)) -> Value {
    Value::Object((0..count).map(make).collect::<Map<_, _>>())
}

/// What a check costs when there is no end to what it may cost.
fn cost(schema: &Value, value: &Value) -> u64 {
    let mut budget = Budget::new(u64::MAX / 4);
    let document = Document::from(value);
    check_within(
        &program(schema),
        &mut JsonAccess::new(),
        (&document).into(),
        &mut budget,
    )
    .unwrap();
    budget.spent()
}

/// An attack: a schema and a value, for a size.
type Attack = (&'static str, fn(usize) -> (Value, Value));

/// Attacks whose work grows with the size at least in proportion.
const GROWING: [Attack; 13] = [
    ("optional properties", |size| {
        (
            json!({"items": {"properties": object(size, |i| (format!("p{i}"), json!({"type": "string"})))}}),
            list(50, |_| json!({})),
        )
    }),
    ("required names", |size| {
        let value = object(size, |i| (format!("p{i}"), json!(1)));
        (json!({"required": list(size, |i| format!("p{i}"))}), value)
    }),
    ("dependencies", |size| {
        (
            json!({"items": {"dependentRequired": object(size, |i| (format!("p{i}"), json!(["q"])))}}),
            list(50, |_| json!({})),
        )
    }),
    ("an enum of texts", |size| {
        (json!({"enum": list(size, |i| format!("v{i}"))}), json!("x"))
    }),
    ("an enum of lists", |size| {
        (
            json!({"enum": list(size, |i| json!([1, 2, i + 9]))}),
            json!([1, 2, 3]),
        )
    }),
    ("an anyOf", |size| {
        (
            json!({"items": {"anyOf": list(size, |i| json!({"const": i + 9}))}}),
            list(20, |i| i % 5),
        )
    }),
    ("contains", |size| {
        (
            json!({"contains": {"minimum": 9e9}, "minContains": 0, "maxContains": 1}),
            list(size, |i| i),
        )
    }),
    ("uniqueItems", |size| {
        (
            json!({"uniqueItems": true}),
            list(size, |i| json!({"a": i})),
        )
    }),
    ("long texts that must differ", |size| {
        (
            json!({"uniqueItems": true}),
            list(12, |i| format!("{}{i}", "a".repeat(size * 8))),
        )
    }),
    ("a length", |size| {
        (
            json!({"minLength": size * 5}),
            Value::String("é".repeat(size * 8)),
        )
    }),
    ("a format", |size| {
        (
            json!({"format": "uri"}),
            Value::String(format!("http://a/{}", "b/".repeat(size * 8))),
        )
    }),
    ("unevaluated properties", |size| {
        (
            json!({"unevaluatedProperties": false, "anyOf": list(8, |_| json!({"properties": {"q": true}})), "patternProperties": {"^p": true}}),
            object(size, |i| (format!("p{i}"), json!(1))),
        )
    }),
    ("divisions", |size| {
        (
            json!({"items": {"multipleOf": 1e-300}}),
            list(size, |i| 1e300 + i as f64),
        )
    }),
];

#[test]
fn twice_the_attack_is_twice_the_work() {
    for (name, attack) in GROWING {
        let (small, large) = (attack(1000), attack(2000));
        let (small, large) = (cost(&small.0, &small.1), cost(&large.0, &large.1));
        assert!(small > 500, "{name}: {small}");
        assert!(large * 10 >= small * 17, "{name}: {small} and {large}");
    }
}

/// Attacks that no allowance would be enough for.
fn endless() -> Vec<(&'static str, Value, Value)> {
    let doubling = |keyword: &str, last: Value| {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            definitions.insert(
                format!("l{level}"),
                json!({keyword: [next, {"title": "again", "allOf": [next]}]}),
            );
        }
        definitions.insert("l40".to_owned(), last);
        json!({"$ref": "#/$defs/l0", "$defs": definitions})
    };
    let text = |count: usize, end: &str| Value::String(format!("{}{end}", "a".repeat(count)));
    vec![
        (
            "look-aheads that succeed",
            json!({"pattern": format!("{}y", "(?=.*x)".repeat(50))}),
            text(16_000, "x"),
        ),
        (
            "look-behind",
            json!({"pattern": "(?<=^[ab]*)(?<=^[ac]*)!"}),
            text(30_000, ""),
        ),
        (
            "back references",
            json!({"pattern": r"^(a*)(a*)(a*)\1\2\3b"}),
            text(30_000, ""),
        ),
        (
            "many patterns, each within its bound",
            json!({"anyOf": list(300, |i| json!({"pattern": format!("^(a|a)*(?=!)b{{{}}}", i + 1)}))}),
            text(5000, "!"),
        ),
        (
            "automata that grow",
            json!({"anyOf": list(300, |i| json!({"pattern": format!("[ab]*a[ab]{{{}}}c", 500 + i)}))}),
            Value::String(
                (0..20_000_usize)
                    .map(|i| if i * 7919 % 13 < 6 { 'a' } else { 'b' })
                    .collect(),
            ),
        ),
        (
            "names and patterns",
            json!({"patternProperties": object(500, |i| (format!("^(k|q)[0-9]*{i}x(?=y)"), json!(true)))}),
            object(5000, |i| (format!("k{i:0>30}"), json!(1))),
        ),
        (
            "allOf that doubles",
            doubling("allOf", json!({"type": "object"})),
            json!({}),
        ),
        (
            "anyOf that doubles",
            doubling("anyOf", json!({"type": "string"})),
            json!({}),
        ),
        (
            "$dynamicRef that doubles",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$dynamicAnchor": "n",
                "properties": {"a": {"allOf": [{"$dynamicRef": "#n"}, {"$dynamicRef": "#n"}]}}
            }),
            (0..60).fold(json!(1), |inner, _| json!({"a": inner})),
        ),
        (
            "an anyOf on a large value",
            json!({"items": {"anyOf": list(450, |i| json!({"const": i + 10}))}, "minItems": 1}),
            list(500_000, |_| 10 + 449),
        ),
    ]
}

#[test]
fn every_attack_ends_at_the_bound() {
    for (name, schema, value) in endless() {
        let program = program(&schema);
        assert!(program.is_from_outside(), "{name}");
        let document = Document::from(&value);
        let mut budget = program.budget();
        let verdict = check_within(
            &program,
            &mut JsonAccess::new(),
            (&document).into(),
            &mut budget,
        );
        assert!(
            matches!(
                verdict,
                Err(Interrupt::Limit(Limit::Work | Limit::Backtracking))
            ),
            "{name}: {verdict:?}"
        );
        assert!(budget.spent() <= WORK_FROM_OUTSIDE, "{name}");
        let normalised = program.normalise_json(&document, Mode::Normalise);
        assert!(
            matches!(
                normalised,
                Err(Interrupt::Limit(Limit::Work | Limit::Backtracking))
            ),
            "{name}: {normalised:?}"
        );
    }
    // What all parts of a normalisation may cost together.
    const { assert!(WORK_FROM_OUTSIDE * NORMALISE_FACTOR <= 40_000_000) };
}

#[test]
fn errors_that_were_found_are_told_although_the_rest_is_too_much() {
    let schema =
        json!({"properties": {"a": {"type": "string"}, "b": {"items": {"type": "string"}}}});
    let value = json!({"a": 1, "b": list(3_000_000, |i| i)});
    let document = Document::from(&value);
    let errors = program(&schema).errors_json(&document, usize::MAX).unwrap();
    assert_eq!(errors[0].path, "/a");
    assert!(
        errors.len() > 100 && errors.len() < 3_000_000,
        "{}",
        errors.len()
    );
}

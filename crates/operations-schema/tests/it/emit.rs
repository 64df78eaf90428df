//! The emitter: nothing in a schema becomes code, and the text stays within its bounds.
//! That emitted checks agree with the walk is tested where JavaScript can run.

use crate::emit_support;

use emit_support::{both, json_program, tokens, typebox_program};
use operations_schema::emit::{MAX_TEXT, Unsupported, check_source, exact_source};
use serde_json::{Value, json};

/// Names that would end a string, a comment, a template or a line if they were copied.
const HOSTILE: [&str; 16] = [
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "*/",
    "//",
    "/*",
    "${process.exit()}",
    "\n",
    "\r\n",
    "\u{2028}\u{2029}",
    "\"];process.exit();[\"",
    "</script>",
    "\u{fffd}\u{0}",
    "😀é",
];

#[test]
fn hostile_names_and_constants_never_become_code() {
    for name in HOSTILE {
        let schema = json!({
            "properties": { name: { "const": name } },
            "patternProperties": { "^x": { "enum": [name, [name], { name: name }] } },
            "required": [name, format!("{name}2")],
            "dependentRequired": { name: [name] },
            "additionalProperties": false
        });
        for emitted in both(&json_program(&schema)) {
            let found = tokens(&emitted.body);
            assert!(found.iter().any(|token| token.is_string), "{name:?}");
        }
    }
}

#[test]
fn hostile_typebox_schemas_never_become_code() {
    for name in HOSTILE {
        let text = Value::from(name).to_string();
        let schema = format!(
            r#"["o","Object",0,"type","object","properties",
                ["o",null,0,
                  {text},["o","Literal",0,"const",{text}],
                  "r",["o","Record",0,"patternProperties",["o",null,0,"^\"*/",["o","Number",0]]],
                  "s",["o","String",0,"pattern",{text},"format",{text}]],
                "required",["a",{text}],"additionalProperties",false]"#
        );
        for emitted in both(&typebox_program(&schema)) {
            tokens(&emitted.body);
            assert_eq!(emitted.formats.len(), 1);
        }
    }
}

#[test]
fn names_of_the_object_prototype_count_only_as_own_properties() {
    let schema = json!({ "properties": { "__proto__": { "type": "string" }, "plain": { "type": "string" } } });
    let body = check_source(&json_program(&schema)).expect("emitted").body;
    assert!(
        body.contains(r#"Object.hasOwn(v1,"__proto__")?v1["__proto__"]:undefined"#),
        "{body}"
    );
    assert!(body.contains(r#"=v1["plain"];"#), "{body}");
    // In an object literal that name would set the prototype; no object literal is ever written.
    assert!(!body.contains("{\"") && !body.contains("\":"), "{body}");
}

#[test]
fn numbers_are_written_exactly() {
    let schema = json!({ "enum": [0.1, 1e21, -5e-324, 9_007_199_254_740_993_i64] });
    let body = check_source(&json_program(&schema)).expect("emitted").body;
    for number in ["===0.1", "===1e21", "===(-5e-324)", "===9007199254740992"] {
        assert!(body.contains(number), "{body}");
    }
}

#[test]
fn the_same_schema_gives_the_same_text() {
    let schema = json!({
        "$defs": { "node": {
            "properties": { "next": { "$ref": "#/$defs/node" }, "a": {}, "b": { "minimum": 1 } },
            "patternProperties": { "^x": { "type": "string" }, "^y": { "type": "number" } }
        } },
        "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "array", "items": { "$ref": "#/$defs/node" } }]
    });
    assert_eq!(both(&json_program(&schema)), both(&json_program(&schema)));
}

#[test]
fn only_harmless_patterns_of_json_schemas_reach_the_hosts_own_engine() {
    let source = |pattern: &str| {
        let schema = json!({ "type": "string", "pattern": pattern });
        check_source(&json_program(&schema)).expect("emitted")
    };
    let harmless = source("^[a-z]+$");
    assert_eq!(harmless.patterns.len(), 1);
    assert!(
        harmless.body.contains("regexp(P0,v1,1,2)"),
        "{}",
        harmless.body
    );
    let explosive = source("^(a+)+$");
    assert!(explosive.patterns.is_empty());
    assert!(
        explosive.body.contains("matches(0,v1)"),
        "{}",
        explosive.body
    );
    assert!(!explosive.body.contains(".test(v1)"));
}

#[test]
fn only_patterns_of_typebox_kinds_that_take_linear_time_reach_the_hosts_own_engine() {
    let source = |pattern: &str| {
        let schema = format!(r#"["o","String",0,"type","string","pattern","{pattern}"]"#);
        check_source(&typebox_program(&schema)).expect("emitted")
    };
    for pattern in [
        "^[a-z]+$",
        "^(.*)$",
        "^(0|[1-9][0-9]*)$",
        "^é{2}$",
        "^[^/]+$",
    ] {
        let harmless = source(pattern);
        assert_eq!(harmless.patterns.len(), 1, "{pattern}");
        assert!(harmless.body.contains("P0.test(v1)"), "{}", harmless.body);
    }
    for pattern in ["^(a+)+$", "^(a|a)*$", "^[^@]+@[^@]+.[^@]+$", "(?=a)(a+)+$"] {
        let explosive = source(pattern);
        assert!(explosive.patterns.is_empty(), "{pattern}");
        assert!(
            explosive.body.contains("matches(0,v1)"),
            "{}",
            explosive.body
        );
    }
}

#[test]
fn recursion_carries_its_depth_and_counts_its_work() {
    let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
    let body = check_source(&json_program(&schema)).expect("emitted").body;
    assert!(body.contains("throw env.giveUp()"), "{body}");
    assert!(body.contains("throw env.tooMuchWork()"), "{body}");
}

#[test]
fn an_ordinary_schema_of_the_users_own_counts_nothing() {
    let program = typebox_program(
        r#"["o","Object",0,"properties",["o",null,0,"a",["o","Array",0,"items",["o","String",0]]],"required",["a","a"]]"#,
    );
    for emitted in both(&program) {
        assert!(!emitted.body.contains("env."), "{}", emitted.body);
        assert!(!emitted.body.contains("work"), "{}", emitted.body);
    }
}

#[test]
fn every_loop_of_a_schema_from_outside_pays() {
    let schema = json!({
        "items": { "anyOf": [
            { "type": "object", "properties": { "a": { "type": "string", "minLength": 2 } } },
            { "contains": { "type": "integer" }, "items": { "minimum": 1 } },
            { "propertyNames": { "pattern": "^a" }, "additionalProperties": { "type": "null" } }
        ] }
    });
    for emitted in both(&json_program(&schema)) {
        let mut rest = emitted.body.as_str();
        while let Some(position) = rest.find("for(") {
            rest = &rest[position..];
            let inside = rest.find('{').expect("a block") + 1;
            let helper = rest.starts_with("for(let i=0;i<text.length-1;i++)");
            assert!(
                helper || rest[inside..].starts_with("if((work-=0x"),
                "{rest:.200}"
            );
            rest = &rest[inside..];
        }
        tokens(&emitted.body);
    }
}

#[test]
fn a_long_block_costs_more_than_a_short_one() {
    let price = |variants: usize| {
        let variants: Vec<Value> = (0..variants)
            .map(|number| json!({ "const": number }))
            .collect();
        let body = check_source(&json_program(&json!({ "items": { "anyOf": variants } })))
            .expect("emitted")
            .body;
        let prices: Vec<u64> = body
            .split("work-=0x")
            .skip(1)
            .map(|rest| u64::from_str_radix(&rest[..5], 16).expect("a price"))
            .collect();
        prices.into_iter().max().expect("some price")
    };
    assert!(
        price(10) > 2 && price(400) > price(10) * 20,
        "{}",
        price(400)
    );
}

#[test]
fn a_fan_of_references_stays_linear_in_text_and_counts_its_work() {
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(
            format!("d{level}"),
            json!({ "allOf": [next.clone(), next], "minimum": 1 }),
        );
    }
    definitions.insert(
        "d30".to_owned(),
        json!({ "type": "integer", "minLength": 1, "maximum": 3 }),
    );
    let schema = json!({ "$ref": "#/$defs/d0", "$defs": definitions });
    let body = check_source(&json_program(&schema)).expect("emitted").body;
    assert!(body.len() < 16_000, "{}", body.len());
    assert!(body.contains("env.tooMuchWork()"), "{body}");
}

#[test]
fn text_beyond_the_limit_is_given_up() {
    let properties: serde_json::Map<String, Value> = (0..9_000)
        .map(|number| (format!("property{number}"), json!({ "type": "string" })))
        .collect();
    let program = json_program(&json!({ "properties": properties }));
    assert_eq!(check_source(&program), Err(Unsupported::TooLarge));
    assert_eq!(exact_source(&program), Err(Unsupported::TooLarge));
    let names: Vec<String> = (0..30_000)
        .map(|number| format!("constant{number}"))
        .collect();
    let program = json_program(&json!({ "type": "array", "items": { "enum": names } }));
    assert_eq!(check_source(&program), Err(Unsupported::TooLarge));
    const { assert!(MAX_TEXT <= 256 * 1024) };
}

#[test]
fn a_node_that_is_not_covered_is_left_to_the_walk() {
    let schema = json!({
        "type": "object",
        "properties": {
            "plain": { "type": "string" },
            "hard": { "properties": { "a": {} }, "unevaluatedProperties": false }
        }
    });
    let emitted = check_source(&json_program(&schema)).expect("emitted");
    assert_eq!(emitted.walks.len(), 1);
    assert!(emitted.body.contains("env.walk("), "{}", emitted.body);
    let whole = json!({ "properties": { "a": {} }, "unevaluatedProperties": false });
    assert_eq!(
        check_source(&json_program(&whole)),
        Err(Unsupported::NeedsWalk)
    );
}

#[test]
fn a_schema_that_returns_to_itself_on_one_value_is_left_to_the_walk() {
    let schema = json!({
        "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "string" }] } },
        "properties": { "x": { "$ref": "#/$defs/a" } }
    });
    // Whether such a schema compiles is not the emitter's business; that it never loops is.
    if let Ok(program) = emit_support::try_json_program(&schema) {
        let emitted = check_source(&program).expect("emitted");
        assert_eq!(emitted.walks.len(), 1);
    }
}

#[test]
fn deep_schemas_are_emitted_without_deep_nesting() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..120 {
        schema = json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] });
    }
    for emitted in both(&json_program(&schema)) {
        let deepest = tokens(&emitted.body).iter().map(|token| token.depth).max();
        assert!(deepest.is_some_and(|deepest| deepest < 64), "{deepest:?}");
    }
}

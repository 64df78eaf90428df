//! Fast checks: which schemas have one, and what is in it. That they agree with the walk is tested where JavaScript can run.

use crate::emit_support::{json_program, typebox_program};
use operations_schema::emit::fast_check;
use serde_json::{Value, json};

fn fast_check_of(schema: &str) -> Option<Value> {
    fast_check(&typebox_program(schema)).map(|text| serde_json::from_str(&text).unwrap())
}

#[test]
fn an_object_of_simple_types() {
    let schema = r#"["o","Object",0,"type","object","properties",["o",null,0,
        "id",["l","Integer",0],
        "note",["l","String",1],
        "tags",["o","Array",0,"type","array","items",["l","String",0],"maxItems",3],
        "state",["o","Union",0,"anyOf",["a",["o","Literal",0,"const","on"],["o","Literal",0,"const",1]]],
        "price",["o","Number",0,"type","number","minimum",0]],
        "required",["a","id","tags","state","price"]]"#;
    let wanted = json!([
        0,
        ["id", "note", "tags", "state", "price"],
        [
            3,
            1,
            [1, 1, null, 3.0],
            [2, "on", 1.0],
            [5, 2, 0.0, null, null, null]
        ],
        [0, 1, 0, 0, 0],
        0
    ]);
    assert_eq!(fast_check_of(schema), Some(wanted));
}

#[test]
fn what_only_the_walk_decides_has_none() {
    for part in [
        // A name of `Object.prototype`, which must not be read from there.
        r#"["o","Object",0,"type","object","properties",["o",null,0,"constructor",["l","String",0]]]"#,
        r#"["o","Object",0,"type","object","properties",["o",null,0],"additionalProperties",["l","String",0]]"#,
        r#"["o","String",0,"type","string","pattern","^a"]"#,
        r#"["o","String",0,"type","string","format","uuid"]"#,
        r#"["o","Array",0,"type","array","items",["l","String",0],"uniqueItems",true]"#,
        r#"["o","Number",0,"type","number","multipleOf",2]"#,
        r#"["o","Union",0,"anyOf",["a",["o","Object",0,"type","object","properties",["o",null,0]],["l","String",0]]]"#,
        r#"["o","Date",0,"type","Date"]"#,
    ] {
        assert_eq!(fast_check_of(part), None, "{part}");
        let around = format!(r#"["o","Array",0,"type","array","items",{part}]"#);
        assert_eq!(fast_check_of(&around), None, "{around}");
    }
    // Documents from outside pay for what is done with them.
    assert_eq!(
        fast_check(&json_program(&json!({ "type": "string" }))),
        None
    );
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth| {
        let leaf = r#"["l","String",0]"#.to_owned();
        (0..depth).fold(leaf, |inner, _| {
            format!(r#"["o","Array",0,"type","array","items",{inner}]"#)
        })
    };
    assert!(fast_check_of(&nested(16)).is_some());
    assert!(fast_check_of(&nested(17)).is_none());
    let wide = |count| {
        let properties: Vec<String> = (0..count)
            .map(|index| format!(r#""p{index}",["l","String",0]"#))
            .collect();
        let properties = properties.join(",");
        format!(r#"["o","Object",0,"type","object","properties",["o",null,0,{properties}]]"#)
    };
    assert!(fast_check_of(&wide(900)).is_some());
    assert!(fast_check_of(&wide(1_000)).is_none());
}

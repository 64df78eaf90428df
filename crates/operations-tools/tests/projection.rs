//! Schemas in the dialects of the targets, and the way back.

use operations_tools::{LossKind, Projection, Target, project_schema};
use serde_json::{Value, json};

fn project(schema: &Value, target: Target) -> Projection {
    match project_schema(schema, target) {
        Ok(made) => made,
        Err(error) => unreachable!("{}: {}", error.path, error.reason),
    }
}

fn kinds(projection: &Projection) -> Vec<LossKind> {
    projection.losses.iter().map(|loss| loss.kind).collect()
}

#[test]
fn optional_properties_are_nullable_under_strict_mode_and_restored() {
    let schema = json!({
        "type": "object",
        "properties": {
            "owner": { "type": "string", "description": "Whose" },
            "page": { "type": "integer", "default": 1 },
            "sort": { "enum": ["up", "down"] },
        },
        "required": ["owner"],
    });
    let made = project(&schema, Target::OpenAiStrict);
    assert_eq!(
        made.schema,
        json!({
            "type": "object",
            "properties": {
                "owner": { "type": "string", "description": "Whose" },
                "page": { "type": ["integer", "null"], "description": "(default 1)" },
                "sort": { "type": ["string", "null"], "enum": ["up", "down", null] },
            },
            "required": ["owner", "page", "sort"],
            "additionalProperties": false,
        })
    );
    assert!(made.losses.is_empty());
    let given = json!({ "owner": "o", "page": null, "sort": "up" });
    assert_eq!(made.restore(given), json!({ "owner": "o", "sort": "up" }));
}

#[test]
fn maps_tuples_and_anything_have_a_form_of_their_own() {
    let schema = json!({
        "type": "object",
        "properties": {
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "point": { "prefixItems": [{ "type": "number" }, { "type": "number" }], "items": false, "minItems": 2, "type": "array" },
            "pair": { "prefixItems": [{ "type": "number" }, { "type": "string" }], "items": false, "minItems": 2, "type": "array" },
            "free": { "type": "object" },
            "any": {},
        },
        "required": ["labels", "point", "pair", "free", "any"],
        "additionalProperties": false,
    });
    for target in [Target::OpenAiStrict, Target::Gemini] {
        let made = project(&schema, target);
        assert_eq!(kinds(&made), [LossKind::JsonText]);
        let properties = &made.schema["properties"];
        assert_eq!(properties["labels"]["type"], "array");
        assert_eq!(properties["point"]["maxItems"], 2);
        assert_eq!(properties["pair"]["required"], json!(["item_1", "item_2"]));
        let restored = made.restore(json!({
            "labels": [{ "key": "a", "value": "b" }],
            "point": [1, 2],
            "pair": { "item_1": 1, "item_2": "x" },
            "free": "{\"k\":[1]}",
            "any": "[true]",
        }));
        assert_eq!(
            restored,
            json!({ "labels": { "a": "b" }, "point": [1, 2], "pair": [1, "x"], "free": { "k": [1] }, "any": [true] })
        );
    }
}

#[test]
fn recursion_is_hoisted_or_cut() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/Node" } },
        "required": ["tree"],
        "$defs": {
            "Node": {
                "type": "object",
                "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } },
                "required": ["children"],
            },
        },
    });
    let strict = project(&schema, Target::OpenAiStrict);
    assert!(strict.losses.is_empty());
    assert_eq!(
        strict.schema["properties"]["tree"],
        json!({ "$ref": "#/$defs/Node" })
    );
    assert!(strict.schema["$defs"]["Node"].is_object());
    let gemini = project(&schema, Target::Gemini);
    assert_eq!(kinds(&gemini), [LossKind::Recursion]);
    assert_eq!(
        gemini.losses[0].path,
        "/properties/tree/properties/children/items"
    );
    let restored = gemini.restore(json!({ "tree": { "children": ["{\"children\":[]}"] } }));
    assert_eq!(
        restored,
        json!({ "tree": { "children": [{ "children": [] }] } })
    );
}

#[test]
fn all_of_becomes_one_object() {
    let schema = json!({
        "allOf": [
            { "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } }, "required": ["a"] },
            { "$ref": "#/$defs/B" },
        ],
        "$defs": { "B": { "type": "object", "properties": { "b": { "type": "integer", "minimum": 3 } } } },
    });
    for target in [
        Target::OpenAi,
        Target::OpenAiStrict,
        Target::Anthropic,
        Target::Gemini,
    ] {
        let made = project(&schema, target);
        assert!(made.schema.get("allOf").is_none(), "{}", target.as_str());
        assert_eq!(made.schema["properties"]["b"]["minimum"], 3);
    }
    assert_eq!(
        kinds(&project(&schema, Target::OpenAiStrict)),
        [LossKind::Length]
    );
}

#[test]
fn a_union_at_the_root_is_wrapped_and_one_about_presence_is_reported() {
    let union = json!({
        "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "a" }, "x": { "type": "string" } }, "required": ["kind", "x"] },
            { "type": "object", "properties": { "kind": { "const": "b" } }, "required": ["kind"] },
        ],
    });
    for target in [
        Target::OpenAi,
        Target::OpenAiStrict,
        Target::Anthropic,
        Target::Gemini,
        Target::Mcp,
    ] {
        let made = project(&union, target);
        assert_eq!(
            made.schema["required"],
            json!(["input"]),
            "{}",
            target.as_str()
        );
        assert!(made.losses.is_empty(), "{:?}", made.losses);
        assert_eq!(
            made.restore(json!({ "input": { "kind": "b" } })),
            json!({ "kind": "b" })
        );
        assert_eq!(made.restore(json!({ "kind": "b" })), json!({ "kind": "b" }));
    }
    let presence = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
        "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
    });
    for target in [
        Target::OpenAi,
        Target::OpenAiStrict,
        Target::Anthropic,
        Target::Gemini,
    ] {
        let made = project(&presence, target);
        assert_eq!(kinds(&made), [LossKind::Union], "{}", target.as_str());
        assert_eq!(made.schema["description"], "(given must be: a, or b)");
    }
    assert!(project(&presence, Target::Mcp).losses.is_empty());
}

#[test]
fn names_that_anthropic_refuses_come_back() {
    let schema = json!({
        "type": "object",
        "properties": {
            "filter[name]": { "type": "string" },
            "deep": { "anyOf": [
                { "type": "object", "properties": { "$top": { "type": "integer" } }, "required": ["$top"] },
                { "type": "string" },
            ] },
        },
        "required": ["filter[name]"],
    });
    let made = project(&schema, Target::Anthropic);
    assert_eq!(made.schema["required"], json!(["filter_name"]));
    let restored = made.restore(json!({ "filter_name": "x", "deep": { "top": 1 } }));
    assert_eq!(
        restored,
        json!({ "filter[name]": "x", "deep": { "$top": 1 } })
    );
    assert!(!project(&schema, Target::Mcp).restores());
}

#[test]
fn gemini_takes_texts_for_other_enumerations() {
    let schema = json!({
        "type": "object",
        "properties": { "level": { "type": "integer", "enum": [1, 2, 3] }, "when": { "type": "string", "format": "date" } },
    });
    let made = project(&schema, Target::Gemini);
    assert_eq!(
        made.schema["properties"]["level"],
        json!({ "type": "string", "enum": ["1", "2", "3"] })
    );
    assert_eq!(made.restore(json!({ "level": "2" })), json!({ "level": 2 }));
    assert_eq!(kinds(&made), [LossKind::Format]);
    assert_eq!(
        made.schema["properties"]["when"]["description"],
        "(format date)"
    );
}

#[test]
fn schemas_that_grow_without_end_are_cut() {
    // Each level has three of the next: 3^12 written out.
    let mut definitions = serde_json::Map::new();
    for level in 0..12 {
        let next = json!({ "$ref": format!("#/$defs/L{}", level + 1) });
        let schema = json!({ "type": "object", "properties": { "a": next, "b": next, "c": next } });
        definitions.insert(format!("L{level}"), schema);
    }
    definitions.insert("L12".to_owned(), json!({ "type": "string" }));
    let schema = json!({ "type": "object", "properties": { "l": { "$ref": "#/$defs/L0" } }, "$defs": definitions });
    for target in [Target::OpenAiStrict, Target::Gemini] {
        let made = project(&schema, target);
        assert!(
            kinds(&made).contains(&LossKind::Depth),
            "{}",
            target.as_str()
        );
        assert!(made.schema.to_string().len() < 200_000);
    }
    assert!(project(&schema, Target::JsonSchema).losses.is_empty());
}

#[test]
fn circles_and_towers_end() {
    let circle = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" } } });
    let sum = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "allOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/A" }] } } });
    let mut tower = serde_json::Map::new();
    for level in 0..5_000 {
        tower.insert(
            format!("T{level}"),
            json!({ "anyOf": [{ "$ref": format!("#/$defs/T{}", level + 1) }] }),
        );
    }
    let tower = json!({ "type": "object", "properties": { "t": { "$ref": "#/$defs/T0" } }, "$defs": tower });
    for schema in [circle, sum, tower] {
        for target in Target::ALL {
            // Whatever comes of it, it comes.
            let _ = project_schema(&schema, target);
        }
    }
}

#[test]
fn what_json_does_not_have_is_left_out() {
    let optional = json!({ "type": "object", "properties": { "d": { "type": "Date" }, "s": { "type": "string" } } });
    let demanded =
        json!({ "type": "object", "properties": { "d": { "type": "Date" } }, "required": ["d"] });
    for target in Target::ALL {
        let made = project(&optional, target);
        assert_eq!(kinds(&made), [LossKind::Property]);
        assert!(made.schema["properties"].get("d").is_none());
        let error = project_schema(&demanded, target).unwrap_err();
        assert_eq!(error.path, "/properties/d");
        assert!(error.reason.contains("Date"), "{}", error.reason);
    }
}

//! Schemas that stand alone: references, recursion, one-way properties, repairs; and the report.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests: a failure should stop them, and a table is as long as it is"
)]

use crate::support::{document, import_all, only, with_paths};
use operations_openapi::{Document, ImportChoices, Reason, Status, import};
use serde_json::{Value, json};

/// The input schema of a `post` whose body has this schema, in a document with these components.
fn body_schema(version: &str, schema: &Value, schemas: &Value) -> Value {
    let text = document(&json!({
        "openapi": version,
        "components": { "schemas": schemas },
        "paths": { "/a": { "post": { "requestBody": { "content": { "application/json": { "schema": schema } } } } } },
    }));
    only(&text).input_schema().expect("small")
}

fn output_schema(schema: &Value, schemas: &Value) -> Value {
    let text = document(&json!({
        "components": { "schemas": schemas },
        "paths": { "/a": { "get": { "responses": { "200": { "content": { "application/json": { "schema": schema } } } } } } },
    }));
    only(&text).output_schema().expect("small")
}

fn body_of(schema: &Value) -> &Value {
    schema.pointer("/properties/body").expect("there is a body")
}

#[test]
fn only_what_is_needed_is_copied_and_recursion_is_kept() {
    let schemas = json!({
        "Node": { "type": "object", "properties": { "next": { "$ref": "#/components/schemas/Node" }, "leaf": { "$ref": "#/components/schemas/Leaf%20x" } } },
        "Leaf x": { "type": "string" },
        "Unused": { "type": "integer" },
    });
    let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" }, "leaf": { "$ref": "#/$defs/Leaf_x" } } });
    let schema = body_schema(
        "3.0.0",
        &json!({ "$ref": "#/components/schemas/Node" }),
        &schemas,
    );
    assert_eq!(body_of(&schema), &node);
    assert_eq!(
        schema.get("$defs"),
        Some(&json!({ "Node": node, "Leaf_x": { "type": "string" } }))
    );
    let schema = body_schema(
        "3.0.0",
        &json!({ "$ref": "#/components/schemas/Unused" }),
        &schemas,
    );
    assert_eq!(
        schema,
        json!({ "type": "object", "properties": { "body": { "type": "integer" } } })
    );
}

#[test]
fn names_of_definitions_are_safe_and_unique() {
    let schemas = json!({
        "a/b": { "type": "string" }, "a_b": { "type": "integer" }, "a~b": { "type": "boolean" },
        "__proto__": { "type": "null" },
        "Holder": { "properties": { "inner": { "type": "number" } } },
    });
    let list = json!({ "anyOf": [
        { "$ref": "#/components/schemas/a~1b" }, { "$ref": "#/components/schemas/a_b" }, { "$ref": "#/components/schemas/a~0b" },
        { "$ref": "#/components/schemas/__proto__" }, { "$ref": "#/components/schemas/Holder/properties/inner" },
    ] });
    let schema = body_schema("3.1.0", &list, &schemas);
    assert_eq!(
        schema.get("$defs"),
        Some(&json!({
            "a_b": { "type": "string" }, "a_b_2": { "type": "integer" }, "a_b_3": { "type": "boolean" },
            "schema__proto__": { "type": "null" }, "inner": { "type": "number" },
        }))
    );
    let targets: Vec<&str> = (0..5)
        .map(|index| {
            body_of(&schema)
                .pointer(&format!("/anyOf/{index}/$ref"))
                .and_then(Value::as_str)
                .expect("a reference")
        })
        .collect();
    assert_eq!(
        targets,
        [
            "#/$defs/a_b",
            "#/$defs/a_b_2",
            "#/$defs/a_b_3",
            "#/$defs/schema__proto__",
            "#/$defs/inner"
        ]
    );
}

#[test]
fn what_travels_one_way_is_not_demanded_the_other_way() {
    let schemas = json!({
        "Id": { "type": "string", "readOnly": true },
        "Base": { "type": "object", "required": ["id", "secret"], "properties": {
            "id": { "type": "string", "readOnly": true }, "secret": { "type": "string", "writeOnly": true },
        } },
        "User": { "allOf": [{ "$ref": "#/components/schemas/Base" }, {
            "type": "object", "required": ["id", "name", "ref"],
            "properties": { "name": { "type": "string" }, "ref": { "$ref": "#/components/schemas/Id" } },
        }] },
    });
    let user = json!({ "$ref": "#/components/schemas/User" });
    let input = body_schema("3.0.0", &user, &schemas);
    assert_eq!(
        input.pointer("/$defs/Base/required"),
        Some(&json!(["secret"]))
    );
    assert_eq!(
        body_of(&input).pointer("/allOf/1/required"),
        Some(&json!(["name"]))
    );
    assert!(
        input.pointer("/$defs/Base/properties/id").is_some(),
        "it may still be given"
    );
    let output = output_schema(&user, &schemas);
    assert_eq!(output.pointer("/$defs/Base/required"), Some(&json!(["id"])));
    assert_eq!(
        output.pointer("/allOf/1/required"),
        Some(&json!(["id", "name", "ref"]))
    );
}

#[test]
fn the_dialect_of_3_0_is_kept_and_null_is_let_through_where_it_is_meant() {
    let schemas = json!({ "A": { "type": "object" } });
    let plain =
        json!({ "type": "integer", "nullable": true, "minimum": 1, "exclusiveMinimum": true });
    assert_eq!(body_of(&body_schema("3.0.0", &plain, &schemas)), &plain);
    let reference = json!({ "$ref": "#/$defs/A" });
    let nothing = json!({ "type": "null" });
    let wrapped = json!({ "properties": {
        "a": { "$ref": "#/components/schemas/A", "nullable": true },
        "b": { "allOf": [{ "$ref": "#/components/schemas/A" }], "nullable": true, "description": "d" },
        "c": { "$ref": "#/components/schemas/A", "type": "string", "description": "kept" },
    } });
    let schema = body_schema("3.0.0", &wrapped, &schemas);
    let property = |name: &str| {
        body_of(&schema)
            .pointer(&format!("/properties/{name}"))
            .cloned()
    };
    assert_eq!(
        property("a"),
        Some(json!({ "anyOf": [reference, nothing] }))
    );
    assert_eq!(
        property("b"),
        Some(json!({ "description": "d", "anyOf": [{ "allOf": [reference] }, nothing] }))
    );
    assert_eq!(
        property("c"),
        Some(json!({ "$ref": "#/$defs/A", "description": "kept" })),
        "3.0 ignores the rest"
    );
    let schema = body_schema(
        "3.1.0",
        &json!({ "properties": { "c": { "$ref": "#/components/schemas/A", "minProperties": 1 } } }),
        &schemas,
    );
    assert_eq!(
        body_of(&schema).pointer("/properties/c"),
        Some(&json!({ "$ref": "#/$defs/A", "minProperties": 1 }))
    );
}

#[test]
fn references_by_anchor_id_and_inside_a_pasted_schema_are_found() {
    let schemas = json!({
        "Anchored": { "$anchor": "here", "type": "string" },
        "Identified": { "$id": "https://example.com/identified", "type": "object", "properties": { "a": { "$ref": "#/$defs/own" } }, "$defs": { "own": { "type": "integer" } } },
        "Pasted": { "properties": { "a": { "$ref": "#/definitions/own" } }, "definitions": { "own": { "type": "boolean" } } },
    });
    let all = json!({ "prefixItems": [
        { "$ref": "#here" }, { "$ref": "https://example.com/identified" }, { "$ref": "#/components/schemas/Pasted" }, { "$dynamicRef": "#here" },
    ] });
    let schema = body_schema("3.1.0", &all, &schemas);
    assert_eq!(
        schema.get("$defs"),
        Some(&json!({
            "here": { "type": "string" },
            "identified": { "type": "object", "properties": { "a": { "$ref": "#/$defs/own" } } },
            "Pasted": { "properties": { "a": { "$ref": "#/$defs/own_2" } } },
            "own": { "type": "integer" }, "own_2": { "type": "boolean" },
        }))
    );
    assert_eq!(
        body_of(&schema).pointer("/prefixItems/3"),
        Some(&json!({ "$ref": "#/$defs/here" }))
    );
}

#[test]
fn discriminators_name_only_what_is_there() {
    let schemas = json!({
        "Cat": { "type": "object" }, "Dog": { "type": "object" },
        "Pet": { "oneOf": [{ "$ref": "#/components/schemas/Cat" }], "discriminator": { "propertyName": "kind", "mapping": { "c": "#/components/schemas/Cat", "C": "Cat", "d": "#/components/schemas/Dog" } } },
    });
    let schema = body_schema(
        "3.0.0",
        &json!({ "$ref": "#/components/schemas/Pet" }),
        &schemas,
    );
    assert_eq!(
        body_of(&schema).get("discriminator"),
        Some(
            &json!({ "propertyName": "kind", "mapping": { "c": "#/$defs/Cat", "C": "#/$defs/Cat" } })
        )
    );
}

#[test]
fn data_that_looks_like_a_schema_is_left_alone() {
    let schema = json!({ "type": "object", "properties": { "$ref": { "type": "string" }, "properties": { "type": "object" } },
        "enum": [{ "$ref": "#/components/schemas/Nowhere" }], "default": { "required": true } });
    assert_eq!(body_of(&body_schema("3.1.0", &schema, &json!({}))), &schema);
}

#[test]
fn what_keywords_cannot_be_is_repaired_or_left_out_and_reported() {
    let table = [
        (json!({ "type": "String" }), json!({ "type": "string" })),
        (json!({ "type": "int" }), json!({ "type": "integer" })),
        (json!({ "type": "any" }), json!({})),
        (
            json!({ "type": "string", "required": true }),
            json!({ "type": "string" }),
        ),
        (
            json!({ "type": "string", "minLength": "3" }),
            json!({ "type": "string", "minLength": 3.0 }),
        ),
        (json!({ "enum": [] }), json!({})),
        (json!({ "properties": [] }), json!({})),
        (
            json!({ "properties": { "a": null } }),
            json!({ "properties": { "a": true } }),
        ),
        (json!({ "items": "string" }), json!({})),
        (json!({ "allOf": [] }), json!({})),
        (
            json!({ "nullable": "true", "type": "string" }),
            json!({ "nullable": true, "type": "string" }),
        ),
    ];
    for (written, read) in table {
        let text = with_paths(
            &json!({ "/a": { "post": { "requestBody": { "content": { "application/json": { "schema": written } } } } } }),
        );
        let schema = only(&text).input_schema().expect("small");
        assert_eq!(body_of(&schema), &read, "{written}");
        let entry = import_all(&text).report.remove(0);
        assert_eq!(entry.status, Status::Degraded, "{written}");
        assert_eq!(
            entry.problems.first().map(|one| one.code),
            Some(Reason::Schema)
        );
    }
}

#[test]
fn references_work_wherever_they_may_stand() {
    let text = document(&json!({
        "components": {
            "parameters": { "P": { "name": "p", "in": "query", "schema": { "type": "string" } }, "Q": { "$ref": "#/components/parameters/P" } },
            "requestBodies": { "B": { "required": true, "content": { "application/json": { "schema": { "type": "integer" } } } } },
            "responses": { "R": { "content": { "application/json": { "schema": { "type": "boolean" } } } } },
            "pathItems": { "I": { "post": {
                "parameters": [{ "$ref": "#/components/parameters/Q" }],
                "requestBody": { "$ref": "#/components/requestBodies/B" },
                "responses": { "200": { "$ref": "#/components/responses/R" } },
            } } },
        },
        "paths": { "/a": { "$ref": "#/components/pathItems/I" } },
    }));
    let operation = only(&text);
    assert_eq!(
        operation.input_schema().expect("small"),
        json!({ "type": "object", "properties": { "p": { "type": "string" }, "body": { "type": "integer" } }, "required": ["body"] })
    );
    assert_eq!(
        operation.output_schema().expect("small"),
        json!({ "type": "boolean" })
    );
}

#[test]
fn a_broken_operation_does_not_lose_the_rest_and_the_report_says_where() {
    let text = document(&json!({
        "components": { "schemas": {
            "Broken": { "properties": { "x": { "$ref": "#/components/schemas/Nowhere" } } },
            "Behind": { "items": { "$ref": "#/components/schemas/Broken" } },
            "Loop": { "$ref": "#/components/schemas/Loop2" }, "Loop2": { "$ref": "#/components/schemas/Loop" },
        }, "parameters": { "Self": { "$ref": "#/components/parameters/Self" } } },
        "paths": {
            "/fine": { "get": {}, "head": {} },
            "/null": { "get": null },
            "/item": 7,
            "/lost": { "$ref": "#/components/pathItems/Nowhere" },
            "/behind": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Behind" } } } } } } },
            "/loop": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Loop" } } } } } } },
            "/params/{undeclared}": { "get": { "parameters": [{ "$ref": "#/components/parameters/Self" }, 5, { "name": "x" }, { "in": "nowhere", "name": "y" }] } },
            "/last": { "get": {} },
        },
    }));
    let result = import_all(&text);
    let found: Vec<(&str, Status, Option<Reason>, &str)> = result
        .report
        .iter()
        .map(|entry| {
            let first = entry.problems.first();
            (
                entry.path.as_str(),
                entry.status,
                first.map(|one| one.code),
                first.map_or(entry.pointer.as_str(), |one| one.pointer.as_str()),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("/fine", Status::Imported, None, "/paths/~1fine/get"),
            (
                "/fine",
                Status::Skipped,
                Some(Reason::Filtered),
                "/paths/~1fine/head"
            ),
            (
                "/null",
                Status::Skipped,
                Some(Reason::Malformed),
                "/paths/~1null/get"
            ),
            (
                "/item",
                Status::Skipped,
                Some(Reason::Malformed),
                "/paths/~1item"
            ),
            (
                "/lost",
                Status::Skipped,
                Some(Reason::Reference),
                "/paths/~1lost"
            ),
            (
                "/behind",
                Status::Degraded,
                Some(Reason::Reference),
                "/components/schemas/Broken/properties/x"
            ),
            (
                "/loop",
                Status::Degraded,
                Some(Reason::Reference),
                "/paths/~1loop/get/responses/200/content/application~1json/schema"
            ),
            (
                "/params/{undeclared}",
                Status::Degraded,
                Some(Reason::Reference),
                "/paths/~1params~1{undeclared}/get/parameters/0"
            ),
            ("/last", Status::Imported, None, "/paths/~1last/get"),
        ]
    );
    let names: Vec<&str> = result
        .operations
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "get_fine",
            "get_behind",
            "get_loop",
            "get_params",
            "get_last"
        ]
    );
    let behind = result
        .operations
        .get(1)
        .expect("degraded")
        .output_schema()
        .expect("small");
    assert_eq!(
        behind,
        json!({ "items": { "$ref": "#/$defs/Broken" }, "$defs": { "Broken": { "properties": { "x": {} } } } })
    );
    assert_eq!(
        result.operations.get(2).expect("degraded").output_schema(),
        Ok(json!({}))
    );
    let params = result.operations.get(3).expect("degraded");
    assert_eq!(
        params.input_schema().expect("small"),
        json!({ "type": "object", "properties": { "undeclared": { "type": "string" } }, "required": ["undeclared"] })
    );
}

#[test]
fn streams_have_a_schema_only_when_it_is_certain_what_it_means() {
    let event = |media: &Value| {
        let text = document(
            &json!({ "openapi": "3.2.0", "paths": { "/a": { "get": { "responses": { "200": { "content": { "text/event-stream": media } } } } } } }),
        );
        only(&text).output_schema().expect("small")
    };
    let payload = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    assert_eq!(event(&json!({ "schema": payload })), payload);
    assert_eq!(event(&json!({ "schema": { "type": "string" } })), json!({}));
    assert_eq!(
        event(&json!({ "schema": { "properties": { "event": {}, "data": {} } } })),
        json!({})
    );
    assert_eq!(
        event(
            &json!({ "itemSchema": { "properties": { "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": payload } } } })
        ),
        payload
    );
    assert_eq!(
        event(&json!({ "itemSchema": { "properties": { "data": { "type": "string" } } } })),
        json!({})
    );
}

#[test]
fn other_files_are_named_and_taken_in() {
    let text = document(
        &json!({ "paths": { "/a": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "./schemas/pet.yaml#/Pet" } } } } } } } } }),
    );
    let document = Document::parse_at(&text, "docs/api.json").expect("a document");
    assert_eq!(document.missing_files(), ["docs/schemas/pet.yaml"]);
    let document = document
        .with_file(
            "docs/schemas/pet.yaml",
            "Pet:\n  properties:\n    toy: { $ref: ../toy.json }\n    parent: { $ref: '#/Pet' }\n",
        )
        .expect("YAML");
    assert_eq!(document.missing_files(), ["docs/toy.json"]);
    let result = import(&document, &ImportChoices::default());
    assert_eq!(
        result.report.first().map(|entry| entry.status),
        Some(Status::Degraded),
        "the toy is missing"
    );
    let document = document
        .with_file("docs/toy.json", "{ \"type\": \"string\" }")
        .expect("JSON");
    assert!(document.missing_files().is_empty());
    let result = import(&document, &ImportChoices::default());
    assert_eq!(
        result.report.first().map(|entry| entry.status),
        Some(Status::Imported)
    );
    let pet = json!({ "properties": { "toy": { "$ref": "#/$defs/toy.json" }, "parent": { "$ref": "#/$defs/Pet" } } });
    assert_eq!(
        result.operations.first().expect("one").output_schema(),
        Ok(
            json!({ "properties": pet["properties"], "$defs": { "toy.json": { "type": "string" }, "Pet": pet } })
        )
    );
}

#[test]
fn a_pattern_that_no_engine_can_run_is_left_out() {
    let schema = json!({ "type": "string", "pattern": "(?<" });
    assert_eq!(
        body_of(&body_schema("3.0.0", &schema, &json!({}))),
        &json!({ "type": "string" })
    );
    let schema = json!({ "patternProperties": { "(?<": {}, "^a": {} } });
    assert_eq!(
        body_of(&body_schema("3.1.0", &schema, &json!({}))),
        &json!({ "patternProperties": { "^a": {} } })
    );
}

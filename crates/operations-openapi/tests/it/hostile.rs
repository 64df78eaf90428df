//! Documents that mean harm: each must give an answer or an error, in little time and memory.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests: a failure should stop them, and a table is as long as it is"
)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::support::{document, import_all};
use operations_openapi::{Document, Status};
use serde_json::{Map, Value, json};

/// Generous, because the machine may be busy and the build unoptimised; the harm would take hours.
const LONG: Duration = Duration::from_secs(60);

fn quickly<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < LONG, "{what} took {:?}", start.elapsed());
    result
}

#[test]
fn depth_is_left_out_of_json_and_an_error_in_yaml() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let json_text = format!("{{\"openapi\":\"3.0.0\",\"paths\":{{}},\"x-deep\":{inner}}}");
        assert!(quickly("deep JSON", || Document::parse(&json_text)).is_ok());
        let yaml_text = format!("openapi: 3.0.0\npaths: {inner}\n");
        assert!(quickly("deep YAML", || Document::parse(&yaml_text)).is_err());
        let unfinished = format!("openapi: 3.0.0\npaths: {}", open.repeat(100_000));
        assert!(quickly("unfinished YAML", || Document::parse(&unfinished)).is_err());
    }
    let dashes = format!("openapi: 3.0.0\npaths:\n {}x", "- ".repeat(20_000));
    assert!(quickly("deep block YAML", || Document::parse(&dashes)).is_err());
    let tags = format!("openapi: 3.0.0\npaths: {}x", "!a ".repeat(20_000));
    assert!(quickly("many tags", || Document::parse(&tags)).is_err());
}

#[test]
fn aliases_cannot_multiply() {
    let mut laughs = "openapi: 3.0.0\npaths: {}\nx-0: &a0 [ha, ha]\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        let _ = writeln!(
            laughs,
            "x-{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}]"
        );
    }
    let error = quickly("a billion laughs", || Document::parse(&laughs)).expect_err("refused");
    assert!(
        error.message.contains("aliases") || error.message.contains("repetition"),
        "{}",
        error.message
    );

    let long = "x".repeat(1_000_000);
    let many = "*a, ".repeat(100_000);
    let text = format!("openapi: 3.0.0\npaths: {{}}\nx-long: &a {long}\nx-many: [{many}]\n");
    assert!(quickly("a long text many times", || Document::parse(&text)).is_err());

    let recursive = "openapi: 3.0.0\npaths: &a { x: *a }\n";
    assert!(quickly("an alias inside itself", || Document::parse(recursive)).is_err());
}

#[test]
fn references_cannot_multiply() {
    // Each schema mentions the next one twice: expanded in place this would be 2^200 schemas.
    let mut schemas = Map::new();
    for level in 0..200 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        schemas.insert(
            format!("S{level}"),
            json!({ "properties": { "a": next, "b": next }, "allOf": [next, next] }),
        );
    }
    schemas.insert("S200".to_owned(), json!({ "type": "string" }));
    let text = document(&json!({
        "components": { "schemas": schemas },
        "paths": { "/a": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/S0" } } } } } } } },
    }));
    let schema = quickly("fan-out", || {
        import_all(&text)
            .operations
            .remove(0)
            .output_schema()
            .expect("small")
    });
    let definitions = schema
        .get("$defs")
        .and_then(Value::as_object)
        .expect("definitions");
    assert_eq!(definitions.len(), 200);
    assert!(schema.to_string().len() < 10 * text.len());
}

#[test]
fn one_large_path_item_shared_by_many_paths_has_a_limit() {
    let description = "d".repeat(10_000);
    let parameters: Vec<Value> = (0..300)
        .map(|number| json!({ "name": format!("p{number}"), "in": "query", "description": description, "schema": { "type": "string" } }))
        .collect();
    let paths: Map<String, Value> = (0..3_000)
        .map(|number| {
            (
                format!("/p{number}"),
                json!({ "$ref": "#/components/pathItems/I" }),
            )
        })
        .collect();
    let text = document(&json!({
        "components": { "pathItems": { "I": { "parameters": parameters, "get": { "description": description } } } },
        "paths": paths,
    }));
    let import = quickly("shared path items", || import_all(&text));
    assert_eq!(import.report.len(), 3_000);
    assert!(
        import
            .report
            .iter()
            .any(|entry| entry.status == Status::Imported)
    );
    let last = import.report.last().expect("there are entries");
    assert_eq!(last.status, Status::Skipped);
    assert!(
        last.problems
            .iter()
            .any(|problem| problem.reason.contains("too large"))
    );
}

#[test]
fn many_operations_on_a_long_chain_of_schemas_stay_linear() {
    let count = 3_000;
    let mut schemas = Map::new();
    let mut paths = Map::new();
    for number in 0..count {
        let next = format!("#/components/schemas/S{}", number + 1);
        schemas.insert(
            format!("S{number}"),
            json!({ "properties": { "next": { "$ref": next } } }),
        );
        let first = json!({ "$ref": format!("#/components/schemas/S{number}") });
        paths.insert(format!("/p{number}"), json!({ "get": { "responses": { "200": { "content": { "application/json": { "schema": first } } } } } }));
    }
    let text = document(&json!({ "components": { "schemas": schemas }, "paths": paths }));
    let import = quickly("a long chain", || import_all(&text));
    assert_eq!(import.operations.len(), count);
    // The chain ends nowhere, and every operation is on its way there.
    assert!(
        import
            .report
            .iter()
            .all(|entry| entry.status == Status::Degraded)
    );
}

#[test]
fn references_to_everything_and_to_oneself_end() {
    let table = [
        "#",
        "#/",
        "#/components",
        "#/paths",
        "#/components/schemas/A",
        "",
        "A",
        "a#/b#c",
        "%ff",
        "#/%00",
        "http://[",
        "../../../../etc/passwd",
    ];
    for reference in table {
        let text = document(&json!({
            "components": { "schemas": { "A": { "allOf": [{ "$ref": reference }], "items": { "$ref": "#/components/schemas/A" } } } },
            "paths": { "/a": { "post": {
                "parameters": [{ "$ref": reference }],
                "requestBody": { "$ref": reference },
                "responses": { "200": { "$ref": reference }, "201": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/A" } } } } },
            } }, "/b": { "$ref": reference }, "/c": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": reference } } } } } } } },
        }));
        quickly(reference, || {
            for operation in import_all(&text).operations {
                let _ = operation.input_schema();
                let _ = operation.output_schema();
            }
        });
    }
}

#[test]
fn every_part_may_be_of_any_type() {
    let odd = [
        json!(null),
        json!(true),
        json!(7),
        json!("text"),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "": null }),
        json!({ "$ref": 5 }),
    ];
    let places = [
        "/info",
        "/servers",
        "/security",
        "/components",
        "/components/schemas",
        "/components/schemas/A",
        "/tags",
        "/paths/~1a",
        "/paths/~1a/parameters",
        "/paths/~1a/servers",
        "/paths/~1a/get",
        "/paths/~1a/get/operationId",
        "/paths/~1a/get/tags",
        "/paths/~1a/get/parameters",
        "/paths/~1a/get/parameters/0",
        "/paths/~1a/get/parameters/0/schema",
        "/paths/~1a/get/parameters/0/in",
        "/paths/~1a/get/requestBody",
        "/paths/~1a/get/requestBody/content",
        "/paths/~1a/get/requestBody/content/application~1json",
        "/paths/~1a/get/requestBody/content/application~1json/schema",
        "/paths/~1a/get/responses",
        "/paths/~1a/get/responses/200",
        "/paths/~1a/get/responses/200/content",
        "/paths/~1a/get/security",
        "/paths/~1a/get/servers",
        "/basePath",
        "/host",
        "/schemes",
        "/consumes",
        "/produces",
        "/definitions",
    ];
    let whole = json!({
        "info": {}, "servers": [], "security": [], "tags": [], "components": { "schemas": { "A": {} } },
        "basePath": "", "host": "", "schemes": [], "consumes": [], "produces": [], "definitions": {},
        "paths": { "/a": { "parameters": [], "servers": [], "get": {
            "operationId": "a", "tags": [], "parameters": [{ "name": "p", "in": "query", "schema": { "$ref": "#/components/schemas/A" } }],
            "requestBody": { "content": { "application/json": { "schema": {} } } },
            "responses": { "200": { "content": {} } }, "security": [], "servers": [],
        } }, "/fine": { "get": {} } },
    });
    for version in [
        json!({ "openapi": "3.0.0" }),
        json!({ "openapi": "3.2.0" }),
        json!({ "swagger": "2.0" }),
    ] {
        for place in places {
            for value in &odd {
                let mut document = whole.clone();
                *document.pointer_mut(place).expect(place) = value.clone();
                for (key, word) in version.as_object().expect("an object") {
                    document[key] = word.clone();
                }
                let import = import_all(&document.to_string());
                assert!(
                    import.operations.iter().any(|one| one.name == "get_fine"),
                    "{place} {value}"
                );
                for operation in &import.operations {
                    assert!(operation.input_schema().is_ok() && operation.output_schema().is_ok());
                }
            }
        }
    }
}

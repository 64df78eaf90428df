//! What a caller chooses about an import, methods of one's own, and patterns that cannot run.

use crate::support::{document, import_with, with_paths};
use operations_core::OperationType;
use operations_openapi::bounds::{MAX_FILES, MAX_PATTERNS_TRIED};
use operations_openapi::{Document, Import, ImportChoices, Reason, Status, import, survey};
use serde_json::{Value, json};

fn choices(value: &Value) -> ImportChoices {
    serde_json::from_value(value.clone()).expect("choices")
}

fn chosen(text: &str, value: &Value) -> Import {
    import_with(text, &choices(value))
}

fn names(result: &Import) -> Vec<&str> {
    result
        .operations
        .iter()
        .map(|one| one.name.as_str())
        .collect()
}

fn shop() -> String {
    with_paths(&json!({
        "/pets": { "get": { "operationId": "list", "tags": ["pets"] }, "post": { "operationId": "add" } },
        "/pets/{id}": { "get": { "operationId": "one", "deprecated": true, "summary": "One" } },
        "/events": { "get": { "operationId": "events", "responses": { "200": { "content": {
            "application/json": {}, "text/event-stream": {} } } } } },
    }))
}

#[test]
fn nothing_chosen_is_the_default() {
    assert_eq!(
        names(&chosen(&shop(), &json!({}))),
        ["list", "add", "one", "events"]
    );
    assert!(serde_json::from_value::<ImportChoices>(json!({ "inclued": [] })).is_err());
}

#[test]
fn an_empty_list_of_what_is_wanted_wants_nothing() {
    assert!(names(&chosen(&shop(), &json!({ "include": [] }))).is_empty());
}

#[test]
fn answers_count_beside_the_words() {
    let result = chosen(
        &shop(),
        &json!({
            "include": ["pets"],
            "exclude": ["add"],
            "answers": {
                "GET /pets/{id}": { "include": true, "name": "single" },
                "POST /pets": { "include": true },
                "GET /events": { "include": true, "preferJson": true },
                "GET /nowhere": { "include": true },
            },
        }),
    );
    assert_eq!(names(&result), ["list", "single", "events"]);
    assert_eq!(result.operations[2].operation_type, OperationType::Query);
    let left_out: Vec<_> = result
        .report
        .iter()
        .filter(|entry| entry.status == Status::Skipped)
        .map(|entry| (entry.name.as_deref(), entry.problems[0].code))
        .collect();
    assert_eq!(left_out, [(Some("add"), Reason::Filtered)]);
    let streaming = chosen(
        &shop(),
        &json!({ "answers": { "GET /events": { "exclude": true } } }),
    );
    assert_eq!(names(&streaming), ["list", "add", "one"]);
}

#[test]
fn json_can_be_preferred_everywhere() {
    let types = |value: &Value| chosen(&shop(), value).operations[3].operation_type;
    assert_eq!(types(&json!({})), OperationType::Subscription);
    assert_eq!(types(&json!({ "preferJson": true })), OperationType::Query);
}

#[test]
fn a_survey_tells_what_there_is() {
    let document = Document::parse(shop()).expect("a document");
    let methods = ["get".to_owned()];
    let found = serde_json::to_value(survey(&document, &methods)).expect("JSON");
    assert_eq!(
        found,
        json!([
            { "name": "list", "operationId": "list", "method": "GET", "path": "/pets", "tags": ["pets"], "deprecated": false },
            { "name": "one", "operationId": "one", "method": "GET", "path": "/pets/{id}", "tags": [], "summary": "One", "deprecated": true },
            { "name": "events", "operationId": "events", "method": "GET", "path": "/events", "tags": [], "deprecated": false },
        ])
    );
}

#[test]
fn methods_of_ones_own_are_imported_when_they_are_asked_for() {
    let text = json!({
        "openapi": "3.2.0", "info": { "version": "1" },
        "paths": { "/files/{id}": {
            "parameters": [{ "in": "path", "name": "id", "schema": {} }],
            "get": {},
            "additionalOperations": { "COPY": { "operationId": "copy" }, "Lock": {}, "get": {}, "NOT ONE": {} },
        } },
    })
    .to_string();
    let result = chosen(&text, &json!({}));
    assert_eq!(names(&result), ["get_files"]);
    let codes: Vec<_> = result.report[1..]
        .iter()
        .map(|entry| (entry.method.as_deref(), entry.problems[0].code))
        .collect();
    assert_eq!(
        codes,
        [
            (Some("COPY"), Reason::Filtered),
            (Some("Lock"), Reason::Filtered),
            (Some("get"), Reason::Malformed),
            (Some("NOT ONE"), Reason::Malformed),
        ]
    );
    // They are written as the document writes them, because HTTP tells their letters apart.
    let result = chosen(&text, &json!({ "methods": ["COPY", "Lock", "lock"] }));
    assert_eq!(names(&result), ["copy", "lock_files"]);
    assert_eq!(result.operations[1].http.request.method, "Lock");
    assert_eq!(result.operations[1].operation_type, OperationType::Mutation);
}

#[test]
fn a_pattern_that_cannot_run_is_reported_where_it_stands() {
    let text = document(&json!({
        "components": { "schemas": { "Key": { "properties": { "id": { "type": "string", "pattern": "(?<" } } } } },
        "paths": {
            "/a": { "post": { "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Key" } } } } } },
            "/b": { "post": { "requestBody": { "content": { "application/json": { "schema": { "patternProperties": { "[": {}, "^a": {} } } } } } } },
            "/c": { "get": { "parameters": [{ "in": "query", "name": "q", "schema": { "pattern": "^a" } }] } },
        },
    }));
    let result = import_with(&text, &ImportChoices::default());
    let found: Vec<_> = result
        .report
        .iter()
        .map(|entry| {
            let problem = entry.problems.first();
            (
                entry.status,
                problem.map(|one| (one.code, one.pointer.as_str())),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                Status::Degraded,
                Some((Reason::Schema, "/components/schemas/Key/properties/id"))
            ),
            (
                Status::Degraded,
                Some((
                    Reason::Schema,
                    "/paths/~1b/post/requestBody/content/application~1json/schema"
                ))
            ),
            (Status::Imported, None),
        ]
    );
}

#[test]
fn so_many_patterns_are_tried_and_no_more() {
    let properties: serde_json::Map<String, Value> = (0..=MAX_PATTERNS_TRIED)
        .map(|index| {
            let broken = format!("{index}(");
            (format!("p{index}"), json!({ "pattern": broken }))
        })
        .collect();
    let text = with_paths(&json!({ "/a": { "post": { "requestBody": { "content": {
        "application/json": { "schema": { "properties": properties } } } } } } }));
    let result = import_with(&text, &ImportChoices::default());
    let schema = result.operations[0].input_schema().expect("small");
    let kept = schema["properties"]["body"]["properties"]
        .as_object()
        .expect("properties")
        .values()
        .filter(|property| property.get("pattern").is_some())
        .count();
    assert_eq!(kept, 1, "the one that was not tried");
}

#[test]
fn a_document_may_consist_of_so_many_files() {
    let text = with_paths(&json!({ "/a": { "$ref": "0.json" } }));
    let mut document = Document::parse_at(&text, "api.json").expect("a document");
    let mut index = 0;
    let refusal = loop {
        let missing = document.missing_files();
        assert_eq!(missing, [format!("{index}.json")]);
        index += 1;
        let next = json!({ "$ref": format!("{index}.json") }).to_string();
        match document.with_file(&missing[0], &next) {
            Ok(more) => document = more,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(index, MAX_FILES);
    assert!(refusal.message.contains("files"), "{refusal}");
    // And what leads from file to file for too long is reported.
    let result = import(&document, &ImportChoices::default());
    assert_eq!(result.report[0].problems[0].code, Reason::Reference);
}

#[test]
fn addresses_on_the_web_have_folders_too() {
    let text = with_paths(
        &json!({ "/a": { "$ref": "b.yaml#/x" }, "/c": { "$ref": "%2e%2e/up.yaml" }, "/d": { "$ref": "/top.json" } }),
    );
    let url = "https://example.com/docs/v1/api.json?version=/2#/top";
    let document = Document::parse_at(&text, url).expect("a document");
    let mut missing = document.missing_files();
    missing.sort();
    assert_eq!(
        missing,
        [
            "https://example.com/docs/up.yaml",
            "https://example.com/docs/v1/b.yaml",
            "https://example.com/top.json",
        ]
    );
    assert_eq!(document.url(), Some(url));
    let elsewhere = Document::parse_at(&text, "C:/docs/api.json").expect("a document");
    assert_eq!(elsewhere.url(), None);
}

#[test]
fn what_an_operation_asks_for_is_among_what_is_remembered_of_it() {
    let text = document(&json!({
        "components": { "securitySchemes": {
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "token": { "type": "http", "scheme": "bearer" },
        } },
        "security": [{ "key": [] }, { "token": ["read"] }],
        "paths": { "/a": { "get": {}, "put": { "security": [] } } },
    }));
    let result = import(
        &Document::parse(&text).expect("a document"),
        &ImportChoices::default(),
    );
    assert_eq!(
        result.operations[0].head().meta["security"],
        json!([
            [{ "scheme": "key", "type": "apiKey", "in": "header", "name": "X-Key", "scopes": [] }],
            [{ "scheme": "token", "type": "http", "httpScheme": "bearer", "scopes": ["read"] }],
        ])
    );
    assert_eq!(result.operations[1].head().meta.get("security"), None);
}

#[test]
fn a_body_that_only_the_caller_can_write_is_given_as_text_or_bytes() {
    let body = |media_type: &str, schema: &Value| {
        let text = with_paths(
            &json!({ "/a": { "put": { "requestBody": { "content": { media_type: { "schema": schema } } } } } }),
        );
        let result = import_with(&text, &ImportChoices::default());
        let schema = result.operations[0].input_schema().expect("small");
        (
            result.report[0].status,
            schema["properties"]["body"].clone(),
        )
    };
    let pet = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let text = json!({ "type": "string" });
    for (media_type, schema, status, expected) in [
        ("application/xml", &pet, Status::Degraded, &json!({})),
        ("text/csv", &pet, Status::Degraded, &json!({})),
        ("image/png", &text, Status::Imported, &json!({})),
        (
            "application/octet-stream",
            &json!({}),
            Status::Imported,
            &json!({}),
        ),
        ("text/plain", &text, Status::Imported, &text),
        ("application/merge-patch+json", &pet, Status::Imported, &pet),
        (
            "application/x-www-form-urlencoded",
            &pet,
            Status::Imported,
            &pet,
        ),
    ] {
        assert_eq!(
            body(media_type, schema),
            (status, expected.clone()),
            "{media_type}"
        );
    }
}

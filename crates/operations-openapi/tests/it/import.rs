//! Documents become operations: names, types, inputs, outputs, servers, Swagger 2.0.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests: a failure should stop them, and a table is as long as it is"
)]

use crate::support::{document, import_all, import_with, only, with_paths};
use operations_core::{InfrastructureErrorCode, OperationType};
use operations_http::message::ResponseKind;
use operations_http::message::{Location, Style};
use operations_openapi::{Answer, Document, ImportChoices, Version};
use serde_json::{Value, json};

#[test]
fn names_come_from_the_id_or_from_method_and_path() {
    let table = [
        (
            json!({ "/pets": { "get": { "operationId": "listPets" } } }),
            "listPets",
        ),
        (json!({ "/pets": { "get": {} } }), "get_pets"),
        (
            json!({ "/pets/{id}/toys": { "post": {} } }),
            "post_pets_toys",
        ),
        (json!({ "/": { "get": {} } }), "get_root"),
        (json!({ "/{id}": { "delete": {} } }), "delete_root"),
        (
            json!({ "/files/{name}.json": { "get": {} } }),
            "get_files_.json",
        ),
        (
            json!({ "/pets": { "get": { "operationId": "  " } } }),
            "get_pets",
        ),
        (
            json!({ "/repos": { "get": { "operationId": "repos/list" } } }),
            "repos/list",
        ),
    ];
    for (paths, name) in table {
        assert_eq!(only(&with_paths(&paths)).name, name, "{paths}");
    }
}

#[test]
fn two_operations_of_one_name_both_survive() {
    let names = |paths: &Value, choices: &ImportChoices| -> Vec<String> {
        let operations = import_with(&with_paths(paths), choices).operations;
        operations
            .into_iter()
            .map(|operation| operation.name)
            .collect()
    };
    let same = json!({
        "/a": { "get": { "operationId": "x" }, "put": { "operationId": "x" } },
        "/b/{id}": { "get": { "operationId": "x" } },
        "/b/{key}": { "get": { "operationId": "x" } },
        "/b/{key}/": { "get": { "operationId": "x" } },
    });
    let expected = ["x", "x_put_a", "x_get_b", "x_get_b_key", "x_get_b_key_2"];
    assert_eq!(names(&same, &ImportChoices::default()), expected);

    let long = "n".repeat(100);
    let limited = ImportChoices {
        max_name_length: Some(64),
        ..ImportChoices::default()
    };
    let paths = json!({
        "/a": { "get": { "operationId": long }, "put": { "operationId": long } },
        "/short": { "get": { "operationId": "short" } },
    });
    let found = names(&paths, &limited);
    assert!(
        found.iter().all(|name| name.chars().count() <= 64),
        "{found:?}"
    );
    assert_ne!(found.first(), found.get(1));
    assert_eq!(found.last().map(String::as_str), Some("short"));
    assert_eq!(found, names(&paths, &limited), "the same each time");

    let answer = Answer {
        name: Some("renamed".to_owned()),
        ..Answer::default()
    };
    let renaming = ImportChoices {
        answers: [("PUT /a".to_owned(), answer)].into(),
        ..ImportChoices::default()
    };
    let found = names(&same, &renaming);
    assert_eq!(found.get(1).map(String::as_str), Some("renamed"));
}

#[test]
fn the_type_follows_from_the_success_response_and_the_method() {
    let answer = |types: &[&str]| {
        let content: serde_json::Map<String, Value> = types
            .iter()
            .map(|one| ((*one).to_owned(), json!({})))
            .collect();
        json!({ "200": { "description": "", "content": content } })
    };
    let json_type = "application/json";
    let sse = "text/event-stream";
    let table = [
        (
            "get",
            answer(&[json_type]),
            OperationType::Query,
            ResponseKind::Json,
        ),
        (
            "post",
            answer(&[json_type]),
            OperationType::Mutation,
            ResponseKind::Json,
        ),
        (
            "get",
            answer(&[sse]),
            OperationType::Subscription,
            ResponseKind::Sse,
        ),
        (
            "post",
            answer(&[json_type, sse]),
            OperationType::Subscription,
            ResponseKind::Sse,
        ),
        (
            "get",
            answer(&["Text/Event-Stream; charset=utf-8"]),
            OperationType::Subscription,
            ResponseKind::Sse,
        ),
        (
            "get",
            answer(&["application/x-ndjson"]),
            OperationType::Subscription,
            ResponseKind::Ndjson,
        ),
        (
            "get",
            answer(&["application/jsonl"]),
            OperationType::Subscription,
            ResponseKind::Ndjson,
        ),
        (
            "get",
            answer(&["text/plain"]),
            OperationType::Query,
            ResponseKind::Text,
        ),
        (
            "get",
            answer(&["image/png"]),
            OperationType::Query,
            ResponseKind::Binary,
        ),
        (
            "get",
            answer(&["application/problem+json"]),
            OperationType::Query,
            ResponseKind::Json,
        ),
        (
            "delete",
            json!({ "204": {} }),
            OperationType::Mutation,
            ResponseKind::Empty,
        ),
        (
            "get",
            json!({ "400": { "content": { sse: {} } } }),
            OperationType::Query,
            ResponseKind::Empty,
        ),
        (
            "get",
            json!({ "default": { "content": { sse: {} } } }),
            OperationType::Subscription,
            ResponseKind::Sse,
        ),
        (
            "get",
            json!({ "2XX": { "content": { sse: {} } }, "default": {} }),
            OperationType::Subscription,
            ResponseKind::Sse,
        ),
    ];
    for (method, responses, operation_type, kind) in table {
        let operation = only(&with_paths(
            &json!({ "/a": { method: { "responses": responses } } }),
        ));
        assert_eq!(
            operation.operation_type, operation_type,
            "{method} {responses}"
        );
        assert_eq!(operation.http.response, kind, "{method} {responses}");
    }
}

#[test]
fn json_can_be_preferred_to_a_stream() {
    let text = with_paths(
        &json!({ "/a": { "get": { "responses": { "200": { "content": {
        "application/json": { "schema": { "type": "object" } },
        "text/event-stream": {},
    } } } } } }),
    );
    let choices = ImportChoices {
        prefer_json: true,
        ..ImportChoices::default()
    };
    let operation = import_with(&text, &choices).operations.remove(0);
    assert_eq!(operation.operation_type, OperationType::Query);
    assert_eq!(operation.http.request.accept, ["application/json"]);
    let operation = only(&text);
    assert_eq!(
        operation.http.request.accept,
        ["text/event-stream", "application/json"]
    );
    let for_another = Answer {
        prefer_json: true,
        ..Answer::default()
    };
    let choices = ImportChoices {
        answers: [("GET /b".to_owned(), for_another)].into(),
        ..ImportChoices::default()
    };
    let operation = import_with(&text, &choices).operations.remove(0);
    assert_eq!(operation.operation_type, OperationType::Subscription);
}

#[test]
fn what_describes_an_operation_is_kept() {
    let operation = only(&with_paths(&json!({ "/a": { "get": {
        "summary": "short", "description": "long", "tags": ["t", "u"], "deprecated": true,
    } } })));
    assert_eq!(operation.description, "long");
    assert_eq!(operation.summary.as_deref(), Some("short"));
    assert_eq!(operation.tags, ["t", "u"]);
    assert_eq!(operation.version, "1.2.3");
    assert_eq!(
        serde_json::to_value(operation.head()).expect("JSON"),
        json!({
            "name": "get_a",
            "version": "1.2.3",
            "type": "query",
            "title": "short",
            "description": "long",
            "tags": ["t", "u"],
            "_meta": { "method": "GET", "path": "/a", "summary": "short", "deprecated": true },
        })
    );
    assert_eq!(
        only(&with_paths(&json!({ "/a": { "get": { "summary": "s" } } }))).description,
        "s"
    );
    assert_eq!(
        only(&with_paths(&json!({ "/a/{b}": { "get": {} } }))).description,
        "GET /a/{b}"
    );
}

#[test]
fn parameters_of_the_path_are_merged_and_overridden() {
    let operation = only(&with_paths(&json!({ "/a/{id}": {
        "parameters": [
            { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } },
            { "name": "limit", "in": "query", "schema": { "type": "string" } },
        ],
        "get": { "parameters": [
            { "name": "limit", "in": "query", "required": true, "description": "how many", "schema": { "type": "integer" } },
        ] },
    } })));
    assert_eq!(
        operation.input_schema().expect("small"),
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "limit": { "type": "integer", "description": "how many" },
            },
            "required": ["id", "limit"],
        })
    );
}

#[test]
fn parameters_of_one_name_are_all_reachable() {
    let parameter = |place: &str, name: &str| json!({ "name": name, "in": place, "required": place == "path", "schema": {} });
    let operation = only(&with_paths(&json!({ "/a/{id}": { "post": {
        "parameters": [
            parameter("path", "id"), parameter("query", "id"), parameter("header", "id"),
            parameter("query", "body"), parameter("query", "__proto__"),
        ],
        "requestBody": { "content": { "application/json": { "schema": { "type": "integer" } } } },
    } } })));
    let inputs: Vec<&str> = operation
        .http
        .request
        .parameters
        .iter()
        .map(|one| one.input.as_str())
        .collect();
    assert_eq!(
        inputs,
        ["id", "query_id", "header_id", "query_body", "__proto__"]
    );
    let schema = operation.input_schema().expect("small");
    assert_eq!(
        schema.pointer("/properties/body"),
        Some(&json!({ "type": "integer" }))
    );
    assert_eq!(schema.get("required"), Some(&json!(["id"])));
}

#[test]
fn styles_are_those_of_the_document_or_the_usual_ones() {
    let operation = only(&with_paths(&json!({ "/a/{p}": { "get": { "parameters": [
        { "name": "p", "in": "path", "required": true, "style": "matrix", "explode": true, "schema": {} },
        { "name": "q", "in": "query", "schema": {} },
        { "name": "d", "in": "query", "style": "deepObject", "schema": {} },
        { "name": "c", "in": "query", "style": "pipeDelimited", "allowReserved": true, "schema": {} },
        { "name": "h", "in": "header", "schema": {} },
        { "name": "k", "in": "cookie", "schema": {} },
        { "name": "j", "in": "query", "content": { "application/json": { "schema": { "type": "object" } } } },
        { "name": "Authorization", "in": "header", "required": true, "schema": {} },
    ] } } })));
    let found: Vec<(&str, Location, Style, bool)> = operation
        .http
        .request
        .parameters
        .iter()
        .map(|one| (one.name.as_str(), one.location, one.style, one.explode))
        .collect();
    assert_eq!(
        found,
        [
            ("p", Location::Path, Style::Matrix, true),
            ("q", Location::Query, Style::Form, true),
            ("d", Location::Query, Style::DeepObject, false),
            ("c", Location::Query, Style::PipeDelimited, false),
            ("h", Location::Header, Style::Simple, false),
            ("k", Location::Cookie, Style::Form, true),
            ("j", Location::Query, Style::Form, true),
        ]
    );
    let json_one = operation.http.request.parameters.last().expect("seven");
    assert_eq!(json_one.content.as_deref(), Some("application/json"));
    assert!(
        operation
            .http
            .request
            .parameters
            .iter()
            .any(|one| one.allow_reserved)
    );
}

#[test]
fn of_several_body_types_the_first_json_one_is_sent() {
    let table = [
        (
            &[
                "application/xml",
                "application/vnd.a+json",
                "application/json",
            ][..],
            "application/vnd.a+json",
        ),
        (&["application/xml", "text/plain"][..], "application/xml"),
        (&["multipart/form-data"][..], "multipart/form-data"),
        (&["*/*"][..], "application/json"),
    ];
    for (types, sent) in table {
        let content: serde_json::Map<String, Value> = types
            .iter()
            .map(|one| ((*one).to_owned(), json!({})))
            .collect();
        let operation = only(&with_paths(
            &json!({ "/a": { "post": { "requestBody": { "required": true, "content": content } } } }),
        ));
        let body = operation.http.request.body.clone().expect("declared");
        assert_eq!(body.media_type, sent);
        assert_eq!(body.media_types, types);
        assert!(body.required);
    }
}

#[test]
fn files_may_be_given_as_bytes() {
    let operation = only(&with_paths(
        &json!({ "/a": { "post": { "requestBody": { "content": { "multipart/form-data": {
        "schema": { "type": "object", "properties": {
            "file": { "type": "string", "format": "binary" },
            "name": { "type": "string" },
        } },
        "encoding": { "file": { "contentType": "image/png" }, "name": { "style": "form" } },
    } } } } } }),
    ));
    let schema = operation.input_schema().expect("small");
    assert_eq!(
        schema.pointer("/properties/body/properties/file"),
        Some(&json!({ "format": "binary" }))
    );
    assert_eq!(
        schema.pointer("/properties/body/properties/name"),
        Some(&json!({ "type": "string" }))
    );
    let body = operation.http.request.body.clone().expect("declared");
    let file = body.encoding.get("file").expect("declared");
    assert_eq!(file.content_type.as_deref(), Some("image/png"));
    assert_eq!(
        body.encoding.get("name").and_then(|one| one.explode),
        Some(true)
    );
}

#[test]
fn servers_of_the_operation_come_before_those_of_the_path_and_of_the_document() {
    let text = document(&json!({
        "servers": [{ "url": "https://{region}.example.com/{v}", "variables": {
            "region": { "default": "eu" }, "v": { "default": 2 },
        } }, { "url": "https://second.example.com" }],
        "paths": {
            "/a": { "get": {} },
            "/b": { "servers": [{ "url": "/path" }], "get": {}, "put": { "servers": [{ "url": "https://own.example.com" }] } },
            "/c": { "servers": [], "get": {} },
        },
    }));
    let operations = import_all(&text).operations;
    let urls: Vec<&str> = operations
        .iter()
        .map(|operation| operation.http.servers.first().expect("one").url.as_str())
        .collect();
    let of_document = "https://{region}.example.com/{v}";
    assert_eq!(
        urls,
        [of_document, "/path", "https://own.example.com", of_document]
    );
    let first = operations
        .first()
        .and_then(|one| one.http.servers.first())
        .expect("one");
    assert_eq!(
        first.variables.get("region").map(String::as_str),
        Some("eu")
    );
    assert_eq!(first.variables.get("v").map(String::as_str), Some("2"));
    assert_eq!(
        only(&with_paths(&json!({ "/a": { "get": {} } })))
            .http
            .servers[0]
            .url,
        "/"
    );
}

#[test]
fn filters_choose_by_id_tag_path_and_method() {
    let text = with_paths(&json!({
        "/pets": { "get": { "operationId": "list", "tags": ["pets"] }, "post": { "operationId": "add", "tags": ["pets"] } },
        "/pets/{id}": { "get": { "operationId": "one" }, "head": { "operationId": "peek" } },
        "/admin/users/all": { "get": { "operationId": "users", "tags": ["admin"] } },
    }));
    let found = |include: &[&str], exclude: &[&str], methods: Option<&[&str]>| -> Vec<String> {
        let words = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        let choices = ImportChoices {
            methods: methods.map(words),
            include: (!include.is_empty()).then(|| words(include)),
            exclude: words(exclude),
            ..ImportChoices::default()
        };
        import_with(&text, &choices)
            .operations
            .into_iter()
            .map(|one| one.name)
            .collect()
    };
    assert_eq!(found(&[], &[], None), ["list", "add", "one", "users"]);
    assert_eq!(found(&["pets"], &[], None), ["list", "add"]);
    assert_eq!(found(&["one", "admin"], &[], None), ["one", "users"]);
    assert_eq!(found(&["/pets/*"], &[], None), ["one"]);
    assert_eq!(found(&["/admin/*"], &[], None), Vec::<String>::new());
    assert_eq!(found(&["/admin/**"], &[], None), ["users"]);
    assert_eq!(found(&["GET /pets**"], &[], None), ["list", "one"]);
    assert_eq!(
        found(&[], &["/pets**", "users"], None),
        Vec::<String>::new()
    );
    assert_eq!(found(&[], &[], Some(&["head"])), ["peek"]);
    assert_eq!(found(&[], &[], Some(&["GET"])), ["list", "one", "users"]);
}

#[test]
fn swagger_2_is_read_like_the_others() {
    let text = json!({
        "swagger": "2.0", "info": { "title": "t", "version": "1" },
        "host": "api.example.com", "basePath": "/v2/", "schemes": ["https", "http"],
        "consumes": ["application/json"], "produces": ["application/json"],
        "securityDefinitions": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } },
        "security": [{ "key": [] }],
        "paths": {
            "/pets/{id}": { "put": {
                "operationId": "put",
                "parameters": [
                    { "name": "id", "in": "path", "required": true, "type": "integer", "format": "int64" },
                    { "name": "tags", "in": "query", "type": "array", "items": { "type": "string" }, "collectionFormat": "multi" },
                    { "name": "ids", "in": "query", "type": "array", "items": { "type": "string" } },
                    { "name": "pet", "in": "body", "required": true, "schema": { "$ref": "#/definitions/Pet" } },
                ],
                "responses": { "200": { "description": "", "schema": { "type": "array", "items": { "$ref": "#/definitions/Pet" } } } },
            } },
            "/upload": { "post": {
                "operationId": "upload", "consumes": ["multipart/form-data"],
                "parameters": [
                    { "name": "file", "in": "formData", "type": "file", "required": true, "description": "the file" },
                    { "name": "note", "in": "formData", "type": "string" },
                ],
            } },
            "/form": { "post": {
                "operationId": "form",
                "parameters": [{ "name": "a", "in": "formData", "type": "array", "items": { "type": "string" }, "collectionFormat": "multi" }],
                "security": [],
            } },
            "/file": { "get": { "operationId": "file", "produces": ["application/pdf"], "responses": { "200": { "schema": { "type": "file" } } } } },
        },
        "definitions": { "Pet": { "type": "object", "properties": { "name": { "type": "string" }, "parent": { "$ref": "#/definitions/Pet" } }, "x-nullable": true } },
    })
    .to_string();
    let import = import_all(&text);
    let [put, upload, form, file] = import.operations.as_slice() else {
        panic!("four operations: {:?}", import.report);
    };
    assert_eq!(put.http.request.path, "/v2/pets/{id}");
    let urls: Vec<&str> = put
        .http
        .servers
        .iter()
        .map(|server| server.url.as_str())
        .collect();
    assert_eq!(urls, ["https://api.example.com", "http://api.example.com"]);
    let styles: Vec<(Style, bool)> = put
        .http
        .request
        .parameters
        .iter()
        .map(|one| (one.style, one.explode))
        .collect();
    assert_eq!(
        styles,
        [
            (Style::Simple, false),
            (Style::Form, true),
            (Style::Form, false)
        ]
    );
    let pet = json!({ "type": "object", "properties": { "name": { "type": "string" }, "parent": { "$ref": "#/$defs/Pet" } }, "x-nullable": true, "nullable": true });
    assert_eq!(
        put.input_schema().expect("small"),
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "integer", "format": "int64" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "ids": { "type": "array", "items": { "type": "string" } },
                "body": pet,
            },
            "required": ["id", "body"],
            "$defs": { "Pet": pet },
        })
    );
    assert_eq!(
        put.output_schema().expect("small"),
        json!({ "type": "array", "items": { "$ref": "#/$defs/Pet" }, "$defs": { "Pet": pet } })
    );
    let hint = put
        .security
        .first()
        .and_then(|set| set.first())
        .expect("one scheme");
    assert_eq!(
        (hint.kind.as_str(), hint.name.as_deref()),
        ("apiKey", Some("X-Key"))
    );
    assert!(form.security.is_empty());

    let body = upload.http.request.body.as_ref().expect("form fields");
    assert_eq!(body.media_type, "multipart/form-data");
    assert!(body.required);
    assert_eq!(
        upload
            .input_schema()
            .expect("small")
            .pointer("/properties/body"),
        Some(&json!({
            "type": "object",
            "properties": { "file": { "description": "the file", "format": "binary" }, "note": { "type": "string" } },
            "required": ["file"],
        }))
    );
    let body = form.http.request.body.as_ref().expect("form fields");
    assert_eq!(body.media_type, "application/x-www-form-urlencoded");
    assert_eq!(
        body.encoding.get("a").map(|one| (one.style, one.explode)),
        Some((Some(Style::Form), Some(true)))
    );
    assert!(!body.required);
    assert_eq!(file.http.response, ResponseKind::Binary);
    assert_eq!(file.output_schema().expect("small"), json!({}));
    assert_eq!(file.http.request.accept, ["application/pdf"]);
}

#[test]
fn json_and_yaml_are_told_apart_by_content() {
    let yaml = "\u{feff}# a comment\nopenapi: 3.1\ninfo: { title: t, version: 1.10 }\npaths:\n  /a:\n    get: &shared\n      operationId: yes\n      responses:\n        200: { description: no, content: { application/json: { schema: { type: [string, null], enum: [on, off, y] } } } }\n    put:\n      <<: *shared\n      operationId: put\n";
    let document = Document::parse(yaml).expect("YAML");
    assert_eq!(document.version(), Version::OpenApi31);
    let import = import_all(yaml);
    let [get, put] = import.operations.as_slice() else {
        panic!("two")
    };
    assert_eq!((get.name.as_str(), get.version.as_str()), ("yes", "1.10"));
    assert_eq!(put.name, "put");
    let expected = json!({ "type": ["string", "null"], "enum": ["on", "off", "y"] });
    assert_eq!(get.output_schema().expect("small"), expected);
    assert_eq!(put.output_schema().expect("small"), expected);
    let flow = "{ openapi: 3.0.0, info: {}, paths: { /a: { get: {} } } } # YAML in braces";
    assert_eq!(import_all(flow).operations.len(), 1);
    assert_eq!(
        import_all("swagger: 2.0\npaths:\n  /a: { get: {} }\n")
            .operations
            .len(),
        1
    );
}

#[test]
fn what_is_no_document_is_refused_with_what_was_found() {
    let table = [
        ("", "nothing"),
        ("<!DOCTYPE html><html></html>", "markup"),
        ("[1, 2]", "an array of 2 items"),
        ("42", "the number 42"),
        ("hello", "the text \"hello\""),
        ("{}", "an empty object"),
        (
            "{\"asyncapi\": \"2.0\", \"info\": {}}",
            "an object with asyncapi, info",
        ),
        (
            "{\"openapi\": \"4.0.0\", \"paths\": {}}",
            "version \"4.0.0\" is not known",
        ),
        ("{\"swagger\": \"1.2\"}", "Swagger version \"1.2\""),
        ("{\"openapi\": \"3.0.0\"}", "no \"paths\""),
        (
            "{\"openapi\": \"3.0.0\", \"paths\": []}",
            "\"paths\" must be an object",
        ),
        ("{\"openapi\": ", "not valid JSON"),
        ("a: [", "neither JSON nor YAML"),
    ];
    for (text, found) in table {
        let error = Document::parse(text).expect_err(text);
        assert!(error.is(InfrastructureErrorCode::ValidationError), "{text}");
        assert!(
            error.message.starts_with("Not an OpenAPI document: "),
            "{}",
            error.message
        );
        assert!(error.message.contains(found), "{text}: {}", error.message);
    }
    let webhooks = Document::parse("{\"openapi\": \"3.1.0\", \"webhooks\": {}}");
    assert!(webhooks.is_ok(), "3.1 does not require paths");
}

//! Request bodies in every type.

use crate::http_support::{Random, built, built_with, get, input};
use indexmap::IndexMap;
use operations_http::message::{
    Blob, BodyPlan, Encoding, InputValue, Multipart, Payload, Request, RequestPlan, Style,
};
use serde_json::{Value, json};

fn plan(media_type: &str) -> RequestPlan {
    RequestPlan {
        method: "POST".into(),
        body: Some(BodyPlan::new(vec![media_type.to_owned()])),
        ..get("/p", vec![])
    }
}

fn send(plan: &RequestPlan, body: InputValue) -> Request {
    let members = IndexMap::from([("body".to_owned(), body)]);
    built_with(plan, members, "http://x.test", &[], &[], None).unwrap()
}

fn text_of(request: &Request) -> String {
    let body = request.body.clone().unwrap();
    String::from_utf8(body.payload.into_bytes()).unwrap()
}

fn sent(media_type: &str, body: &Value) -> String {
    text_of(&send(
        &plan(media_type),
        InputValue::from_json(body).unwrap(),
    ))
}

#[test]
fn every_json_value_is_a_body_and_undefined_is_none() {
    for media_type in ["application/json", "application/merge-patch+json; x=1"] {
        for body in [
            json!(0),
            json!(false),
            json!(""),
            json!(null),
            json!([]),
            json!({ "a": "é\"\n", "b": [1, 1.5, null] }),
        ] {
            let request = send(&plan(media_type), InputValue::from_json(&body).unwrap());
            assert_eq!(text_of(&request), body.to_string());
            assert_eq!(request.headers.get("content-type"), Some(media_type));
        }
    }
    let request = built(&plan("application/json"), &json!({})).unwrap();
    assert_eq!(request.body, None);
    assert_eq!(request.headers.get("content-type"), None);
}

#[test]
fn a_required_body_is_missed() {
    let mut plan = plan("application/json");
    plan.body.as_mut().unwrap().required = true;
    let error = built(&plan, &json!({})).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    assert!(error.message.contains("body"));
    assert!(built(&plan, &json!({ "body": null })).is_ok());
}

#[test]
fn content_type_is_set_only_with_a_body_and_by_it() {
    let build = |body: &Value, default: &[(&str, &str)], call: &[(&str, &str)], kind: &str| {
        built_with(
            &plan(kind),
            input(body),
            "http://x.test",
            default,
            call,
            None,
        )
        .unwrap()
    };
    let default = [("content-type", "application/json")];
    let without = build(
        &json!({}),
        &default,
        &[("Content-Type", "x/y")],
        "text/plain",
    );
    assert_eq!(without.headers.get("content-type"), None);
    let with = build(&json!({ "body": "x" }), &default, &[], "text/plain");
    assert_eq!(with.headers.get("content-type"), Some("text/plain"));
    let by_call = build(
        &json!({ "body": "x" }),
        &default,
        &[("Content-type", "x/y")],
        "text/plain",
    );
    assert_eq!(by_call.headers.get("content-type"), Some("x/y"));
    let parts = build(
        &json!({ "body": {} }),
        &default,
        &[("Content-type", "x/y")],
        "multipart/form-data",
    );
    let content_type = parts.headers.get("content-type").unwrap();
    assert!(content_type.starts_with("multipart/form-data; boundary="));
}

#[test]
fn of_several_types_the_first_json_one_is_sent() {
    let chosen = |types: &[&str]| {
        let types = types.iter().map(|text| (*text).to_owned()).collect();
        BodyPlan::new(types).media_type
    };
    assert_eq!(
        chosen(&["text/plain", "application/x+json", "application/json"]),
        "application/x+json"
    );
    assert_eq!(chosen(&["text/plain", "application/xml"]), "text/plain");
    assert_eq!(chosen(&[]), "application/json");
}

#[test]
fn json_has_javascript_values() {
    let body = InputValue::Object(IndexMap::from([
        ("gone".to_owned(), InputValue::Undefined),
        (
            "big".to_owned(),
            InputValue::BigInt("123456789012345678901".into()),
        ),
        ("nan".to_owned(), InputValue::Number(f64::NAN)),
        ("bytes".to_owned(), InputValue::from(vec![1, 2, 255])),
        (
            "list".to_owned(),
            InputValue::Array(vec![InputValue::Undefined, InputValue::Number(1e21)]),
        ),
    ]));
    assert_eq!(
        text_of(&send(&plan("application/json"), body)),
        r#"{"big":123456789012345678901,"nan":null,"bytes":"AQL/","list":[null,1e+21]}"#
    );
    let ready = InputValue::JsonText("{ \"a\": 1 }".into());
    assert_eq!(
        text_of(&send(&plan("application/json"), ready)),
        "{ \"a\": 1 }"
    );
}

#[test]
fn forms_are_urlencoded() {
    let form = "application/x-www-form-urlencoded";
    assert_eq!(
        sent(
            form,
            &json!({ "a b": "x y&z=é+", "n": 0, "t": true, "e": "", "gone": null })
        ),
        "a+b=x+y%26z%3D%C3%A9%2B&n=0&t=true&e="
    );
    assert_eq!(
        sent(form, &json!({ "l": [1, "2"], "o": { "k": 1 } })),
        "l=1&l=2&o=%7B%22k%22%3A1%7D"
    );
    assert_eq!(sent(form, &json!("ready=1")), "ready=1");
    assert_eq!(sent(form, &json!({})), "");
    let error = built(&plan(form), &json!({ "body": [1] })).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");

    let mut styled = plan(form);
    let encoding = &mut styled.body.as_mut().unwrap().encoding;
    let style = |style, explode| Encoding {
        style: Some(style),
        explode,
        ..Encoding::default()
    };
    encoding.insert("deep".into(), style(Style::DeepObject, Some(true)));
    encoding.insert("csv".into(), style(Style::Form, Some(false)));
    encoding.insert("flat".into(), style(Style::Form, None));
    encoding.insert(
        "json".into(),
        Encoding {
            content_type: Some("application/json".into()),
            ..Encoding::default()
        },
    );
    let body = json!({ "deep": { "a": { "b": 1 } }, "csv": ["x y", "z"], "flat": { "k": 1 }, "json": [1] });
    assert_eq!(
        text_of(&send(&styled, InputValue::from_json(&body).unwrap())),
        "deep%5Ba%5D%5Bb%5D=1&csv=x+y,z&k=1&json=%5B1%5D"
    );
}

#[test]
fn text_and_bytes_are_sent_as_they_are() {
    assert_eq!(sent("text/plain", &json!("é")), "é");
    assert_eq!(sent("text/plain", &json!("")), "");
    assert_eq!(sent("text/plain", &json!(0)), "0");
    assert_eq!(sent("text/plain", &json!(false)), "false");
    assert_eq!(sent("text/plain", &json!(null)), "null");
    assert_eq!(sent("text/plain", &json!({ "a": 1 })), "{\"a\":1}");
    assert_eq!(sent("application/xml", &json!("<a/>")), "<a/>");
    assert_eq!(
        sent("application/x-ndjson", &json!([1, { "a": 2 }])),
        "1\n{\"a\":2}\n"
    );
    let error = built(&plan("application/xml"), &json!({ "body": { "a": 1 } })).unwrap_err();
    assert!(error.message.contains("application/xml"));
    for media_type in [
        "application/octet-stream",
        "image/png",
        "application/json",
        "text/plain",
    ] {
        let request = send(&plan(media_type), InputValue::from(vec![0, 159, 146, 150]));
        assert_eq!(
            request.body.unwrap().payload,
            Payload::Bytes(vec![0, 159, 146, 150])
        );
        assert_eq!(request.headers.get("content-type"), Some(media_type));
    }
}

#[test]
fn a_range_leaves_the_type_to_the_value() {
    let kind = |declared: &str, body| {
        let request = send(&plan(declared), body);
        request.headers.get("content-type").unwrap().to_owned()
    };
    let png = InputValue::Blob(Blob {
        data: vec![1],
        filename: None,
        content_type: Some("image/png".into()),
    });
    assert_eq!(kind("*/*", png.clone()), "image/png");
    assert_eq!(kind("image/*", png), "image/png");
    assert_eq!(
        kind("*/*", InputValue::from(vec![1])),
        "application/octet-stream"
    );
    assert_eq!(
        kind("*/*", InputValue::from("x")),
        "text/plain;charset=UTF-8"
    );
    assert_eq!(kind("*/*", InputValue::Null), "application/json");
}

fn parts(plan: &RequestPlan, body: InputValue) -> Multipart {
    match send(plan, body).body.unwrap().payload {
        Payload::Multipart(multipart) => multipart,
        other => panic!("{other:?}"),
    }
}

#[test]
fn multipart_has_a_part_for_each_value() {
    let file = Blob {
        data: vec![0, 1, 2],
        filename: Some("a.png".into()),
        content_type: Some("image/png".into()),
    };
    let described = InputValue::Object(IndexMap::from([
        ("data".to_owned(), InputValue::from(vec![7])),
        ("filename".to_owned(), InputValue::from("b.txt")),
        ("contentType".to_owned(), InputValue::from("text/x-b")),
    ]));
    let written = InputValue::from_json(&json!({ "data": "hello", "filename": "c.txt" })).unwrap();
    let body = InputValue::Object(IndexMap::from([
        ("text".to_owned(), InputValue::from("é")),
        ("zero".to_owned(), InputValue::Number(0.0)),
        ("gone".to_owned(), InputValue::Undefined),
        ("null".to_owned(), InputValue::Null),
        (
            "object".to_owned(),
            InputValue::from_json(&json!({ "data": 1 })).unwrap(),
        ),
        (
            "files".to_owned(),
            InputValue::Array(vec![InputValue::Blob(file), described, written]),
        ),
        ("bare".to_owned(), InputValue::from(vec![9])),
        (
            "tags".to_owned(),
            InputValue::from_json(&json!(["a", "b"])).unwrap(),
        ),
    ]));
    let multipart = parts(&plan("multipart/form-data"), body);
    let listed: Vec<_> = multipart
        .parts
        .iter()
        .map(|part| {
            let data = String::from_utf8_lossy(&part.data).into_owned();
            (
                part.name.as_str(),
                part.filename.as_deref(),
                part.content_type.as_deref(),
                data,
            )
        })
        .collect();
    let octets = Some("application/octet-stream");
    let expected = [
        ("text", None, None, "é"),
        ("zero", None, None, "0"),
        ("object", None, Some("application/json"), "{\"data\":1}"),
        ("files", Some("a.png"), Some("image/png"), "\0\u{1}\u{2}"),
        ("files", Some("b.txt"), Some("text/x-b"), "\u{7}"),
        ("files", Some("c.txt"), octets, "hello"),
        ("bare", Some("blob"), octets, "\t"),
        ("tags", None, None, "a"),
        ("tags", None, None, "b"),
    ];
    let expected = expected.map(|(name, file, kind, data)| (name, file, kind, data.to_owned()));
    assert_eq!(listed, expected);
}

#[test]
fn multipart_is_written_line_by_line() {
    let body = InputValue::from_json(&json!({ "a": "1" })).unwrap();
    let mut multipart = parts(&plan("multipart/form-data"), body);
    multipart.boundary = "B".into();
    assert_eq!(
        String::from_utf8(multipart.to_bytes()).unwrap(),
        "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n"
    );
    let empty = parts(
        &plan("multipart/form-data"),
        InputValue::Object(IndexMap::new()),
    );
    assert_eq!(empty.to_bytes(), empty.tail().into_bytes());
    assert_ne!(empty.boundary, multipart.boundary);
}

#[test]
fn multipart_follows_the_encoding_of_the_document() {
    let mut plan = plan("multipart/form-data");
    let encoding = &mut plan.body.as_mut().unwrap().encoding;
    let typed = |kind: &str| Encoding {
        content_type: Some(kind.into()),
        ..Encoding::default()
    };
    encoding.insert("json".into(), typed("application/json"));
    encoding.insert("xml".into(), typed("application/xml"));
    encoding.insert("image".into(), typed("image/png, image/jpeg"));
    encoding.insert(
        "csv".into(),
        Encoding {
            style: Some(Style::Form),
            explode: Some(false),
            ..Encoding::default()
        },
    );
    let body = InputValue::Object(IndexMap::from([
        (
            "json".to_owned(),
            InputValue::from_json(&json!(["a"])).unwrap(),
        ),
        ("xml".to_owned(), InputValue::from("<a/>")),
        ("image".to_owned(), InputValue::from(vec![1])),
        (
            "csv".to_owned(),
            InputValue::from_json(&json!(["a b", "c"])).unwrap(),
        ),
    ]));
    let multipart = parts(&plan, body);
    let listed: Vec<_> = multipart
        .parts
        .iter()
        .map(|part| (part.content_type.as_deref(), part.data.as_slice()))
        .collect();
    assert_eq!(
        listed,
        [
            (Some("application/json"), &b"[\"a\"]"[..]),
            (Some("application/xml"), b"<a/>"),
            (Some("application/octet-stream"), b"\x01"),
            (None, b"a b,c"),
        ]
    );
}

#[test]
fn a_name_cannot_end_its_header() {
    let mut random = Random::announced("multipart names");
    for _ in 0..5_000 {
        let (name, filename) = (random.text(), random.text());
        let blob = Blob {
            data: vec![],
            filename: Some(filename),
            content_type: None,
        };
        let body = InputValue::Object(IndexMap::from([(name, InputValue::Blob(blob))]));
        let multipart = parts(&plan("multipart/form-data"), body);
        let head = multipart.parts[0].head(&multipart.boundary);
        assert_eq!(head.matches('"').count(), 4, "{head:?}");
        assert_eq!(head.matches('\n').count(), 4, "{head:?}");
        assert_eq!(head.matches('\r').count(), 4, "{head:?}");
    }
    let blob = Blob {
        data: vec![],
        filename: None,
        content_type: Some("a/b\r\nX: y".into()),
    };
    let body = IndexMap::from([("f".to_owned(), InputValue::Blob(blob))]);
    let members = IndexMap::from([("body".to_owned(), InputValue::Object(body))]);
    let plan = plan("multipart/form-data");
    let error = built_with(&plan, members, "http://x.test", &[], &[], None).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
}

#[test]
fn too_deep_is_an_error() {
    let mut deep = InputValue::Null;
    for _ in 0..1_000 {
        deep = InputValue::Array(vec![deep]);
    }
    for media_type in ["application/json", "text/plain", "application/x-ndjson"] {
        let members = IndexMap::from([("body".to_owned(), deep.clone())]);
        let error = built_with(&plan(media_type), members, "http://x.test", &[], &[], None);
        assert_eq!(error.unwrap_err().code, "VALIDATION_ERROR");
    }
    let mut json = json!(1);
    for _ in 0..1_000 {
        json = json!([json]);
    }
    assert!(InputValue::from_json(&json).is_err());
}

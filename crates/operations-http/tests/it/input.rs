//! The notation in which inputs cross from JavaScript.

use crate::http_support::{Random, get};
use indexmap::IndexMap;
use operations_core::CallError;
use operations_http::message::input::call_headers;
use operations_http::message::{Blob, BodyPlan, InputValue};
use operations_http::{EncodedInput, HttpOperation};
use serde_json::{Value, json};

fn operation(media_type: &str) -> HttpOperation {
    let mut plan = get("/", Vec::new());
    plan.body = Some(BodyPlan::new(vec![media_type.to_owned()]));
    HttpOperation {
        request: plan,
        ..HttpOperation::default()
    }
}

fn decoded(input: &Value, blobs: &[&[u8]]) -> Result<IndexMap<String, InputValue>, CallError> {
    let encoded = EncodedInput {
        input: input.to_string(),
        blobs: blobs.iter().map(|blob| blob.to_vec()).collect(),
        ..EncodedInput::default()
    };
    Ok(encoded.decode(&operation("application/json"))?.values)
}

fn message(result: Result<impl std::fmt::Debug, CallError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    error.message
}

#[test]
fn a_plain_input_is_json() {
    let values = decoded(&json!({ "a": 1.5, "b": [null, "x"], "c": {} }), &[]).unwrap();
    let expected = [
        ("a", InputValue::Number(1.5)),
        (
            "b",
            InputValue::Array(vec![InputValue::Null, InputValue::from("x")]),
        ),
        ("c", InputValue::Object(IndexMap::new())),
    ];
    let expected: IndexMap<_, _> = expected
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    assert_eq!(values, expected);
}

#[test]
fn tags_stand_for_what_json_has_no_word_for() {
    let input = json!([
        "o",
        "nothing",
        ["u"],
        "large",
        ["n", "12345678901234567890"],
        "list",
        ["a", 1.5, ["u"], ["a"]],
        "inner",
        ["o", "x", true],
        "file",
        ["b", 1, "f.txt", "text/plain"],
        "bare",
        ["b", 0, null, null],
    ]);
    let values = decoded(&input, &[b"first", b"second"]).unwrap();
    assert_eq!(values["nothing"], InputValue::Undefined);
    let large = InputValue::BigInt("12345678901234567890".into());
    assert_eq!(values["large"], large);
    let list = vec![
        InputValue::Number(1.5),
        InputValue::Undefined,
        InputValue::Array(Vec::new()),
    ];
    assert_eq!(values["list"], InputValue::Array(list));
    let inner = IndexMap::from([("x".to_owned(), InputValue::Bool(true))]);
    assert_eq!(values["inner"], InputValue::Object(inner));
    let file = Blob {
        data: b"second".to_vec(),
        filename: Some("f.txt".into()),
        content_type: Some("text/plain".into()),
    };
    assert_eq!(values["file"], InputValue::Blob(file));
    assert_eq!(values["bare"], InputValue::from(b"first".to_vec()));
}

#[test]
fn a_json_body_stays_the_text_that_it_is() {
    let encoded = |body: &str| EncodedInput {
        input: r#"{"id":"7"}"#.into(),
        body: Some(body.into()),
        ..EncodedInput::default()
    };
    let text = r#"{ "a" : 1.0 }"#;
    let decoded = encoded(text)
        .decode(&operation("application/json"))
        .unwrap();
    assert_eq!(decoded.values["body"], InputValue::JsonText(text.into()));
    assert_eq!(decoded.values["id"], InputValue::from("7"));
    // An operation that takes no body gets none.
    let without = HttpOperation::default();
    assert_eq!(encoded("1").decode(&without).unwrap().values.len(), 1);
}

#[test]
fn a_body_says_how_it_wants_to_be_handed_over() {
    for (media_type, expected) in [
        ("application/json", "json"),
        ("application/problem+json", "json"),
        ("multipart/form-data", "parts"),
        ("application/x-www-form-urlencoded", "other"),
        ("text/plain", "other"),
        ("*/*", "other"),
    ] {
        let body = operation(media_type).request.body.unwrap();
        assert_eq!(body.notation(), expected, "{media_type}");
    }
}

#[test]
fn headers_of_a_call_are_an_object_of_strings() {
    assert!(call_headers(None).unwrap().is_empty());
    let headers = call_headers(Some(r#"{"X-B":"2","X-A":"1"}"#)).unwrap();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    assert_eq!(headers, [("X-B", "2"), ("X-A", "1")]);
    for wrong in ["", "[]", r#"{"a":1}"#, "{"] {
        assert!(message(call_headers(Some(wrong))).contains("cannot be read"));
    }
}

#[test]
fn what_is_no_input_is_refused() {
    for wrong in [
        json!(1),
        json!("x"),
        json!(null),
        json!(["a", 1]),
        json!([]),
    ] {
        let message_text = message(decoded(&wrong, &[]));
        assert!(
            message_text.starts_with("The input must be an object"),
            "{message_text}"
        );
    }
    for wrong in [json!(["b", 1]), json!(["b"]), json!(["b", -1, "f"])] {
        assert_eq!(
            message(decoded(&json!(["o", "file", wrong]), &[b"x"])),
            "The input refers to binary data that is not there"
        );
    }
    let broken = EncodedInput {
        input: "{".into(),
        ..EncodedInput::default()
    };
    let refused = broken.decode(&HttpOperation::default());
    assert!(message(refused).starts_with("The input cannot be read"));
}

#[test]
fn depth_is_bounded_in_either_notation() {
    let deep = |open: &str, close: &str, levels: usize| EncodedInput {
        input: format!("{}1{}", open.repeat(levels), close.repeat(levels)),
        ..EncodedInput::default()
    };
    let operation = operation("application/json");
    assert!(deep(r#"{"a":"#, "}", 100).decode(&operation).is_ok());
    for (open, close) in [(r#"{"a":"#, "}"), (r#"["o","a","#, "]")] {
        let refused = deep(open, close, 100_000).decode(&operation);
        assert!(message(refused).contains("nested more deeply"));
    }
}

#[test]
fn nothing_that_crosses_can_panic() {
    let mut random = Random::announced("input");
    let words = [
        "\"a\"", "\"o\"", "\"u\"", "\"n\"", "\"b\"", "0", "9", "null", "{}", "\"k\"",
    ];
    for _ in 0..20_000 {
        let mut text = String::new();
        let mut open = 0;
        for _ in 0..random.below(14) {
            match random.below(4) {
                0 => {
                    text.push('[');
                    open += 1;
                }
                1 if open > 0 => {
                    text.truncate(text.trim_end_matches(',').len());
                    text.push_str("],");
                    open -= 1;
                }
                _ => {
                    text.push_str(random.pick(&words));
                    text.push(',');
                }
            }
        }
        text.truncate(text.trim_end_matches(',').len());
        text.push_str(&"]".repeat(open));
        let encoded = EncodedInput {
            input: text,
            body: None,
            blobs: vec![vec![1]],
            headers: None,
        };
        let _ = encoded.decode(&operation("multipart/form-data"));
    }
}

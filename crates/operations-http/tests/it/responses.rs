//! What a response means, and what to do after a failure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http_support::Random;
use operations_core::{CallError, InfrastructureErrorCode};
use operations_http::machine::retry::{Cause, RetryPolicy, retry_after};
use operations_http::message::charset;
use operations_http::message::errors::{
    aborted, network_failure, timed_out, too_large, with_tries,
};
use operations_http::message::response::{decode, failure, header_map, invalid_json};
use operations_http::message::{BodyKind, Decoded, ResponseHead, Secret};
use serde_json::{Value, json};

fn head(status: u16, content_type: &str) -> ResponseHead {
    ResponseHead::new(status, None, [("Content-Type", content_type)])
}

#[test]
fn the_content_type_says_how_a_body_is_read() {
    for (content_type, expected) in [
        ("application/json", BodyKind::Json),
        ("Application/JSON ; charset=utf-8", BodyKind::Json),
        ("application/problem+json", BodyKind::Json),
        ("text/json", BodyKind::Json),
        ("text/plain", BodyKind::Text),
        ("text/html; charset=utf-8", BodyKind::Text),
        ("text/event-stream", BodyKind::EventStream),
        ("application/x-ndjson", BodyKind::JsonLines),
        ("application/jsonl", BodyKind::JsonLines),
        ("application/octet-stream", BodyKind::Bytes),
        ("application/xml", BodyKind::Bytes),
        ("application/jsonp", BodyKind::Bytes),
        ("image/png", BodyKind::Bytes),
        ("", BodyKind::Bytes),
        (";;;", BodyKind::Bytes),
    ] {
        assert_eq!(head(200, content_type).kind(), expected, "{content_type}");
    }
}

#[test]
fn bodies_are_decoded() {
    let decoded =
        |content_type: &str, bytes: &[u8]| decode(&head(200, content_type), bytes.to_vec());
    for content_type in ["application/json", "text/plain", "image/png", ""] {
        assert_eq!(decoded(content_type, b""), Decoded::Empty);
    }
    assert_eq!(
        decoded("application/json", b"\xEF\xBB\xBF1"),
        Decoded::Json("1".into())
    );
    assert_eq!(
        decoded("application/json; charset=latin1", "é".as_bytes()),
        Decoded::Json("é".into())
    );
    assert_eq!(
        decoded("text/plain", "é".as_bytes()),
        Decoded::Text("é".into())
    );
    assert_eq!(
        decoded("text/plain; charset=\"ISO-8859-1\"", b"\xe9\x80"),
        Decoded::Text("é€".into())
    );
    assert_eq!(
        decoded("text/plain; Charset=utf-16le", b"a\0b\0"),
        Decoded::Text("ab".into())
    );
    assert_eq!(
        decoded("text/plain; charset=utf-16be", b"\0a\0"),
        Decoded::Text("a\u{fffd}".into())
    );
    assert_eq!(
        decoded("text/plain; charset=utf-16", b"\xfe\xff\0a"),
        Decoded::Text("a".into())
    );
    assert_eq!(
        decoded("text/plain; charset=klingon", "é".as_bytes()),
        Decoded::Text("é".into())
    );
    assert_eq!(
        decoded("text/plain", b"\xff"),
        Decoded::Text("\u{fffd}".into())
    );
    assert_eq!(decoded("image/png", b"\xff"), Decoded::Bytes(vec![0xff]));
}

#[test]
fn headers_are_in_lower_case_and_joined() {
    let map = header_map([("Set-Cookie", "a=1"), ("X-B", ""), ("set-cookie", "b=2")]);
    assert_eq!(json!(map), json!({ "set-cookie": "a=1, b=2", "x-b": "" }));
    let meta: Value = serde_json::from_str(&head(201, "text/x; y").meta_text()).unwrap();
    assert_eq!(
        meta,
        json!({
            "statusCode": 201,
            "headers": { "content-type": "text/x; y" },
            "contentType": "text/x; y",
            "source": "http",
        })
    );
    assert_eq!(ResponseHead::new(200, None, []).content_type, "");
}

#[test]
fn a_status_outside_2xx_is_an_error() {
    let error = failure(
        &head(404, "application/json"),
        Decoded::Json("{\"a\":1}".into()),
        &[],
    );
    assert!(error.is(InfrastructureErrorCode::ExecutionError));
    assert_eq!(error.message, "HTTP 404: Not Found");
    assert_eq!(
        error.details.unwrap(),
        json!({
            "statusCode": 404,
            "headers": { "content-type": "application/json" },
            "contentType": "application/json",
            "delivery": "done",
            "reason": "status",
            "body": { "a": 1 },
        })
    );
    let body = |decoded| {
        failure(&head(500, "x/y"), decoded, &[])
            .details
            .unwrap()
            .get("body")
            .cloned()
    };
    assert_eq!(body(Decoded::Empty), None);
    assert_eq!(body(Decoded::Json("null".into())), Some(json!(null)));
    assert_eq!(body(Decoded::Json("<html>".into())), Some(json!("<html>")));
    assert_eq!(body(Decoded::Text("t".into())), Some(json!("t")));
    assert_eq!(body(Decoded::Bytes(b"ok".to_vec())), Some(json!("ok")));
    assert_eq!(body(Decoded::Bytes(vec![0xff])), None);
    for (status, reason, expected) in [
        (418, Some("Short and stout"), "HTTP 418: Short and stout"),
        (503, Some(" "), "HTTP 503: Service Unavailable"),
        (599, None, "HTTP 599: Unknown Status"),
    ] {
        let head = ResponseHead::new(status, reason, []);
        assert!(!head.is_success());
        assert_eq!(failure(&head, Decoded::Empty, &[]).message, expected);
    }
    assert!(ResponseHead::new(226, None, []).is_success());
    assert!(!ResponseHead::new(300, None, []).is_success());
}

#[test]
fn an_error_repeats_no_secret() {
    let secrets = [Secret::new("t0k3n-value")];
    let head = ResponseHead::new(
        401,
        Some("No t0k3n-value"),
        [
            ("X-Echo", "Bearer t0k3n-value"),
            ("Content-Type", "application/json"),
        ],
    );
    let body = r#"{"t0k3n-value":["t0k3n-value",{"a":"x t0k3n-value y"}]}"#;
    for error in [
        failure(&head, Decoded::Json(body.into()), &secrets),
        failure(&head, Decoded::Text(body.into()), &secrets),
        invalid_json(&head, body, &secrets),
    ] {
        let shown = serde_json::to_string(&error).unwrap();
        assert!(!shown.contains("t0k3n"), "{shown}");
    }
}

#[test]
fn broken_json_and_size_have_their_own_words() {
    let error = invalid_json(&head(200, "application/json"), "<html>", &[]);
    assert!(error.is(InfrastructureErrorCode::ExecutionError));
    assert!(error.message.contains("not valid JSON"));
    assert_eq!(error.details.unwrap()["body"], "<html>");
    let error = too_large("x.test", 10);
    assert!(error.message.contains("x.test") && error.message.contains("10 bytes"));
}

#[test]
fn a_failed_connection_names_the_host_and_no_secret() {
    let error = network_failure(
        "x.test:81",
        "bad t0k3n-value",
        Some("ECONNREFUSED"),
        &[Secret::new("t0k3n-value")],
    );
    assert_eq!(
        error.message,
        "The request to x.test:81 failed: bad [secret]"
    );
    assert!(error.is(InfrastructureErrorCode::ExecutionError));
    let details = json!({ "host": "x.test:81", "reason": "network", "cause": "ECONNREFUSED" });
    assert_eq!(error.details, Some(details));
    assert!(timed_out("x.test", 5).is(InfrastructureErrorCode::Timeout));
    assert!(aborted("x.test").is(InfrastructureErrorCode::Aborted));
}

/// The date that a `Retry-After` names.
fn date(text: &str) -> Option<SystemTime> {
    retry_after(text, UNIX_EPOCH).map(|since| UNIX_EPOCH + since)
}

#[test]
fn dates_of_http_are_read() {
    let expected = UNIX_EPOCH + Duration::from_secs(784_111_777);
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(date(text), Some(expected), "{text}");
    }
    for (text, seconds) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Tue, 31 Dec 2024 00:00:00 GMT", 1_735_603_200),
    ] {
        assert_eq!(date(text), Some(UNIX_EPOCH + Duration::from_secs(seconds)));
    }
    for text in [
        "",
        "soon",
        "Sun, 06 Nov 1894 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 99 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, +6 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(date(text), None, "{text}");
    }
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now = date("Sun, 06 Nov 1994 08:49:07 GMT").unwrap();
    for (text, expected) in [
        ("120", Some(Duration::from_secs(120))),
        (" 0 ", Some(Duration::ZERO)),
        (
            "99999999999999999999999",
            Some(Duration::from_secs(u64::MAX)),
        ),
        (
            "Sun, 06 Nov 1994 08:49:37 GMT",
            Some(Duration::from_secs(30)),
        ),
        ("Sat, 05 Nov 1994 08:49:37 GMT", Some(Duration::ZERO)),
        ("-1", None),
        ("1.5", None),
        ("", None),
    ] {
        assert_eq!(retry_after(text, now), expected, "{text}");
    }
}

#[test]
fn only_what_is_safe_is_tried_again() {
    for method in ["GET", "HEAD", "PUT", "delete"] {
        assert!(Cause::NeverConnected.allows_another_try(method));
        assert!(Cause::ConnectionLost.allows_another_try(method));
        assert!(Cause::Status(503).allows_another_try(method));
        assert!(!Cause::Status(404).allows_another_try(method));
    }
    for method in ["POST", "PATCH", "", "GETS"] {
        assert!(Cause::NeverConnected.allows_another_try(method));
        assert!(!Cause::ConnectionLost.allows_another_try(method));
        assert!(!Cause::Status(503).allows_another_try(method));
    }
}

#[test]
fn pauses_grow_and_have_an_end() {
    let policy = RetryPolicy {
        retries: 40,
        ..RetryPolicy::default()
    };
    let delay = |retry, jitter| policy.delay(retry, "GET", Cause::Status(503), None, jitter);
    assert_eq!(delay(1, 1.0), Some(Duration::from_millis(250)));
    assert_eq!(delay(1, 0.0), Some(Duration::from_millis(125)));
    assert_eq!(delay(3, 1.0), Some(Duration::from_secs(1)));
    assert_eq!(delay(40, 1.0), Some(Duration::from_secs(30)));
    assert_eq!(delay(40, f64::NAN), Some(Duration::from_secs(30)));
    assert_eq!(delay(41, 1.0), None);
    assert_eq!(delay(0, 1.0), None);
    let asked = |seconds| {
        let asked = Some(Duration::from_secs(seconds));
        policy.delay(1, "GET", Cause::Status(429), asked, 0.5)
    };
    assert_eq!(asked(7), Some(Duration::from_secs(7)));
    assert_eq!(asked(31), None);
    assert_eq!(asked(u64::MAX), None);
    let off = RetryPolicy::default();
    assert_eq!(off.delay(1, "GET", Cause::NeverConnected, None, 0.5), None);
}

#[test]
fn the_error_says_how_often_it_was_tried() {
    let error = || CallError::new(InfrastructureErrorCode::ExecutionError, "HTTP 503: x");
    assert_eq!(with_tries(error(), 1).message, "HTTP 503: x");
    assert_eq!(
        with_tries(error(), 3).message,
        "HTTP 503: x (tried 3 times)"
    );
}

#[test]
fn nothing_that_arrives_can_panic() {
    let mut random = Random::announced("responses");
    for _ in 0..20_000 {
        let (a, b, c) = (random.text(), random.text(), random.text());
        let content_type = format!(
            "{}{a};charset={b}",
            random.pick(&["text/", "application/json", ""])
        );
        let status = u16::try_from(random.below(65_536)).unwrap();
        let head = ResponseHead::new(
            status,
            Some(&c),
            [("content-type", content_type.as_str()), (&a, &b)],
        );
        let bytes: Vec<u8> = (0..random.below(9))
            .map(|_| u8::try_from(random.below(256)).unwrap())
            .collect();
        let _ = charset::decode(bytes.clone(), Some(&b));
        let _ = failure(&head, decode(&head, bytes), &[Secret::new(a.as_str())]);
        let _ = retry_after(&c, SystemTime::now());
        let words = [
            "Sun, ",
            "06 ",
            "Nov ",
            "1994 ",
            "08:49:37 ",
            "GMT",
            "99",
            "0:0:0 ",
            "-",
        ];
        let date: String = (0..7).map(|_| random.pick(&words)).collect();
        let _ = retry_after(&date, SystemTime::now());
    }
}

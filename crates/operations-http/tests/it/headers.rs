//! Headers, credentials, redirects: what is sent, what is refused, what stays hidden.

use crate::http_support::{Random, built_with, get, input};
use operations_http::machine::redirect::{MAX_REDIRECTS, next_request};
use operations_http::message::auth::redact;
use operations_http::message::headers::latin1;
use operations_http::message::{
    Auth, BaseUrl, BodyPlan, Headers, Location, Parameter, Request, RequestPlan, Secret, Settings,
};
use serde_json::json;

const TOKEN: &str = "s3cr3t-token";

fn api_key(header_name: Option<&str>, prefix: Option<&str>) -> Auth {
    Auth::ApiKey {
        key: Secret::new(TOKEN),
        header_name: header_name.map(str::to_owned),
        prefix: prefix.map(str::to_owned),
    }
}

#[test]
fn credentials_become_headers() {
    let basic = Auth::Basic {
        username: "Aladdin".into(),
        password: Secret::new("open sesame"),
    };
    let cases = [
        (
            Auth::Bearer(Secret::new(TOKEN)),
            "authorization",
            "Bearer s3cr3t-token",
        ),
        (api_key(None, None), "x-api-key", TOKEN),
        (
            api_key(Some("Api"), Some("Token")),
            "api",
            "Token s3cr3t-token",
        ),
        (
            api_key(Some("Api"), Some("Token ")),
            "api",
            "Token s3cr3t-token",
        ),
        (
            api_key(Some("Api"), Some("Token token=")),
            "api",
            "Token token=s3cr3t-token",
        ),
        (
            Auth::BasicToken(Secret::new("QTpi")),
            "authorization",
            "Basic QTpi",
        ),
        (basic, "authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ];
    for (auth, name, expected) in cases {
        let plan = get("/", vec![]);
        let empty = input(&json!({}));
        let request = built_with(&plan, empty, "http://x.test", &[], &[], Some(&auth)).unwrap();
        assert_eq!(request.headers.get(name), Some(expected));
        for shown in [format!("{auth:?}"), format!("{request:?}")] {
            assert!(
                !shown.contains(TOKEN) && !shown.contains("sesame"),
                "{shown}"
            );
            assert!(
                !shown.contains("QWxh") && !shown.contains("QTpi"),
                "{shown}"
            );
        }
    }
    let secret = Secret::new(TOKEN);
    assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
}

#[test]
fn the_more_specific_header_wins() {
    let plan = get(
        "/",
        vec![
            Parameter::new("X-A", Location::Header),
            Parameter::new("Authorization", Location::Header),
        ],
    );
    let auth = Auth::Bearer(Secret::new(TOKEN));
    let members = || input(&json!({ "X-A": "parameter", "Authorization": "parameter" }));
    let defaults = [
        ("x-a", "default"),
        ("authorization", "default"),
        ("x-b", "default"),
    ];
    let base = "http://x.test";
    let request = built_with(&plan, members(), base, &defaults, &[], Some(&auth)).unwrap();
    assert_eq!(request.headers.get("x-a"), Some("parameter"));
    assert_eq!(request.headers.get("x-b"), Some("default"));
    assert_eq!(
        request.headers.get("authorization"),
        Some("Bearer s3cr3t-token")
    );
    let call = [("AUTHORIZATION", "call"), ("X-a", "call")];
    let request = built_with(&plan, members(), base, &defaults, &call, Some(&auth)).unwrap();
    assert_eq!(request.headers.get("authorization"), Some("call"));
    assert_eq!(request.headers.get("x-a"), Some("call"));
    assert_eq!(request.headers.len(), 4);
}

#[test]
fn accept_lists_the_response_types() {
    let accepts = |types: &[&str], defaults: &[(&str, &str)]| {
        let mut plan = get("/", vec![]);
        plan.accept = types.iter().map(|text| (*text).to_owned()).collect();
        let request = built_with(
            &plan,
            input(&json!({})),
            "http://x.test",
            defaults,
            &[],
            None,
        );
        request.unwrap().headers.get("accept").unwrap().to_owned()
    };
    assert_eq!(accepts(&[], &[]), "*/*");
    assert_eq!(
        accepts(
            &[
                "application/json",
                "text/plain",
                "application/json",
                "bad\r\nX: y"
            ],
            &[]
        ),
        "application/json, text/plain"
    );
    assert_eq!(
        accepts(&["application/json"], &[("Accept", "text/csv")]),
        "text/csv"
    );
}

#[test]
fn no_header_can_be_smuggled_in() {
    for value in [
        "a\r\nX-Evil: 1",
        "a\nb",
        "a\rb",
        "\0",
        "\u{7f}",
        "a\u{1b}",
        "snow ☃",
    ] {
        let mut headers = Headers::new();
        let error = headers.set("X-Token", value).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(error.message.contains("X-Token"));
        assert!(!error.message.contains("Evil") && !error.message.contains('☃'));
        assert!(headers.is_empty());
    }
    for name in ["", " ", "a b", "a:b", "a\r\nb", "é", "a\0", "(x)"] {
        let error = Headers::new().set(name, "v").unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(!error.message.contains('\n'));
    }
    let auth = Auth::Bearer(Secret::new("s3cr3t\r\nX-Evil: 1"));
    let error = auth.apply(&mut Headers::new()).unwrap_err();
    assert!(!error.to_string().contains("s3cr3t"), "{error}");
    let plan = get("/", vec![Parameter::new("X", Location::Header)]);
    let evil = input(&json!({ "X": ["ok", "b\r\nY: z"] }));
    assert!(built_with(&plan, evil, "http://x.test", &[], &[], None).is_err());
}

#[test]
fn headers_of_the_connection_are_not_the_callers() {
    let mut headers = Headers::new();
    for name in [
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "TE",
        "Upgrade",
    ] {
        headers.set(name, "1").unwrap();
    }
    assert!(headers.is_empty());
    headers.set("Host", "virtual.test").unwrap();
    headers.set(" X-Latin ", " caf\u{e9} ").unwrap();
    assert_eq!(headers.get("x-latin"), Some("caf\u{e9}"));
    assert_eq!(latin1("caf\u{e9}").as_deref(), Some(&b"caf\xe9"[..]));
    assert_eq!(latin1("☃"), None);
}

#[test]
fn random_header_values_never_break_a_line() {
    let mut random = Random::announced("headers");
    for _ in 0..20_000 {
        let (name, value) = (random.text(), random.text());
        let mut headers = Headers::new();
        if headers.set(&name, &value).is_err() {
            continue;
        }
        for (name, value) in headers.iter() {
            assert!(!name.contains(['\r', '\n', '\0', ':', ' ']));
            assert!(!value.contains(['\r', '\n', '\0']));
            assert_eq!(latin1(value).unwrap().len(), value.chars().count());
        }
    }
}

fn request(method: &str) -> Request {
    let plan = RequestPlan {
        method: method.into(),
        body: Some(BodyPlan::new(vec!["application/json".into()])),
        accept: vec!["application/json".into()],
        ..get("/a/b?q=1", vec![])
    };
    let auth = api_key(None, None);
    let defaults = [
        ("Authorization", "Bearer x"),
        ("Cookie", "a=1"),
        ("X-Custom-Secret", "x"),
        ("User-Agent", "me"),
    ];
    let body = input(&json!({ "body": { "a": 1 } }));
    built_with(&plan, body, "https://x.test", &defaults, &[], Some(&auth)).unwrap()
}

#[test]
fn another_origin_gets_no_credentials() {
    let names = |request: &Request| -> Vec<String> {
        request
            .headers
            .iter()
            .map(|(name, _)| name.to_lowercase())
            .collect()
    };
    let original = request("PUT");
    for location in ["/c", "https://x.test/c", "https://x.test:443/c", "?z"] {
        let next = next_request(&original, 307, Some(location), 0)
            .unwrap()
            .unwrap();
        assert_eq!(next.headers, original.headers, "{location}");
        assert_eq!(next.body, original.body);
    }
    for location in [
        "https://evil.test/c",
        "//evil.test/c",
        "http://x.test/c",
        "https://x.test:8443/c",
        "https://sub.x.test/",
        "https://x.test@evil.test/",
    ] {
        let next = next_request(&original, 307, Some(location), 0)
            .unwrap()
            .unwrap();
        assert_eq!(
            names(&next),
            ["accept", "user-agent", "content-type"],
            "{location}"
        );
        assert_eq!(next.url.username(), "");
    }
}

#[test]
fn the_method_changes_as_fetch_changes_it() {
    for (status, method, expected) in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "GET", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
    ] {
        let next = next_request(&request(method), status, Some("../d"), 0)
            .unwrap()
            .unwrap();
        assert_eq!(next.method, expected, "{status} {method}");
        assert_eq!(next.url.as_str(), "https://x.test/d");
        assert_eq!(next.body.is_some(), next.method == method);
        assert_eq!(
            next.headers.get("content-type").is_some(),
            next.body.is_some()
        );
    }
}

#[test]
fn redirects_end() {
    let original = request("GET");
    assert!(
        next_request(&original, 200, Some("/x"), 0)
            .unwrap()
            .is_none()
    );
    assert!(
        next_request(&original, 304, Some("/x"), 0)
            .unwrap()
            .is_none()
    );
    assert!(next_request(&original, 302, None, 0).unwrap().is_none());
    for location in [
        "ftp://x.test/",
        "file:///etc/passwd",
        "javascript:1",
        "https://",
    ] {
        let error = next_request(&original, 302, Some(location), 0).unwrap_err();
        assert_eq!(error.code, "EXECUTION_ERROR");
    }
    assert!(next_request(&original, 302, Some("/x"), MAX_REDIRECTS - 1).is_ok());
    let error = next_request(&original, 302, Some("/x"), MAX_REDIRECTS).unwrap_err();
    assert!(error.message.contains("x.test") && error.message.contains("20"));
}

#[test]
fn secrets_are_blanked_out_of_texts() {
    let base_url = BaseUrl::parse("https://me:base-pass@h/").unwrap();
    let auth = Auth::BasicToken(Secret::new("bWU6aHVudGVyMg=="));
    let defaults = [("X-Auth".to_owned(), Secret::new("Token default-token"))];
    let settings = Settings {
        base_url: &base_url,
        default_headers: &defaults,
        call_headers: &[],
        auth: Some(&auth),
    };
    let secrets = settings.secrets();
    let text = "bWU6aHVudGVyMg== hunter2 base-pass default-token rest";
    assert_eq!(
        redact(text, &secrets),
        "[secret] [secret] [secret] [secret] rest"
    );
    assert!(!format!("{settings:?}").contains("token"));
    assert_eq!(redact("abc", &[Secret::new("a")]), "abc");
}

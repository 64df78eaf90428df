//! Where a request goes: paths that values cannot leave, bases, servers.

use crate::http_support::{Random, built, built_with, get, input};
use operations_http::message::{BaseUrl, Location, Parameter, Server, Style, resolve_server};
use serde_json::json;
use url::Url;

#[test]
fn base_and_path_meet_at_one_slash() {
    for (base, path, expected) in [
        ("https://h", "/a", "https://h/a"),
        ("https://h/", "/a", "https://h/a"),
        ("https://h/v1", "/a", "https://h/v1/a"),
        ("https://h/v1/", "/a/", "https://h/v1/a/"),
        ("https://h/v1/", "a", "https://h/v1/a"),
        ("https://h/v1", "a", "https://h/v1/a"),
        ("https://h/v1", "", "https://h/v1"),
        ("https://h/v1/", "/", "https://h/v1/"),
        ("https://h/v1", "/", "https://h/v1/"),
        ("https://h/v1", "//a", "https://h/v1//a"),
        ("https://h", "//evil.test/a", "https://h//evil.test/a"),
        ("https://h:8443/v1?k=1", "/a", "https://h:8443/v1/a?k=1&q=2"),
        (
            "https://h/v1?k=1#x",
            "/a?b=2#frag",
            "https://h/v1/a?k=1&b=2&q=2",
        ),
        (" https://h ", "/a b", "https://h/a%20b"),
    ] {
        let base = BaseUrl::parse(base).unwrap();
        let query = if expected.contains("q=2") {
            vec!["q=2".to_owned()]
        } else {
            vec![]
        };
        assert_eq!(base.join(path, &query).unwrap().as_str(), expected);
    }
}

#[test]
fn a_base_that_is_no_http_url_is_refused_without_being_quoted() {
    for base in [
        "",
        "h/v1",
        "/v1",
        "ftp://h",
        "file:///etc",
        "https://",
        "https://user:hunter2@",
    ] {
        let error = BaseUrl::parse(base).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(!error.message.contains("hunter2"));
    }
}

#[test]
fn credentials_of_the_base_become_a_header() {
    let plan = get("/a", vec![]);
    let base = "https://me:p%40ss@h/";
    let request = built_with(&plan, input(&json!({})), base, &[], &[], None).unwrap();
    assert_eq!(request.url.as_str(), "https://h/a");
    // "me:p@ss"
    assert_eq!(
        request.headers.get("authorization"),
        Some("Basic bWU6cEBzcw==")
    );
    assert!(!format!("{request:?}").contains("bWU6"));
}

#[test]
fn a_value_stays_in_its_segment() {
    let plan = get("/a/{id}/b", vec![Parameter::new("id", Location::Path)]);
    for (value, expected) in [
        ("x/y", "/a/x%2Fy/b"),
        ("../../etc", "/a/..%2F..%2Fetc/b"),
        ("?q=1#f", "/a/%3Fq%3D1%23f/b"),
        ("a\\b", "/a/a%5Cb/b"),
        ("%2e%2e", "/a/%252e%252e/b"),
        ("...", "/a/.../b"),
        ("é\r\n", "/a/%C3%A9%0D%0A/b"),
        ("{id}", "/a/%7Bid%7D/b"),
    ] {
        let request = built(&plan, &json!({ "id": value })).unwrap();
        assert_eq!(request.url.path(), expected);
        assert_eq!(request.url.query(), None);
    }
}

#[test]
fn dot_segments_are_refused_however_they_arise() {
    let path = |name: &str| Parameter::new(name, Location::Path);
    for value in [".", ".."] {
        let error =
            built(&get("/a/{id}/b", vec![path("id")]), &json!({ "id": value })).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(error.message.contains("\"id\""));
    }
    let label = path("id").with_style(Style::Label);
    assert!(built(&get("/a/{id}/b", vec![label]), &json!({ "id": "." })).is_err());
    let two = get("/a/{x}{y}", vec![path("x"), path("y")]);
    assert!(built(&two, &json!({ "x": ".", "y": "." })).is_err());
    assert!(built(&two, &json!({ "x": "", "y": "." })).is_err());
    let literal = get("/a/.{x}", vec![path("x")]);
    assert!(built(&literal, &json!({ "x": "." })).is_err());
    assert!(built(&get("\\{x}\\..", vec![path("x")]), &json!({ "x": ".." })).is_err());
    assert!(built(&get("/a/./{x}", vec![path("x")]), &json!({ "x": "ok" })).is_ok());
}

#[test]
fn path_parameters_are_required_declared_or_not() {
    let plan = get("/a/{id}", vec![Parameter::new("id", Location::Path)]);
    for value in [
        json!({}),
        json!({ "id": null }),
        json!({ "id": [] }),
        json!({ "id": {} }),
    ] {
        let error = built(&plan, &value).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(
            error.message.contains("path parameter \"id\""),
            "{}",
            error.message
        );
    }
    let forgotten = get("/a/{id}", vec![]);
    assert_eq!(
        built(&forgotten, &json!({ "id": 7 })).unwrap().url.path(),
        "/a/7"
    );
    assert!(built(&forgotten, &json!({})).is_err());
    let mut query = Parameter::new("q", Location::Query);
    query.required = true;
    let error = built(&get("/a", vec![query]), &json!({})).unwrap_err();
    assert!(error.message.contains("query parameter \"q\""));
}

#[test]
fn braces_without_a_partner_are_text() {
    let plan = get("/a/{id", vec![]);
    assert_eq!(built(&plan, &json!({})).unwrap().url.path(), "/a/%7Bid");
    let plan = get("/a}/b", vec![]);
    assert_eq!(built(&plan, &json!({})).unwrap().url.path(), "/a%7D/b");
}

#[test]
fn two_parameters_of_one_name_take_their_own_inputs() {
    let mut query = Parameter::new("id", Location::Query);
    query.input = "query_id".into();
    let plan = get("/a/{id}", vec![Parameter::new("id", Location::Path), query]);
    let request = built(&plan, &json!({ "id": 1, "query_id": 2 })).unwrap();
    assert_eq!(request.url.as_str(), "http://x.test/a/1?id=2");
}

#[test]
fn servers_have_variables_and_may_be_relative() {
    let server = |url: &str, variables: &[(&str, &str)]| Server {
        url: url.to_owned(),
        variables: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let parsed = |url: Option<&str>| url.map(|url| Url::parse(url).unwrap());
    let document = Some("https://docs.test/specs/v2/openapi.json?x#y");
    for (url, variables, expected) in [
        ("https://api.test/v1", &[][..], "https://api.test/v1"),
        (
            "{scheme}://{host}/v{n}",
            &[("scheme", "http"), ("host", "h.test:81"), ("n", "2")][..],
            "http://h.test:81/v2",
        ),
        ("/v1", &[][..], "https://docs.test/v1"),
        ("v1", &[][..], "https://docs.test/specs/v2/v1"),
        ("../v1", &[][..], "https://docs.test/specs/v1"),
        ("//other.test/v1", &[][..], "https://other.test/v1"),
        ("", &[][..], "https://docs.test/"),
        ("/", &[][..], "https://docs.test/"),
    ] {
        let resolved = resolve_server(&server(url, variables), parsed(document).as_ref()).unwrap();
        assert_eq!(resolved, expected, "{url}");
    }
    for (url, document) in [
        ("/v1", None),
        ("/v1", Some("file:///tmp/openapi.json")),
        ("https://{region}.test", document),
        ("api.test:8080/v1", document),
        ("ws://api.test", document),
    ] {
        let error = resolve_server(&server(url, &[]), parsed(document).as_ref()).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(error.message.contains("baseUrl"), "{}", error.message);
    }
}

#[test]
fn whatever_a_value_holds_the_request_reaches_its_place() {
    let mut random = Random::announced("http urls");
    let styles = [
        Style::Matrix,
        Style::Label,
        Style::Simple,
        Style::Form,
        Style::SpaceDelimited,
        Style::PipeDelimited,
        Style::DeepObject,
    ];
    for _ in 0..20_000 {
        let style = random.pick(&styles);
        let explode = random.below(2) == 0;
        let mut id = Parameter::new("id", Location::Path)
            .with_style(style)
            .with_explode(explode);
        id.allow_reserved = random.below(4) == 0;
        let query = Parameter::new("q", Location::Query)
            .with_style(style)
            .with_explode(explode);
        let value = match random.below(3) {
            0 => json!(random.text()),
            1 => json!([random.text(), random.text()]),
            _ => json!({ random.text(): random.text(), random.text(): { "x": random.text() } }),
        };
        let plan = get("/before/{id}/after", vec![id, query]);
        let Ok(request) = built(&plan, &json!({ "id": value, "q": value })) else {
            continue;
        };
        let url = &request.url;
        let label = format!("{style:?} {explode} {value} {url}");
        assert_eq!(url.host_str(), Some("x.test"), "{label}");
        let segments: Vec<_> = url.path_segments().unwrap().collect();
        assert_eq!(segments.len(), 3, "{label}");
        assert_eq!((segments[0], segments[2]), ("before", "after"), "{label}");
        assert_eq!(url.fragment(), None, "{label}");
        if let (Style::Form, Some(text)) = (style, value.as_str()) {
            let pairs: Vec<_> = url.query_pairs().collect();
            assert_eq!(pairs, [("q".into(), text.into())], "{label}");
        }
    }
}

//! Every style x explode x type cell that the tables of OpenAPI 3.0.4 and 3.1.1 print, and the ones
//! that they leave open.

use crate::http_support::{built, built_with, get, input};
use operations_http::message::{InputValue, Location, Parameter, Style};
use serde_json::{Value, json};

fn array() -> Value {
    json!(["blue", "black", "brown"])
}

fn object() -> Value {
    json!({ "R": 100, "G": 200, "B": 150 })
}

#[test]
fn path_styles_are_those_of_the_tables() {
    use Style::{Label, Matrix, Simple};
    let cases = [
        (Matrix, false, json!(""), ";color"),
        (Matrix, false, json!("blue"), ";color=blue"),
        (Matrix, false, array(), ";color=blue,black,brown"),
        (Matrix, false, object(), ";color=R,100,G,200,B,150"),
        (Matrix, true, json!(""), ";color"),
        (Matrix, true, json!("blue"), ";color=blue"),
        (Matrix, true, array(), ";color=blue;color=black;color=brown"),
        (Matrix, true, object(), ";R=100;G=200;B=150"),
        (Label, false, json!("blue"), ".blue"),
        (Label, false, array(), ".blue,black,brown"),
        (Label, false, object(), ".R,100,G,200,B,150"),
        (Label, true, json!("blue"), ".blue"),
        (Label, true, array(), ".blue.black.brown"),
        (Label, true, object(), ".R=100.G=200.B=150"),
        (Simple, false, json!("blue"), "blue"),
        (Simple, false, array(), "blue,black,brown"),
        (Simple, false, object(), "R,100,G,200,B,150"),
        (Simple, true, json!("blue"), "blue"),
        (Simple, true, array(), "blue,black,brown"),
        (Simple, true, object(), "R=100,G=200,B=150"),
        // Swagger 2.0's formats in a path.
        (
            Style::SpaceDelimited,
            false,
            array(),
            "blue%20black%20brown",
        ),
        (Style::TabDelimited, false, array(), "blue%09black%09brown"),
        (Style::PipeDelimited, false, array(), "blue%7Cblack%7Cbrown"),
    ];
    for (style, explode, value, expected) in cases {
        let parameter = Parameter::new("color", Location::Path)
            .with_style(style)
            .with_explode(explode);
        let plan = get("/p/{color}", vec![parameter]);
        let request = built(&plan, &json!({ "color": value })).unwrap();
        assert_eq!(
            request.url.path(),
            format!("/p/{expected}"),
            "{style:?} {explode} {value}"
        );
    }
    // The table prints a lone dot for the empty label: beside other text it is one.
    let parameter = Parameter::new("color", Location::Path).with_style(Label);
    let request = built(&get("/p{color}", vec![parameter]), &json!({ "color": "" }));
    assert_eq!(request.unwrap().url.path(), "/p.");
    for style in [Label, Simple] {
        let parameter = Parameter::new("color", Location::Path).with_style(style);
        let plan = get("/p/{color}", vec![parameter]);
        for blank in [json!(""), json!([""])] {
            assert!(built(&plan, &json!({ "color": blank })).is_err());
        }
    }
    // So it does for an empty simple value. Alone in its segment, that would lead to another path.
    let parameter = || vec![Parameter::new("color", Location::Path)];
    let request = built(&get("/p{color}", parameter()), &json!({ "color": "" }));
    assert_eq!(request.unwrap().url.path(), "/p");
    for template in ["/p/{color}", "/p/{color}/q", "/{color}{color}"] {
        let refused = built(&get(template, parameter()), &json!({ "color": "" })).unwrap_err();
        let path = refused.details.as_ref();
        let path = path.and_then(|details| details.pointer("/errors/0/path"));
        assert_eq!(path, Some(&json!("/color")), "{template}");
    }
}

#[test]
fn query_styles_are_those_of_the_tables() {
    use Style::{DeepObject, Form, PipeDelimited, SpaceDelimited, TabDelimited};
    let deep = "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150";
    let exploded_list = "color=blue&color=black&color=brown";
    let exploded_object = "R=100&G=200&B=150";
    let cases = [
        (Form, false, json!(""), "color="),
        (Form, false, json!("blue"), "color=blue"),
        (Form, false, array(), "color=blue,black,brown"),
        (Form, false, object(), "color=R,100,G,200,B,150"),
        (Form, true, json!(""), "color="),
        (Form, true, json!("blue"), "color=blue"),
        (Form, true, array(), exploded_list),
        (Form, true, object(), exploded_object),
        (SpaceDelimited, false, array(), "color=blue%20black%20brown"),
        (
            SpaceDelimited,
            false,
            object(),
            "color=R%20100%20G%20200%20B%20150",
        ),
        (PipeDelimited, false, array(), "color=blue%7Cblack%7Cbrown"),
        (
            PipeDelimited,
            false,
            object(),
            "color=R%7C100%7CG%7C200%7CB%7C150",
        ),
        (TabDelimited, false, array(), "color=blue%09black%09brown"),
        (DeepObject, true, object(), deep),
        // Not applicable, say the tables: here, what servers can make the most of.
        (SpaceDelimited, false, json!("blue"), "color=blue"),
        (SpaceDelimited, true, array(), exploded_list),
        (SpaceDelimited, true, object(), exploded_object),
        (PipeDelimited, false, json!(""), "color="),
        (PipeDelimited, true, array(), exploded_list),
        (DeepObject, false, object(), deep),
        (DeepObject, true, json!("blue"), "color=blue"),
        (
            DeepObject,
            true,
            json!(["a", "b"]),
            "color%5B0%5D=a&color%5B1%5D=b",
        ),
    ];
    for (style, explode, value, expected) in cases {
        let parameter = Parameter::new("color", Location::Query)
            .with_style(style)
            .with_explode(explode);
        let request = built(&get("/p", vec![parameter]), &json!({ "color": value })).unwrap();
        assert_eq!(
            request.url.query(),
            Some(expected),
            "{style:?} {explode} {value}"
        );
    }
}

#[test]
fn what_is_absent_is_left_out_and_what_is_falsy_is_not() {
    let absent = [
        json!(null),
        json!([]),
        json!({}),
        json!([null]),
        json!({ "a": null }),
    ];
    for style in [Style::Form, Style::PipeDelimited, Style::DeepObject] {
        for explode in [true, false] {
            let parameter = Parameter::new("q", Location::Query)
                .with_style(style)
                .with_explode(explode);
            let plan = get("/p", vec![parameter]);
            for value in &absent {
                let request = built(&plan, &json!({ "q": value })).unwrap();
                assert_eq!(request.url.query(), None, "{style:?} {explode} {value}");
            }
            assert_eq!(built(&plan, &json!({})).unwrap().url.query(), None);
            for (value, expected) in [(json!(0), "q=0"), (json!(false), "q=false")] {
                let request = built(&plan, &json!({ "q": value })).unwrap();
                assert_eq!(request.url.query(), Some(expected));
            }
        }
    }
    let plan = get("/p", vec![Parameter::new("q", Location::Query)]);
    let request = built(&plan, &json!({ "q": [null, "", 0] })).unwrap();
    assert_eq!(request.url.query(), Some("q=&q=0"));
}

#[test]
fn numbers_are_written_as_javascript_writes_them() {
    let plan = get("/p", vec![Parameter::new("q", Location::Query)]);
    for (number, expected) in [
        (1.0, "q=1"),
        (0.1, "q=0.1"),
        (1e21, "q=1e%2B21"),
        (-0.0, "q=0"),
        (9_007_199_254_740_991.0, "q=9007199254740991"),
    ] {
        let mut members = input(&json!({}));
        members.insert("q".into(), InputValue::Number(number));
        let request = built_with(&plan, members, "http://x.test", &[], &[], None).unwrap();
        assert_eq!(request.url.query(), Some(expected));
    }
    let request = built(&plan, &json!({ "q": 18_446_744_073_709_551_615_u64 })).unwrap();
    assert_eq!(request.url.query(), Some("q=18446744073709551615"));
}

#[test]
fn values_are_encoded_and_delimiters_are_not() {
    let parameter = Parameter::new("q&x", Location::Query).with_explode(false);
    let plan = get("/p", vec![parameter]);
    let request = built(&plan, &json!({ "q&x": ["a,b", "c&d=e#f", "é ☃", "100%"] })).unwrap();
    assert_eq!(
        request.url.query(),
        Some("q%26x=a%2Cb,c%26d%3De%23f,%C3%A9%20%E2%98%83,100%25")
    );
}

#[test]
fn reserved_characters_stay_when_allowed_and_cannot_cut_the_query() {
    let mut parameter = Parameter::new("q", Location::Query);
    parameter.allow_reserved = true;
    let plan = get("/p", vec![parameter]);
    let request = built(&plan, &json!({ "q": ":/?[]@!$&()*+,;= %20 50% #é" })).unwrap();
    assert_eq!(
        request.url.query(),
        Some("q=:/?[]@!$&()*+,;=%20%20%2050%25%20%23%C3%A9")
    );
    let request = built(&plan, &json!({ "q": { "a&b": "c&d" } })).unwrap();
    assert_eq!(request.url.query(), Some("a%26b=c&d"));
    let mut parameter = Parameter::new("id", Location::Path);
    parameter.allow_reserved = true;
    let plan = get("/p/{id}", vec![parameter]);
    let request = built(&plan, &json!({ "id": "a/b?c#d@e" })).unwrap();
    assert_eq!(request.url.path(), "/p/a%2Fb%3Fc%23d@e");
    assert!(built(&plan, &json!({ "id": "%2e%2E" })).is_err());
}

#[test]
fn deep_objects_nest() {
    let parameter = Parameter::new("filter", Location::Query).with_style(Style::DeepObject);
    let plan = get("/p", vec![parameter]);
    let value = json!({ "filter": { "a": { "b": [1, { "c": "x y" }] }, "d": null, "e]": "" } });
    let request = built(&plan, &value).unwrap();
    assert_eq!(
        request.url.query(),
        Some(
            "filter%5Ba%5D%5Bb%5D%5B0%5D=1&filter%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=x%20y\
             &filter%5Be%5D%5D="
        )
    );
    let mut nested = json!(1);
    for _ in 0..100 {
        nested = json!({ "a": nested });
    }
    let error = built(&plan, &json!({ "filter": nested })).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
}

#[test]
fn values_nested_in_a_flat_style_are_json() {
    let plan = get("/p", vec![Parameter::new("q", Location::Query)]);
    let request = built(&plan, &json!({ "q": [{ "a": 1 }, [2]] })).unwrap();
    assert_eq!(request.url.query(), Some("q=%7B%22a%22%3A1%7D&q=%5B2%5D"));
}

#[test]
fn headers_are_simple_and_as_they_stand() {
    for (explode, value, expected) in [
        (false, json!("a b%"), Some("a b%")),
        (false, array(), Some("blue,black,brown")),
        (false, object(), Some("R,100,G,200,B,150")),
        (true, object(), Some("R=100,G=200,B=150")),
        (false, json!(false), Some("false")),
        (false, json!(""), Some("")),
        (false, json!(null), None),
        (false, json!([]), None),
    ] {
        let parameter = Parameter::new("X-Color", Location::Header).with_explode(explode);
        let request = built(&get("/p", vec![parameter]), &json!({ "X-Color": value })).unwrap();
        assert_eq!(request.headers.get("x-color"), expected, "{value}");
    }
    for (format, expected) in [
        ("csv", "a,b"),
        ("ssv", "a b"),
        ("tsv", "a\tb"),
        ("pipes", "a|b"),
    ] {
        let parameter = Parameter::new("X", Location::Header).with_collection_format(format);
        let request = built(&get("/p", vec![parameter]), &json!({ "X": ["a", "b"] })).unwrap();
        assert_eq!(request.headers.get("X"), Some(expected));
    }
}

#[test]
fn cookies_are_joined_by_semicolons_and_added_to_those_of_the_service() {
    let plan = get(
        "/p",
        vec![
            Parameter::new("id", Location::Cookie),
            Parameter::new("list", Location::Cookie),
            Parameter::new("flat", Location::Cookie).with_explode(false),
            Parameter::new("raw", Location::Cookie).with_style(Style::Cookie),
        ],
    );
    let value = json!({ "id": "a;b", "list": [1, 2], "flat": object(), "raw": "x y" });
    let request = built_with(
        &plan,
        input(&value),
        "http://x.test",
        &[("cookie", "session=1")],
        &[],
        None,
    );
    assert_eq!(
        request.unwrap().headers.get("Cookie"),
        Some("session=1; id=a%3Bb; list=1; list=2; flat=R,100,G,200,B,150; raw=x y")
    );
    let error = built(&plan, &json!({ "raw": "x; admin=1" })).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
}

#[test]
fn swagger_2_collection_formats_are_styles() {
    for (format, expected) in [
        ("csv", "q=a,b"),
        ("ssv", "q=a%20b"),
        ("tsv", "q=a%09b"),
        ("pipes", "q=a%7Cb"),
        ("multi", "q=a&q=b"),
        ("surprise", "q=a,b"),
    ] {
        let parameter = Parameter::new("q", Location::Query).with_collection_format(format);
        let request = built(&get("/p", vec![parameter]), &json!({ "q": ["a", "b"] })).unwrap();
        assert_eq!(request.url.query(), Some(expected), "{format}");
    }
}

#[test]
fn content_parameters_are_written_in_their_type() {
    let json_in = |location| {
        let mut parameter = Parameter::new("q", location);
        parameter.content = Some("application/json".into());
        let path = if location == Location::Path {
            "/{q}"
        } else {
            "/p"
        };
        built(&get(path, vec![parameter]), &json!({ "q": { "a": [1] } })).unwrap()
    };
    let encoded = "%7B%22a%22%3A%5B1%5D%7D";
    assert_eq!(json_in(Location::Path).url.path(), format!("/{encoded}"));
    let query = json_in(Location::Query);
    assert_eq!(query.url.query(), Some(format!("q={encoded}").as_str()));
    let header = json_in(Location::Header);
    assert_eq!(header.headers.get("q"), Some("{\"a\":[1]}"));
    let cookie = json_in(Location::Cookie);
    assert_eq!(
        cookie.headers.get("cookie"),
        Some(format!("q={encoded}").as_str())
    );
    let mut parameter = Parameter::new("q", Location::Query);
    parameter.content = Some("application/json".into());
    let plan = get("/p", vec![parameter]);
    let request = built(&plan, &json!({ "q": "x" })).unwrap();
    assert_eq!(request.url.query(), Some("q=%22x%22"));
}

#[test]
fn a_whole_query_string_is_one_parameter() {
    let parameter = Parameter::new("all", Location::QueryString);
    let plan = get("/p", vec![parameter]);
    let request = built(&plan, &json!({ "all": { "a": "x y", "b": [1, 2] } })).unwrap();
    assert_eq!(request.url.query(), Some("a=x+y&b=1&b=2"));
    let request = built(&plan, &json!({ "all": "?a=1&b=2" })).unwrap();
    assert_eq!(request.url.query(), Some("a=1&b=2"));
}

#[test]
fn json_text_is_parsed_where_a_style_needs_the_value() {
    let plan = get("/p", vec![Parameter::new("q", Location::Query)]);
    let mut members = input(&json!({}));
    members.insert("q".into(), InputValue::JsonText("[1,\"x\"]".into()));
    let request = built_with(&plan, members.clone(), "http://x.test", &[], &[], None).unwrap();
    assert_eq!(request.url.query(), Some("q=1&q=x"));
    members.insert("q".into(), InputValue::JsonText("[1,".into()));
    let error = built_with(&plan, members, "http://x.test", &[], &[], None).unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
}

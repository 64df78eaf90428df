//! Two readings of an identity, one that keeps it and one that only looks: they must agree.

use operations_core::access::{Identity, is_identity};

#[test]
fn looking_at_an_identity_and_reading_it_agree() {
    let cases = [
        (r#"{"id":"ada","scopes":[]}"#, true),
        (r#"{"id":"a\u0064a","scopes":["x","\n"]}"#, true),
        (r#"{"id":"ada","scopes":["x"],"resources":null}"#, true),
        (
            r#"{"id":"ada","scopes":["x"],"resources":{"a:1":["read"]}}"#,
            true,
        ),
        (r#"{"id":"ada","scopes":[],"more":{"deep":[1]}}"#, true),
        (r#"{"id":"ada"}"#, false),
        (r#"{"scopes":[]}"#, false),
        (r#"{"id":1,"scopes":[]}"#, false),
        (r#"{"id":"ada","scopes":"x"}"#, false),
        (r#"{"id":"ada","scopes":[1]}"#, false),
        (r#"{"id":"ada","scopes":[null]}"#, false),
        (r#"{"id":"ada","scopes":[],"resources":[]}"#, false),
        (r#"{"id":"ada","id":"bob","scopes":[]}"#, false),
        (r#"{"id":"ada","scopes":[]} "#, true),
        (r#"{"id":"ada","scopes":[]}x"#, false),
        ("null", false),
        ("", false),
    ];
    for (text, is_one) in cases {
        assert_eq!(
            serde_json::from_str::<Identity>(text).is_ok(),
            is_one,
            "{text}"
        );
        assert_eq!(is_identity(text), is_one, "{text}");
    }
    assert!(!is_identity(r#"["ada",["x"],null]"#));
}

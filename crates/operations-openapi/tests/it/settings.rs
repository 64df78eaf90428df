//! Configuration files: JSON and YAML that is no OpenAPI document.

use operations_openapi::read_settings;
use serde_json::json;

#[test]
fn json_and_yaml_say_the_same() {
    let expected = json!({ "openapi": { "pets": { "document": "pets.yaml" } }, "port": 8080 });
    for text in [
        r#"{"openapi": {"pets": {"document": "pets.yaml"}}, "port": 8080}"#,
        "openapi:\n  pets: { document: pets.yaml }\nport: 8080\n",
        "\u{feff}{ openapi: { pets: { document: pets.yaml } }, port: 8080 } # with a comment",
    ] {
        assert_eq!(read_settings(text), Ok(expected.clone()), "{text}");
    }
}

#[test]
fn references_can_be_keys_and_values() {
    let text = "tokens:\n  ${env:ADA}: { id: ada }\n  ${file:bob}: { id: \"${env:BOB}\" }\n";
    let expected = json!({ "tokens": { "${env:ADA}": { "id": "ada" }, "${file:bob}": { "id": "${env:BOB}" } } });
    assert_eq!(read_settings(text), Ok(expected));
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    for text in [
        "port: 1\nport: 2\n",
        "a:\n  - tokens: { hush: 1, hush: 2 }\n",
    ] {
        let message = read_settings(text).unwrap_err().message;
        assert!(message.contains("a key is there twice"), "{message}");
        assert!(!message.contains("hush"), "{message}");
    }
}

#[test]
fn what_is_wrong_is_reported_without_the_text() {
    for text in [
        "{ \"token\": \"hush\" ",
        "token: [hush\nother: 1",
        "token: 'hush",
        "{ token: hush ]",
    ] {
        let message = read_settings(text).unwrap_err().message;
        assert!(message.starts_with("not valid "), "{message}");
        assert!(message.contains("line"), "{message}");
        assert!(!message.contains("hush"), "{message}");
    }
}

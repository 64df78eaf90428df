//! Who calls.

use operations_serve::identity::Caller;
use serde_json::{Value, json};

use crate::support::{Served, json_of, post, send, served};

fn with_token(token: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = post("/api/t/secret", &json!({ "gives": 1 }));
    let value = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", value);
    request
}

#[tokio::test]
async fn tokens_say_who_calls() {
    let served = served(&json!({ "identity": { "tokens": [
        ["s3cret", { "id": "ada", "scopes": ["admin"] }],
        ["poor", { "id": "bob", "scopes": [] }],
    ] } }));
    let response = send(&served.service, with_token("s3cret")).await;
    assert_eq!(response.status(), 200);
    let response = send(&served.service, with_token("poor")).await;
    assert_eq!(response.status(), 403);
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer error=\"insufficient_scope\", scope=\"admin\""
    );
    let response = send(&served.service, with_token("wrong")).await;
    assert_eq!(response.status(), 401);
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer error=\"invalid_token\""
    );
    let response = send(&served.service, post("/api/t/secret", &json!({}))).await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let mut basic = post("/api/t/native", &json!({}));
    basic
        .headers_mut()
        .insert("authorization", "Basic eDp5".parse().unwrap());
    assert_eq!(send(&served.service, basic).await.status(), 401);
}

#[test]
fn no_identity_has_the_id_of_anonymous_callers() {
    let nameless = r#"{"id":"","scopes":["admin"]}"#;
    let refused = Caller::of(nameless).unwrap_err();
    assert!(refused.message.contains("empty"), "{}", refused.message);
    assert_eq!(Caller::default().id(), "");
}

#[tokio::test]
async fn clients_learn_who_hands_out_tokens() {
    let served = served(&json!({ "oauth": {
        "resource": "https://a.example/mcp", "authorizationServers": ["https://login.example"],
    } }));
    let mut request = post("/.well-known/oauth-protected-resource/mcp", &json!(null));
    *request.method_mut() = http::Method::GET;
    let metadata = json_of(send(&served.service, request).await).await;
    assert_eq!(metadata["resource"], "https://a.example/mcp");
    assert_eq!(
        metadata["authorization_servers"],
        json!(["https://login.example"])
    );
    let response = send(&served.service, post("/api/t/secret", &json!({}))).await;
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer resource_metadata=\"https://a.example/.well-known/oauth-protected-resource/mcp\""
    );
}

/// JavaScript hears that a request is over, and lets go of what `identify` has entered for it.
const OVER: u64 = 6;

/// Sends a request, and answers the question who sent it.
async fn identified(served: &mut Served, answer: Result<Value, &str>) -> http::StatusCode {
    let service = served.service.clone();
    let sent = tokio::spawn(async move { send(&service, with_token("x")).await });
    let (kind, id, question) = loop {
        let asked = served.asked.recv().await.unwrap();
        if asked.0 != OVER {
            break asked;
        }
    };
    assert_eq!(kind, 5);
    assert_eq!(question["identify"]["method"], "POST");
    assert_eq!(question["identify"]["url"], "/api/t/secret");
    let headers = question["identify"]["headers"].as_array().unwrap();
    assert!(headers.contains(&json!(["authorization", "Bearer x"])));
    match answer {
        Ok(answer) => drop(served.js.respond(&id, &answer.to_string())),
        Err(code) => {
            let error = operations_core::error::CallError::new(code.to_owned(), "secret");
            served.js.fail(&id, error);
        }
    }
    sent.await.unwrap().status()
}

#[tokio::test]
async fn the_host_says_who_calls_and_for_how_long_that_holds() {
    let mut served = served(&json!({ "identity": { "identify": true } }));
    let ada = json!({ "id": "ada", "scopes": ["admin"] });
    for (answer, status) in [
        (
            Ok(json!({ "identity": ada, "lookedAt": ["authorization"] })),
            200,
        ),
        (
            Ok(json!({ "identity": null, "lookedAt": ["authorization"] })),
            401,
        ),
        (Ok(json!({ "identity": { "id": 7 }, "lookedAt": [] })), 500),
        (Err("ACCESS_DENIED"), 401),
        (Err("EXECUTION_ERROR"), 500),
        (
            Ok(json!({ "identity": ada, "maxAge": 60_000, "lookedAt": ["authorization"] })),
            200,
        ),
    ] {
        assert_eq!(identified(&mut served, answer).await, status);
    }
    // The last answer is cached: JavaScript is not asked again.
    assert_eq!(send(&served.service, with_token("x")).await.status(), 200);
    while let Ok((kind, ..)) = served.asked.try_recv() {
        assert_eq!(kind, OVER);
    }
}

#[tokio::test]
async fn a_failure_of_identify_is_not_shown_to_the_client() {
    let mut served = served(&json!({ "identity": { "identify": true } }));
    let service = served.service.clone();
    let sent = tokio::spawn(async move { send(&service, with_token("x")).await });
    let (_, id, _) = served.asked.recv().await.unwrap();
    let error = operations_core::error::CallError::failed("the database password is 123");
    served.js.fail(&id, error);
    let problem = json_of(sent.await.unwrap()).await;
    assert_eq!(problem["detail"], "The caller could not be identified");
    assert_eq!(problem["mayHaveRun"], false);
}

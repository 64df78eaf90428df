//! The HTTP door.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use operations_serve::service::Closed;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{json_of, post, send, served, text};

#[tokio::test]
async fn the_data_is_the_body() {
    let served = served(&json!({}));
    for (gives, status, body) in [
        (json!({ "a": [1, "x"] }), 200, r#"{"a":[1,"x"]}"#),
        (json!(null), 200, "null"),
        (json!("text"), 200, "\"text\""),
    ] {
        let response = send(
            &served.service,
            post("/api/t/native", &json!({ "gives": gives })),
        )
        .await;
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(text(response).await, body);
    }
    let response = send(&served.service, post("/api/t/native", &json!({}))).await;
    assert_eq!(response.status(), 204);
    assert_eq!(text(response).await, "");
}

#[tokio::test]
async fn upstream_status_and_headers_are_handed_on_as_far_as_they_may() {
    let served = served(&json!({}));
    let envelope = json!({ "data": { "id": 7 }, "meta": {
        "source": "http", "statusCode": 201, "contentType": "application/json",
        "headers": { "etag": "\"1\"", "x-internal": "secret", "content-type": "text/html" },
    } });
    let response = send(
        &served.service,
        post("/api/t/native", &json!({ "gives": envelope })),
    )
    .await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["etag"], "\"1\"");
    assert_eq!(response.headers().get("x-internal"), None);
    assert_eq!(response.headers()["content-type"], "application/json");
    let mut request = post("/api/t/native", &json!({ "gives": envelope }));
    let accept = "application/vnd.alkdev.envelope+json";
    request
        .headers_mut()
        .insert("accept", accept.parse().unwrap());
    let response = send(&served.service, request).await;
    assert_eq!(response.headers()["content-type"], accept);
    let mut shown = envelope;
    shown["meta"]["headers"] = json!({ "etag": "\"1\"" });
    assert_eq!(json_of(response).await, shown);
}

#[tokio::test]
async fn a_tool_that_failed_is_a_bad_gateway() {
    let served = served(&json!({}));
    let content = json!([{ "type": "text", "text": "no such file" }]);
    let envelope = json!({ "data": content, "meta": { "source": "mcp", "isError": true, "content": content } });
    let response = send(
        &served.service,
        post("/api/t/native", &json!({ "gives": envelope })),
    )
    .await;
    assert_eq!(response.status(), 502);
    let problem = json_of(response).await;
    assert_eq!(problem["detail"], "no such file");
    assert_eq!(problem["details"]["content"], content);
}

#[tokio::test]
async fn failures_are_problem_details() {
    let served = served(&json!({}));
    let upstream = json!({ "statusCode": 401, "delivery": "done" });
    for (path, input, status, code) in [
        ("/api/t/missing", json!(null), 404, "OPERATION_NOT_FOUND"),
        ("/api/t/secret", json!(null), 401, "ACCESS_DENIED"),
        ("/api/t/native", json!({ "fail": "GONE" }), 410, "GONE"),
        (
            "/api/t/native",
            json!({ "fail": "EXECUTION_ERROR" }),
            500,
            "EXECUTION_ERROR",
        ),
        (
            "/api/t/native",
            json!({ "fail": "EXECUTION_ERROR", "details": upstream }),
            502,
            "EXECUTION_ERROR",
        ),
        (
            "/api/t/native",
            json!({ "fail": "UNKNOWN_ERROR" }),
            500,
            "UNKNOWN_ERROR",
        ),
        (
            "/api/t/native",
            json!({ "panic": true }),
            500,
            "UNKNOWN_ERROR",
        ),
        ("/api/elsewhere", json!(null), 404, "OPERATION_NOT_FOUND"),
        ("/", json!(null), 404, "OPERATION_NOT_FOUND"),
    ] {
        let response = send(&served.service, post(path, &input)).await;
        assert_eq!(response.status(), status, "{path} {input}");
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json"
        );
        let id = response.headers()["x-request-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let problem = json_of(response).await;
        assert_eq!(problem["code"], code, "{path} {input}");
        assert_eq!(problem["requestId"], json!(id));
        assert_eq!(problem["status"], status);
        let may_have_run = path == "/api/t/native";
        assert_eq!(problem["mayHaveRun"], may_have_run, "{path} {input}");
        if code == "UNKNOWN_ERROR" {
            assert_eq!(problem["detail"], "The operation failed");
            assert_eq!(problem.get("details"), None);
        }
    }
}

#[tokio::test]
async fn an_aborted_call_closes_its_connection() {
    let served = served(&json!({}));
    let request = post("/api/t/native", &json!({ "fail": "ABORTED" }));
    let closed = served.service.clone().oneshot(request).await.unwrap_err();
    assert_eq!(closed, Closed);
}

#[tokio::test]
async fn what_cannot_be_an_input_never_reaches_an_operation() {
    let served = served(&json!({}));
    let with = |content_type: &str, body: Vec<u8>| {
        Request::post("/api/t/native")
            .header("host", "localhost")
            .header("content-type", content_type)
            .body(Full::<Bytes>::from(body))
            .unwrap()
    };
    let deep = [b"[".repeat(600), b"]".repeat(600)].concat();
    for (request, status) in [
        (with("text/plain", b"{}".to_vec()), 415),
        (with("application/jsonx", b"{}".to_vec()), 415),
        (with("application/json", b"{".to_vec()), 400),
        (with("application/json", b"{} {}".to_vec()), 400),
        (with("application/json", vec![b'"', 0xff, b'"']), 400),
        (with("application/json", deep.clone()), 413),
        (with("application/json", vec![b'['; 600]), 400),
        (with("application/json", vec![b' '; 1001]), 413),
        (
            with("Application/Vnd.x+JSON; charset=utf-8", b"{}".to_vec()),
            204,
        ),
        (with("text/plain", Vec::new()), 204),
    ] {
        let shown = format!("{request:?}");
        let response = send(&served.service, request).await;
        assert_eq!(response.status(), status, "{shown}");
        if status >= 400 {
            assert_eq!(json_of(response).await["mayHaveRun"], false);
        }
    }
    let mut get = post("/api/t/native", &json!(null));
    *get.method_mut() = http::Method::GET;
    let response = send(&served.service, get).await;
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()["allow"], "POST");
}

#[tokio::test]
async fn a_stranger_is_not_let_in() {
    let served = served(&json!({}));
    for (name, value) in [
        ("host", "rebound.example"),
        ("origin", "https://evil.example"),
    ] {
        let mut request = post("/api/t/native", &json!({}));
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(send(&served.service, request).await.status(), 403, "{name}");
    }
}

#[tokio::test]
async fn a_subscription_is_an_event_stream() {
    let served = served(&json!({}));
    let upstream = json!({ "data": "x\ny", "meta": {
        "source": "http", "statusCode": 200, "contentType": "text/event-stream", "headers": {},
        "sse": { "event": "tick", "id": "b7" },
    } });
    let steps =
        json!([{ "gives": { "n": 1 } }, { "gives": upstream }, { "fail": "GONE" }, { "gives": 3 }]);
    let response = send(&served.service, post("/api/t/stream", &steps)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = text(response).await;
    let (events, error) = events
        .split_once("event: error\ndata: ")
        .expect("an error at the end");
    assert_eq!(
        events,
        "id: 1\ndata: {\"n\":1}\n\nevent: tick\nid: b7\ndata: \"x\\ny\"\n\n"
    );
    let error: Value = serde_json::from_str(error.trim_end()).unwrap();
    assert_eq!(error["code"], "GONE");
    let mut again = post("/api/t/stream", &json!([{ "gives": 1 }]));
    again
        .headers_mut()
        .insert("last-event-id", "41".parse().unwrap());
    let response = send(&served.service, again).await;
    assert_eq!(text(response).await, "id: 42\ndata: 1\n\n");
}

#[tokio::test]
async fn what_a_stream_hides_from_its_client_is_logged() {
    let served = served(&json!({}));
    let steps = json!([{ "gives": 1 }, { "fail": "UNKNOWN_ERROR" }]);
    let events = text(send(&served.service, post("/api/t/stream", &steps)).await).await;
    assert!(events.contains("The operation failed"), "{events}");
    assert!(!events.contains("it failed"), "{events}");
    let log = served.log.lock().unwrap();
    assert_eq!(*log, ["A served call failed: it failed"]);
}

#[tokio::test]
async fn the_error_of_a_stream_has_the_status_that_the_operation_declares() {
    let served = served(&json!({}));
    let status = async |code: &str| {
        let steps = json!([{ "gives": 1 }, { "fail": code }]);
        let events = text(send(&served.service, post("/api/t/stream", &steps)).await).await;
        let (_, problem) = events.split_once("event: error\ndata: ").unwrap();
        let problem: Value = serde_json::from_str(problem.trim_end()).unwrap();
        problem["status"].as_u64().unwrap()
    };
    assert_eq!(status("GONE").await, 410);
    assert_eq!(status("UNKNOWN_ERROR").await, 500);
    // Without an identity, one has to be shown.
    assert_eq!(status("ACCESS_DENIED").await, 401);
}

#[tokio::test]
async fn a_subscription_that_fails_at_once_has_a_status() {
    let served = served(&json!({}));
    let response = send(
        &served.service,
        post("/api/t/stream", &json!([{ "fail": "GONE" }])),
    )
    .await;
    assert_eq!(response.status(), 410);
}

#[tokio::test]
async fn only_what_is_shown_is_there() {
    let served = served(&json!({}));
    let calls = &served.service.shared().calls;
    calls.show_only(std::iter::once("t.native".to_owned()).collect());
    assert_eq!(
        send(&served.service, post("/api/t/native", &json!({})))
            .await
            .status(),
        204
    );
    assert_eq!(
        send(&served.service, post("/api/t/host", &json!({})))
            .await
            .status(),
        404
    );
    assert_eq!(calls.operations().len(), 1);
    served.registry.remove("t.native");
    assert_eq!(
        send(&served.service, post("/api/t/native", &json!({})))
            .await
            .status(),
        404
    );
}

#[tokio::test]
async fn above_the_limits_calls_wait_or_are_refused() {
    let served = served(&json!({ "concurrency": 1, "queue": 0 }));
    let service = served.service.clone();
    let waits =
        tokio::spawn(
            async move { send(&service, post("/api/t/native", &json!({ "waits": 1 }))).await },
        );
    while served.service.shared().calls.counts().0 == 0 {
        tokio::task::yield_now().await;
    }
    let response = send(&served.service, post("/api/t/native", &json!({}))).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(json_of(response).await["mayHaveRun"], false);
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    assert_eq!(
        send(&served.service, post("/api/t/native", &json!({})))
            .await
            .status(),
        204
    );
}

fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(path).header("host", "localhost");
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_flat_query_is_a_get() {
    let served = served(&json!({}));
    let response = send(&served.service, get("/api/t/flat?gives=a+b&n=7")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(text(response).await, "\"a b\"");
    let response = send(&served.service, get("/api/t/native")).await;
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()["allow"], "POST");
}

#[tokio::test]
async fn an_imported_operation_keeps_its_place() {
    let tokens = json!([["s", { "id": "a", "scopes": ["admin"] }]]);
    let served = served(&json!({ "identity": { "tokens": tokens, "anonymous": true } }));
    let put = |token: &str| {
        let request = Request::put("/api/items/x%2Fy")
            .header("host", "localhost")
            .header("content-type", "application/json");
        let request = match token {
            "" => request,
            token => request.header("authorization", format!("Bearer {token}")),
        };
        request.body(Full::from("{}")).unwrap()
    };
    assert_eq!(send(&served.service, put("")).await.status(), 401);
    let response = send(&served.service, put("s")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(text(response).await, "\"x/y\"");
}

#[tokio::test]
async fn the_document_is_for_its_reader() {
    let tokens = json!([["s", { "id": "a", "scopes": ["admin"] }]]);
    let served = served(&json!({ "identity": { "tokens": tokens, "anonymous": true } }));
    let document = json_of(send(&served.service, get("/api/openapi.json")).await).await;
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/t/native", "/t/flat", "/t/stream"]);
    let mut request = get("/api/openapi.json");
    let headers = request.headers_mut();
    headers.insert("authorization", "Bearer s".parse().unwrap());
    let document = json_of(send(&served.service, request).await).await;
    assert!(document["paths"]["/items/{gives}"]["put"].is_object());
    assert_eq!(document["servers"], json!([{ "url": "/api" }]));
}

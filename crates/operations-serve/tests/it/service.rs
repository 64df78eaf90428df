//! What concerns every request, whichever door it is for.

use http::Method;
use serde_json::json;

use crate::support::{json_of, post, send, served, text};

#[tokio::test]
async fn health_and_metrics() {
    let served = served(&json!({}));
    let get = |path: &str, host: &'static str| {
        let mut request = post(path, &json!(null));
        *request.method_mut() = Method::GET;
        request.headers_mut().insert("host", host.parse().unwrap());
        request
    };
    let response = send(&served.service, get("/health", "10.1.2.3")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(json_of(response).await, json!({ "status": "ok" }));
    assert_eq!(
        send(&served.service, get("/metrics", "10.1.2.3"))
            .await
            .status(),
        403
    );
    let response = send(&served.service, get("/metrics", "localhost")).await;
    let metrics = text(response).await;
    assert!(
        metrics.contains("\noperations_serve_requests_total 3\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\noperations_serve_refused_total 1\n"),
        "{metrics}"
    );
    served.service.shared().closing.cancel();
    let response = send(&served.service, get("/health", "localhost")).await;
    assert_eq!(response.status(), 503);
}

#[tokio::test]
async fn metrics_are_for_those_who_are_known_where_anybody_is() {
    let tokens = json!([["t0ken", { "id": "ada", "scopes": [] }]]);
    let served = served(&json!({ "identity": { "tokens": tokens } }));
    let get = |token: Option<&str>| {
        let mut request = post("/metrics", &json!(null));
        *request.method_mut() = Method::GET;
        if let Some(token) = token {
            let headers = request.headers_mut();
            headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        request
    };
    let response = send(&served.service, get(None)).await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    assert!(!text(response).await.contains("operations_serve"));
    let response = send(&served.service, get(Some("t0ken"))).await;
    assert_eq!(response.status(), 200);
    assert_eq!(send(&served.service, get(Some("x"))).await.status(), 401);
}

#[tokio::test]
async fn pages_may_read_answers_if_they_are_let() {
    let from = |origin: &str, method: Method| {
        let mut request = post("/api/t/native", &json!({ "gives": 1 }));
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.insert("origin", origin.parse().unwrap());
        headers.insert("access-control-request-method", "POST".parse().unwrap());
        headers.insert(
            "access-control-request-headers",
            "content-type".parse().unwrap(),
        );
        request
    };
    let page = "https://app.example";
    let open = served(&json!({ "allowedOrigins": [page], "cors": { "credentials": true } }));
    let response = send(&open.service, from(page, Method::OPTIONS)).await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.headers()["access-control-allow-origin"], page);
    assert_eq!(
        response.headers()["access-control-allow-headers"],
        "content-type"
    );
    let response = send(&open.service, from(page, Method::POST)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], page);
    assert_eq!(
        response.headers()["access-control-allow-credentials"],
        "true"
    );
    assert_eq!(response.headers()["vary"], "Origin");
    let response = send(&open.service, from("https://evil.example", Method::OPTIONS)).await;
    assert_eq!(response.status(), 403);
    assert_eq!(response.headers().get("access-control-allow-origin"), None);
    let closed = served(&json!({ "allowedOrigins": [page] }));
    let response = send(&closed.service, from(page, Method::POST)).await;
    assert_eq!(response.headers().get("access-control-allow-origin"), None);
    let response = send(&closed.service, from(page, Method::OPTIONS)).await;
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn a_client_may_be_in_a_hurry() {
    for (timeout, prefer, asked) in [
        (json!(0), "wait=0", Some(0.0)),
        (json!(60_000), "respond-async, wait=5", Some(5_000.0)),
        (json!(60_000), "wait=100", Some(60_000.0)),
        (json!(0), "wait=x", None),
    ] {
        let mut served = served(&json!({ "timeout": timeout }));
        let mut request = post("/api/t/host", &json!({}));
        request
            .headers_mut()
            .insert("prefer", prefer.parse().unwrap());
        let before = operations_core::clock::now();
        let service = served.service.clone();
        let sent = tokio::spawn(async move { send(&service, request).await });
        if asked == Some(0.0) {
            assert_eq!(sent.await.unwrap().status(), 504);
            continue;
        }
        let (_, _, event) = served.asked.recv().await.unwrap();
        let left = event["deadline"].as_f64().map(|deadline| deadline - before);
        match (left, asked) {
            (None, None) => {}
            // The clock goes on between the two.
            (Some(left), Some(asked)) => {
                assert!(left >= asked && left < asked + 30_000.0, "{left}");
            }
            odd => panic!("{odd:?}"),
        }
        sent.abort();
    }
}

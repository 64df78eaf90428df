//! Calls against a real server on the loopback interface.

use std::time::Duration;

use crate::support::{JSON, Server, operation, response, service};
use operations_http::message::{Decoded, InputValue, Secret};
use operations_http::{CallInput, Failure, JsonForm, Reply, Service};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

async fn call(service: &Service, method: &str) -> Result<Reply, Failure> {
    let operation = operation(method, "application/json");
    let mut input = CallInput::default();
    if method != "get" {
        let body = InputValue::JsonText(r#"{"a":1}"#.to_owned());
        input.values.insert("body".to_owned(), body);
    }
    service
        .call(
            &operation,
            input,
            &CancellationToken::new(),
            None,
            JsonForm::Text,
        )
        .await
}

fn message(outcome: Result<Reply, Failure>) -> (String, String) {
    let error = outcome.unwrap_err().error;
    (error.code.into_owned(), error.message)
}

#[tokio::test]
async fn a_reply_has_its_head_and_its_json() {
    let server = Server::saying(response("200 Fine", &[JSON, "X-A: 1", "X-A: 2"], "[1]")).await;
    let reply = call(&service(&server.url, json!({})), "get").await.unwrap();
    assert_eq!(reply.body, Decoded::Json("[1]".to_owned()));
    assert_eq!(reply.head.headers["x-a"], "1, 2");
    assert_eq!(reply.head.reason.as_deref(), Some("Fine"));
    let received = &server.received()[0];
    assert_eq!(received.line, "GET / HTTP/1.1");
    assert!(
        received
            .header("user-agent")
            .unwrap()
            .starts_with("alkdev-operations/")
    );
}

#[tokio::test]
async fn a_status_outside_2xx_is_an_error_with_the_server_s_own_words() {
    let server = Server::saying(response("418 Short And Stout", &[JSON], r#"{"tea":true}"#)).await;
    let failure = call(&service(&server.url, json!({})), "get")
        .await
        .unwrap_err();
    assert_eq!(failure.error.message, "HTTP 418: Short And Stout");
    let details = failure.error.details.unwrap();
    assert_eq!(details["statusCode"], 418);
    assert_eq!(details["body"], json!({ "tea": true }));
}

#[tokio::test]
async fn a_binary_error_body_is_kept_as_bytes() {
    let png = ["Content-Type: image/png"];
    let server = Server::saying(response("500 No", &png, [0, 159, 146, 150])).await;
    let failure = call(&service(&server.url, json!({})), "get")
        .await
        .unwrap_err();
    assert_eq!(failure.body, Some(vec![0, 159, 146, 150]));
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let limits = json!({ "maxResponseBytes": 1000 });
    let large = "x".repeat(1001);
    let announced = Server::saying(response("200 OK", &["Content-Type: text/plain"], &large)).await;
    let (_, text) = message(call(&service(&announced.url, limits.clone()), "get").await);
    assert!(
        text.contains("larger than the limit of 1000 bytes"),
        "{text}"
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
    let silent = Server::saying(format!("{head}{large}")).await;
    let (_, text) = message(call(&service(&silent.url, limits.clone()), "get").await);
    assert!(
        text.contains("larger than the limit of 1000 bytes"),
        "{text}"
    );
    let exact = Server::saying(format!("{head}{}", "x".repeat(1000))).await;
    let reply = call(&service(&exact.url, limits), "get").await.unwrap();
    assert_eq!(reply.body, Decoded::Text("x".repeat(1000)));
}

#[tokio::test]
async fn a_refused_connection_names_the_host_and_the_reason() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = json!({ "auth": { "type": "bearer", "token": "open-sesame" } });
    let url = format!("http://{address}/?key=hidden");
    let failure = call(&service(&url, settings), "get").await.unwrap_err();
    let text = failure.error.message.clone();
    assert_eq!(
        text,
        format!("The request to {address} failed: the connection was refused")
    );
    assert_eq!(failure.error.details.unwrap()["cause"], "ECONNREFUSED");
}

#[tokio::test]
async fn a_connection_that_ends_in_the_middle_is_no_empty_body() {
    let server = Server::saying(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nabc",
    )
    .await;
    let (code, text) = message(call(&service(&server.url, json!({})), "get").await);
    assert_eq!(code, "EXECUTION_ERROR");
    assert!(text.contains("failed:"), "{text}");
}

#[tokio::test]
async fn the_time_limit_covers_headers_and_body() {
    for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"] {
        let server = Server::start(move |_, _, mut stream| async move {
            let _ = stream.write_all(head.as_bytes()).await;
            std::future::pending::<()>().await;
        })
        .await;
        let (code, text) =
            message(call(&service(&server.url, json!({ "timeout": 50 })), "get").await);
        assert_eq!(code, "TIMEOUT");
        assert!(text.contains("did not answer within 50 ms"), "{text}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_closes_its_connection() {
    let (closed, mut was_closed) = tokio::sync::mpsc::channel::<()>(1);
    let server = Server::start(move |_, _, mut stream| {
        let closed = closed.clone();
        async move {
            let mut rest = Vec::new();
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await;
            let _ = closed.send(()).await;
        }
    })
    .await;
    let service = service(&server.url, json!({}));
    let operation = operation("get", "application/json");
    let cancel = CancellationToken::new();
    let ended = cancel.clone();
    let running = tokio::spawn(async move {
        service
            .call(
                &operation,
                CallInput::default(),
                &cancel,
                None,
                JsonForm::Text,
            )
            .await
    });
    while server.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    ended.cancel();
    assert_eq!(message(running.await.unwrap()).0, "ABORTED");
    was_closed.recv().await.unwrap();
}

#[tokio::test]
async fn retries_are_counted_and_only_for_what_is_safe() {
    let server = Server::saying(response("503 Busy", &[JSON], "{}")).await;
    let retry = json!({ "retry": { "retries": 2, "delay": 1 } });
    let (_, text) = message(call(&service(&server.url, retry.clone()), "get").await);
    assert_eq!(text, "HTTP 503: Busy (tried 3 times)");
    assert_eq!(server.received().len(), 3);
    let (_, text) = message(call(&service(&server.url, retry), "post").await);
    assert_eq!(text, "HTTP 503: Busy");
    assert_eq!(server.received().len(), 4);
}

#[tokio::test]
async fn a_later_success_is_a_success() {
    let server = Server::start(|number, _, mut stream| async move {
        let text = match number {
            1 => Vec::new(),
            2 => response("429 Slow", &[JSON, "Retry-After: 0"], "{}"),
            _ => response("200 OK", &[JSON], "7"),
        };
        let _ = stream.write_all(&text).await;
    })
    .await;
    let retry = json!({ "retry": { "retries": 2, "delay": 1 } });
    let reply = call(&service(&server.url, retry), "put").await.unwrap();
    assert_eq!(reply.body, Decoded::Json("7".to_owned()));
    let bodies: Vec<_> = server.received().into_iter().map(|one| one.body).collect();
    assert_eq!(bodies, vec![br#"{"a":1}"#.to_vec(); 3]);
}

#[tokio::test]
async fn a_server_that_asks_for_more_patience_than_allowed_gets_no_other_try() {
    let server = Server::saying(response("503 Busy", &[JSON, "Retry-After: 3600"], "{}")).await;
    let retry = json!({ "retry": { "retries": 2, "delay": 1 } });
    let (_, text) = message(call(&service(&server.url, retry), "get").await);
    assert_eq!(text, "HTTP 503: Busy");
}

#[tokio::test]
async fn redirects_take_credentials_to_the_same_origin_only() {
    let elsewhere = Server::saying(response("200 OK", &[JSON], "1")).await;
    let target = elsewhere.url.clone();
    let server = Server::start(move |number, _, mut stream| {
        let location = match number {
            1 => "/again".to_owned(),
            _ => format!("{target}/there"),
        };
        async move {
            let header = format!("Location: {location}");
            let _ = stream
                .write_all(&response("307 Over There", &[&header], ""))
                .await;
        }
    })
    .await;
    let settings = json!({
        "auth": { "type": "apiKey", "token": "open-sesame" },
        "allowPrivateAddresses": true,
    });
    call(&service(&server.url, settings), "post").await.unwrap();
    let first = server.received();
    assert_eq!(first.len(), 2);
    assert!(
        first
            .iter()
            .all(|one| one.header("x-api-key") == Some("open-sesame"))
    );
    let last = &elsewhere.received()[0];
    assert_eq!(last.header("x-api-key"), None);
    assert_eq!(last.body, br#"{"a":1}"#);
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let server = Server::saying(response("302 Round", &["Location: /"], "")).await;
    let (_, text) = message(call(&service(&server.url, json!({})), "get").await);
    assert!(text.contains("redirected more than 20 times"), "{text}");
    assert_eq!(server.received().len(), 21);
}

#[tokio::test]
async fn what_a_server_repeats_of_a_secret_is_blanked_out() {
    let body = r#"{"you sent":"Bearer open-sesame"}"#;
    let server = Server::saying(response("401 open-sesame is wrong", &[JSON], body)).await;
    let settings = json!({ "auth": { "type": "bearer", "token": "open-sesame" } });
    let failure = call(&service(&server.url, settings), "get")
        .await
        .unwrap_err();
    let shown = serde_json::to_string(&failure.error).unwrap();
    assert!(!shown.contains("open-sesame"), "{shown}");
}

#[tokio::test]
async fn a_success_that_is_no_json_says_so() {
    let server = Server::saying(response("200 OK", &[JSON], "<html>")).await;
    let (code, text) = message(call(&service(&server.url, json!({})), "get").await);
    assert_eq!(code, "EXECUTION_ERROR");
    assert!(text.contains("not valid JSON"), "{text}");
}

#[tokio::test]
async fn a_text_is_fetched_with_the_address_that_it_came_from() {
    let server = Server::start(|_, request, mut stream| async move {
        let answer = if request.line.contains("/moved") {
            response(
                "200 OK",
                &["Content-Type: application/yaml"],
                "openapi: 3.1.0",
            )
        } else {
            response("301 Moved", &["Location: /moved"], "")
        };
        let _ = stream.write_all(&answer).await;
    })
    .await;
    let service = service(&server.url, json!({}));
    let headers = [("Accept".to_owned(), Secret::new("application/yaml"))];
    let fetched = service
        .fetch(
            &format!("{}/doc", server.url),
            &headers,
            false,
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!(fetched.url, format!("{}/moved", server.url));
    assert_eq!(fetched.text, "openapi: 3.1.0");
}

#[test]
fn settings_are_checked_by_name_and_without_quoting_secrets() {
    for (settings, word) in [
        (json!({ "auth": { "type": "bearer" } }), "token"),
        (
            json!({ "auth": { "type": "magic", "token": "x" } }),
            "auth.type",
        ),
        (json!({ "headers": { "a b": "x" } }), "header name"),
        (json!({ "headers": { "a": "open\nsesame" } }), "line break"),
        (json!({ "baseUrl": "ftp://x" }), "scheme"),
        (json!({ "timeout": Value::from("soon") }), "configuration"),
    ] {
        let error = operations_http::ServiceSettings::from_json(&settings.to_string()).unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(error.message.contains(word), "{}", error.message);
        assert!(!error.message.contains("sesame"));
    }
}

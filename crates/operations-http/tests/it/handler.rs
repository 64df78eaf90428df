//! Imported operations as handlers of the registry, against a real server, without a host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{EVENTS, JSON, Server, operation, response, service};
use futures::{FutureExt, StreamExt};
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::registry::{Context, Envelope, Handler, Outcome, Produced};
use operations_http::message::{HttpOperation, Location, Parameter};
use operations_http::{HttpHandler, Service};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

fn handler(service: &Arc<Service>, operation: HttpOperation) -> HttpHandler {
    HttpHandler {
        service: Arc::clone(service),
        operation: Arc::new(operation),
        is_host_sending: Arc::default(),
        spills: None,
    }
}

fn document(value: &Value) -> Document {
    Document::parse(value.to_string()).unwrap()
}

fn envelope(outcome: Outcome) -> Result<Envelope, CallError> {
    match outcome.map_err(|failure| *failure.error)? {
        Produced::Envelope(envelope) => Ok(envelope),
        other => unreachable!("{other:?}"),
    }
}

/// `data` and `meta` of an outcome.
fn seen(outcome: Outcome) -> Result<(Value, Value), CallError> {
    envelope(outcome).map(|envelope| {
        let data = envelope.data.map(|data| data.root().stringify());
        (
            data.map_or(Value::Null, |data| serde_json::from_str(&data).unwrap()),
            serde_json::from_str(&envelope.meta).unwrap(),
        )
    })
}

async fn call(
    server: &Server,
    operation: HttpOperation,
    input: &Value,
) -> Result<(Value, Value), CallError> {
    let handler = handler(&service(&server.url, json!({})), operation);
    seen(
        handler
            .call(Some(document(input)), Context::default())
            .await,
    )
}

/// A server that holds every request until it is released, and reports when it has one.
async fn stalling() -> (Server, Arc<Notify>) {
    let arrived = Arc::new(Notify::new());
    let notify = Arc::clone(&arrived);
    let server = Server::start(move |_, _, stream| {
        notify.notify_one();
        async move {
            std::future::pending::<()>().await;
            drop(stream);
        }
    })
    .await;
    (server, arrived)
}

#[tokio::test]
async fn a_get_has_its_parameters_in_path_query_header_and_cookie() {
    let server = Server::saying(response("200 OK", &[JSON, "X-A: 1"], r#"{"n": 1.50}"#)).await;
    let mut get = operation("get", "application/json");
    "/pets/{id}/toys".clone_into(&mut get.request.path);
    get.request.parameters = vec![
        Parameter::new("id", Location::Path),
        Parameter::new("tags", Location::Query),
        Parameter::new("X-Trace", Location::Header),
        Parameter::new("session", Location::Cookie),
    ];
    let input = json!({ "id": "a/b c", "tags": ["x&y", "\u{e9}"], "X-Trace": 7, "session": "s1" });
    let (data, meta) = call(&server, get, &input).await.unwrap();
    assert_eq!(data, json!({ "n": 1.5 }));
    assert_eq!(
        (
            &meta["statusCode"],
            &meta["source"],
            &meta["contentType"],
            &meta["headers"]["x-a"]
        ),
        (
            &json!(200),
            &json!("http"),
            &json!("application/json"),
            &json!("1")
        )
    );
    let received = &server.received()[0];
    assert_eq!(
        received.line,
        "GET /pets/a%2Fb%20c/toys?tags=x%26y&tags=%C3%A9 HTTP/1.1"
    );
    assert_eq!(received.header("x-trace"), Some("7"));
    assert_eq!(received.header("cookie"), Some("session=s1"));
    assert!(received.body.is_empty() && received.header("content-type").is_none());
}

#[tokio::test]
async fn a_json_body_is_sent_as_it_stands_beside_the_parameters() {
    let server = Server::saying(response("201 Created", &[JSON], "[]")).await;
    let input =
        r#"{"q":"x","body":{"big":12345678901234567890,"text":"\ud83d\ude00","none":null}}"#;
    let handler = handler(
        &service(&server.url, json!({})),
        operation("post", "application/json"),
    );
    let input = Some(Document::parse(input.to_owned()).unwrap());
    let (data, meta) = seen(handler.call(input, Context::default()).await).unwrap();
    assert_eq!((data, &meta["statusCode"]), (json!([]), &json!(201)));
    let received = &server.received()[0];
    assert_eq!(received.line, "POST /?q=x HTTP/1.1");
    assert_eq!(received.header("content-type"), Some("application/json"));
    // As JavaScript, which reads a number as a double, would write it.
    assert_eq!(
        String::from_utf8_lossy(&received.body),
        "{\"big\":12345678901234567000,\"text\":\"\u{1f600}\",\"none\":null}"
    );
}

#[tokio::test]
async fn every_json_value_can_be_a_body_and_no_input_is_none() {
    let server = Server::saying(response("200 OK", &[JSON], "1")).await;
    for body in [json!(0), json!(false), json!(""), json!(null)] {
        let post = operation("post", "application/json");
        call(&server, post, &json!({ "body": body })).await.unwrap();
        assert_eq!(
            server.received().last().unwrap().body,
            body.to_string().as_bytes()
        );
    }
    let handler = handler(
        &service(&server.url, json!({})),
        operation("get", "application/json"),
    );
    for input in [None, Some(document(&json!(null)))] {
        seen(handler.call(input, Context::default()).await).unwrap();
        assert_eq!(server.received().last().unwrap().line, "GET / HTTP/1.1");
    }
}

#[tokio::test]
async fn texts_and_empty_answers_are_told_apart() {
    let text = Server::saying(response(
        "200 OK",
        &["Content-Type: text/plain"],
        "a \"b\"\n",
    ))
    .await;
    let (data, _) = call(&text, operation("get", "text/plain"), &json!({}))
        .await
        .unwrap();
    assert_eq!(data, json!("a \"b\"\n"));
    let empty = Server::saying("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
    let handler = handler(
        &service(&empty.url, json!({})),
        operation("get", "application/json"),
    );
    let empty = envelope(handler.call(None, Context::default()).await).unwrap();
    assert!(empty.data.is_none() && !empty.is_declared);
}

#[tokio::test]
async fn errors_are_what_a_caller_of_the_host_would_get() {
    let get = || operation("get", "application/json");
    let status = Server::saying(response("404 Not Here", &[JSON], r#"{"why":"gone"}"#)).await;
    let error = call(&status, get(), &json!({})).await.unwrap_err();
    assert_eq!(error.code, "EXECUTION_ERROR");
    assert!(
        error.message.starts_with("HTTP 404: Not Here"),
        "{}",
        error.message
    );
    let details = error.details.unwrap();
    assert_eq!(
        (&details["statusCode"], &details["body"]),
        (&json!(404), &json!({ "why": "gone" }))
    );
    let broken = Server::saying(response("200 OK", &[JSON], "{")).await;
    let error = call(&broken, get(), &json!({})).await.unwrap_err();
    assert!(error.message.contains("JSON"), "{}", error.message);
    let cut = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await;
    assert_eq!(
        call(&cut, get(), &json!({})).await.unwrap_err().code,
        "EXECUTION_ERROR"
    );
    // A path parameter that is missing: nothing is sent.
    let mut unfilled = get();
    "/{id}".clone_into(&mut unfilled.request.path);
    unfilled.request.parameters = vec![Parameter::new("id", Location::Path)];
    let before = status.received().len();
    let error = call(&status, unfilled, &json!({})).await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), status.received().len()),
        ("VALIDATION_ERROR", before)
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_a_timeout() {
    let (server, _) = stalling().await;
    let slow = service(&server.url, json!({ "timeout": 30 }));
    let handler = handler(&slow, operation("get", "application/json"));
    let error = seen(handler.call(None, Context::default()).await).unwrap_err();
    assert_eq!(error.code, "TIMEOUT");
}

#[tokio::test]
async fn an_abandoned_call_is_aborted_and_so_is_one_of_a_closed_service() {
    let (server, arrived) = stalling().await;
    let service = service(&server.url, json!({}));
    let handler = handler(&service, operation("get", "application/json"));
    let context = Context::default();
    let cancel = context.cancel.clone();
    let (outcome, ()) = tokio::join!(handler.call(None, context), async {
        arrived.notified().await;
        cancel.cancel();
    });
    assert_eq!(seen(outcome).unwrap_err().code, "ABORTED");
    let (outcome, ()) = tokio::join!(handler.call(None, Context::default()), async {
        arrived.notified().await;
        service.close();
    });
    assert_eq!(seen(outcome).unwrap_err().code, "ABORTED");
}

#[tokio::test]
async fn the_host_is_asked_while_it_sends_requests_itself() {
    let service = service("http://127.0.0.1:1", json!({}));
    let mut handler = handler(&service, operation("get", "application/json"));
    assert!(handler.takes(&Context::default()));
    let sends = Arc::new(AtomicBool::new(true));
    handler.is_host_sending = Arc::clone(&sends);
    assert!(!handler.takes(&Context::default()));
    sends.store(false, Ordering::Relaxed);
    assert!(handler.takes(&Context::default()));
}

#[tokio::test]
async fn events_have_their_type_id_and_retry_and_lines_have_none() {
    let text =
        "event: a\nid: 1\nretry: 7\ndata: {\"n\":1}\n\ndata: two\n\nid: 2\nevent: b\ndata: 3\n\n";
    let server = Server::saying(format!("{EVENTS}{text}")).await;
    let events = handler(
        &service(&server.url, json!({})),
        operation("get", "text/event-stream"),
    );
    let all: Vec<_> = events
        .subscribe(None, Context::default())
        .map(seen)
        .collect()
        .await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        all.iter()
            .map(|(data, meta)| json!([data, meta["sse"]]))
            .collect::<Vec<_>>(),
        [
            json!([{ "n": 1 }, { "event": "a", "id": "1", "retry": 7 }]),
            json!(["two", { "event": "message", "id": "1" }]),
            json!([3, { "event": "b", "id": "2" }]),
        ]
    );
    assert!(all.iter().all(|(_, meta)| {
        meta["statusCode"] == 200
            && meta["contentType"] == "text/event-stream"
            && meta["source"] == "http"
    }));
    let ndjson = "Content-Type: application/x-ndjson";
    let server = Server::saying(response("200 OK", &[ndjson], "{\"n\":1}\n[2]\n")).await;
    let lines = handler(
        &service(&server.url, json!({})),
        operation("get", "application/x-ndjson"),
    );
    let all: Vec<_> = lines
        .subscribe(None, Context::default())
        .map(seen)
        .collect()
        .await;
    let data: Vec<_> = all
        .iter()
        .map(|one| one.as_ref().unwrap().0.clone())
        .collect();
    assert_eq!(data, [json!({ "n": 1 }), json!([2])]);
    assert!(all[0].as_ref().unwrap().1.get("sse").is_none());
}

#[tokio::test]
async fn a_stream_that_fails_says_so_once_after_its_events() {
    let server = Server::saying(response("403 No", &[JSON], "{}")).await;
    let refused = handler(
        &service(&server.url, json!({})),
        operation("get", "text/event-stream"),
    );
    let all: Vec<_> = refused
        .subscribe(None, Context::default())
        .map(seen)
        .collect()
        .await;
    assert_eq!(all.len(), 1);
    assert!(all[0].as_ref().unwrap_err().message.starts_with("HTTP 403"));
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = Server::saying(format!("{head}9\r\ndata: 1\n\n\r\n")).await;
    let broken = handler(
        &service(&server.url, json!({})),
        operation("get", "text/event-stream"),
    );
    let all: Vec<_> = broken
        .subscribe(None, Context::default())
        .map(seen)
        .collect()
        .await;
    let codes: Vec<_> = all
        .iter()
        .map(|one| one.as_ref().err().map(|error| &*error.code))
        .collect();
    assert_eq!(codes, [None, Some("EXECUTION_ERROR")]);
}

#[tokio::test]
async fn nothing_is_sent_before_a_stream_is_polled_and_a_cancelled_one_ends() {
    let server = Server::start(|_, _, mut stream| async move {
        let _ = stream
            .write_all(format!("{EVENTS}data: 1\n\n").as_bytes())
            .await;
        std::future::pending::<()>().await;
    })
    .await;
    let handler = handler(
        &service(&server.url, json!({})),
        operation("get", "text/event-stream"),
    );
    drop(handler.subscribe(None, Context::default()));
    let context = Context::default();
    let cancel = context.cancel.clone();
    let mut events = handler.subscribe(None, context);
    assert!(server.received().is_empty());
    assert_eq!(seen(events.next().await.unwrap()).unwrap().0, json!(1));
    assert!(events.next().now_or_never().is_none());
    cancel.cancel();
    let error = seen(events.next().await.unwrap()).unwrap_err();
    assert_eq!(error.code, "ABORTED");
    assert!(events.next().await.is_none());
    assert_eq!(server.received().len(), 1);
}

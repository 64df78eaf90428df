//! Streams against a real server on the loopback interface.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{EVENTS, JSON, Server, operation, response, service};
use operations_core::error::CallError;
use operations_http::{CallInput, Service, StreamItem, StreamKind, StreamReader};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

fn open(service: &Arc<Service>, media_type: &str) -> StreamReader {
    let operation = operation("get", media_type);
    service.reader(&operation, CallInput::default()).unwrap()
}

fn open_stream(service: &Arc<Service>) -> StreamReader {
    open(service, "text/event-stream")
}

/// The data of all events or lines, and how the stream ended.
async fn read_all(reader: &mut StreamReader) -> (Vec<Value>, Option<CallError>) {
    let mut data = Vec::new();
    let mut kind = StreamKind::Events;
    loop {
        match reader.next().await {
            Ok(Some(StreamItem::Head(_, of))) => kind = of,
            Ok(Some(StreamItem::Batch(text))) => {
                let members: Vec<Value> = serde_json::from_str(&text).unwrap();
                let step = if kind == StreamKind::Events { 2 } else { 1 };
                data.extend(members.into_iter().step_by(step));
            }
            Ok(None) => return (data, None),
            Err(failure) => return (data, Some(*failure.error)),
        }
    }
}

#[tokio::test]
async fn events_arrive_and_the_request_asks_for_them() {
    let server = Server::saying(format!("{EVENTS}data: 1\n\ndata: two\n\ndata: dropped")).await;
    let mut reader = open_stream(&service(&server.url, json!({})));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(1), json!("two")]);
    assert!(error.is_none());
    let received = &server.received()[0];
    assert_eq!(received.header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn an_error_status_comes_before_the_first_event() {
    let server = Server::saying(response("403 No", &[JSON], r#"{"why":"no"}"#)).await;
    let mut reader = open_stream(&service(&server.url, json!({})));
    let failure = reader.next().await.unwrap_err();
    assert_eq!(failure.error.message, "HTTP 403: No");
    assert_eq!(
        failure.error.details.unwrap()["body"],
        json!({ "why": "no" })
    );
}

#[tokio::test]
async fn json_is_one_value_and_nothing_is_the_end_and_a_picture_is_an_error() {
    let settings = || json!({});
    let value = Server::saying(response("200 OK", &[JSON], "[1]")).await;
    let mut one = open_stream(&service(&value.url, settings()));
    assert_eq!(read_all(&mut one).await, (vec![json!([1])], None));
    let empty = Server::saying("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
    let mut nothing = open_stream(&service(&empty.url, settings()));
    assert_eq!(read_all(&mut nothing).await, (vec![], None));
    let png = Server::saying(response("200 OK", &["Content-Type: image/png"], "x")).await;
    let mut picture = open_stream(&service(&png.url, settings()));
    let text = picture.next().await.unwrap_err().error.message;
    assert_eq!(
        text,
        "HTTP 200: a stream was expected, and the response is image/png"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_after_its_events() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = Server::saying(format!("{head}9\r\ndata: 1\n\n\r\n")).await;
    let mut reader = open_stream(&service(&server.url, json!({})));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(1)]);
    assert_eq!(error.unwrap().code, "EXECUTION_ERROR");
}

/// A server whose connections each give one event, numbered by the id that they were asked to go on
/// from.
async fn forgetful() -> Server {
    Server::start(|_, request, mut stream| async move {
        let last: u32 = request
            .header("last-event-id")
            .map_or(0, |id| id.parse().unwrap());
        let answer = if last == 3 {
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_owned()
        } else {
            let next = last + 1;
            format!("{EVENTS}retry: 1\nid: {next}\ndata: {next}\n\n")
        };
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was_lost() {
    let server = forgetful().await;
    let settings = json!({ "sse": { "reconnect": true, "maxRetries": 3 } });
    let mut reader = open_stream(&service(&server.url, settings));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(1), json!(2), json!(3)]);
    assert!(error.is_none());
    let ids: Vec<_> = server
        .received()
        .iter()
        .map(|one| one.header("last-event-id").unwrap_or("-").to_owned())
        .collect();
    assert_eq!(ids, ["-", "1", "2", "3"]);
}

#[tokio::test]
async fn it_does_not_unless_told_to_and_begins_where_told_to() {
    let server = forgetful().await;
    let settings = json!({ "sse": { "lastEventId": "1" } });
    let mut reader = open_stream(&service(&server.url, settings));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(2)]);
    assert!(error.is_none());
}

#[tokio::test]
async fn attempts_without_an_event_are_counted() {
    let server = Server::start(|number, _, mut stream| async move {
        let answer = match number {
            1 => format!("{EVENTS}retry: 1\ndata: 1\n\n").into_bytes(),
            _ => response("503 Busy", &[JSON], "{}"),
        };
        let _ = stream.write_all(&answer).await;
    })
    .await;
    let settings = json!({ "sse": { "reconnect": true, "maxRetries": 2 } });
    let mut reader = open_stream(&service(&server.url, settings));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(1)]);
    assert_eq!(error.unwrap().message, "HTTP 503: Busy (tried 3 times)");
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn a_refusal_for_good_is_not_tried_again() {
    let server = Server::start(|number, _, mut stream| async move {
        let answer = match number {
            1 => format!("{EVENTS}retry: 1\ndata: 1\n\n").into_bytes(),
            _ => response("401 Gone", &[JSON], "{}"),
        };
        let _ = stream.write_all(&answer).await;
    })
    .await;
    let settings = json!({ "sse": { "reconnect": true } });
    let mut reader = open_stream(&service(&server.url, settings));
    let (_, error) = read_all(&mut reader).await;
    assert!(error.unwrap().message.starts_with("HTTP 401: Gone"));
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn without_a_reader_the_server_cannot_send() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let server = Server::start(move |_, _, mut stream| {
        let counter = Arc::clone(&counter);
        async move {
            let _ = stream.write_all(EVENTS.as_bytes()).await;
            let event = format!("data: {}\n\n", "x".repeat(10_000));
            while stream.write_all(event.as_bytes()).await.is_ok() {
                counter.fetch_add(event.len(), Ordering::SeqCst);
            }
        }
    })
    .await;
    let mut reader = open_stream(&service(&server.url, json!({})));
    reader.next().await.unwrap().unwrap();
    reader.next().await.unwrap().unwrap();
    // The server stops when the buffers of the two sockets are full: as soon as it sends nothing
    // for a while, what it has sent is all that it can.
    let mut before = usize::MAX;
    loop {
        let now = sent.load(Ordering::SeqCst);
        if now == before {
            break;
        }
        before = now;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(before < 64 * 1024 * 1024, "{before} bytes were sent");
}

#[tokio::test]
async fn an_event_without_an_end_is_refused() {
    let server = Server::start(|_, _, mut stream| async move {
        let _ = stream.write_all(EVENTS.as_bytes()).await;
        let _ = stream.write_all(b"data: 1\n\ndata: ").await;
        let piece = vec![b'x'; 65536];
        while stream.write_all(&piece).await.is_ok() {}
    })
    .await;
    let settings = json!({ "sse": { "maxEventBytes": 1_000_000, "reconnect": true } });
    let mut reader = open_stream(&service(&server.url, settings));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!(1)]);
    assert!(error.unwrap().message.contains("limit of 1000000 bytes"));
}

#[tokio::test]
async fn the_time_limit_of_a_stream_ends_with_its_headers() {
    let server = Server::start(|_, _, mut stream| async move {
        let _ = stream.write_all(EVENTS.as_bytes()).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let _ = stream.write_all(b"data: late\n\n").await;
    })
    .await;
    let mut reader = open_stream(&service(&server.url, json!({ "timeout": 1000 })));
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!("late")]);
    assert!(error.is_none());
    let silent = Server::start(|_, _, stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let service = service(&silent.url, json!({ "timeout": 50 }));
    let failure = open_stream(&service).next().await.unwrap_err();
    assert_eq!(failure.error.code, "TIMEOUT");
}

#[tokio::test]
async fn lines_are_read_one_by_one() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n\r\n";
    let server = Server::saying(format!("{head}{{\"a\":1}}\n2")).await;
    let mut reader = open(&service(&server.url, json!({})), "application/x-ndjson");
    let (data, error) = read_all(&mut reader).await;
    assert_eq!(data, [json!({ "a": 1 }), json!(2)]);
    assert!(error.is_none());
}

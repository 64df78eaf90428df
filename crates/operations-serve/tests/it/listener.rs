//! Sockets.

use std::time::Duration;

use operations_serve::listener::Listener;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::served;

async fn connect(listener: &Listener) -> TcpStream {
    let url = listener.url();
    let address = url.strip_prefix("http://").unwrap();
    TcpStream::connect(address).await.unwrap()
}

fn request(body: &str) -> String {
    format!(
        "POST /api/t/native HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // An end by force is an end too.
    let _ = stream.read_to_string(&mut text).await;
    text
}

#[tokio::test]
async fn an_open_port_answers_and_is_closed_again() {
    let served = served(&json!({}));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let mut stream = connect(&listener).await;
    stream
        .write_all(request(r#"{"gives":7}"#).as_bytes())
        .await
        .unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 200");
    // An idle connection does not keep it from closing.
    listener.close(Duration::from_secs(60)).await;
    assert!(read_to_end(stream).await.ends_with("\r\n\r\n7"));
    let address = listener.url().replace("http://", "");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error() {
    let served = served(&json!({}));
    let first = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let port = first.url().rsplit(':').next().unwrap().parse().unwrap();
    let error = Listener::open(served.service.clone(), "127.0.0.1", port)
        .await
        .unwrap_err();
    assert_eq!(error.code, "EXECUTION_ERROR");
    assert_eq!(error.details.unwrap()["reason"], "address-in-use");
}

/// Many spokes come back at once after a restart. Nothing is accepted here, because the only thread is the one that connects: what the
/// system does not keep waiting is not connected.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_that_come_at_once_wait_to_be_accepted() {
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = 400.min(most.trim().parse().unwrap());
    let served = served(&json!({}));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let address = listener.url().replace("http://", "").parse().unwrap();
    let connected: Vec<_> = (0..count)
        .map_while(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok())
        .collect();
    assert_eq!(connected.len(), count);
}

#[tokio::test]
async fn headers_that_do_not_come_end_the_connection() {
    let served = served(&json!({ "requestTimeout": 50 }));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let silent = connect(&listener).await;
    let mut slow = connect(&listener).await;
    slow.write_all(b"POST /api/t/native HTTP/1.1\r\nhost: loc")
        .await
        .unwrap();
    assert_eq!(read_to_end(silent).await, "");
    let said = read_to_end(slow).await;
    assert!(!said.contains(" 200 "), "{said}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let served = served(&json!({ "requestTimeout": 50 }));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let mut stream = connect(&listener).await;
    let all = request("{}");
    stream
        .write_all(&all.as_bytes()[..all.len() - 1])
        .await
        .unwrap();
    assert!(read_to_end(stream).await.starts_with("HTTP/1.1 408 "));
}

#[tokio::test]
async fn a_client_that_vanishes_ends_its_call() {
    let mut served = served(&json!({}));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let mut stream = connect(&listener).await;
    let asked = request("{}").replace("native", "host");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let (_, id, _) = served.asked.recv().await.unwrap();
    drop(stream);
    let (kind, aborted, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, aborted), (6, id));
}

#[tokio::test]
async fn work_that_does_not_end_is_ended_when_the_time_is_up() {
    let mut served = served(&json!({}));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let mut stream = connect(&listener).await;
    let asked = request("{}").replace("native", "host");
    stream.write_all(asked.as_bytes()).await.unwrap();
    served.asked.recv().await.unwrap();
    listener.close(Duration::ZERO).await;
    assert_eq!(read_to_end(stream).await, "");
    assert_eq!(served.asked.recv().await.unwrap().0, 6);
}

#[tokio::test]
async fn requests_that_two_servers_would_read_differently_are_refused() {
    let served = served(&json!({}));
    let listener = Listener::open(served.service.clone(), "127.0.0.1", 0)
        .await
        .unwrap();
    let start =
        "POST /api/t/native HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for rest in [
        "content-length: 2\r\ncontent-length: 3\r\n\r\n{} ",
        "content-length: +2\r\n\r\n{}",
        "content-length: 2, 3\r\n\r\n{} ",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "x: a\u{0}b\r\n\r\n",
    ] {
        let mut stream = connect(&listener).await;
        stream
            .write_all(format!("{start}{rest}").as_bytes())
            .await
            .unwrap();
        let said = read_to_end(stream).await;
        assert!(said.starts_with("HTTP/1.1 400 "), "{rest:?}: {said}");
    }
    let flood = "x-flood: 1\r\n".repeat(5_000);
    let mut stream = connect(&listener).await;
    // It may be cut off before all of it is sent.
    let _ = stream
        .write_all(format!("{start}{flood}\r\n").as_bytes())
        .await;
    assert!(!read_to_end(stream).await.contains("HTTP/1.1 2"));
}

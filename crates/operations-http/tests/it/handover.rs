//! A stream on its way to a consumer that comes for it when it likes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{EVENTS, JSON, Server, operation, response, service};
use operations_http::machine::Output;
use operations_http::{EncodedInput, Handover, StreamItem};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A consumer: it takes until there is nothing, and waits to be woken.
struct Consumer {
    handover: Arc<Handover>,
    woken: Arc<Notify>,
    wake_ups: Arc<AtomicUsize>,
    left: CancellationToken,
    closed: CancellationToken,
    task: JoinHandle<()>,
}

impl Consumer {
    fn of(server: &Server, input: &str) -> Self {
        let woken = Arc::new(Notify::new());
        let wake_ups = Arc::new(AtomicUsize::new(0));
        let (to_wake, counter) = (Arc::clone(&woken), Arc::clone(&wake_ups));
        let handover = Handover::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            to_wake.notify_one();
        });
        let (left, closed) = (CancellationToken::new(), CancellationToken::new());
        let task = {
            let service = service(&server.url, json!({}));
            let (handover, left, closed) = (Arc::clone(&handover), left.clone(), closed.clone());
            let input = EncodedInput {
                input: input.to_owned(),
                ..EncodedInput::default()
            };
            tokio::spawn(async move {
                let operation = operation("get", "text/event-stream");
                handover
                    .run(&service, &operation, input, left, closed)
                    .await;
            })
        };
        Self {
            handover,
            woken,
            wake_ups,
            left,
            closed,
            task,
        }
    }

    async fn next(&self) -> Output {
        loop {
            if let Some(output) = self.handover.take() {
                return output;
            }
            self.woken.notified().await;
        }
    }

    /// The data of all events up to the end, and the error if there was one.
    async fn all(&self) -> (Vec<Value>, Option<String>) {
        let mut data = Vec::new();
        loop {
            match self.next().await {
                Output::Item(StreamItem::Head(..)) => {}
                Output::Item(StreamItem::Batch(text)) => {
                    let members: Vec<Value> = serde_json::from_str(&text).unwrap();
                    data.extend(members.into_iter().step_by(2));
                }
                Output::End => return (data, None),
                Output::Failed(failure) => return (data, Some(failure.error.to_string())),
                Output::Reply(reply) => panic!("{reply:?}"),
            }
        }
    }
}

/// A server that sends one event and stays; it tells when the other side has gone.
async fn staying() -> (Server, Arc<Notify>) {
    let gone = Arc::new(Notify::new());
    let notifier = Arc::clone(&gone);
    let server = Server::start(move |_, _, mut stream| {
        let gone = Arc::clone(&notifier);
        async move {
            let _ = stream.write_all(EVENTS.as_bytes()).await;
            let _ = stream.write_all(b"data: 1\n\n").await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
            gone.notify_one();
        }
    })
    .await;
    (server, gone)
}

#[tokio::test]
async fn everything_arrives_in_order_and_then_the_end() {
    let mut text = String::new();
    for n in 0..20_000 {
        let _ = write!(text, "data: {n}\n\n");
    }
    let server = Server::saying(format!("{EVENTS}{text}")).await;
    let consumer = Consumer::of(&server, "{}");
    let (data, error) = consumer.all().await;
    assert!(error.is_none());
    assert!(data.iter().enumerate().all(|(n, one)| *one == json!(n)));
    assert_eq!(data.len(), 20_000);
    consumer.task.await.unwrap();
    assert!(consumer.handover.take().is_none(), "nothing after the end");
}

#[tokio::test]
async fn a_failure_comes_after_what_came_before_it() {
    let head = EVENTS.replace("\r\n\r\n", "\r\nContent-Length: 100\r\n\r\n");
    let server = Server::saying(format!("{head}data: 1\n\n")).await;
    let (data, error) = Consumer::of(&server, "{}").all().await;
    assert_eq!(data, [json!(1)]);
    assert!(
        error
            .unwrap()
            .starts_with("EXECUTION_ERROR: The request to")
    );
    let refusing = Server::saying(response("403 No", &[JSON], "{}")).await;
    let (data, error) = Consumer::of(&refusing, "{}").all().await;
    assert!(data.is_empty());
    assert_eq!(error.as_deref(), Some("EXECUTION_ERROR: HTTP 403: No"));
    let (_, error) = Consumer::of(&refusing, "[]").all().await;
    let refused = "VALIDATION_ERROR: The input must be an object with a property for each parameter, and `body` for a body";
    assert_eq!(error.as_deref(), Some(refused));
}

#[tokio::test]
async fn one_wake_up_for_each_time_that_the_consumer_found_nothing() {
    let (server, _gone) = staying().await;
    let consumer = Consumer::of(&server, "{}");
    // The consumer has not polled yet, so it is not woken, however much is there.
    while server.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(consumer.wake_ups.load(Ordering::SeqCst), 0);
    assert!(matches!(
        consumer.next().await,
        Output::Item(StreamItem::Head(..))
    ));
    assert!(matches!(
        consumer.next().await,
        Output::Item(StreamItem::Batch(_))
    ));
    assert!(consumer.wake_ups.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn who_does_not_take_is_not_sent_more() {
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
    let consumer = Consumer::of(&server, "{}");
    // When the server has sent nothing for a while, it has sent all that it can.
    let standstill = async || {
        let mut before = 0;
        loop {
            let now = sent.load(Ordering::SeqCst);
            if now == before && now > 0 {
                return now;
            }
            before = now;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let before = standstill().await;
    assert!(before < 64 * 1024 * 1024, "{before} bytes were sent");
    for _ in 0..40 {
        consumer.next().await;
    }
    assert!(standstill().await > before, "taking makes room");
    consumer.left.cancel();
    consumer.task.await.unwrap();
}

#[tokio::test]
async fn a_consumer_that_leaves_closes_the_connection_and_hears_nothing() {
    let (server, gone) = staying().await;
    let consumer = Consumer::of(&server, "{}");
    consumer.next().await;
    consumer.next().await;
    consumer.left.cancel();
    consumer.task.await.unwrap();
    gone.notified().await;
    assert!(consumer.handover.take().is_none());
}

#[tokio::test]
async fn a_service_that_is_closed_ends_what_waits() {
    let (server, gone) = staying().await;
    let consumer = Consumer::of(&server, "{}");
    consumer.next().await;
    consumer.next().await;
    consumer.closed.cancel();
    let (_, error) = consumer.all().await;
    let host = server.url.trim_start_matches("http://");
    assert_eq!(
        error.unwrap(),
        format!("ABORTED: The request to {host} was aborted")
    );
    gone.notified().await;
}

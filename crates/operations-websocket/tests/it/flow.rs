//! Streams: who reads says how far the other end may go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use operations_websocket::Peer;
use operations_websocket::limits::{STREAM_WINDOW, WAITING_BYTES, WAITING_EVENTS};
use serde_json::{Value, json};

use crate::support::{Played, by_hand, outbound, said, settings, to_peer};

fn numbers() -> (Arc<AtomicUsize>, Played) {
    let taken = Arc::new(AtomicUsize::new(0));
    let played = Played {
        taken: Arc::clone(&taken),
        ..Played::default()
    };
    (taken, played)
}

fn data(frames: &[Value]) -> Vec<u64> {
    frames
        .iter()
        .filter(|frame| frame["type"] == "call.responded")
        .map(|frame| frame["payload"]["output"]["data"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn events_stop_at_the_window_and_go_on_with_credit() {
    let (taken, played) = numbers();
    let (_running, mut hand) = by_hand(played, settings()).await;
    hand.send("hub.hello", &json!({})).await;
    hand.request("a", "numbers", Value::Null).await;
    let mut got = Vec::new();
    while got.len() < 128 {
        got.extend(data(&[hand.next().await]));
    }
    assert_eq!(STREAM_WINDOW, 128);
    assert_eq!(got, (1..=128).collect::<Vec<_>>());
    for _ in 0..20 {
        assert_eq!(data(&hand.settled().await), [] as [u64; 0]);
    }
    assert_eq!(taken.load(Ordering::SeqCst), 128);
    // Credit that was given already, credit for others, and less than there was change nothing.
    for (id, up_to) in [("a", 128), ("a", 1), ("b", 1_000)] {
        let payload = json!({ "requestId": id, "upTo": up_to });
        hand.send("hub.credit", &payload).await;
    }
    for _ in 0..20 {
        assert_eq!(data(&hand.settled().await), [] as [u64; 0]);
    }
    hand.send("hub.credit", &json!({ "requestId": "a", "upTo": 130 }))
        .await;
    let more = [hand.next().await, hand.next().await];
    assert_eq!(data(&more), [129, 130]);
    assert_eq!(data(&hand.settled().await), [] as [u64; 0]);
}

#[tokio::test]
async fn who_knows_nothing_of_credit_is_paced_by_the_pipe() {
    let (taken, played) = numbers();
    let (_running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "numbers", Value::Null).await;
    // There is no reader: the pipe and what waits before it fill up, and then the stream waits.
    let mut before = 0;
    loop {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let now = taken.load(Ordering::SeqCst);
        if now > 0 && now == before {
            break;
        }
        before = now;
    }
    // An event is 130 bytes or so; 64 KiB are in the pipe, 256 KiB before it, 128 KiB between the two.
    assert!(before < 10_000, "{before} events were taken");
    let mut last = 0;
    while last < 20_000 {
        for number in data(&[hand.next().await]) {
            assert_eq!(number, last + 1);
            last = number;
        }
    }
}

#[tokio::test]
async fn a_stream_has_an_end() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.request("a", "count", 3).await;
    let mut frames = Vec::new();
    while frames
        .last()
        .is_none_or(|last: &Value| last["type"] != "call.completed")
    {
        frames.push(hand.next().await);
    }
    assert_eq!(data(&frames), [1, 2, 3]);
    assert_eq!(running.session.running(), 0);
}

#[tokio::test]
async fn a_subscriber_gives_credit_as_it_reads() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.send("hub.hello", &json!({})).await;
    hand.settled().await;
    let mut events = running.peer.subscribe(&outbound("numbers")).unwrap();
    let request = hand.next().await;
    assert_eq!(request["type"], "call.requested");
    let id = request["payload"]["requestId"].as_str().unwrap().to_owned();
    for at in 1..=128 {
        hand.respond(&id, at).await;
    }
    assert_eq!(hand.settled().await, [] as [Value; 0], "nothing was read");
    for _ in 0..64 {
        events.next().await.unwrap().unwrap();
    }
    let credit = hand.next().await;
    assert_eq!(credit["type"], "hub.credit");
    assert_eq!(credit["payload"], json!({ "requestId": id, "upTo": 192 }));
    for _ in 0..64 {
        events.next().await.unwrap().unwrap();
    }
    assert_eq!(hand.next().await["payload"]["upTo"], 256);
    // Who leaves says so, once.
    drop(events);
    let left = hand.next().await;
    assert_eq!(left["type"], "call.aborted");
    assert_eq!(left["payload"]["requestId"], id.as_str());
    assert_eq!(hand.settled().await, [] as [Value; 0]);
}

#[tokio::test]
async fn who_sends_more_events_than_a_subscriber_reads_is_ended() {
    let peer = Peer::new("mallory");
    let (_running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let mut events = peer.subscribe(&outbound("numbers")).unwrap();
    let request = hand.next().await;
    let id = request["payload"]["requestId"].as_str().unwrap().to_owned();
    for at in 0..=WAITING_EVENTS {
        hand.respond(&id, u64::try_from(at).unwrap()).await;
    }
    let received = hand.next().await;
    assert_eq!(received["type"], "call.aborted");
    let mut got = 0;
    let error = loop {
        match events.next().await.unwrap() {
            Ok(_) => got += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(got, WAITING_EVENTS);
    assert!(error.message.contains("too slow"), "{}", error.message);
    assert_eq!(said(&error, "delivery"), "unknown");
    assert_eq!(peer.pending_count(), 0);
}

#[tokio::test]
async fn who_sends_more_bytes_than_a_subscriber_reads_is_ended() {
    let peer = Peer::new("mallory");
    let (_running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let mut events = peer.subscribe(&outbound("numbers")).unwrap();
    let request = hand.next().await;
    let id = request["payload"]["requestId"].as_str().unwrap().to_owned();
    let most = WAITING_BYTES.div_ceil(900_000);
    for _ in 0..=most {
        hand.respond(&id, "x".repeat(900_000)).await;
    }
    // At once, although there is no reader.
    assert_eq!(hand.next().await["type"], "call.aborted");
    let mut got = 0;
    let error = loop {
        match events.next().await.unwrap() {
            Ok(_) => got += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(got, most);
    assert!(error.message.contains("too slow"), "{}", error.message);
    assert_eq!(peer.pending_count(), 0);
}

#[tokio::test]
async fn large_events_wait_for_a_subscriber_that_says_how_much_it_keeps() {
    let played = Played::default();
    let taken = Arc::clone(&played.taken);
    let (_running, mut hand) = by_hand(played, settings()).await;
    // An event has about 70 bytes.
    hand.send("hub.hello", &json!({ "maxStreamBytes": 100 }))
        .await;
    hand.request("r", "numbers", Value::Null).await;
    for _ in 0..2 {
        assert_eq!(hand.next().await["type"], "call.responded");
    }
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(taken.load(Ordering::SeqCst), 2);
    let credit = json!({ "requestId": "r", "upTo": STREAM_WINDOW + 2 });
    hand.send("hub.credit", &credit).await;
    for _ in 0..2 {
        assert_eq!(hand.next().await["type"], "call.responded");
    }
    assert_eq!(hand.settled().await, [] as [Value; 0]);
}

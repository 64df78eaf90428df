//! What a session does for the other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use operations_websocket::session::Settings;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Played, by_hand, settings, until};

fn waiting() -> (Arc<AtomicUsize>, Played) {
    let under_way = Arc::new(AtomicUsize::new(0));
    let played = Played {
        under_way: Arc::clone(&under_way),
        ..Played::default()
    };
    (under_way, played)
}

#[tokio::test]
async fn calls_are_answered() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.request("a", "echo", json!({ "x": [1] })).await;
    let answer = hand.next().await;
    assert_eq!(answer["type"], "call.responded");
    assert_eq!(answer["payload"]["requestId"], "a");
    assert_eq!(answer["payload"]["output"]["data"], json!({ "x": [1] }));
    hand.request("b", "fail", Value::Null).await;
    let answer = hand.next().await;
    assert_eq!(answer["type"], "call.error");
    assert_eq!(answer["payload"]["code"], "NO_LUCK");
}

#[tokio::test]
async fn what_panics_is_an_error_of_its_call_alone() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.request("a", "panic", Value::Null).await;
    assert_eq!(hand.next().await["payload"]["code"], "UNKNOWN_ERROR");
    hand.request("b", "echo", 1).await;
    assert_eq!(hand.next().await["payload"]["output"]["data"], 1);
}

#[tokio::test]
async fn an_output_that_no_peer_could_read_is_not_sent() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.request("a", "deep", Value::Null).await;
    let answer = hand.next().await;
    assert_eq!(answer["type"], "call.error");
    assert_eq!(answer["payload"]["details"]["delivery"], "done");
}

#[tokio::test]
async fn an_output_larger_than_the_other_end_takes_is_an_error() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.send("hub.hello", &json!({ "maxFrameBytes": 2_000 }))
        .await;
    hand.request("a", "large", 2_000).await;
    let answer = hand.next().await;
    assert_eq!(answer["type"], "call.error");
    assert_eq!(answer["payload"]["details"]["reason"], "too-large");
    hand.request("b", "large", 1_000).await;
    assert_eq!(hand.next().await["type"], "call.responded");
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_may_be_used_again() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "wait", Value::Null).await;
    hand.request("a", "echo", 1).await;
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(running.peer.refused().total(), 1);
    assert_eq!(under_way.load(Ordering::SeqCst), 1);
    hand.send("call.aborted", &json!({ "requestId": "a" }))
        .await;
    until(|| running.session.running() == 0).await;
    hand.request("a", "echo", 2).await;
    assert_eq!(hand.next().await["payload"]["output"]["data"], 2);
}

/// A caller that has its answer may be quicker than the thread that has written it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_id_may_be_used_again_as_soon_as_there_is_an_answer() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    for n in 0..5_000 {
        hand.request("a", "echo", n).await;
        assert_eq!(hand.next().await["payload"]["output"]["data"], n);
    }
    assert_eq!(running.peer.refused().total(), 0);
}

#[tokio::test]
async fn an_aborted_call_ends_and_says_nothing() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "wait", Value::Null).await;
    hand.request("b", "numbers", Value::Null).await;
    until(|| under_way.load(Ordering::SeqCst) == 2).await;
    for id in ["a", "b", "never asked"] {
        hand.send("call.aborted", &json!({ "requestId": id })).await;
    }
    until(|| under_way.load(Ordering::SeqCst) == 0).await;
    hand.settled().await;
    assert_eq!(running.session.running(), 0);
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(running.peer.refused().total(), 0);
}

#[tokio::test]
async fn what_is_under_way_ends_with_the_connection() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    for id in ["a", "b", "c"] {
        hand.request(id, "wait", Value::Null).await;
    }
    until(|| under_way.load(Ordering::SeqCst) == 3).await;
    drop(hand);
    let end = running.end.await.unwrap();
    assert_eq!(end.why, "it was cut off");
    until(|| under_way.load(Ordering::SeqCst) == 0).await;
    until(|| running.session.running() == 0).await;
}

#[tokio::test]
async fn a_close_frame_ends_it_and_is_answered() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "wait", Value::Null).await;
    until(|| under_way.load(Ordering::SeqCst) == 1).await;
    hand.socket.close(None).await.unwrap();
    while let Message::Text(_) = hand.message().await {}
    let end = running.end.await.unwrap();
    assert!(end.why.contains("the other side has closed it"), "{end:?}");
    until(|| under_way.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn it_closes_after_what_it_works_on_and_begins_nothing_new() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "wait", Value::Null).await;
    hand.request("b", "numbers", Value::Null).await;
    until(|| under_way.load(Ordering::SeqCst) == 2).await;
    running.closing.cancel();
    // A stream may have no end, so it is ended.
    let mut ended = hand.next().await;
    while ended["type"] == "call.responded" {
        ended = hand.next().await;
    }
    assert_eq!(ended["payload"]["requestId"], "b");
    assert_eq!(ended["payload"]["details"]["reason"], "closing");
    hand.request("c", "echo", 1).await;
    let refused = hand.next().await;
    assert_eq!(refused["payload"]["requestId"], "c");
    assert_eq!(refused["payload"]["details"]["delivery"], "none");
    hand.send("call.aborted", &json!({ "requestId": "a" }))
        .await;
    assert_eq!(hand.closed().await.0, 1001);
}

#[tokio::test]
async fn it_pings_and_notices_that_the_peer_is_gone() {
    let heartbeat = Duration::from_millis(20);
    let settings = Settings {
        heartbeat,
        ..settings()
    };
    let (running, mut hand) = by_hand(Played::default(), settings).await;
    // A peer that reads answers pings, which is how the session knows that it is there.
    for _ in 0..5 {
        while !matches!(hand.message().await, Message::Ping(_)) {}
    }
    assert!(!running.end.is_finished());
    // From here on the hand does not read.
    let end = running.end.await.unwrap();
    assert_eq!(end.why, "it says nothing any more");
}

#[tokio::test]
async fn a_page_may_ping() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.send_about("hub.ping", "7", &json!({})).await;
    let pong = hand.next().await;
    assert_eq!(
        (&pong["type"], &pong["id"]),
        (&json!("hub.pong"), &json!("7"))
    );
}

#[tokio::test]
async fn a_list_is_sent_in_parts_and_an_offer_is_taken_in_parts() {
    let operations: Vec<String> = (0..600)
        .map(|at| json!({ "name": format!("o{at}"), "description": "d".repeat(1_000) }).to_string())
        .collect();
    let played = Played {
        operations: Some(operations),
        ..Played::default()
    };
    let offers = Arc::clone(&played.offers);
    let (_running, mut hand) = by_hand(played, settings()).await;
    hand.send_about("hub.discover", "d", &json!({})).await;
    let mut names = Vec::new();
    let mut parts = 0;
    loop {
        let part = hand.next().await;
        assert_eq!(
            (&part["type"], &part["id"]),
            (&json!("hub.operations"), &json!("d"))
        );
        parts += 1;
        for operation in part["payload"]["operations"].as_array().unwrap() {
            names.push(operation["name"].as_str().unwrap().to_owned());
        }
        if part["payload"]["more"] != true {
            break;
        }
    }
    assert!(parts > 1);
    assert_eq!(names.len(), 600);
    for (part, more) in [
        (json!([1, 2]), true),
        (json!([]), true),
        (json!([[3]]), false),
    ] {
        let payload = json!({ "operations": part, "more": more });
        hand.send_about("hub.offer", "o", &payload).await;
    }
    assert_eq!(hand.next().await["type"], "hub.accepted");
    assert_eq!(*offers.lock().unwrap(), ["[1,2,[3]]"]);
}

#[tokio::test]
async fn it_ends_at_once_when_it_is_killed() {
    let (under_way, played) = waiting();
    let (running, mut hand) = by_hand(played, settings()).await;
    hand.request("a", "wait", Value::Null).await;
    until(|| under_way.load(Ordering::SeqCst) == 1).await;
    running.kill.cancel();
    assert_eq!(hand.closed().await.0, 1001);
    until(|| under_way.load(Ordering::SeqCst) == 0).await;
}

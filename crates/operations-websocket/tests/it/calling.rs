//! What was asked of the other end, whatever becomes of the connection.

use std::sync::Arc;

use operations_core::clock::now;
use operations_core::json::MAX_DEPTH;
use operations_core::mailbox::Mailbox;
use operations_websocket::Peer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Hand, Played, by_hand, outbound, said, settings, to_peer, until};

type CallResult = Result<String, operations_core::error::CallError>;

fn calling(peer: &Arc<Peer>, operation: &str) -> JoinHandle<CallResult> {
    let (peer, outbound) = (Arc::clone(peer), outbound(operation));
    tokio::spawn(async move { peer.call(outbound).await })
}

async fn asked(hand: &mut Hand) -> String {
    let request = hand.next().await;
    assert_eq!(request["type"], "call.requested", "{request}");
    request["payload"]["requestId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_has_one_answer() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let call = calling(&running.peer, "a.b");
    let id = asked(&mut hand).await;
    hand.respond(&id, 7).await;
    let answer: Value = serde_json::from_str(&call.await.unwrap().unwrap()).unwrap();
    assert_eq!(answer["data"], 7);
    // A further response gets the reply that it is not wanted.
    hand.respond(&id, 8).await;
    assert_eq!(hand.next().await["type"], "call.aborted");
    assert_eq!(running.peer.pending_count(), 0);
}

#[tokio::test]
async fn unrequested_responses_change_nothing() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let call = calling(&running.peer, "a.b");
    let id = asked(&mut hand).await;
    for kind in ["call.completed", "call.aborted", "call.error"] {
        let payload = json!({ "requestId": "unknown", "code": "X", "message": "m" });
        hand.send(kind, &payload).await;
    }
    hand.send("hub.credit", &json!({ "requestId": id, "upTo": 5 }))
        .await;
    for kind in ["hub.operations", "hub.accepted", "hub.error"] {
        let payload = json!({ "operations": [], "code": "X", "message": "m" });
        hand.send_about(kind, "99", &payload).await;
    }
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(running.peer.pending_count(), 1);
    hand.respond(&id, 1).await;
    assert!(call.await.unwrap().is_ok());
}

#[tokio::test]
async fn what_was_sent_is_lost_with_the_connection_and_what_was_not_waits() {
    let peer = Peer::new("the other end");
    let (running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let sent = calling(&peer, "sent");
    asked(&mut hand).await;
    drop(hand);
    let end = running.end.await.unwrap();
    peer.disconnected(&end.why);
    let error = sent.await.unwrap().unwrap_err();
    assert_eq!(said(&error, "reason"), "peer-lost");
    assert_eq!(said(&error, "delivery"), "unknown");
    let waits = calling(&peer, "waits");
    until(|| peer.pending_count() == 1).await;
    let (_running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let id = asked(&mut hand).await;
    hand.respond(&id, 1).await;
    assert!(waits.await.unwrap().is_ok());
}

#[tokio::test]
async fn everything_fails_when_there_will_be_no_connection() {
    let peer = Peer::new("the other end");
    let (running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let sent = calling(&peer, "sent");
    asked(&mut hand).await;
    drop(hand);
    peer.disconnected(&running.end.await.unwrap().why);
    let waits = calling(&peer, "waits");
    until(|| peer.pending_count() == 1).await;
    peer.close();
    assert_eq!(
        said(&sent.await.unwrap().unwrap_err(), "reason"),
        "peer-lost"
    );
    let error = waits.await.unwrap().unwrap_err();
    assert_eq!(
        (said(&error, "reason"), said(&error, "delivery")),
        ("closed".to_owned(), "none".to_owned())
    );
    let error = peer.call(outbound("later")).await.unwrap_err();
    assert_eq!(said(&error, "delivery"), "none");
    assert_eq!((peer.pending_count(), peer.waiting_bytes()), (0, 0));
}

#[tokio::test]
async fn calls_that_have_ended_do_not_wait_for_a_connection() {
    let peer = Peer::new("the other end");
    peer.limit_waiting(10);
    for _ in 0..1_000 {
        let call = calling(&peer, "a.b");
        until(|| peer.pending_count() == 1).await;
        call.abort();
        until(|| peer.pending_count() == 0).await;
    }
    assert_eq!(peer.waiting_bytes(), 0, "nothing is left of them");
    let calls: Vec<_> = (0..10).map(|_| calling(&peer, "a.b")).collect();
    until(|| peer.pending_count() == 10).await;
    let error = peer.call(outbound("a.b")).await.unwrap_err();
    assert_eq!(said(&error, "reason"), "overloaded");
    // Those that still wait are sent, and no other.
    let (_running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    for _ in 0..10 {
        let id = asked(&mut hand).await;
        hand.respond(&id, 1).await;
    }
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!(hand.settled().await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_id_that_is_used_again_is_sent_once() {
    let peer = Peer::new("the other end");
    let mailbox = Arc::new(Mailbox::new(|| {}));
    // Others wait too, so that what is left of the first one stays for a while.
    let _others: Vec<_> = (0..3).map(|_| calling(&peer, "other")).collect();
    until(|| peer.pending_count() == 3).await;
    let request = |input: u32| {
        let payload = json!({ "requestId": "a", "operationId": "a.b", "input": input });
        format!("a\t\"a.b\"\t\t{payload}")
    };
    peer.call_all(&mailbox, &request(1));
    peer.cancel("a");
    peer.call_all(&mailbox, &request(2));
    let (_running, mut hand) = to_peer(&peer, Played::default(), settings()).await;
    let inputs: Vec<Value> = hand
        .settled()
        .await
        .into_iter()
        .filter(|frame| frame["payload"]["requestId"] == "a")
        .map(|frame| frame["payload"]["input"].clone())
        .collect();
    assert_eq!(inputs, [2]);
}

#[tokio::test]
async fn a_deadline_ends_a_call_here_and_there() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let mut outbound = outbound("a.b");
    outbound.deadline = Some(now() + 30.0);
    let peer = Arc::clone(&running.peer);
    let call = tokio::spawn(async move { peer.call(outbound).await });
    let id = asked(&mut hand).await;
    let received = hand.next().await;
    assert_eq!(received["type"], "call.aborted");
    assert_eq!(received["payload"]["requestId"], id.as_str());
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code, "TIMEOUT");
    assert_eq!(said(&error, "delivery"), "unknown");
}

#[tokio::test]
async fn what_is_called_for_an_aborted_call_is_aborted() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.request("parent", "wait", Value::Null).await;
    hand.settled().await;
    let mut child = outbound("a.b");
    child.parent_request_id = Some("parent".to_owned());
    let peer = Arc::clone(&running.peer);
    let call = tokio::spawn(async move { peer.call(child).await });
    let id = asked(&mut hand).await;
    hand.send("call.aborted", &json!({ "requestId": "parent" }))
        .await;
    let received = hand.next().await;
    assert_eq!(received["type"], "call.aborted");
    assert_eq!(received["payload"]["requestId"], id.as_str());
    assert_eq!(call.await.unwrap().unwrap_err().code, "ABORTED");
}

#[tokio::test]
async fn who_calls_hears_that_the_call_was_aborted_here() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let mailbox = Arc::new(Mailbox::new(|| {}));
    let payload = json!({ "requestId": "a", "operationId": "a.b" });
    running
        .peer
        .call_all(&mailbox, &format!("a\t\"a.b\"\t\t{payload}"));
    assert_eq!(asked(&mut hand).await, "a");
    running.peer.abort("a");
    let received = mailbox.take().unwrap();
    assert!(received.text.contains("ABORTED"), "{}", received.text);
    assert_eq!(hand.next().await["type"], "call.aborted");
}

#[tokio::test]
async fn what_the_other_end_would_not_take_is_not_sent() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.send("hub.hello", &json!({ "maxFrameBytes": 500 }))
        .await;
    hand.settled().await;
    let mut large = outbound("a.b");
    large.input = Some(json!("x".repeat(500)).to_string());
    let error = running.peer.call(large).await.unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    assert_eq!(said(&error, "reason"), "too-large");
    let mailbox = Arc::new(Mailbox::new(|| {}));
    running
        .peer
        .call_all(&mailbox, "a\t\"a.b\"\t\t{\"requestId\":\"a\"}");
    let received = mailbox.take().unwrap();
    assert!(
        received.text.contains("cannot be sent"),
        "{}",
        received.text
    );
    // The frame and its payload are around it.
    let mut deep = outbound("a.b");
    deep.input = Some("[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH));
    let error = running.peer.call(deep).await.unwrap_err();
    assert!(error.message.contains("nested"), "{}", error.message);
    assert_eq!(said(&error, "delivery"), "none");
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(running.peer.pending_count(), 0);
}

#[tokio::test]
async fn questions_have_answers_in_parts_or_errors() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let peer = Arc::clone(&running.peer);
    let discovering = tokio::spawn(async move { peer.discover().await });
    let question = hand.next().await;
    assert_eq!(question["type"], "hub.discover");
    let id = question["id"].as_str().unwrap().to_owned();
    for (part, more) in [
        (json!([1]), true),
        (json!([]), true),
        (json!([2, 3]), false),
    ] {
        let payload = json!({ "operations": part, "more": more });
        hand.send_about("hub.operations", &id, &payload).await;
    }
    assert_eq!(discovering.await.unwrap().unwrap(), "[1,2,3]");
    let peer = Arc::clone(&running.peer);
    let offering = tokio::spawn(async move { peer.offer(&["{}".to_owned()]).await });
    let offer = hand.next().await;
    let payload = json!({ "code": "NO", "message": "not these" });
    hand.send_about("hub.error", offer["id"].as_str().unwrap(), &payload)
        .await;
    assert_eq!(offering.await.unwrap().unwrap_err().message, "not these");
    // A question without an answer fails with the connection.
    let peer = Arc::clone(&running.peer);
    let discovering = tokio::spawn(async move { peer.discover().await });
    hand.next().await;
    running.peer.disconnected("it was cut off");
    let error = discovering.await.unwrap().unwrap_err();
    assert_eq!(said(&error, "reason"), "peer-lost");
}

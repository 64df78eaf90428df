//! A peer that violates the protocol, or asks for too much.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::SinkExt;
use operations_websocket::limits::{ALL_OFFER_BYTES, MOST_LISTS, MOST_MALFORMED, OFFER_BYTES};
use operations_websocket::session::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::support::{Played, by_hand, outbound, settings, until};

/// A frame of the WebSocket protocol with a mask of zeros, which says which bits it has.
fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    assert!(length < 126);
    let mut bytes = vec![first, 0x80 | length, 0, 0, 0, 0];
    bytes.extend_from_slice(payload);
    bytes
}

#[tokio::test]
async fn frames_that_follow_no_protocol_are_counted_and_then_it_ends() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let frames = [
        "",
        "[]",
        "{}",
        "nonsense",
        "{\"type\":\"call.requested\"}",
        "{\"type\":\"call.other\",\"payload\":{}}",
        "{\"type\":\"call.requested\",\"payload\":{\"requestId\":\"\",\"operationId\":\"a\"}}",
        "{\"type\":\"hub.credit\",\"payload\":{\"requestId\":\"a\",\"upTo\":-1}}",
    ];
    let mut sent = 0;
    'all: loop {
        for frame in frames {
            if sent == MOST_MALFORMED {
                break 'all;
            }
            hand.send_text(frame).await;
            sent += 1;
        }
    }
    // A peer that is only careless goes on.
    hand.request("a", "echo", 1).await;
    assert_eq!(hand.next().await["payload"]["output"]["data"], 1);
    assert_eq!(running.peer.refused().total(), MOST_MALFORMED);
    let binary = Message::Binary(Bytes::from_static(b"\x00"));
    hand.socket.send(binary).await.unwrap();
    assert_eq!(hand.closed().await.0, 1008);
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_it_before_it_is_read() {
    let settings = Settings {
        max_frame_bytes: 1_000,
        ..settings()
    };
    let (running, mut hand) = by_hand(Played::default(), settings).await;
    let data = "x".repeat(700);
    hand.request("a", "echo", data.as_str()).await;
    assert_eq!(hand.next().await["payload"]["requestId"], "a");
    // A header that promises 2^40 bytes is enough: they are not waited for, and no memory is reserved.
    let pipe = hand.socket.get_mut();
    let mut header = vec![0x81, 0xFF];
    header.extend_from_slice(&(1u64 << 40).to_be_bytes());
    header.extend_from_slice(&[0; 4]);
    pipe.write_all(&header).await.unwrap();
    assert_eq!(hand.closed().await.0, 1009);
    drop(hand);
    running.end.await.unwrap();
}

#[tokio::test]
async fn fragments_do_not_make_a_frame_larger_than_is_taken() {
    let settings = Settings {
        max_frame_bytes: 1_000,
        ..settings()
    };
    let (_running, mut hand) = by_hand(Played::default(), settings).await;
    let pipe = hand.socket.get_mut();
    pipe.write_all(&raw(0x01, &[b' '; 100])).await.unwrap();
    for _ in 0..10 {
        pipe.write_all(&raw(0x00, &[b' '; 100])).await.unwrap();
    }
    assert_eq!(hand.closed().await.0, 1009);
}

#[tokio::test]
async fn what_breaks_the_websocket_protocol_ends_it() {
    let cases: [(&str, Vec<u8>, u16); 5] = [
        ("compressed, which was not agreed", raw(0xC1, b"{}"), 1002),
        ("an undefined opcode", raw(0x83, b"{}"), 1002),
        ("a fragment of nothing", raw(0x80, b"{}"), 1002),
        ("not masked", vec![0x81, 2, b'{', b'}'], 1002),
        ("no UTF-8", raw(0x81, b"\xFF\xFE"), 1007),
    ];
    for (what, bytes, code) in cases {
        let (_running, mut hand) = by_hand(Played::default(), settings()).await;
        hand.socket.get_mut().write_all(&bytes).await.unwrap();
        assert_eq!(hand.closed().await.0, code, "{what}");
    }
}

#[tokio::test]
async fn more_calls_than_are_allowed_are_refused() {
    let settings = Settings {
        max_calls: 10,
        ..settings()
    };
    let played = Played::default();
    let under_way = Arc::clone(&played.under_way);
    let (running, mut hand) = by_hand(played, settings).await;
    for at in 0..1_000 {
        hand.request(&format!("r{at}"), "wait", Value::Null).await;
        if at >= 10 {
            let refused = hand.next().await;
            assert_eq!(refused["payload"]["requestId"], format!("r{at}").as_str());
            assert_eq!(refused["payload"]["details"]["reason"], "overloaded");
        }
    }
    until(|| under_way.load(Ordering::SeqCst) == 10).await;
    assert_eq!(running.session.running(), 10);
}

#[tokio::test]
async fn who_asks_without_reading_is_ended() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let mut at = 0;
    // An answer is 900 KB, and 64 MiB may wait.
    while !running.end.is_finished() {
        let payload =
            json!({ "requestId": format!("r{at}"), "operationId": "large", "input": 900_000 });
        let frame = json!({ "type": "call.requested", "id": "", "payload": payload });
        let sent = hand.socket.send(Message::text(frame.to_string())).await;
        if sent.is_err() {
            break;
        }
        at += 1;
        assert!(at < 1_000, "it is kept without end");
        tokio::task::yield_now().await;
    }
    let end = running.end.await.unwrap();
    assert_eq!(end.why, "the other side reads too slowly");
}

#[tokio::test]
async fn who_goes_on_talking_without_reading_is_ended() {
    let settings = Settings {
        heartbeat: Duration::from_millis(100),
        ..settings()
    };
    let (running, mut hand) = by_hand(Played::default(), settings).await;
    hand.request("r", "large", 900_000).await;
    for _ in 0..3_000 {
        if running.end.is_finished() {
            break;
        }
        // It may end meanwhile.
        let _ = hand.socket.send(Message::Ping(Bytes::new())).await;
        sleep(Duration::from_millis(10)).await;
    }
    assert!(running.end.is_finished(), "it is kept without end");
    let end = running.end.await.unwrap();
    assert_eq!(end.why, "it reads nothing any more");
}

#[tokio::test]
async fn who_does_not_send_the_rest_of_a_message_is_ended_although_it_answers() {
    let settings = Settings {
        message_time: Duration::from_millis(50),
        ..settings()
    };
    let (running, mut hand) = by_hand(Played::default(), settings).await;
    let part = raw(0x01, b"{");
    hand.socket.get_mut().write_all(&part).await.unwrap();
    while !running.end.is_finished() {
        // It may end meanwhile.
        let _ = hand.socket.send(Message::Ping(Bytes::new())).await;
        sleep(Duration::from_millis(5)).await;
    }
    let end = running.end.await.unwrap();
    assert_eq!(end.why, "a message was not complete in time");
}

#[tokio::test]
async fn a_frame_may_be_read_slowly() {
    let settings = Settings {
        heartbeat: Duration::from_millis(250),
        ..settings()
    };
    let (running, mut hand) = by_hand(Played::default(), settings).await;
    hand.request("r", "large", 900_000).await;
    // Longer than it may read nothing.
    let mut part = vec![0; 60_000];
    for _ in 0..15 {
        sleep(Duration::from_millis(100)).await;
        let _ = hand.socket.send(Message::Ping(Bytes::new())).await;
        hand.socket.get_mut().read_exact(&mut part).await.unwrap();
    }
    assert!(!running.end.is_finished());
}

#[tokio::test]
async fn more_lists_than_are_worked_on_are_refused() {
    // The answer to the first ones never comes.
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    for at in 0..MOST_LISTS + 5 {
        hand.send_about("hub.discover", &at.to_string(), &json!({}))
            .await;
    }
    let refused = hand.settled().await;
    assert_eq!(refused.len(), 5);
    for frame in refused {
        assert_eq!(frame["type"], "hub.error");
        assert_eq!(frame["payload"]["details"]["reason"], "overloaded");
    }
}

#[tokio::test]
async fn more_operations_than_are_taken_are_refused_whole() {
    let settings = Settings {
        max_operations: 10,
        ..settings()
    };
    let played = Played::default();
    let offers = Arc::clone(&played.offers);
    let (_running, mut hand) = by_hand(played, settings).await;
    let offer =
        |count: usize, more: bool| json!({ "operations": vec![[0, 1]; count], "more": more });
    hand.send_about("hub.offer", "a", &offer(11, false)).await;
    // In parts, of which the last would fit alone.
    for (count, more) in [(8, true), (8, true), (1, false)] {
        hand.send_about("hub.offer", "b", &offer(count, more)).await;
    }
    for id in ["a", "b"] {
        let refused = hand.next().await;
        assert_eq!(
            (&refused["type"], &refused["id"]),
            (&json!("hub.error"), &json!(id))
        );
        let details = &refused["payload"]["details"];
        assert_eq!(details["reason"], "too-many-operations");
        assert_eq!(details["limit"], 10);
    }
    hand.send_about("hub.offer", "c", &offer(10, false)).await;
    assert_eq!(hand.next().await["type"], "hub.accepted");
    assert_eq!(offers.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_nested_too_deeply_has_an_answer() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let frame = |kind: &str, payload: String| {
        format!(r#"{{"type":"{kind}","id":"q","payload":{{{payload}}}}}"#)
    };
    let request = format!(r#""input":{deep},"requestId":"a","operationId":"echo""#);
    hand.send_text(frame("call.requested", request)).await;
    let refused = hand.next().await;
    assert_eq!(refused["type"], "call.error");
    assert_eq!(refused["payload"]["requestId"], "a");
    assert_eq!(refused["payload"]["code"], "VALIDATION_ERROR");
    assert_eq!(refused["payload"]["details"]["reason"], "too-deep");
    let offer = frame("hub.offer", format!(r#""operations":[{deep}]"#));
    hand.send_text(offer).await;
    let refused = hand.next().await;
    assert_eq!(
        (&refused["type"], &refused["id"]),
        (&json!("hub.error"), &json!("q"))
    );
    // The answer to a call of ours ends that call.
    let peer = Arc::clone(&running.peer);
    let call = tokio::spawn(async move { peer.call(outbound("o")).await });
    let id = hand.next().await["payload"]["requestId"].to_string();
    let answer = format!(r#""requestId":{id},"output":{deep}"#);
    hand.send_text(frame("call.responded", answer)).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(
        error.message.contains("not a ResponseEnvelope"),
        "{}",
        error.message
    );
    assert_eq!(running.peer.refused().total(), 3);
    // Where it cannot be said whose it is, the connection ends.
    hand.send_text(deep).await;
    let (code, why) = hand.closed().await;
    assert_eq!(code, 1008);
    assert!(why.contains("nested too deeply"), "{why}");
}

#[tokio::test]
async fn more_offers_than_are_begun_at_a_time_end_it() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    for at in 0..=MOST_LISTS {
        let payload = json!({ "operations": [1], "more": true });
        hand.send_about("hub.offer", &at.to_string(), &payload)
            .await;
    }
    assert_eq!(hand.closed().await.0, 1009);
}

/// A part of an offer, of about as many bytes.
fn part(bytes: usize) -> Value {
    json!({ "operations": ["x".repeat(bytes)], "more": true })
}

#[tokio::test]
async fn offers_of_a_connection_that_never_end_are_refused() {
    let (_running, mut hand) = by_hand(Played::default(), settings()).await;
    // Two lists, which have one limit.
    let mut sent = 0;
    while sent <= OFFER_BYTES {
        let id = if sent.is_multiple_of(2) { "a" } else { "b" };
        hand.send_about("hub.offer", id, &part(999_999)).await;
        sent += 999_999;
    }
    let refused = hand.next().await;
    assert_eq!(refused["type"], "hub.error");
    assert_eq!(refused["payload"]["details"]["reason"], "too-large");
    // The end of what was refused is not an offer; its room is free again.
    let last = json!({ "operations": [1] });
    hand.send_about("hub.offer", refused["id"].as_str().unwrap(), &last)
        .await;
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    hand.send_about("hub.offer", "c", &last).await;
    assert_eq!(hand.next().await["type"], "hub.accepted");
}

#[tokio::test]
async fn offers_of_all_connections_have_one_limit() {
    let settings = Settings {
        offer_bytes: Arc::new(Semaphore::new(1_000)),
        ..settings()
    };
    let (first, mut one) = by_hand(Played::default(), settings.clone()).await;
    let (_second, mut other) = by_hand(Played::default(), settings).await;
    one.send_about("hub.offer", "1", &part(900)).await;
    assert_eq!(one.settled().await, [] as [Value; 0]);
    other.send_about("hub.offer", "1", &part(200)).await;
    let refused = other.next().await;
    assert_eq!(refused["type"], "hub.error");
    assert_eq!(refused["payload"]["details"]["reason"], "overloaded");
    // Who leaves makes room.
    first.kill.cancel();
    first.end.await.unwrap();
    drop(first.session);
    other.send_about("hub.offer", "2", &part(900)).await;
    assert_eq!(other.settled().await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_offer_that_takes_too_long_is_refused() {
    let settings = Settings {
        offer_time: Duration::from_millis(20),
        ..settings()
    };
    let played = Played::default();
    let offers = Arc::clone(&played.offers);
    let room = Arc::clone(&settings.offer_bytes);
    let (_running, mut hand) = by_hand(played, settings).await;
    hand.send_about("hub.offer", "1", &part(1_000)).await;
    let refused = hand.next().await;
    assert_eq!(
        (&refused["type"], &refused["id"]),
        (&json!("hub.error"), &json!("1"))
    );
    assert_eq!(refused["payload"]["details"]["reason"], "too-late");
    assert_eq!(room.available_permits(), ALL_OFFER_BYTES);
    hand.send_about("hub.offer", "1", &json!({ "operations": [1] }))
        .await;
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(offers.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_id_that_is_too_long_is_not_kept() {
    let (running, mut hand) = by_hand(Played::default(), settings()).await;
    hand.send_about("hub.offer", &"x".repeat(257), &part(1))
        .await;
    assert_eq!(hand.settled().await, [] as [Value; 0]);
    assert_eq!(running.peer.refused().total(), 1);
}

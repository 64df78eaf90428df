//! What the host is asked, and how it answers.

use serde_json::json;

use crate::support::{json_of, post, send, served, text};

#[tokio::test]
async fn a_call_of_the_hosts_is_asked_and_its_envelope_answers() {
    let mut served = served(&json!({}));
    let service = served.service.clone();
    let request = post("/api/t/host", &json!({ "a": 1 }));
    let sent = tokio::spawn(async move { send(&service, request).await });
    let (kind, id, event) = served.asked.recv().await.unwrap();
    assert_eq!(kind, 5);
    assert_eq!(event["operationId"], "t.host");
    assert_eq!(event["requestId"], json!(id));
    assert_eq!(event["input"], json!({ "a": 1 }));
    assert_eq!(event.get("identity"), None);
    assert_eq!(event.get("trusted"), None);
    assert!(served.js.begin(&id));
    let envelope =
        r#"{"data":{"b":1.50},"meta":{"source":"local","operationId":"t.host","timestamp":1}}"#;
    served.js.respond_all(&format!("{id}\t{envelope}\n{id}"));
    let response = sent.await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(text(response).await, r#"{"b":1.50}"#);
    assert_eq!(served.js.pending(), 0);
    // Nothing was taken back: the next thing that the host hears is the next call.
    let service = served.service.clone();
    tokio::spawn(async move { send(&service, post("/api/t/host", &json!(2))).await });
    assert_eq!(served.asked.recv().await.unwrap().0, 5);
}

#[tokio::test]
async fn a_client_that_goes_takes_its_question_back() {
    let mut served = served(&json!({}));
    let service = served.service.clone();
    let sent = tokio::spawn(async move { send(&service, post("/api/t/host", &json!(1))).await });
    let (_, id, _) = served.asked.recv().await.unwrap();
    sent.abort();
    let (kind, aborted, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, &aborted), (6, &id));
    assert_eq!(served.js.pending(), 0);
    // What JavaScript says afterwards is dropped.
    served.js.respond_all(&format!("{id}\t{{}}\n{id}"));
}

#[tokio::test]
async fn two_requests_of_one_trace_are_two_calls() {
    let mut served = served(&json!({}));
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for _ in 0..2 {
        let service = served.service.clone();
        let mut request = post("/api/t/host", &json!(1));
        let headers = request.headers_mut();
        headers.insert("traceparent", trace.parse().unwrap());
        tokio::spawn(async move { send(&service, request).await });
    }
    let (_, first, event) = served.asked.recv().await.unwrap();
    let (_, second, _) = served.asked.recv().await.unwrap();
    assert_eq!(first, "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331");
    assert_eq!(event["requestId"], json!(first));
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_aborted() {
    let mut served = served(&json!({ "timeout": 20 }));
    let response = send(&served.service, post("/api/t/host", &json!(1))).await;
    assert_eq!(response.status(), 504);
    let problem = json_of(response).await;
    assert_eq!(problem["code"], "TIMEOUT");
    assert_eq!(problem["mayHaveRun"], true);
    let (_, _, event) = served.asked.recv().await.unwrap();
    assert!(event["deadline"].as_f64().unwrap() > 1e12);
    assert_eq!(served.asked.recv().await.unwrap().0, 6);
}

#[tokio::test]
async fn a_stream_of_the_hosts_waits_for_its_reader() {
    let mut served = served(&json!({}));
    let service = served.service.clone();
    let sent =
        tokio::spawn(async move { send(&service, post("/api/t/events", &json!(null))).await });
    let (_, id, _) = served.asked.recv().await.unwrap();
    let envelope = r#"{"data":1,"meta":{"source":"local","operationId":"t.events","timestamp":1}}"#;
    let mut sent_events = 1;
    while served.js.respond(&id, envelope) {
        sent_events += 1;
        assert!(sent_events < 1_000, "there is no reader");
    }
    let response = sent.await.unwrap();
    let read = tokio::spawn(text(response));
    let (kind, to, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, to), (7, id.clone()), "it may go on");
    served.js.finish(&id);
    let events = read.await.unwrap();
    assert_eq!(events.matches("data: 1\n\n").count(), sent_events);
}

#[tokio::test]
async fn streams_that_end_together_make_no_more_events() {
    let mut served = served(&json!({}));
    let (mut streams, mut responses) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let service = served.service.clone();
        let request = post("/api/t/events", &json!(null));
        let sent = tokio::spawn(async move { send(&service, request).await });
        let (_, id, _) = served.asked.recv().await.unwrap();
        assert!(served.js.respond(&id, "{}"));
        responses.push(sent.await.unwrap());
        streams.push(id);
    }
    drop(responses);
    for id in streams {
        assert_eq!(served.asked.recv().await.unwrap().0, 6);
        // A generator that never waits would keep the host from reading this.
        assert!(!served.js.respond(&id, "{}"), "it is to wait");
        served.js.finish(&id);
    }
    assert_eq!(served.js.pending(), 0);
}

#[tokio::test]
async fn a_stream_whose_events_cannot_be_held_is_ended_and_aborted_at_once() {
    let mut served = served(&json!({ "maxBufferedBytes": 100_000 }));
    let event = json!({ "data": "x".repeat(60_000) }).to_string();
    let mut begin = async || {
        let service = served.service.clone();
        let request = post("/api/t/events", &json!(null));
        let sent = tokio::spawn(async move { send(&service, request).await });
        let (_, id, _) = served.asked.recv().await.unwrap();
        (id, sent)
    };
    let (first, read) = begin().await;
    let (second, refused) = begin().await;
    assert!(served.js.respond(&first, &event));
    let first_response = read.await.unwrap();
    assert!(
        served.js.respond(&first, &event),
        "half of the bytes are not held yet"
    );
    assert!(!served.js.respond(&second, &event));
    let (kind, id, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, &id), (6, &second), "it is to stop");
    assert!(!served.js.respond(&second, &event));
    served.js.finish(&second);
    let response = refused.await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(json_of(response).await["details"]["reason"], "overloaded");
    served.js.finish(&first);
    let events = text(first_response).await;
    assert_eq!(events.matches("data: ").count(), 2);
    assert_eq!(served.js.pending(), 0);
}

#[tokio::test]
async fn work_that_goes_on_without_its_client_keeps_its_place() {
    let mut served = served(&json!({ "concurrency": 1, "queue": 0 }));
    for is_begun in [true, false] {
        let service = served.service.clone();
        let sent =
            tokio::spawn(async move { send(&service, post("/api/t/host", &json!(1))).await });
        let (_, id, _) = served.asked.recv().await.unwrap();
        if is_begun {
            assert!(served.js.begin(&id));
        }
        sent.abort();
        assert_eq!(served.asked.recv().await.unwrap().0, 6);
        let refused = send(&served.service, post("/api/t/native", &json!({}))).await;
        assert_eq!(refused.status(), 503);
        if is_begun {
            served.js.finish(&id);
        } else {
            assert!(!served.js.begin(&id));
        }
        let done = send(&served.service, post("/api/t/native", &json!({}))).await;
        assert_eq!(done.status(), 204);
    }
}

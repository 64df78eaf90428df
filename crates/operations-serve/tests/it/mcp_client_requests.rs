//! What handlers and clients of the MCP door say to each other, without a socket.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use operations_serve::body::Body;
use serde_json::{Value, json};

use crate::support::{Served, json_of, send, served, text};

/// The session of a client that can be asked everything.
const SESSION: (&str, &str) = ("mcp-session-id", "s.esr");

fn door() -> Served {
    served(&json!({ "doors": { "mcp": { "path": "/mcp", "name": "test", "version": "1.2.3" } } }))
}

/// What the host says about its operations.
async fn describe(served: &mut Served) {
    let (_, id, asked) = served.asked.recv().await.unwrap();
    assert_eq!(asked, json!({ "describe": true }));
    let each = |id: &str, kind: &str, mcp: Value| {
        json!({
            "id": id, "type": kind, "description": "d", "input": { "type": "object" },
            "access": { "requiredScopes": [] }, "mcp": mcp,
        })
    };
    let list = json!([
        each(
            "t.host",
            "query",
            json!({ "tool": true, "resource": { "uri": "t://{name}" }, "prompt": true })
        ),
        each(
            "t.native",
            "mutation",
            json!({ "tool": true, "requires": ["sampling"] })
        ),
    ]);
    served.js.respond(&id, &list.to_string());
}

fn request(method: &str, params: &Value, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    post(&message, headers)
}

fn post(message: &Value, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(message.to_string())).unwrap()
}

/// A call of the newer generation by a client that can be asked.
fn stateless(more: &Value) -> Request<Full<Bytes>> {
    let mut params = json!({
        "name": "t_host", "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "t_host"),
    ];
    request("tools/call", &params, &headers)
}

/// The next message of a stream.
async fn message(body: &mut Body) -> Value {
    let frame = body.frame().await.unwrap().unwrap();
    let piece = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
    let data = piece.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap()).unwrap()
}

const QUESTION: &str = r#"[{"key":"k","method":"elicitation/create","params":{"message":"?"}}]"#;
const ENVELOPE: &str = r#"{"data":{"done":true},"meta":{"source":"local"}}"#;

#[tokio::test]
async fn an_older_client_is_asked_on_the_stream_of_its_call() {
    let mut served = door();
    let service = served.service.clone();
    let answering = tokio::spawn(async move {
        let params = json!({ "name": "t_host", "arguments": {} });
        send(&service, request("tools/call", &params, &[SESSION])).await
    });
    describe(&mut served).await;
    let (_, id, asked) = served.asked.recv().await.unwrap();
    assert_eq!(
        asked["client"],
        json!({
            "elicit": true, "sample": true, "roots": true,
            "approve": { "forms": true, "explorer": null, "answered": [] },
        })
    );
    served.js.request_from_caller(&id, QUESTION);
    let mut body = answering.await.unwrap().into_body();
    let question = message(&mut body).await;
    assert_eq!(question["method"], "elicitation/create");
    let answer =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    // No other client can answer, and nothing but an answer is one.
    for session in ["other.esr", SESSION.1] {
        let sent = post(&answer, &[("mcp-session-id", session)]);
        assert_eq!(send(&served.service, sent).await.status(), 202);
    }
    // The call goes on while its answer is read, as a connection does.
    let last = tokio::spawn(async move { message(&mut body).await });
    let (kind, to, received) = served.asked.recv().await.unwrap();
    assert_eq!((kind, to), (2, id.clone()));
    assert_eq!(
        received,
        json!({ "key": "k", "result": { "action": "decline" } })
    );
    served.js.respond(&id, ENVELOPE);
    let last = last.await.unwrap();
    assert_eq!(last["result"]["structuredContent"], json!({ "done": true }));
}

#[tokio::test]
async fn a_question_is_not_lost_among_what_a_slow_client_has_not_read() {
    let mut served = door();
    let service = served.service.clone();
    let answering = tokio::spawn(async move {
        let params =
            json!({ "name": "t_host", "arguments": {}, "_meta": { "progressToken": "p" } });
        send(&service, request("tools/call", &params, &[SESSION])).await
    });
    describe(&mut served).await;
    let (_, id, _) = served.asked.recv().await.unwrap();
    for step in 0..1_000 {
        let note = json!({ "progress": step }).to_string();
        served.js.send_progress(&id, &note);
    }
    served.js.request_from_caller(&id, QUESTION);
    let mut body = answering.await.unwrap().into_body();
    let mut notes = 0;
    let question = loop {
        let received = message(&mut body).await;
        if received["method"] == "elicitation/create" {
            break received;
        }
        assert_eq!(received["method"], "notifications/progress");
        notes += 1;
    };
    assert!(notes < 1_000, "what is not read is left out");
    let answer =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    let sent = send(&served.service, post(&answer, &[SESSION])).await;
    assert_eq!(sent.status(), 202);
    let last = tokio::spawn(async move { message(&mut body).await });
    let (kind, to, received) = served.asked.recv().await.unwrap();
    assert_eq!((kind, to), (2, id.clone()));
    assert_eq!(received["result"], json!({ "action": "decline" }));
    served.js.respond(&id, ENVELOPE);
    assert_eq!(last.await.unwrap()["result"]["isError"], Value::Null);
}

#[tokio::test]
async fn a_newer_client_is_asked_by_a_result() {
    let mut served = door();
    let service = served.service.clone();
    let answering = tokio::spawn(async move { send(&service, stateless(&json!({}))).await });
    describe(&mut served).await;
    let (_, id, _) = served.asked.recv().await.unwrap();
    served.js.request_from_caller(&id, QUESTION);
    let first = json_of(answering.await.unwrap()).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    assert_eq!(
        first["result"]["inputRequests"]["k"]["method"],
        "elicitation/create"
    );
    // The handler is aborted.
    let (kind, aborted, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, aborted), (6, id));

    let state = first["result"]["requestState"].clone();
    let service = served.service.clone();
    let answers =
        json!({ "requestState": state, "inputResponses": { "k": { "action": "cancel" } } });
    let answering = tokio::spawn(async move { send(&service, stateless(&answers)).await });
    let (_, id, _) = served.asked.recv().await.unwrap();
    served.js.request_from_caller(&id, QUESTION);
    let (kind, _, received) = served.asked.recv().await.unwrap();
    assert_eq!(
        (kind, &received["result"]),
        (2, &json!({ "action": "cancel" }))
    );
    served.js.respond(&id, ENVELOPE);
    let last = json_of(answering.await.unwrap()).await;
    assert_eq!(last["result"]["resultType"], "complete");

    for odd in [
        json!({ "requestState": "AAAA" }),
        json!({ "requestState": 7 }),
        json!({ "inputResponses": null }),
    ] {
        let answer = json_of(send(&served.service, stateless(&odd)).await).await;
        assert_eq!(answer["error"]["code"], -32602, "{odd}");
    }
}

#[tokio::test]
async fn a_tool_may_need_more_than_a_client_can_do() {
    let mut served = door();
    let service = served.service.clone();
    let params = json!({ "name": "t_native", "arguments": {} });
    let first = send(&service, request("tools/call", &params, &[]));
    let (response, ()) = tokio::join!(first, describe(&mut served));
    let answer = json_of(response).await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(
        answer["error"]["data"],
        json!({ "requiredCapabilities": { "sampling": {} } })
    );
    let able = send(&service, request("tools/call", &params, &[SESSION])).await;
    assert_eq!(json_of(able).await["error"], Value::Null);
}

#[tokio::test]
async fn resources_are_watched_by_sessions() {
    let mut served = door();
    let service = served.service.clone();
    let watch = |method: &str, uri: &str| request(method, &json!({ "uri": uri }), &[SESSION]);
    let first = send(&service, watch("resources/subscribe", "t://one"));
    let (response, ()) = tokio::join!(first, describe(&mut served));
    assert_eq!(json_of(response).await["result"], json!({}));
    let unknown = send(&service, watch("resources/subscribe", "x://one")).await;
    assert_eq!(json_of(unknown).await["error"]["code"], -32002);
    let get = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header(SESSION.0, SESSION.1)
        .body(Full::default())
        .unwrap();
    let mut stream = send(&service, get).await.into_body();
    // The first piece says that it stands.
    let _ = stream.frame().await;
    served.service.shared().resource_updated("t://other");
    served.service.shared().resource_updated("t://one");
    let received = message(&mut stream).await;
    assert_eq!(received["method"], "notifications/resources/updated");
    assert_eq!(received["params"], json!({ "uri": "t://one" }));
}

#[tokio::test]
async fn a_name_that_no_session_has_is_not_remembered() {
    let served = door();
    let long = "s".repeat(129);
    let session = [("mcp-session-id", long.as_str())];
    for method in ["POST", "GET", "DELETE"] {
        let mut sent = request("ping", &json!({}), &session);
        *sent.method_mut() = method.parse().unwrap();
        let response = send(&served.service, sent).await;
        assert_eq!(response.status(), 404, "{method}");
        assert!(text(response).await.contains("initialize"));
    }
}

#[tokio::test]
async fn a_session_that_is_over_stays_over() {
    let served = door();
    let goodbye = Request::delete("/mcp")
        .header("host", "localhost")
        .header(SESSION.0, SESSION.1)
        .body(Full::default())
        .unwrap();
    let gone: Response<Body> = send(&served.service, goodbye).await;
    assert_eq!(gone.status(), 204);
    let ping = send(&served.service, request("ping", &json!({}), &[SESSION])).await;
    assert_eq!(ping.status(), 404);
    let batch = json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]);
    let response = send(&served.service, post(&batch, &[SESSION])).await;
    assert_eq!(response.status(), 404);
    let other = send(&served.service, request("ping", &json!({}), &[])).await;
    assert!(text(other).await.contains("\"result\":{}"));
}

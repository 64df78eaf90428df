//! The MCP door, without a socket.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use operations_serve::body::Body;
use serde_json::{Value, json};

use crate::support::{Served, json_of, send, served, text};

const META: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

pub(crate) fn door(more: &Value) -> Served {
    let mut options = json!({
        "doors": { "mcp": { "path": "/mcp", "name": "test", "version": "1.2.3" } },
    });
    for (name, value) in more.as_object().unwrap() {
        options[name] = value.clone();
    }
    served(&options)
}

/// What the host says about its operations.
fn description() -> String {
    let object = json!({ "type": "object" });
    let each = |id: &str, kind: &str, scopes: &[&str]| {
        json!({
            "id": id, "type": kind, "description": "d", "input": object,
            "access": { "requiredScopes": scopes },
        })
    };
    json!([
        each("t.native", "mutation", &[]),
        each("t.secret", "query", &["admin"]),
        each("t.host", "mutation", &[]),
    ])
    .to_string()
}

/// Answers the first question, which is what there is to be shown.
pub(crate) async fn describe(served: &mut Served) {
    let (kind, id, asked) = served.asked.recv().await.unwrap();
    assert_eq!((kind, &asked), (5, &json!({ "describe": true })));
    served.js.respond(&id, &description());
}

pub(crate) fn message(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn request(body: &Value, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_string())).unwrap()
}

/// A request of the newer generation.
fn stateless(id: u32, method: &str, mut params: Value) -> Request<Full<Bytes>> {
    params["_meta"][META] = json!("2026-07-28");
    params["_meta"][CAPABILITIES] = json!({});
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    request(&message(id, method, &params), &headers)
}

/// The next piece of a stream.
async fn piece(body: &mut Body) -> String {
    let frame = body.frame().await.unwrap().unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

async fn call(served: &Served, tool: &str, arguments: &Value) -> Response<Body> {
    let params = json!({ "name": tool, "arguments": arguments });
    send(
        &served.service,
        request(&message(7, "tools/call", &params), &[]),
    )
    .await
}

#[tokio::test]
async fn older_clients_shake_hands() {
    let mut served = door(&json!({}));
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {} });
    let service = served.service.clone();
    let greeting = send(&service, request(&message(1, "initialize", &hello), &[]));
    let (response, ()) = tokio::join!(greeting, describe(&mut served));
    assert!(response.headers().contains_key("mcp-session-id"));
    let answer = json_of(response).await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(answer["result"]["serverInfo"]["name"], "test");
    assert_eq!(
        answer["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = send(&served.service, request(&initialized, &[])).await;
    assert_eq!(response.status(), 202);
    let ping = request(&message(2, "ping", &json!({})), &[]);
    let answer = json_of(send(&served.service, ping).await).await;
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    let unknown = request(&message(3, "no/such", &json!({})), &[]);
    let response = send(&served.service, unknown).await;
    assert_eq!(response.status(), 200);
    assert_eq!(json_of(response).await["error"]["code"], -32601);
}

#[tokio::test]
async fn newer_clients_ask_what_there_is() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let discovering = send(&service, stateless(1, "server/discover", json!({})));
    let (response, ()) = tokio::join!(discovering, describe(&mut served));
    let answer = json_of(response).await;
    assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["version"],
        "1.2.3"
    );
    let response = send(&served.service, stateless(2, "ping", json!({}))).await;
    assert_eq!(response.status(), 404);
    assert_eq!(json_of(response).await["error"]["code"], -32601);
    let odd = request(
        &message(3, "tools/list", &json!({})),
        &[("mcp-protocol-version", "2026-07-28")],
    );
    let response = send(&served.service, odd).await;
    assert_eq!(response.status(), 400);
    assert_eq!(json_of(response).await["error"]["code"], -32602);
}

#[tokio::test]
async fn tools_are_listed_for_callers_that_may_call_them() {
    let ada =
        json!({ "tokens": [["t0ken", { "id": "ada", "scopes": ["admin"] }]], "anonymous": true });
    let mut served = door(&json!({ "identity": ada }));
    let service = served.service.clone();
    let list = |headers: &'static [(&'static str, &'static str)]| {
        let service = service.clone();
        async move {
            let list = request(&message(1, "tools/list", &json!({})), headers);
            let answer = json_of(send(&service, list).await).await;
            let tools = answer["result"]["tools"].as_array().unwrap().clone();
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        }
    };
    let (names, ()) = tokio::join!(list(&[]), describe(&mut served));
    assert_eq!(names, ["t_native", "t_host"]);
    // It is cached: JavaScript is not asked again.
    let names = list(&[("authorization", "Bearer t0ken")]).await;
    assert_eq!(names, ["t_native", "t_secret", "t_host"]);
    // Until something changes.
    served.registry.remove("t.host");
    let (names, ()) = tokio::join!(list(&[]), describe(&mut served));
    assert_eq!(names, ["t_native"]);
}

#[tokio::test]
async fn a_native_tool_is_called_without_the_host() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let params = json!({ "name": "t_native", "arguments": { "gives": [1, "x"] } });
    let first = send(&service, stateless(7, "tools/call", params));
    let (response, ()) = tokio::join!(first, describe(&mut served));
    let answer = json_of(response).await;
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["structuredContent"], json!([1, "x"]));
    assert_eq!(answer["result"]["content"][0]["text"], r#"[1,"x"]"#);
    assert_eq!(answer["result"]["resultType"], "complete");
    let older = json_of(call(&served, "t_native", &json!({ "gives": [1, "x"] })).await).await;
    assert_eq!(
        older["result"]["structuredContent"],
        json!({ "result": [1, "x"] })
    );
    assert!(served.asked.try_recv().is_err(), "JavaScript was asked");
}

#[tokio::test]
async fn failures_are_results_or_errors() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let params = json!({ "name": "no_such" });
    let first = send(&service, request(&message(1, "tools/call", &params), &[]));
    let (response, ()) = tokio::join!(first, describe(&mut served));
    assert_eq!(json_of(response).await["error"]["code"], -32602);
    for code in ["GONE", "EXECUTION_ERROR", "UNKNOWN_ERROR", "TIMEOUT"] {
        let answer = json_of(call(&served, "t_native", &json!({ "fail": code })).await).await;
        assert_eq!(answer["result"]["isError"], true, "{code}");
        assert_eq!(
            answer["result"]["_meta"]["alkdev.operations/error"]["code"],
            code
        );
    }
    let response = call(&served, "t_secret", &json!({})).await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let response = call(&served, "t_native", &json!([])).await;
    assert_eq!(json_of(response).await["error"]["code"], -32602);
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let params = json!({ "name": "t_host", "arguments": {}, "_meta": { "progressToken": "p" } });
    let answering = tokio::spawn(async move {
        let call = request(&message(1, "tools/call", &params), &[]);
        send(&service, call).await
    });
    describe(&mut served).await;
    let (_, id, asked) = served.asked.recv().await.unwrap();
    assert_eq!(asked["client"], json!({ "progress": true }));
    served.js.send_progress(&id, r#"{"progress":1,"total":2}"#);
    let response = answering.await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    served
        .js
        .respond(&id, r#"{"data":{},"meta":{"source":"local"}}"#);
    let said = text(response).await;
    let events: Vec<Value> = said
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(
        events[0]["params"],
        json!({ "progressToken": "p", "progress": 1, "total": 2 })
    );
    assert_eq!(events[1]["result"]["structuredContent"], json!({}));
    assert_eq!(events.len(), 2);
}

/// A handler on another thread may speak and end between two looks of the door.
#[tokio::test]
async fn what_a_handler_says_just_before_it_ends_is_heard() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let listing = tokio::spawn(async move {
        send(
            &service,
            request(&message(1, "tools/list", &json!({})), &[]),
        )
        .await
    });
    describe(&mut served).await;
    assert_eq!(listing.await.unwrap().status(), 200);
    let set = served.at_once.set(|js, id| {
        js.send_progress(id, r#"{"progress":1}"#);
        js.respond(id, r#"{"data":{},"meta":{"source":"local"}}"#);
    });
    assert!(set.is_ok());
    let params = json!({ "name": "t_host", "arguments": {}, "_meta": { "progressToken": "p" } });
    let call = request(&message(2, "tools/call", &params), &[]);
    let said = text(send(&served.service, call).await).await;
    let progress = said.find(r#""progress":1"#).expect("progress");
    assert!(progress < said.find("structuredContent").unwrap(), "{said}");
}

#[tokio::test]
async fn an_older_client_cancels_its_own_call() {
    let mut served = door(&json!({}));
    let service = served.service.clone();
    let params = json!({ "name": "t_host", "arguments": {} });
    let answering = tokio::spawn(async move {
        let call = message(9, "tools/call", &params);
        let call = request(&call, &[("mcp-session-id", "s")]);
        tower::ServiceExt::oneshot(service, call).await
    });
    describe(&mut served).await;
    let (_, id, _) = served.asked.recv().await.unwrap();
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 },
    });
    for session in ["other", "s"] {
        let note = request(&cancel, &[("mcp-session-id", session)]);
        assert_eq!(send(&served.service, note).await.status(), 202);
    }
    let (kind, aborted, _) = served.asked.recv().await.unwrap();
    assert_eq!((kind, aborted), (6, id));
    assert!(answering.await.unwrap().is_err(), "nothing is said to it");
}

#[tokio::test]
async fn changes_are_announced() {
    let mut served = door(&json!({}));
    let get = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .body(Full::default())
        .unwrap();
    let mut older = send(&served.service, get).await.into_body();
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let listen = stateless(5, "subscriptions/listen", params);
    let mut newer = send(&served.service, listen).await.into_body();
    assert_eq!(piece(&mut older).await, ":\n\n");
    assert!(piece(&mut newer).await.contains("acknowledged"));
    served.registry.remove("t.host");
    let (received, ()) = tokio::join!(piece(&mut older), describe(&mut served));
    assert!(received.contains("notifications/tools/list_changed"));
    let received = piece(&mut newer).await;
    assert!(
        received.contains("notifications/tools/list_changed"),
        "{received}"
    );
    assert!(received.contains(r#""io.modelcontextprotocol/subscriptionId":5"#));
    served.service.shared().closing.cancel();
    assert!(
        piece(&mut newer)
            .await
            .contains(r#""resultType":"complete""#)
    );
    assert!(newer.frame().await.is_none());
    assert!(older.frame().await.is_none());
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let served = door(&json!({}));
    for (body, status, code) in [("{", 400, -32700), ("[]", 400, -32600), ("7", 400, -32600)] {
        let mut odd = request(&json!({}), &[]);
        *odd.body_mut() = Full::from(body);
        let response = send(&served.service, odd).await;
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(json_of(response).await["error"]["code"], code, "{body}");
    }
    let batch = json!([message(1, "ping", &json!({})), { "jsonrpc": "2.0", "method": "x" }]);
    let answer = json_of(send(&served.service, request(&batch, &[])).await).await;
    assert_eq!(answer, json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }]));
    let many = json!(vec![json!({}); 33]);
    let response = send(&served.service, request(&many, &[])).await;
    assert_eq!(response.status(), 400);
    let mut odd = request(&json!({}), &[]);
    odd.headers_mut()
        .insert("accept", "text/html".parse().unwrap());
    assert_eq!(send(&served.service, odd).await.status(), 406);
    let put = Request::put("/mcp").header("host", "localhost");
    let response = send(&served.service, put.body(Full::default()).unwrap()).await;
    assert_eq!(response.status(), 405);
}

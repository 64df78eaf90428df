//! A registry of a Rust program, called directly and through its doors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure should stop them"
)]

mod peers;

use std::future::pending;
use std::time::Duration;

use futures::{StreamExt, stream};
use operations::{
    AccessControl, CallError, Context, Identity, OpenApi, Operation, Registry, serve,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Greeting {
    text: String,
}

fn registry() -> Registry {
    let registry = Registry::new();
    let all = [
        Operation::query("t", "greet", async |input: Greet, _: Context| {
            Ok(Greeting {
                text: format!("Hello, {}!", input.name),
            })
        })
        .description("Greets"),
        Operation::query("t", "secret", async |(): (), context: Context| {
            Ok(context.identity().map(|identity| identity.id.clone()))
        })
        .access(AccessControl::scopes(["admin"])),
        Operation::mutation("t", "fails", async |(): (), _: Context| {
            Err::<(), _>(CallError::unexpected("the password is hunter2"))
        }),
        Operation::mutation("t", "gone", async |(): (), _: Context| {
            Err::<(), _>(CallError::new("GONE", "It is gone"))
        })
        .error("GONE", Some(410)),
        Operation::mutation("t", "waits", async |(): (), _: Context| {
            pending::<Result<(), CallError>>().await
        }),
        Operation::mutation("t", "panics", async |input: Value, _: Context| {
            assert!(input.is_null(), "as it was asked to");
            Ok(())
        }),
        Operation::subscription("t", "count", |to: u32, _: Context| {
            stream::iter((1..=to).map(Ok))
        }),
    ];
    for operation in all {
        registry.register(operation).unwrap();
    }
    registry
}

async fn code_of(registry: &Registry, id: &str, input: Value) -> String {
    registry
        .call(id, input)
        .await
        .unwrap_err()
        .code
        .into_owned()
}

#[tokio::test]
async fn inputs_are_checked_and_outputs_are_in_envelopes() {
    let registry = registry();
    let envelope = registry.call("t.greet", json!({ "name": "Ada" })).await;
    let envelope = envelope.unwrap();
    assert_eq!(
        envelope.data::<Value>().unwrap(),
        json!({ "text": "Hello, Ada!" })
    );
    assert_eq!(envelope.meta()["operationId"], "t.greet");
    let error = registry
        .call("t.greet", json!({ "name": 1 }))
        .await
        .unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    assert!(error.message.contains("/name"), "{}", error.message);
    let error = registry.call("t.great", ()).await.unwrap_err();
    assert_eq!(
        error.message,
        "Operation not found: t.great. Did you mean t.greet?"
    );
}

#[tokio::test]
async fn access_rules_and_deadlines_hold() {
    let registry = registry();
    assert_eq!(
        code_of(&registry, "t.secret", json!(null)).await,
        "ACCESS_DENIED"
    );
    let admin = Identity::new("ada", ["admin"]);
    let envelope = registry.call("t.secret", ()).identity(admin).await.unwrap();
    assert_eq!(envelope.data::<String>().unwrap(), "ada");
    let late = registry
        .call("t.waits", ())
        .timeout(Duration::from_millis(20));
    assert_eq!(late.await.unwrap_err().code, "TIMEOUT");
}

#[tokio::test]
async fn a_panic_of_a_handler_is_an_error_of_its_call() {
    let registry = registry();
    let error = registry.call("t.panics", json!(1)).await.unwrap_err();
    assert_eq!((&*error.code, error.is_internal), ("EXECUTION_ERROR", true));
    registry.call("t.panics", ()).await.unwrap();
}

#[tokio::test]
async fn a_subscription_is_a_stream() {
    let registry = registry();
    let events = registry.subscribe("t.count", 3);
    let events: Vec<u32> = events
        .map(|event| event.unwrap().data::<u32>().unwrap())
        .collect()
        .await;
    assert_eq!(events, [1, 2, 3]);
    let refused: Vec<_> = registry.subscribe("t.count", "x").collect().await;
    assert_eq!(refused[0].as_ref().unwrap_err().code, "VALIDATION_ERROR");
    assert_eq!(refused.len(), 1);
    assert_eq!(
        code_of(&registry, "t.count", json!(1)).await,
        "EXECUTION_ERROR"
    );
}

#[test]
fn what_cannot_be_called_is_not_registered() {
    let registry = Registry::new();
    let nameless = Operation::query("a.b", "c", async |(): (), _: Context| Ok(()));
    assert_eq!(
        registry.register(nameless).unwrap_err().code,
        "VALIDATION_ERROR"
    );
    let odd = Operation::query("a", "b", async |(): (), _: Context| Ok(()));
    let odd = odd.input_schema(json!({ "type": "no-such-type" }));
    let error = registry.register(odd).unwrap_err();
    assert!(
        error.message.contains("input schema of operation a.b"),
        "{error}"
    );
    assert!(registry.ids().is_empty());
}

/// The status and the body of an answer.
async fn post(url: &str, path: &str, body: &Value, header: &str) -> (u16, Value) {
    let address = url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{header}content-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let status = answer[9..12].parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let json = &body[body.find('{').or_else(|| body.find('"')).unwrap_or(0)
        ..=body.rfind(['}', '"']).unwrap_or(0)];
    (
        status,
        serde_json::from_str(json).unwrap_or_else(|_| panic!("{answer}")),
    )
}

#[tokio::test]
async fn a_registry_is_served_over_http() {
    let ada = Identity::new("ada", ["admin"]);
    let server = serve(&registry()).token("t0ken", &ada).anonymous();
    let server = server.listen("127.0.0.1:0").await.unwrap();
    let url = server.url();
    let (status, greeting) = post(&url, "/api/t/greet", &json!({ "name": "Ada" }), "").await;
    assert_eq!(
        (status, &greeting),
        (200, &json!({ "text": "Hello, Ada!" }))
    );
    assert_eq!(post(&url, "/api/t/greet", &json!({}), "").await.0, 400);
    assert_eq!(post(&url, "/api/t/gone", &json!({}), "").await.0, 410);
    assert_eq!(post(&url, "/api/t/secret", &json!({}), "").await.0, 401);
    let bearer = "authorization: Bearer t0ken\r\n";
    assert_eq!(post(&url, "/api/t/secret", &json!({}), bearer).await.0, 200);
    let (status, failure) = post(&url, "/api/t/fails", &json!({}), "").await;
    assert_eq!(status, 500);
    assert!(!failure.to_string().contains("hunter2"), "{failure}");
    server.close().await;
}

#[tokio::test]
async fn a_registry_is_served_over_mcp() {
    let server = serve(&registry()).name("test", "1.2.3");
    let server = server.listen("127.0.0.1:0").await.unwrap();
    let ask = async |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let version = "mcp-protocol-version: 2025-06-18\r\n";
        post(&server.url(), "/mcp", &body, version).await.1["result"].clone()
    };
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    assert_eq!(
        ask("initialize", client).await["serverInfo"]["name"],
        "test"
    );
    let tools = ask("tools/list", json!({})).await;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"t_greet") && !names.contains(&"t_secret"),
        "{names:?}"
    );
    let call = json!({ "name": "t_greet", "arguments": { "name": "Ada" } });
    let result = ask("tools/call", call).await;
    assert_eq!(
        result["structuredContent"],
        json!({ "text": "Hello, Ada!" })
    );
}

#[tokio::test]
async fn what_is_served_can_be_imported_and_called() {
    let server = serve(&registry()).listen("127.0.0.1:0").await.unwrap();
    let registry = Registry::new();
    let document = format!("{}/api/openapi.json", server.url());
    let ids = OpenApi::url("far", document).import(&registry).await;
    let ids = ids.unwrap();
    assert!(ids.contains(&"far.greet".to_owned()), "{ids:?}");
    let call = registry.call("far.greet", json!({ "name": "Ada" }));
    let envelope = call.await.unwrap();
    let data: Value = envelope.data().unwrap();
    assert_eq!(data, json!({ "text": "Hello, Ada!" }));
    let gone = registry.call("far.gone", json!({})).await.unwrap_err();
    assert_eq!(gone.code, "GONE");
}

//! The MCP door by lines, without a process.

use operations_serve::door::mcp::stdio::{Conversation, OutgoingLine};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::mcp_door::{describe, door, message};
use crate::support::Served;

/// A client and the conversation that it has.
struct Client {
    served: Served,
    say: mpsc::Sender<String>,
    said: mpsc::Receiver<OutgoingLine>,
    kill: CancellationToken,
    running: JoinHandle<()>,
}

/// `room` is for lines that were not read yet.
fn client(room: usize) -> Client {
    let served = door(&json!({}));
    let shared = served.service.shared().clone();
    let options = shared.options.doors.mcp.clone().unwrap();
    let (out, said) = mpsc::channel(room);
    let (say, lines) = mpsc::channel(8);
    let kill = CancellationToken::new();
    let conversation = Conversation::new(shared, options, std::sync::Arc::default(), out, &kill);
    Client {
        served,
        say,
        said,
        kill,
        running: tokio::spawn(conversation.run(lines)),
    }
}

impl Client {
    async fn send(&self, message: Value) {
        self.say.send(message.to_string()).await.unwrap();
    }

    async fn heard(&mut self) -> Value {
        serde_json::from_str(&self.said.recv().await.unwrap()).unwrap()
    }

    /// Calls an operation of the host's, and gives the name that the call has there.
    async fn calls_host(&mut self, id: u32) -> String {
        let call = message(id, "tools/call", &json!({ "name": "t_host" }));
        self.send(call).await;
        describe(&mut self.served).await;
        self.served.asked.recv().await.unwrap().1
    }
}

#[tokio::test]
async fn a_conversation() {
    let mut client = client(8);
    let hello = message(1, "initialize", &json!({ "protocolVersion": "2025-06-18" }));
    client.send(hello).await;
    describe(&mut client.served).await;
    let answer = client.heard().await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    let secret = message(2, "tools/call", &json!({ "name": "t_secret" }));
    client.send(secret).await;
    let answer = client.heard().await;
    assert_eq!(answer["result"]["isError"], true, "here there is no status");
    let call = message(3, "tools/call", &json!({ "name": "t_host" }));
    client.send(call).await;
    let (_, id, _) = client.served.asked.recv().await.unwrap();
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 },
    });
    client.send(cancel).await;
    let (kind, aborted, _) = client.served.asked.recv().await.unwrap();
    assert_eq!((kind, aborted), (6, id));
    drop(client.say);
    client.running.await.unwrap();
    assert!(client.said.recv().await.is_none());
}

/// A client that has read that it is subscribed relies on that, however long the line has waited to be read.
#[tokio::test]
async fn what_changes_after_the_acknowledgement_is_notified() {
    let mut client = client(1);
    client.send(message(1, "ping", &json!({}))).await;
    // Its answer fills the room: the acknowledgement waits to be read.
    while client.said.is_empty() {
        tokio::task::yield_now().await;
    }
    let listen = json!({
        "notifications": { "toolsListChanged": true },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let listen = message(2, "subscriptions/listen", &listen);
    client.send(listen).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    client.served.registry.remove("t.host");
    assert_eq!(client.heard().await["id"], 1);
    let acknowledged = client.heard().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    describe(&mut client.served).await;
    let received = client.heard().await;
    assert_eq!(received["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_server_that_closes_lets_calls_finish_and_begins_no_others() {
    let mut client = client(8);
    let id = client.calls_host(1).await;
    client.served.service.shared().closing.cancel();
    client.send(message(2, "ping", &json!({}))).await;
    let refused = client.heard().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(2), &json!(-32603))
    );
    let envelope = r#"{"data":{"done":true},"meta":{"source":"local"}}"#;
    client.served.js.respond(&id, envelope);
    let answer = client.heard().await;
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "done": true })
    );
    client.running.await.unwrap();
}

#[tokio::test]
async fn what_is_not_done_in_time_is_ended() {
    let mut client = client(8);
    let id = client.calls_host(1).await;
    client.served.service.shared().closing.cancel();
    client.kill.cancel();
    client.running.await.unwrap();
    let (kind, aborted, _) = client.served.asked.recv().await.unwrap();
    assert_eq!((kind, aborted), (6, id));
    assert!(client.said.recv().await.is_none());
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    const MANY: u32 = 5_000;
    let mut client = client(1);
    let mut sent = 0;
    while sent < MANY {
        let ping = message(sent, "ping", &json!({})).to_string();
        let mut tries = 0;
        while client.say.try_send(ping.clone()).is_err() && tries < 100 {
            tries += 1;
            tokio::task::yield_now().await;
        }
        if tries == 100 {
            break;
        }
        sent += 1;
    }
    assert!(
        sent < 2_000,
        "{sent} requests wait for a client that does not read"
    );
    // Each has an answer, even if it is that there are too many.
    let mut refused = 0;
    for _ in 0..sent {
        let answer = client.heard().await;
        if answer["result"] != json!({}) {
            assert_eq!(answer["error"]["code"], -32603, "{answer}");
            refused += 1;
        }
    }
    assert!(refused > 0);
    client.send(message(MANY, "ping", &json!({}))).await;
    assert_eq!(client.heard().await["id"], json!(MANY));
}

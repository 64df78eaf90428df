//! Programs that call each other: over MCP, over WebSocket and over NATS.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures::StreamExt;
use operations::{
    AccessControl, CallError, Context, Identity, Import, McpServer, Operation, Registry,
    connect_hub, connect_nats, serve,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::registry;

/// Waits for something that happens in another task.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(Duration::from_secs(30), waiting).await;
    assert!(waited.is_ok(), "{what}");
}

fn late() -> Operation {
    Operation::query("t", "late", async |(): (), _: Context| Ok("here"))
}

async fn greets(registry: &Registry, id: &str) {
    let envelope = registry.call(id, json!({ "name": "Ada" })).await;
    let data: Value = envelope.unwrap().data().unwrap();
    assert_eq!(data, json!({ "text": "Hello, Ada!" }));
}

async fn counts(registry: &Registry, id: &str) {
    let events = registry.subscribe(id, 300);
    let counted: Vec<u32> = events
        .map(|event| event.unwrap().data::<u32>().unwrap())
        .collect()
        .await;
    assert_eq!(counted, (1..=300).collect::<Vec<u32>>());
}

#[tokio::test]
async fn tools_of_an_mcp_server_are_operations_until_it_is_closed() {
    let far = registry();
    let server = serve(&far).listen("127.0.0.1:0").await.unwrap();
    let near = Registry::new();
    let url = format!("{}/mcp", server.url());
    let tools = McpServer::url("far", &url)
        .bearer("t0ken")
        .access(AccessControl::scopes(["far"]))
        .import(&near)
        .await
        .unwrap();
    assert_eq!(tools.ids(), near.ids());
    assert!(tools.ids().contains(&"far.t_greet".to_owned()), "{tools:?}");
    assert_eq!(tools.status()["state"], "connected");
    let call = || near.call("far.t_greet", json!({ "name": "Ada" }));
    assert_eq!(call().await.unwrap_err().code, "ACCESS_DENIED");
    let ada = Identity::new("ada", ["far"]);
    let envelope = call().identity(ada.clone()).await.unwrap();
    assert_eq!(envelope.data::<Value>().unwrap()["text"], "Hello, Ada!");
    assert_eq!(envelope.meta()["source"], "mcp");
    let wrong = near.call("far.t_greet", json!({ "name": 1 }));
    let error = wrong.identity(ada.clone()).await.unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    let gone = near.call("far.t_gone", json!({})).identity(ada).await;
    assert_eq!(gone.unwrap().meta()["isError"], true);
    tools.close().await;
    assert!(near.ids().is_empty());
}

#[tokio::test]
async fn a_tool_never_takes_the_place_of_an_operation() {
    let server = serve(&registry()).listen("127.0.0.1:0").await.unwrap();
    let near = Registry::new();
    let own = Operation::query("far", "t_greet", async |(): (), _: Context| Ok("mine"));
    near.register(own).unwrap();
    let url = format!("{}/mcp", server.url());
    let error = McpServer::url("far", &url).import(&near).await.unwrap_err();
    let details = error.details.unwrap();
    assert_eq!(details["reason"], "collision");
    assert_eq!(details["operations"], json!(["far.t_greet"]));
    assert_eq!(near.ids(), ["far.t_greet"]);
    let envelope = near.call("far.t_greet", ()).await.unwrap();
    assert_eq!(envelope.data::<String>().unwrap(), "mine");
}

#[tokio::test]
async fn an_mcp_server_that_cannot_be_started_says_so_without_its_secrets() {
    let registry = Registry::new();
    let server = McpServer::command("x", "no-such-program").env("API_TOKEN", "hunter2");
    assert!(!format!("{server:?}").contains("hunter2"));
    let error = server.import(&registry).await.unwrap_err();
    assert!(error.message.contains("MCP server 'x'"), "{error}");
    assert!(!error.message.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_spoke_offers_its_operations_and_they_go_with_it() {
    let registry_of_hub = Registry::new();
    let server = serve(&registry_of_hub).hub(|spoke| {
        let import = Import::new().namespace(&spoke.name).exclude(["t.secret"]);
        (spoke.name != "stranger").then_some(import)
    });
    let server = server.listen("127.0.0.1:0").await.unwrap();
    let url = format!("{}/hub", server.url());

    let own = registry();
    let hub = connect_hub(&url, "laptop").await.unwrap();
    let offered = hub.serve(&own).await.unwrap();
    assert!(offered.contains(&"laptop.greet".to_owned()), "{offered:?}");
    assert!(!offered.contains(&"laptop.secret".to_owned()));
    assert_eq!(server.spokes()[0].name, "laptop");
    greets(&registry_of_hub, "laptop.greet").await;
    counts(&registry_of_hub, "laptop.count").await;
    let gone = registry_of_hub.call("laptop.gone", ()).await.unwrap_err();
    assert_eq!((&*gone.code, &*gone.message), ("GONE", "It is gone"));
    let waits = registry_of_hub.call("laptop.waits", ());
    let error = waits.timeout(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.code, "TIMEOUT");

    own.register(late()).unwrap();
    let has_late = || registry_of_hub.ids().contains(&"laptop.late".to_owned());
    until("what is registered later is offered", has_late).await;

    let stranger = connect_hub(&url, "stranger").await.unwrap();
    let error = stranger.serve(&own).await.unwrap_err();
    assert_eq!(error.details.unwrap()["reason"], "not-accepted");

    hub.close().await;
    until("they go", || registry_of_hub.ids().is_empty()).await;
    server.close().await;
}

#[tokio::test]
async fn a_spoke_imports_what_the_hub_has_and_follows_it() {
    let far = registry();
    let server = serve(&far)
        .hub(|_| None)
        .token("t", &Identity::new("ada", ["admin"]));
    let server = server.listen("127.0.0.1:0").await.unwrap();
    let url = format!("{}/hub", server.url());
    let refused = connect_hub(&url, "laptop").await.unwrap_err();
    assert_eq!(refused.code, "ACCESS_DENIED");

    let near = Registry::new();
    let hub = connect_hub(&url, "laptop").token("t").await.unwrap();
    let import = Import::new()
        .namespace("far")
        .include(["t.g*", "t.secret", "t.count", "t.late"]);
    let mut ids = hub.import(&near, import).await.unwrap();
    ids.sort();
    assert_eq!(ids, ["far.count", "far.gone", "far.greet", "far.secret"]);
    greets(&near, "far.greet").await;
    counts(&near, "far.count").await;
    let envelope = near.call("far.secret", ()).await.unwrap();
    assert_eq!(envelope.data::<String>().unwrap(), "ada");
    far.register(late()).unwrap();
    until("it follows", || near.ids().contains(&"far.late".to_owned())).await;
    // A hub that accepts no spoke refuses what it offers.
    assert!(hub.serve(&near).await.is_err());
    hub.close().await;
    assert!(near.ids().is_empty());
}

/// A broker, which ends with this.
struct Broker(Child, String);

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nothing where no broker is installed, which is said loudly and is a failure in CI.
fn broker() -> Option<Broker> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let port = port.unwrap().port().to_string();
    let folder = std::env::temp_dir().join(format!("operations-nats-{port}"));
    let started = Command::new("nats-server")
        .args(["--addr", "127.0.0.1", "--port", &port, "--store_dir"])
        .arg(folder)
        .stderr(Stdio::null())
        .spawn();
    if let Ok(child) = started {
        return Some(Broker(child, format!("nats://127.0.0.1:{port}")));
    }
    let is_excused = std::env::var("CI").as_deref() != Ok("true") || cfg!(windows);
    assert!(is_excused, "nats-server is not installed");
    #[allow(clippy::print_stderr, reason = "what is left out must be seen")]
    {
        eprintln!("SKIPPED: nats-server is not installed");
    }
    None
}

#[tokio::test]
async fn workers_over_nats_are_called_like_local_operations() {
    let Some(broker) = broker() else { return };
    let worker = async || connect_nats(&broker.1, "worker").wait().await.unwrap();
    let own = registry();
    let first = worker().await;
    first.serve(&own).await.unwrap();

    let near = Registry::new();
    let nats = connect_nats(&broker.1, "caller").wait().await.unwrap();
    let import = || {
        Import::new()
            .namespace("far")
            .identity(Identity::new("ada", ["admin"]))
    };
    let ids = nats.import(&near, import()).await.unwrap();
    assert!(ids.contains(&"far.greet".to_owned()), "{ids:?}");
    greets(&near, "far.greet").await;
    counts(&near, "far.count").await;
    let gone = near.call("far.gone", ()).await.unwrap_err();
    assert_eq!((&*gone.code, &*gone.message), ("GONE", "It is gone"));
    assert_eq!(
        near.call("far.secret", ()).await.unwrap_err().code,
        "ACCESS_DENIED"
    );
    let secret = near
        .call("far.secret", ())
        .identity(Identity::new("ada", ["admin"]));
    assert_eq!(secret.await.unwrap().data::<String>().unwrap(), "ada");
    let error = near.call("far.greet", json!({})).await.unwrap_err();
    assert_eq!(error.code, "VALIDATION_ERROR");
    let late_call = near
        .call("far.waits", ())
        .timeout(Duration::from_millis(100));
    assert_eq!(late_call.await.unwrap_err().code, "TIMEOUT");
    let mut some = near.subscribe("far.count", 1_000_000);
    assert_eq!(
        some.next().await.unwrap().unwrap().data::<u32>().unwrap(),
        1
    );
    drop(some);

    own.register(late()).unwrap();
    let has_late = || near.ids().contains(&"far.late".to_owned());
    until("what is registered later is found", has_late).await;
    let twice = nats.import(&near, import()).await.unwrap_err();
    assert_eq!(twice.details.unwrap()["reason"], "collision");
    nats.close().await;
    assert!(near.ids().is_empty());
    first.close().await;
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_an_error_that_names_it_and_no_password() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let connect = connect_nats(format!("127.0.0.1:{port}"), "x").user("ada", "hunter2");
    assert!(!format!("{connect:?}").contains("hunter2"));
    let error: CallError = connect.await.unwrap_err();
    assert!(error.message.contains(&port.to_string()), "{error}");
    assert!(!error.message.contains("hunter2"), "{error}");
}

//! What the target for requests to a server does with an input: a request as text, through the service without a socket; or lines,
//! as a client sends them over standard streams.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use operations_core::json::Document;
use operations_core::log::Logger;
use operations_core::mailbox::Mailbox;
use operations_core::registry::{
    Context, Handler, Operation, Outcome, OutputMode, Produced, Registry, Schema, Work,
};
use operations_serve::door::mcp::stdio::Conversation;
use operations_serve::embedded::{Embedded, Exchange, Incoming};
use operations_serve::identity::Caller;
use operations_serve::{JsBridge, Options, Service};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Gives back what it gets.
struct Echo;

impl Handler for Echo {
    fn call(&self, input: Option<Document>, _: Context) -> BoxFuture<'static, Outcome> {
        async { Ok(Produced::Value(input)) }.boxed()
    }

    fn subscribe(&self, input: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
        stream::once(async { Ok(Produced::Value(input)) }).boxed()
    }
}

/// A server that knows a few operations, and the host that describes them.
struct Server {
    runtime: Runtime,
    service: Service,
    js: Arc<JsBridge>,
    mailbox: Arc<Mailbox>,
    called: Arc<Notify>,
}

thread_local! {
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

const ENVELOPE: &str =
    r#"{"data":{"done":true},"meta":{"source":"local","operationId":"t.host","timestamp":1}}"#;

/// What the host says about its operations: to clients of HTTP, and to those of MCP.
fn described(is_http: bool) -> String {
    let object = json!({
        "type": "object", "properties": { "a": { "type": "string" }, "n": { "type": "integer" } },
    });
    let request = json!({
        "method": "PUT", "path": "/items/{a}",
        "parameters": [{
            "name": "a", "input": "a", "location": "path", "style": "simple", "required": true,
        }],
    });
    let each = |name: &str, kind: &str, request: &Value, mcp: Value| {
        let mut descriptor = json!({
            "type": kind, "description": "d", "input": object,
            "access": { "requiredScopes": if name == "secret" { vec!["admin"] } else { vec![] } },
        });
        if is_http {
            descriptor["namespace"] = json!("t");
            descriptor["name"] = json!(name);
            descriptor["request"] = request.clone();
        } else {
            descriptor["id"] = json!(format!("t.{name}"));
            descriptor["mcp"] = mcp;
        }
        descriptor
    };
    let (none, tool) = (Value::Null, json!({ "tool": true }));
    let looks = json!({ "tool": true, "prompt": true, "resource": { "uri": "t://{a}" } });
    let mut all = vec![
        each("flat", "query", &none, looks),
        each("put", "mutation", &request, tool.clone()),
        each("secret", "mutation", &none, tool.clone()),
        each("host", "mutation", &none, tool),
    ];
    if is_http {
        all.push(each("stream", "subscription", &none, Value::Null));
    }
    Value::Array(all).to_string()
}

impl Server {
    fn new() -> Result<Self, String> {
        let registry = Arc::new(Registry::new(OutputMode::Normalise, Logger::silent()));
        for (name, kind) in [
            ("flat", "query"),
            ("put", "mutation"),
            ("secret", "mutation"),
            ("host", "mutation"),
            ("stream", "subscription"),
        ] {
            let scopes = if name == "secret" {
                vec!["admin"]
            } else {
                vec![]
            };
            let spec = json!({
                "namespace": "t", "name": name, "type": kind, "description": "",
                "accessControl": { "requiredScopes": scopes }, "errors": [],
            });
            registry.set(Operation {
                spec: serde_json::from_value(spec).map_err(|error| error.to_string())?,
                input: Schema::ready(None),
                output: Schema::ready(None),
                work: if name == "host" {
                    Work::Host
                } else {
                    Work::Native(Arc::new(Echo))
                },
            });
        }
        let options = json!({
            "doors": {
                "http": { "path": "/api" },
                "mcp": { "path": "/mcp", "name": "t", "version": "1" },
                "hub": {
                    "path": "/hub", "maxFrameBytes": 100_000, "heartbeat": 60_000, "maxCalls": 8, "maxOperations": 100, "maxConnections": 8,
                },
            },
            "identity": { "tokens": [["s", { "id": "a", "scopes": ["admin"] }]], "anonymous": true },
            "maxBodyBytes": 100_000, "timeout": 60_000, "requestTimeout": 5_000,
            "requestHeaders": ["accept-language"], "responseHeaders": ["etag"],
        });
        let options = Options::read(&options.to_string()).map_err(|error| error.message)?;
        let called = Arc::new(Notify::new());
        let wake = Arc::clone(&called);
        let mailbox = Arc::new(Mailbox::new(move || wake.notify_one()));
        let js = Arc::new(JsBridge::new(Arc::clone(&mailbox)));
        let service = Service::new(
            options,
            registry,
            Arc::clone(&js),
            Logger::silent(),
            Arc::default(),
        )
        .map_err(|error| error.message)?;
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            runtime,
            service,
            js,
            mailbox,
            called,
        })
    }

    /// Answers what the host is asked, for ever.
    async fn answer(&self) {
        loop {
            self.called.notified().await;
            while let Some(batch) = self.mailbox.take() {
                let Ok(Value::Array(items)) = serde_json::from_str(&batch.text) else {
                    panic!("a batch is JSON: {}", batch.text);
                };
                for item in items.iter().skip(1) {
                    let Some(id) = item.get(1).and_then(Value::as_str) else {
                        continue;
                    };
                    let answer = match item.pointer("/2/describe") {
                        Some(Value::Bool(_)) => described(false),
                        Some(_) => described(true),
                        None if item.pointer("/2/operationId").is_some() => ENVELOPE.to_owned(),
                        None => continue,
                    };
                    self.js.respond(id, &answer);
                    self.js.finish(id);
                }
            }
        }
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                done = work => done,
                () = self.answer() => unreachable!("it answers for ever"),
            }
        })
    }
}

/// Has a server answer: a request, or lines if the input begins with `LINES`. Says whether it was answered with success.
#[must_use]
pub fn serve(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    SERVER.with_borrow_mut(|server| {
        let server = match server {
            Some(server) => server,
            None => server.insert(Server::new().unwrap_or_else(|why| panic!("{why}"))),
        };
        let is_fine = match text.strip_prefix("LINES\n") {
            Some(lines) => by_lines(server, lines),
            None => request(server, &text),
        };
        let running = server.service.shared().stats.to_json();
        assert_eq!(running.get("running"), Some(&json!(0)), "{text}");
        assert_eq!(server.js.pending(), 0, "{text}");
        is_fine
    })
}

/// `METHOD target`, headers, an empty line and a body, as HTTP has them.
fn request(server: &Server, text: &str) -> bool {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, target) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .unwrap_or(("GET", "/"));
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let head =
        json!({ "method": method, "target": target, "host": "localhost", "headers": headers });
    let exchange = Embedded::new(server.service.clone()).exchange();
    let incoming = Incoming::Whole(body.to_owned().into());
    let Ok(answer) = server.wait(exchange.send(&head.to_string(), incoming)) else {
        // It is no request.
        return false;
    };
    let Ok(answer) = serde_json::from_str::<Value>(&answer) else {
        panic!("the head of an answer is JSON: {answer}");
    };
    let status = answer.get("status").and_then(Value::as_u64);
    // Nothing here fails, so that nothing is the server's fault. Without a socket there is no WebSocket, which is a 501.
    let is_fine = match status {
        Some(501) => target.starts_with("/hub"),
        Some(status) => (200..500).contains(&status),
        None => false,
    };
    assert!(is_fine, "{text} {answer}");
    read(server, &exchange, &answer, text);
    status.is_some_and(|status| status < 300)
}

/// Reads the body of an answer; the beginning of one that has no end.
fn read(server: &Server, exchange: &Exchange, answer: &Value, text: &str) {
    if let Some(whole) = exchange.whole() {
        let is_json = answer.to_string().contains("json\"");
        let read = serde_json::from_slice::<Value>(&whole);
        assert!(!is_json || read.is_ok(), "{text} {answer} {whole:?}");
        return;
    }
    // A stream says something at once.
    let first = server.wait(exchange.next());
    assert!(first.is_ok(), "{text} {answer}");
    exchange.cancel();
}

/// A conversation: each line is a message.
fn by_lines(server: &Server, lines: &str) -> bool {
    let shared = Arc::clone(server.service.shared());
    let Some(door) = shared.options.doors.mcp.clone() else {
        return false;
    };
    let (out, mut said) = mpsc::channel(4_096);
    let (say, heard) = mpsc::channel(64);
    let kill = CancellationToken::new();
    let conversation = Conversation::new(shared, door, Arc::new(Caller::default()), out, &kill);
    let saying = async {
        for line in lines.lines().take(1_000) {
            if say.send(line.to_owned()).await.is_err() {
                return;
            }
        }
        // What is under way may end before the client goes.
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(say);
    };
    server.wait(async { futures::join!(conversation.run(heard), saying) });
    let mut is_fine = false;
    while let Ok(line) = said.try_recv() {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            panic!("what is said is JSON: {}", &*line);
        };
        is_fine |= message.get("result").is_some();
    }
    is_fine
}

//! A registry, served over HTTP and MCP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use operations_core::access::Identity;
use operations_core::error::CallError;
use operations_core::log::Logger;
use operations_core::mailbox::Mailbox;
use operations_serve::listener::Listener;
use operations_serve::{JsBridge, Options, Service};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::call::not_here;
use crate::registry::Registry;

/// Item of the mailbox that wants an answer (`operations_core::mailbox::Kind::Asked`).
const ASKED: u64 = 5;

/// A server that is about to be opened. `serve` is the way to it.
#[must_use = "nothing is served before listen"]
pub struct Serve {
    registry: Registry,
    doors: Map<String, Value>,
    options: Map<String, Value>,
    tokens: Vec<Value>,
    is_anonymous: bool,
    logger: Logger,
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").finish_non_exhaustive()
    }
}

/// Serves the operations of a registry: over HTTP at `/api`, and over MCP at `/mcp`. Access rules apply to every caller.
///
/// ```
/// use operations::{Context, Operation, Registry, serve};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), operations::CallError> {
/// let registry = Registry::new();
/// registry.register(Operation::query("demo", "one", async |(): (), _: Context| Ok(1)))?;
/// let server = serve(&registry).listen("127.0.0.1:0").await?;
/// println!("POST {}/api/demo/one", server.url());
/// server.close().await;
/// # Ok(())
/// # }
/// ```
pub fn serve(registry: &Registry) -> Serve {
    let mcp = json!({ "path": "/mcp", "name": "operations", "version": env!("CARGO_PKG_VERSION") });
    let doors = [
        ("http".to_owned(), json!({ "path": "/api" })),
        ("mcp".to_owned(), mcp),
    ];
    Serve {
        registry: registry.clone(),
        doors: doors.into_iter().collect(),
        options: Map::new(),
        tokens: Vec::new(),
        is_anonymous: false,
        logger: Logger::silent(),
    }
}

impl Serve {
    /// How the server calls itself to MCP clients.
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        if let Some(Value::Object(mcp)) = self.doors.get_mut("mcp") {
            mcp.insert("name".to_owned(), name.into().into());
            mcp.insert("version".to_owned(), version.into().into());
        }
        self
    }

    /// Closes the HTTP door.
    pub fn without_http(mut self) -> Self {
        self.doors.shift_remove("http");
        self
    }

    /// Closes the MCP door.
    pub fn without_mcp(mut self) -> Self {
        self.doors.shift_remove("mcp");
        self
    }

    /// A token, and whose it is. With any token, callers without one are answered with 401, unless [`Serve::anonymous`]
    /// lets them in.
    pub fn token(mut self, token: impl Into<String>, identity: &Identity) -> Self {
        self.tokens.push(json!([token.into(), identity]));
        self
    }

    /// Lets callers without a token call what is open to all.
    pub fn anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// How long a call may take (default: a minute).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.option("timeout", json!(timeout.as_secs_f64() * 1_000.0))
    }

    /// The largest body of a request, in bytes (default: 4 MiB).
    pub fn max_body_bytes(self, bytes: usize) -> Self {
        self.option("maxBodyBytes", bytes.into())
    }

    /// Calls that run at a time. More wait.
    pub fn concurrency(self, calls: usize) -> Self {
        self.option("concurrency", calls.into())
    }

    /// The names under which the server may be addressed (default: those of this machine).
    pub fn allowed_hosts<S: Into<String>>(self, hosts: impl IntoIterator<Item = S>) -> Self {
        let hosts: Vec<String> = hosts.into_iter().map(Into::into).collect();
        self.option("allowedHosts", json!(hosts))
    }

    /// A function for log lines: what callers do not get to see, such as the message of an unexpected failure.
    pub fn log(mut self, line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.logger = Logger::new(move |record| line(&record.message));
        self
    }

    fn option(mut self, name: &str, value: Value) -> Self {
        self.options.insert(name.to_owned(), value);
        self
    }

    /// Opens a port: `127.0.0.1:8080`, or `127.0.0.1:0` for any that is free.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` for an address without a port; `EXECUTION_ERROR` when the system refuses.
    pub async fn listen(self, address: &str) -> Result<Server, CallError> {
        let (host, port) = address
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)))
            .ok_or_else(|| {
                let message =
                    format!("serve: {address:?} is no address with a port, such as 127.0.0.1:8080");
                CallError::invalid(message)
            })?;
        let host = host.trim_matches(['[', ']']);
        // The defaults of `facade/serve/options.ts`.
        let mut options = json!({
            "doors": self.doors, "maxBodyBytes": 4 * 1024 * 1024, "timeout": 60_000, "requestTimeout": 30_000,
            "writeTimeout": 30_000, "maxBufferedBytes": 128 * 1024 * 1024, "streams": 1024,
            "requestHeaders": ["accept-language", "user-agent", "traceparent", "tracestate", "baggage"],
            "responseHeaders": [
                "cache-control", "content-language", "etag", "expires", "last-modified", "link", "retry-after", "vary",
            ],
            "identity": {
                "tokens": (!self.tokens.is_empty()).then_some(self.tokens), "anonymous": self.is_anonymous,
            },
        });
        if let Some(options) = options.as_object_mut() {
            options.extend(self.options);
        }
        let options = Options::read(&options.to_string())?;
        let wake = Arc::new(Notify::new());
        let woken = Arc::clone(&wake);
        let mailbox = Arc::new(Mailbox::new(move || woken.notify_one()));
        let host_side = HostSide {
            registry: self.registry.clone(),
            bridge: Arc::new(JsBridge::new(Arc::clone(&mailbox))),
            mailbox,
        };
        let service = Service::new(
            options,
            Arc::clone(&self.registry.core),
            Arc::clone(&host_side.bridge),
            self.logger,
            Arc::default(),
        )?;
        let listener = Listener::open(service, host, port).await?;
        let answering = tokio::spawn(async move {
            loop {
                host_side.answer_all();
                wake.notified().await;
            }
        });
        Ok(Server {
            listener,
            answering: answering.abort_handle(),
        })
    }
}

/// What the service asks the program that it serves. In the npm package JavaScript answers; here this does.
struct HostSide {
    registry: Registry,
    bridge: Arc<JsBridge>,
    mailbox: Arc<Mailbox>,
}

impl HostSide {
    fn answer_all(&self) {
        while let Some(batch) = self.mailbox.take() {
            let items: Vec<Value> = serde_json::from_str(&batch.text).unwrap_or_default();
            // The first says whether there is more.
            for item in items.iter().skip(1) {
                let asked = (item.get(0), item.get(1), item.get(2));
                if let (Some(kind), Some(Value::String(id)), Some(request)) = asked
                    && kind.as_u64() == Some(ASKED)
                {
                    self.answer(id, request);
                }
            }
        }
    }

    fn answer(&self, id: &str, request: &Value) {
        if let Some(which) = request.get("describe") {
            let described = self.registry.described(which == true);
            self.bridge.respond(id, &described.to_string());
        } else if request.get("sources").is_some() {
            self.bridge.respond(id, "[]");
        } else if let Some(operation_id) = request.get("operationId").and_then(Value::as_str) {
            self.bridge.fail(id, not_here(operation_id));
        } else {
            let message = "This server cannot do what was asked";
            self.bridge.fail(id, CallError::unknown(message));
        }
    }
}

/// A registry that is served, until this is closed or dropped.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    answering: AbortHandle,
}

impl Server {
    /// The address on this machine: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// Refuses new requests, ends streams, and waits up to ten seconds for calls that are running.
    pub async fn close(self) {
        self.listener.close(Duration::from_secs(10)).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

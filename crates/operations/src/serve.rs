//! A registry, served over HTTP and MCP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use operations_core::access::Identity;
use operations_core::error::CallError;
use operations_core::log::Logger;
use operations_core::mailbox::Kind;
use operations_serve::listener::Listener;
use operations_serve::{JsBridge, Options, Service};
use serde_json::{Map, Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::call::not_here;
#[cfg(feature = "websocket")]
use crate::imported::Import;
use crate::inbox::Inbox;
use crate::registry::{Reader, Registry};
#[cfg(feature = "websocket")]
use crate::websocket::{Accept, Hub, Spoke};

/// A server that is about to be opened. [`serve`] is the way to it.
///
/// ```
/// use std::time::Duration;
///
/// use operations::{Identity, Registry, serve};
///
/// let server = serve(&Registry::new())
///     .name("shop", "1.0.0")
///     .token("s3cret", &Identity::new("ada", ["orders:write"]))
///     .timeout(Duration::from_secs(10))
///     .log(|line| eprintln!("{line}"));
/// ```
#[must_use = "nothing is served before listen"]
pub struct Serve {
    registry: Registry,
    doors: Map<String, Value>,
    options: Map<String, Value>,
    tokens: Vec<Value>,
    is_anonymous: bool,
    #[cfg(feature = "websocket")]
    accept: Option<Accept>,
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
        #[cfg(feature = "websocket")]
        accept: None,
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

    /// Opens the hub at `/hub`: programs connect with [`connect_hub`](crate::connect_hub), call operations and offer their own.
    /// `accept` says as what the offered operations of a program are registered here; `None` refuses them.
    #[cfg(feature = "websocket")]
    pub fn hub(
        mut self,
        accept: impl Fn(&Spoke) -> Option<Import> + Send + Sync + 'static,
    ) -> Self {
        self.accept = Some(Box::new(accept));
        // The defaults of `facade/serve/options.ts`.
        let hub = json!({
            "path": "/hub", "maxFrameBytes": 4 * 1024 * 1024, "heartbeat": 15_000, "maxCalls": 16_384,
            "maxOperations": 10_000, "maxConnections": 10_000, "hasAccept": true,
        });
        self.doors.insert("hub".to_owned(), hub);
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
        let inbox = Inbox::new();
        let bridge = Arc::new(JsBridge::new(Arc::clone(&inbox.mailbox)));
        let service = Service::new(
            options,
            Arc::clone(&self.registry.core),
            Arc::clone(&bridge),
            self.logger,
            Arc::default(),
        )?;
        let registry = self.registry;
        #[cfg(feature = "websocket")]
        let hub = self.accept.map(|accept| {
            let shared = Arc::clone(service.shared());
            Hub::new(registry.clone(), shared, Arc::clone(&bridge), accept)
        });
        #[cfg(feature = "websocket")]
        let spokes = hub.clone();
        let listener = Listener::open(service, host, port).await?;
        let answering = inbox.read(move |kind, id, request| {
            let request: Value = serde_json::from_str(request).unwrap_or_default();
            if kind != Kind::Asked {
                return;
            }
            #[cfg(feature = "websocket")]
            if let Some(spokes) = &spokes
                && spokes.takes(id, &request)
            {
                return;
            }
            if !id.is_empty() {
                answer(&registry, &bridge, id, &request);
            }
        });
        Ok(Server {
            listener,
            #[cfg(feature = "websocket")]
            hub,
            _answering: answering,
        })
    }
}

/// Answers what the service asks the program that it serves. In the npm package JavaScript does.
pub(crate) fn answer(registry: &Registry, bridge: &JsBridge, id: &str, request: &Value) {
    let described = |reader| registry.described(reader).to_string();
    let answer = match request.get("describe").map(Value::as_str) {
        Some(Some("http")) => described(Reader::Http),
        Some(Some(_)) => Value::from(registry.listed(None).0).to_string(),
        Some(None) => described(Reader::Mcp),
        None if request.get("sources").is_some() => "[]".to_owned(),
        None => {
            let operation_id = request.get("operationId").and_then(Value::as_str);
            let unknown = || CallError::unknown("This server cannot do what was asked");
            return bridge.fail(id, operation_id.map_or_else(unknown, not_here));
        }
    };
    bridge.respond(id, &answer);
}

/// A registry that is served, until this is closed or dropped.
///
/// ```
/// # use operations::{Registry, serve};
/// # #[tokio::main]
/// # async fn main() -> Result<(), operations::CallError> {
/// let server = serve(&Registry::new()).listen("127.0.0.1:0").await?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// server.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "it is closed when this is dropped"]
pub struct Server {
    listener: Listener,
    #[cfg(feature = "websocket")]
    hub: Option<Arc<Hub>>,
    _answering: AbortOnDropHandle<()>,
}

impl Server {
    /// The address on this machine: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// The programs that are connected to the hub.
    #[cfg(feature = "websocket")]
    #[must_use]
    pub fn spokes(&self) -> Vec<Spoke> {
        self.hub
            .as_ref()
            .map(|hub| hub.spokes())
            .unwrap_or_default()
    }

    /// Refuses new requests, ends streams, and waits up to ten seconds for calls that are running.
    pub async fn close(self) {
        self.listener.close(Duration::from_secs(10)).await;
    }
}

#[cfg(feature = "websocket")]
impl Drop for Server {
    fn drop(&mut self) {
        if let Some(hub) = &self.hub {
            hub.end();
        }
    }
}

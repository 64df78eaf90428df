//! What JavaScript says about a server, as JSON. The facade has checked it (`facade/serve/options.ts`).

use std::time::Duration;

use operations_core::clock;
use operations_core::error::CallError;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::challenge::OAuth;
use crate::cors::Cors;
use crate::door::explorer::File;
use crate::door::http::{About, Version};
use crate::door::mcp::{ResumeOptions, TaskOptions};
use crate::identity::IdentityOptions;
use crate::tls::Tls;

/// How a registry is served.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// What is spoken, and where.
    pub doors: Doors,
    /// Names under which the server may be addressed; without a list, those of the machine itself.
    #[serde(default)]
    pub allowed_hosts: Option<Vec<String>>,
    /// Pages that may call; without a list, those of the machine itself.
    #[serde(default)]
    pub allowed_origins: Option<Vec<String>>,
    /// Whether pages of other origins may read answers.
    #[serde(default)]
    pub cors: Option<Cors>,
    /// How callers are identified.
    #[serde(default)]
    pub identity: IdentityOptions,
    /// Who hands out tokens.
    #[serde(default)]
    pub oauth: Option<OAuth>,
    /// A certificate and its key, for a listener with TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The largest body of a request.
    pub max_body_bytes: usize,
    /// How long a call may take; `None` for as long as it likes.
    #[serde(default, deserialize_with = "duration")]
    pub timeout: Option<Duration>,
    /// How many bytes of requests and responses are held in memory.
    #[serde(default = "unlimited")]
    pub max_buffered_bytes: usize,
    /// How long a client may read nothing of a response; `None` for as long as it likes.
    #[serde(default, deserialize_with = "duration")]
    pub write_timeout: Option<Duration>,
    /// How long a client may take for its headers, and again for its body.
    #[serde(deserialize_with = "some_duration")]
    pub request_timeout: Duration,
    /// Headers of a request that handlers get to see.
    pub request_headers: Vec<String>,
    /// Headers of an upstream answer that callers get to see.
    pub response_headers: Vec<String>,
    /// Whether each request gets a log line.
    #[serde(default)]
    pub access_log: bool,
    /// How much is done at a time.
    #[serde(flatten)]
    pub limits: Limits,
}

/// How many calls are worked on at a time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// In all.
    #[serde(default)]
    pub concurrency: Option<usize>,
    /// Of one operation.
    #[serde(default)]
    pub per_operation: Option<usize>,
    /// Of one caller.
    #[serde(default)]
    pub per_caller: Option<usize>,
    /// How many wait.
    #[serde(default)]
    pub queue: Option<usize>,
    /// Streams at a time, which have no end that others could wait for: they are no part of `concurrency`.
    #[serde(default)]
    pub streams: Option<usize>,
}

impl Limits {
    /// The limits of streams. None of them waits. A spoke has no `streams`: as many as calls may be open there, apart from these.
    #[must_use]
    pub fn of_streams(&self) -> Self {
        Self {
            concurrency: self.streams.or(self.concurrency),
            queue: Some(0),
            ..self.clone()
        }
    }
}

/// The doors that are open.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Doors {
    /// Plain HTTP.
    #[serde(default)]
    pub http: Option<HttpDoor>,
    /// The Model Context Protocol.
    #[serde(default)]
    pub mcp: Option<McpDoor>,
    /// More of them, with other operations.
    #[serde(default, rename = "mcpViews")]
    pub mcp_views: Vec<McpDoor>,
    /// The call protocol over WebSocket.
    #[serde(default)]
    pub hub: Option<HubDoor>,
    /// A page to look at operations and to call them.
    #[serde(default)]
    pub explorer: Option<ExplorerDoor>,
}

/// The call protocol over WebSocket.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubDoor {
    /// Where it is, as for [`HttpDoor`].
    pub path: String,
    /// The largest frame that is taken.
    pub max_frame_bytes: usize,
    /// How often the other end has to show that it is there.
    #[serde(deserialize_with = "some_duration")]
    pub heartbeat: Duration,
    /// Calls of one connection that are worked on, or wait, at a time.
    pub max_calls: usize,
    /// Operations that one connection may offer.
    pub max_operations: usize,
    /// Connections at a time.
    pub max_connections: usize,
    /// A JavaScript function decides which operations of spokes are accepted.
    #[serde(default)]
    pub has_accept: bool,
    /// As for [`HttpDoor`].
    #[serde(default)]
    pub expose_errors: bool,
}

/// A page to look at operations and to call them.
#[derive(Debug, Clone, Deserialize)]
pub struct ExplorerDoor {
    /// Where it is, as for [`HttpDoor`].
    pub path: String,
    /// What the page is made of.
    pub files: Vec<File>,
}

/// The Model Context Protocol.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpDoor {
    /// Where it is, as for [`HttpDoor`].
    pub path: String,
    /// How the server calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Instructions for the clients' models.
    #[serde(default)]
    pub instructions: Option<String>,
    /// What seals the state that clients carry. Processes that serve one address share it.
    #[serde(default)]
    pub state_key: Option<String>,
    /// How clients may come back to the stream of a call; `None` where they may not.
    #[serde(default)]
    pub resume: Option<ResumeOptions>,
    /// How calls are kept that outlast their requests; `None` where there are none.
    #[serde(default)]
    pub tasks: Option<TaskOptions>,
    /// As for [`HttpDoor`].
    #[serde(default)]
    pub expose_errors: bool,
    /// Which of several it is.
    #[serde(default)]
    pub view: usize,
}

/// Plain HTTP.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpDoor {
    /// Where it is: begins with a slash and does not end with one, but for the root, which is empty.
    pub path: String,
    /// What the document says about the whole.
    #[serde(default = "some_info")]
    pub info: Map<String, Value>,
    /// Whether callers read the messages of exceptions that handlers did not expect.
    #[serde(default)]
    pub expose_errors: bool,
}

impl Doors {
    /// Whether callers at the MCP door read the messages of exceptions.
    pub(crate) fn mcp_exposes_errors(&self) -> bool {
        self.mcp.as_ref().is_some_and(|door| door.expose_errors)
    }
}

impl HttpDoor {
    /// What the document says beside its operations.
    #[must_use]
    pub fn about(&self) -> About {
        About {
            info: self.info.clone(),
            servers: vec![json!({ "url": self.path })],
            version: Version::default(),
        }
    }
}

/// What a document has to say at least.
fn some_info() -> Map<String, Value> {
    let mut info = Map::new();
    info.insert("title".to_owned(), "operations".into());
    info.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    info
}

impl Options {
    /// Reads options.
    ///
    /// # Errors
    ///
    /// When they are not what the facade should have sent.
    pub fn read(json: &str) -> Result<Self, CallError> {
        serde_json::from_str(json).map_err(|error| {
            CallError::invalid(format!("serve: the options cannot be used: {error}"))
        })
    }
}

fn unlimited() -> usize {
    usize::MAX
}

/// Milliseconds; zero is for ever.
fn duration<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Duration>, D::Error> {
    let given = Option::<f64>::deserialize(reader)?;
    Ok(given.filter(|given| *given > 0.0).map(clock::milliseconds))
}

fn some_duration<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
    f64::deserialize(reader).map(clock::milliseconds)
}

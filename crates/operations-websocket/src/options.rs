//! What JavaScript says about a connection to a hub, as JSON. The facade has checked it (`facade/websocket/connection.ts`).

use std::time::Duration;

use http::Request;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use operations_core::clock;
use operations_core::error::CallError;
use serde::Deserialize;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use url::Url;

use crate::limits::{
    FRAME_BYTES, HEARTBEAT, MESSAGE_TIME, MOST_CALLS, MOST_OPERATIONS, MOST_WAITING, OFFER_TIME,
};
use crate::session::{Settings, offer_bytes};

/// The header with which a spoke shows that it is the one that was there before.
pub const INSTANCE: HeaderName = HeaderName::from_static("operations-instance");

/// What both ends call what they speak.
pub const SUBPROTOCOL: &str = "operations.v1";

/// Where the hub is, and who this connection is.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    url: String,
    name: String,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Whether a lost connection is made again.
    #[serde(default)]
    pub reconnect: Option<Reconnect>,
    /// Whether the first one may take its time.
    #[serde(default)]
    pub wait_on_first_connect: bool,
    #[serde(default)]
    max_frame_bytes: Option<usize>,
    #[serde(default)]
    max_waiting: Option<usize>,
    #[serde(default)]
    heartbeat: Option<f64>,
    /// Certificates of authorities (PEM), instead of the system's.
    #[serde(default)]
    pub ca: Option<String>,
    /// The same in a file.
    #[serde(default)]
    pub ca_file: Option<String>,
}

/// How long is waited before a lost connection is made again, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reconnect {
    /// At first.
    pub min_delay: f64,
    /// After many attempts.
    pub max_delay: f64,
}

/// Where to connect to, and what to say there.
pub(crate) struct Plan {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
    pub(crate) request: Request<()>,
    /// The address, for messages: no password, no query.
    pub(crate) shown: String,
}

impl Options {
    /// Reads options.
    ///
    /// # Errors
    ///
    /// When they are not what the facade should have sent.
    pub fn read(json: &str) -> Result<Self, CallError> {
        serde_json::from_str(json).map_err(|error| {
            CallError::invalid(format!("connectHub: the options cannot be used: {error}"))
        })
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            max_frame_bytes: self.max_frame_bytes.unwrap_or(FRAME_BYTES),
            heartbeat: self.heartbeat.map_or(HEARTBEAT, clock::milliseconds),
            message_time: MESSAGE_TIME,
            max_calls: MOST_CALLS,
            max_operations: MOST_OPERATIONS,
            offer_time: OFFER_TIME,
            offer_bytes: offer_bytes(),
        }
    }

    pub(crate) fn max_waiting(&self) -> usize {
        self.max_waiting.unwrap_or(MOST_WAITING)
    }

    pub(crate) fn plan(&self) -> Result<Plan, CallError> {
        let invalid = |why: &str| CallError::invalid(format!("connectHub: {why}"));
        let mut url = Url::parse(&self.url)
            .map_err(|error| invalid(&format!("the url cannot be used: {error}")))?;
        let scheme = match url.scheme() {
            "ws" | "http" => "ws",
            "wss" | "https" => "wss",
            _ => {
                return Err(invalid(
                    "the url must begin with ws://, wss://, http:// or https://",
                ));
            }
        };
        url.set_scheme(scheme)
            .map_err(|()| invalid("the url cannot be used"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "the url must not hold a user or a password. Use token or headers",
            ));
        }
        url.set_fragment(None);
        url.query_pairs_mut().append_pair("name", &self.name);
        let is_tls = scheme == "wss";
        let host = url
            .host_str()
            .ok_or_else(|| invalid("the url names no host"))?
            .to_owned();
        let port = url.port().unwrap_or(if is_tls { 443 } else { 80 });
        let mut request = url
            .as_str()
            .into_client_request()
            .map_err(|error| invalid(&format!("the url cannot be used: {error}")))?;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            let named = HeaderName::try_from(name.as_str())
                .map_err(|_| invalid(&format!("headers: {name:?} is not a header name")))?;
            let value = HeaderValue::try_from(value.as_str())
                .map_err(|_| invalid(&format!("headers: the value of {name} cannot be sent")))?;
            headers.insert(named, value);
        }
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| invalid("the token cannot be sent in a header"))?;
            headers.insert(AUTHORIZATION, value);
        }
        // It is secret: a connection that shows it again is the same spoke, which has come back.
        let instance = uuid::Uuid::new_v4().simple().to_string();
        if let Ok(mut instance) = HeaderValue::try_from(instance) {
            instance.set_sensitive(true);
            headers.insert(INSTANCE, instance);
        }
        headers.insert(
            SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(SUBPROTOCOL),
        );
        let mut shown = url.clone();
        shown.set_query(None);
        Ok(Plan {
            host,
            port,
            is_tls,
            request,
            shown: shown.to_string(),
        })
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token and the headers stay in it.
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

impl Reconnect {
    /// How long to wait before this attempt: some part of a time that doubles.
    #[must_use]
    pub fn delay(&self, attempt: u32) -> Duration {
        let longest = self.min_delay * 2f64.powi(attempt.min(30).cast_signed());
        let longest = longest.min(self.max_delay).max(1.0);
        // Not all of those who lost a hub return at the same moment.
        let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
        let share = 0.5 + 0.5 * (high >> 12) as f64 / (1u64 << 52) as f64;
        clock::milliseconds(longest * share)
    }
}

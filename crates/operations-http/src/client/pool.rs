//! The connections of a service, made when they are first needed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use operations_core::error::CallError;
use operations_core::lock::locked;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder};
use rustls::crypto::ring;
use serde_json::json;

use super::resolver::BoundedResolver;
use crate::message::Reach;

/// How long it may take to reach a server. A host that swallows packets must not hold a call for
/// the minutes that the operating system would.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often an HTTP/2 connection with calls on it is asked whether it is still there.
const HTTP2_PING: Duration = Duration::from_secs(30);

/// Connections that stay open, per host, for the next call.
const IDLE_CONNECTIONS: usize = 256;

/// What we call ourselves. Some services refuse requests that do not say.
const USER_AGENT: &str = concat!("alkdev-operations/", env!("CARGO_PKG_VERSION"));

/// A client, and what is wrong with its TLS if anything is.
#[derive(Debug)]
pub(super) struct Connections {
    client: Client,
    tls_problem: Option<String>,
}

impl Connections {
    /// The client for a scheme.
    pub(super) fn client(&self, scheme: &str) -> Result<&Client, CallError> {
        match &self.tls_problem {
            Some(problem) if scheme == "https" => Err(CallError::failed(format!(
                "https cannot be used: {problem}. Install the CA certificates of the system \
                 (the package is mostly called ca-certificates), or give certificates in `ca`"
            ))),
            _ => Ok(&self.client),
        }
    }
}

/// The connections of one service.
#[derive(Debug)]
pub(super) struct Pool {
    ca: Vec<String>,
    reach: Arc<Reach>,
    connections: Mutex<Option<Arc<Connections>>>,
}

impl Pool {
    /// A pool without connections, which trusts these certificates beside those of the system.
    pub(super) fn new(ca: Vec<String>, reach: Arc<Reach>) -> Self {
        Self {
            ca,
            reach,
            connections: Mutex::default(),
        }
    }

    /// The connections, made if there are none.
    pub(super) fn get(&self) -> Result<Arc<Connections>, CallError> {
        let mut slot = locked(&self.connections);
        if let Some(connections) = &*slot {
            return Ok(Arc::clone(connections));
        }
        let made = Arc::new(make(&self.ca, &self.reach)?);
        *slot = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Lets idle connections go. Those in use go when their calls end.
    pub(super) fn clear(&self) {
        let mut slot = locked(&self.connections);
        *slot = None;
    }
}

/// A system without CA certificates can still speak plain http, and https to whom `ca` vouches for.
fn make(ca: &[String], reach: &Arc<Reach>) -> Result<Connections, CallError> {
    // The one static of the crate: rustls wants its provider process-wide. An error means that it is
    // there already.
    let _ = ring::default_provider().install_default();
    let extra = certificates(ca)?;
    match builder(reach).tls_certs_merge(extra.clone()).build() {
        Ok(client) => Ok(Connections {
            client,
            tls_problem: None,
        }),
        Err(error) => {
            let has_own = !extra.is_empty();
            let client = builder(reach)
                .tls_certs_only(extra)
                .build()
                .map_err(|error| {
                    CallError::failed(format!(
                        "The HTTP client cannot be created: {}",
                        innermost(&error)
                    ))
                })?;
            let problem = (!has_own).then(|| innermost(&error));
            Ok(Connections {
                client,
                tls_problem: problem,
            })
        }
    }
}

fn builder(reach: &Arc<Reach>) -> ClientBuilder {
    Client::builder()
        .dns_resolver(BoundedResolver::new(Arc::clone(reach)))
        .tls_backend_rustls()
        // Redirects are followed by the machine, which decides what may go along to another origin.
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        // A connection that died in silence would hold its calls, and streams, for ever. Plain TCP has
        // keep-alive probes, which the client sends by default.
        .http2_keep_alive_interval(HTTP2_PING)
        .http2_keep_alive_timeout(HTTP2_PING)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .user_agent(USER_AGENT)
}

/// The certificates of PEM texts.
pub(super) fn certificates(ca: &[String]) -> Result<Vec<Certificate>, CallError> {
    let mut certificates = Vec::new();
    for (index, pem) in ca.iter().enumerate() {
        let found = Certificate::from_pem_bundle(pem.as_bytes()).unwrap_or_default();
        if found.is_empty() {
            let message = format!("ca[{index}] holds no certificate in PEM form");
            return Err(CallError::invalid(message).with_details(json!({ "field": "config.ca" })));
        }
        certificates.extend(found);
    }
    Ok(certificates)
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

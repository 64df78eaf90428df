//! Small documents of servers that the user has named, such as keys and metadata: bounded in time and bytes, without redirects,
//! and over plain http from this machine alone.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use url::Host;
use url::form_urlencoded::{Serializer, byte_serialize};

const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a response is read.
const MAX_BYTES: usize = 1024 * 1024;

/// Gets documents.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: Client,
}

impl Fetcher {
    /// Without connections.
    ///
    /// # Errors
    ///
    /// When the system has no certificates that a server could be checked with.
    pub fn new() -> Result<Self, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("alkdev-operations/", env!("CARGO_PKG_VERSION")))
            .timeout(TIMEOUT)
            .redirect(Policy::none());
        let client = client.build().map_err(|error| with_sources(&error))?;
        Ok(Self { client })
    }

    /// The document at this address.
    ///
    /// # Errors
    ///
    /// When the address is not secure, the status is not 200, or the response takes too long or too many bytes.
    pub async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        match self.answer(self.client.get(secure(url)?)).await? {
            (StatusCode::OK, body) => Ok(body),
            (status, _) => Err(format!("it answered with HTTP {status}")),
        }
    }

    /// The answer to a form that a client sends with its secret (RFC 6749, section 2.3.1), whatever its status is.
    ///
    /// # Errors
    ///
    /// As for [`Fetcher::get`], the status excepted.
    pub async fn post(
        &self,
        url: &str,
        (id, secret): (&str, &str),
        form: &[(&str, &str)],
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let form = Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self
            .client
            .post(secure(url)?)
            .basic_auth(encoded(id), Some(encoded(secret)))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.answer(request.body(form)).await
    }

    async fn answer(&self, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), String> {
        let failed = |error: reqwest::Error| with_sources(&error.without_url());
        let request = request.header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if body.len() + piece.len() > MAX_BYTES {
                return Err(format!("its answer is longer than {MAX_BYTES} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        Ok((response.status(), body))
    }
}

fn secure(url: &str) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    if !is_secure(&url) {
        return Err("it must be an https URL (http is for this machine alone)".to_owned());
    }
    Ok(url)
}

/// Whether what is sent to an address cannot be read on the way.
#[must_use]
pub fn is_secure(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_loopback(url)
}

/// Whether an address is one of this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// What went wrong, down to its reason: the library says little in its first words.
fn with_sources(error: &reqwest::Error) -> String {
    let mut message = error.to_string();
    let mut reason = error.source();
    while let Some(error) = reason {
        message = format!("{message}: {error}");
        reason = error.source();
    }
    message
}

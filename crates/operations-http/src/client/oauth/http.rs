//! Requests to authorization servers: bounded in time and bytes, and without redirects.

use std::sync::Arc;
use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::endpoints::Endpoints;
use super::settings::{ClientAuth, OAuthSettings};
use crate::client::network_error;
use crate::client::pool::Pool;
use crate::fetch::is_secure;
use crate::message::Reach;
use crate::oauth::assertion::{self, Key};

const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a response is read.
const MAX_BYTES: usize = 1024 * 1024;

/// Error codes that are quoted: RFC 6749, RFC 8628, RFC 8693.
const CODES: [&str; 11] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
    "access_denied",
    "expired_token",
    "authorization_pending",
    "slow_down",
];

/// Why there is no token.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What the server calls it, if that is known.
    pub(super) code: &'static str,
    pub(super) why: String,
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self {
            code: "",
            why: why.into(),
        }
    }
}

/// A form that is sent to an authorization server.
pub(super) type Form = Vec<(&'static str, String)>;

/// Sends them.
pub(super) struct Http {
    pub(super) pool: Arc<Pool>,
    pub(super) reach: Arc<Reach>,
}

impl Http {
    pub(super) async fn get(&self, url: &Url) -> Result<(u16, Vec<u8>), String> {
        self.send(url, |client| client.get(url.clone())).await
    }

    /// Sends a form with the credentials of the client, and returns what the server says in JSON.
    pub(super) async fn post(
        &self,
        url: &Url,
        mut form: Form,
        settings: &OAuthSettings,
        endpoints: &Endpoints,
    ) -> Result<Value, Refusal> {
        let basic = credentials(&mut form, settings, endpoints)?;
        form.retain(|(_, value)| !value.is_empty());
        let body = Serializer::new(String::new()).extend_pairs(form).finish();
        let sent = self.send(url, |client| {
            let request = client
                .post(url.clone())
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body);
            match basic {
                Some((id, secret)) => request.basic_auth(id, Some(secret)),
                None => request,
            }
        });
        let (status, body) = sent.await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status == 200 {
            return Ok(answer);
        }
        // The server's own words may repeat what was sent, so only a known code is quoted.
        let said = answer.get("error").and_then(Value::as_str);
        let code = CODES.into_iter().find(|code| said == Some(code));
        let quoted = code.map_or_else(String::new, |code| format!(" ({code})"));
        Err(Refusal {
            code: code.unwrap_or_default(),
            why: format!("refused with HTTP {status}{quoted}"),
        })
    }

    async fn send(
        &self,
        url: &Url,
        request: impl FnOnce(&reqwest::Client) -> RequestBuilder,
    ) -> Result<(u16, Vec<u8>), String> {
        if !is_secure(url) {
            return Err("must be asked by https (http is for this machine alone)".to_owned());
        }
        let refused = |error: operations_core::error::CallError| error.message;
        self.reach.check(url).map_err(refused)?;
        let connections = self.pool.get().map_err(refused)?;
        let client = connections.client(url.scheme()).map_err(refused)?;
        let request = request(client).header(ACCEPT, "application/json");
        let answer = timeout(TIMEOUT, read(request)).await;
        answer.map_err(|_| "did not answer in time".to_owned())?
    }
}

async fn read(request: RequestBuilder) -> Result<(u16, Vec<u8>), String> {
    let failed =
        |error: reqwest::Error| format!("cannot be reached: {}", network_error::of(&error).why);
    let mut response = request.send().await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > MAX_BYTES {
            return Err(format!("answered with more than {MAX_BYTES} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok((response.status().as_u16(), body))
}

/// What shows who the client is: in the form, or as user name and password.
fn credentials(
    form: &mut Form,
    settings: &OAuthSettings,
    endpoints: &Endpoints,
) -> Result<Option<(String, String)>, String> {
    let OAuthSettings {
        client_id,
        client_secret,
        client_auth,
        private_key,
        algorithm,
        key_id,
        ..
    } = settings;
    let is_post = client_auth.map_or(endpoints.wants_post, |auth| auth == ClientAuth::Post);
    if let Some(secret) = client_secret.as_ref().filter(|_| !is_post) {
        // RFC 6749, section 2.3.1: both are encoded before they are put together.
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        return Ok(Some((encoded(client_id), encoded(secret))));
    }
    form.push(("client_id", client_id.clone()));
    if let Some(secret) = client_secret {
        form.push(("client_secret", secret.clone()));
    } else if let Some(pem) = private_key {
        let key = Key {
            pem,
            algorithm: *algorithm,
            id: key_id.as_deref(),
        };
        let audience = endpoints.issuer.as_deref();
        let audience = audience.unwrap_or(endpoints.token.as_str());
        let assertion = assertion::sign(client_id, key, audience)?;
        form.push(("client_assertion_type", assertion::KIND.to_owned()));
        form.push(("client_assertion", assertion));
    }
    Ok(None)
}

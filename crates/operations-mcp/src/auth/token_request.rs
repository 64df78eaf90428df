//! A request for a token that rmcp does not make.

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, Request, Response};
use reqwest::Method;
use rmcp::transport::auth::{AuthorizationMetadata, OAuthHttpRedirectPolicy, OAuthTokenResponse};
use serde_json::Value;
use url::Url;

use super::dpop::{self, Dpop};
use super::metadata::is_secure;
use super::outbound::Outbound;

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// What a token is asked with.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    pub(super) outbound: &'a Outbound,
    /// The key, where tokens are to be bound to one.
    pub(super) dpop: Option<&'a Dpop>,
}

/// Asks the token endpoint of an authorization server for a token.
pub(super) async fn token(
    metadata: &AuthorizationMetadata,
    form: &[(&str, &str)],
    means: Means<'_>,
) -> Result<OAuthTokenResponse, String> {
    let endpoint = Url::parse(&metadata.token_endpoint)
        .map_err(|error| format!("the token endpoint is no URL ({error})"))?;
    if !is_secure(&endpoint) {
        return Err("the token endpoint is not reached by HTTPS".to_owned());
    }
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = post(&endpoint, &headers, &body.into_bytes(), means).await?;
    if !answer.status().is_success() {
        let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let why = said.get("error").and_then(Value::as_str);
        return Err(format!(
            "the token endpoint refused (HTTP {}) {}",
            answer.status(),
            why.unwrap_or_default()
        ));
    }
    serde_json::from_slice(answer.body()).map_err(|error| {
        format!("the token endpoint answered with something that is no token: {error}")
    })
}

/// Sends a form, with a proof where there is a key for it. A server that wants its own nonce in the proof gets it.
pub(super) async fn post(
    endpoint: &Url,
    headers: &HeaderMap,
    body: &[u8],
    Means { outbound, dpop }: Means<'_>,
) -> Result<Response<Vec<u8>>, String> {
    let mut is_again = false;
    loop {
        let mut request = Request::new(body.to_vec());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = endpoint
            .as_str()
            .parse()
            .map_err(|error| format!("the token endpoint is no URL ({error})"))?;
        *request.headers_mut() = headers.clone();
        if let Some(dpop) = dpop {
            let proof = dpop.proof(&Method::POST, endpoint, None)?;
            request.headers_mut().insert(dpop::PROOF, proof);
        }
        let sent = outbound.send(request, OAuthHttpRedirectPolicy::Stop).await;
        let answer = sent.map_err(|reason| format!("the token endpoint: {reason}"))?;
        let is_new = dpop.is_some_and(|dpop| dpop.hear(endpoint, answer.headers()));
        let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let wants_nonce = said.get("error").and_then(Value::as_str) == Some(dpop::WANTS_NONCE);
        if answer.status().is_client_error() && wants_nonce && is_new && !is_again {
            is_again = true;
            continue;
        }
        return Ok(answer);
    }
}

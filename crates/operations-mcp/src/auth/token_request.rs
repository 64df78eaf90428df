//! A request for a token that rmcp does not make.

use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::CONTENT_TYPE;
use futures::StreamExt as _;
use reqwest::Method;
use rmcp::transport::auth::{AuthorizationMetadata, OAuthTokenResponse};
use serde_json::Value;
use url::Url;

use super::callback::is_loopback;
use super::dpop::{self, Dpop};
use crate::transport::http::http_client;

const PATIENCE: Duration = Duration::from_secs(30);
/// How much of an answer is read.
const LONGEST_ANSWER: usize = 1024 * 1024;
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// What a token endpoint says.
pub(super) struct Answer {
    pub(super) status: reqwest::StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Asks the token endpoint of an authorization server for a token.
pub(super) async fn token(
    metadata: &AuthorizationMetadata,
    form: &[(&str, &str)],
    dpop: Option<&Dpop>,
) -> Result<OAuthTokenResponse, String> {
    let endpoint = Url::parse(&metadata.token_endpoint)
        .map_err(|error| format!("the token endpoint is no URL ({error})"))?;
    if endpoint.scheme() != "https" && !is_loopback(&endpoint) {
        return Err("the token endpoint is not reached by HTTPS".to_owned());
    }
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, ::http::HeaderValue::from_static(FORM));
    let accept = ::http::HeaderValue::from_static("application/json");
    headers.insert(::http::header::ACCEPT, accept);
    let answer = post(&endpoint, &headers, body.into_bytes(), dpop).await?;
    if !answer.status.is_success() {
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let why = said.get("error").and_then(Value::as_str);
        return Err(format!(
            "the token endpoint refused (HTTP {}) {}",
            answer.status,
            why.unwrap_or_default()
        ));
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        format!("the token endpoint answered with something that is no token: {error}")
    })
}

/// Sends a form, with a proof where there is a key for it. A server that wants its own nonce in the proof gets it.
pub(super) async fn post(
    endpoint: &Url,
    headers: &HeaderMap,
    body: Vec<u8>,
    dpop: Option<&Dpop>,
) -> Result<Answer, String> {
    let failed = |error: reqwest::Error| format!("the token endpoint: {}", error.without_url());
    let client = http_client(PATIENCE).map_err(|error| error.to_string())?;
    let mut is_again = false;
    loop {
        let mut headers = headers.clone();
        if let Some(dpop) = dpop {
            let proof = dpop.proof(&Method::POST, endpoint, None)?;
            headers.insert(dpop::PROOF, proof);
        }
        let request = client.post(endpoint.clone()).timeout(PATIENCE);
        let request = request.headers(headers).body(body.clone());
        let response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let is_new = dpop.is_some_and(|dpop| dpop.hear(endpoint, &headers));
        let mut whole = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(failed)?;
            if whole.len() + piece.len() > LONGEST_ANSWER {
                return Err("the token endpoint does not stop talking".to_owned());
            }
            whole.extend_from_slice(&piece);
        }
        let said: Value = serde_json::from_slice(&whole).unwrap_or_default();
        let wants_nonce = said.get("error").and_then(Value::as_str) == Some(dpop::WANTS_NONCE);
        if status.is_client_error() && wants_nonce && is_new && !is_again {
            is_again = true;
            continue;
        }
        return Ok(Answer {
            status,
            headers,
            body: whole,
        });
    }
}

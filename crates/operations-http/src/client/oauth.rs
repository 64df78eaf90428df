//! Tokens that a service gets for itself: OAuth 2.0 with the credentials of the program (RFC 6749, section 4.4).

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use operations_core::error::CallError;
use operations_core::lock::locked;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::drive::now;
use super::network_error;
use super::pool::Pool;
use crate::fetch::is_secure;
use crate::message::Secret;

const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a response is read.
const MAX_BYTES: usize = 1024 * 1024;
/// A token is renewed this long before it expires, or at nine tenths of a short life.
const MARGIN: Duration = Duration::from_secs(30);

/// What a configuration says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OAuthSettings {
    token_url: String,
    client_id: String,
    client_secret: String,
    #[serde(default)]
    scopes: Vec<String>,
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSettings").finish_non_exhaustive()
    }
}

impl OAuthSettings {
    /// The token endpoint, if credentials can be sent there.
    pub(super) fn endpoint(&self) -> Result<Url, CallError> {
        let url = Url::parse(&self.token_url).ok().filter(is_secure);
        url.ok_or_else(|| {
            CallError::invalid(
                "config.auth.tokenUrl must be an https URL (http is for this machine alone)",
            )
        })
    }
}

#[derive(Clone)]
struct Token {
    secret: Secret,
    renewed_at: Option<Instant>,
}

type Fetch = Shared<BoxFuture<'static, Result<Token, CallError>>>;

/// The token of a service, fetched when it is first needed.
pub(super) struct OAuth {
    settings: OAuthSettings,
    endpoint: Url,
    pool: Arc<Pool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// All calls that need a token wait for the same request.
    fetching: Option<Fetch>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").finish_non_exhaustive()
    }
}

impl OAuth {
    pub(super) fn new(settings: OAuthSettings, pool: Arc<Pool>) -> Result<Self, CallError> {
        Ok(Self {
            endpoint: settings.endpoint()?,
            settings,
            pool,
            state: Mutex::default(),
        })
    }

    /// A token that has not expired, and is not the one that a server has just refused.
    pub(super) async fn token(
        self: &Arc<Self>,
        refused: Option<&Secret>,
    ) -> Result<Secret, CallError> {
        let fetching = {
            let mut state = locked(&self.state);
            let usable = state.token.as_ref().filter(|token| {
                refused != Some(&token.secret) && token.renewed_at.is_none_or(|at| now() < at)
            });
            if let Some(token) = usable {
                return Ok(token.secret.clone());
            }
            state.fetching.get_or_insert_with(|| self.start()).clone()
        };
        fetching.await.map(|token| token.secret)
    }

    /// A task of its own: a call that is cancelled must not end the request that others wait for.
    fn start(self: &Arc<Self>) -> Fetch {
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            let fetched = this.fetch().await.map_err(|why| this.failure(&why));
            let mut state = locked(&this.state);
            state.fetching = None;
            state.token = fetched.as_ref().ok().cloned();
            fetched
        });
        let task = task.map(|ended| {
            ended.unwrap_or_else(|_| {
                Err(CallError::failed("The request for a token was interrupted"))
            })
        });
        task.boxed().shared()
    }

    fn failure(&self, why: &str) -> CallError {
        let host = self.endpoint.host_str().unwrap_or_default();
        CallError::failed(format!("There is no token for the call: {host} {why}"))
            .with_details(json!({ "reason": "not-authorized", "tokenHost": host }))
    }

    async fn fetch(&self) -> Result<Token, String> {
        let asked = tokio::time::timeout(TIMEOUT, self.ask()).await;
        let (status, body) = asked.map_err(|_| "did not answer in time".to_owned())??;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let word = |name: &str| answer.get(name).and_then(Value::as_str);
        if status != 200 {
            // The server's own words may repeat what was sent, so only a code of RFC 6749 is quoted.
            let code = word("error").filter(|code| CODES.contains(code));
            let code = code.map_or_else(String::new, |code| format!(" ({code})"));
            return Err(format!("refused with HTTP {status}{code}"));
        }
        let token = word("access_token").filter(|token| !token.is_empty());
        let token = token.ok_or("answered without an access token")?;
        if !word("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err("gave a token of a type other than Bearer".to_owned());
        }
        let life = answer.get("expires_in").and_then(Value::as_u64);
        let life = life.map(Duration::from_secs);
        let renewed_at =
            life.and_then(|life| now().checked_add(life.saturating_sub(MARGIN.min(life / 10))));
        Ok(Token {
            secret: Secret::new(token),
            renewed_at,
        })
    }

    async fn ask(&self) -> Result<(u16, Vec<u8>), String> {
        let OAuthSettings {
            client_id,
            client_secret,
            scopes,
            ..
        } = &self.settings;
        let scope = scopes.join(" ");
        let pairs = [
            ("grant_type", "client_credentials"),
            ("scope", scope.as_str()),
        ];
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let form = Serializer::new(String::new()).extend_pairs(pairs).finish();
        // Section 2.3.1: both are encoded before they are put together.
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let connections = self.pool.get().map_err(|error| error.message)?;
        let client = connections.client(self.endpoint.scheme());
        let request = client
            .map_err(|error| error.message)?
            .post(self.endpoint.clone())
            .basic_auth(encoded(client_id), Some(encoded(client_secret)))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
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
}

/// RFC 6749, section 5.2.
const CODES: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

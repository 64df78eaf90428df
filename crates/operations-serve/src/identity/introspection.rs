//! Opaque tokens, about which their authorization server is asked (RFC 7662).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_http::fetch::Fetcher;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

use super::cache::Callers;
use super::jwt::{ClaimNames, MAX_TOKEN_BYTES, is_for, refused, time_of};
use super::{Caller, Unknown};

/// How long an answer holds, in milliseconds.
const CACHE: f64 = 60_000.0;
/// How long it holds that a token is not active, in milliseconds, at most: it may have just been issued.
const INACTIVE: f64 = 5_000.0;
/// A connection to the hub is checked again after this time where nothing is cached, in milliseconds.
const RECHECK: f64 = 60_000.0;
/// After a request that failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// What is wrong for every token.
const ABOUT_US: [StatusCode; 4] = [
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::TOO_MANY_REQUESTS,
];
/// Requests at a time.
const AT_ONCE: usize = 64;

/// The server that knows opaque tokens, as JSON.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntrospectionOptions {
    url: String,
    client_id: String,
    client_secret: String,
    /// How long an answer holds, in milliseconds.
    #[serde(default)]
    cache: Option<f64>,
    /// One of these must be in `aud`, where there are any.
    #[serde(default)]
    audience: Vec<String>,
    /// Which members of the answer are the identity.
    #[serde(default)]
    claims: ClaimNames,
}

impl std::fmt::Debug for IntrospectionOptions {
    /// A secret is in no message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("IntrospectionOptions");
        shown.field("url", &self.url).finish_non_exhaustive()
    }
}

/// Asks for tokens, and keeps the answers for a while.
#[derive(Debug)]
pub(super) struct Introspection {
    options: IntrospectionOptions,
    fetcher: Fetcher,
    active: Mutex<Callers>,
    /// Apart from the others, which strangers must not push out.
    inactive: Mutex<Callers>,
    /// Each holds the requests for some tokens: one token is asked for once.
    turns: Vec<AsyncMutex<()>>,
    failed: Mutex<Option<(String, Instant)>>,
}

impl Introspection {
    pub(super) fn new(options: &IntrospectionOptions) -> Result<Self, CallError> {
        let fetcher = Fetcher::new()
            .map_err(|why| CallError::invalid(format!("serve: introspection: {why}")))?;
        Ok(Self {
            options: options.clone(),
            fetcher,
            active: Mutex::default(),
            inactive: Mutex::default(),
            turns: std::iter::repeat_with(AsyncMutex::default)
                .take(AT_ONCE)
                .collect(),
            failed: Mutex::default(),
        })
    }

    /// Whose token it is; `None` for one that is not active.
    pub(super) async fn caller(
        &self,
        token: &str,
        deadline: f64,
    ) -> Result<Option<Arc<Caller>>, Unknown> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(refused(&format!(
                "it is longer than {MAX_TOKEN_BYTES} bytes"
            )));
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        if let Some(known) = self.known(&digest) {
            return Ok(if_active(known));
        }
        let work = self.ask_in_turn(&digest, token);
        timeout(clock::until(deadline), work)
            .await
            .unwrap_or_else(|_| Err(unavailable("it took too long")))
    }

    /// What the cache says. Whose token is not active has no identity.
    fn known(&self, digest: &[u8; 32]) -> Option<Arc<Caller>> {
        let now = clock::now();
        let active = locked(&self.active).find(digest, now);
        active.or_else(|| locked(&self.inactive).find(digest, now))
    }

    async fn ask_in_turn(
        &self,
        digest: &[u8; 32],
        token: &str,
    ) -> Result<Option<Arc<Caller>>, Unknown> {
        let [first, ..] = digest;
        let turn = self.turns.get(usize::from(*first) % AT_ONCE);
        let _turn = match turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        if let Some(known) = self.known(digest) {
            return Ok(if_active(known));
        }
        let answer = self.ask(token).await.map_err(|why| unavailable(&why))?;
        let now = clock::now();
        let cache = self.options.cache.unwrap_or(CACHE);
        if answer.get("active") != Some(&Value::Bool(true)) {
            let until = now + cache.min(INACTIVE);
            locked(&self.inactive).keep(*digest, &Arc::default(), now, until);
            return Ok(None);
        }
        let mut caller = self.identity(&answer, now)?;
        let until = |wait| caller.expires.map_or(now + wait, |at| at.min(now + wait));
        let kept_until = until(cache);
        caller.until = Some(if cache > 0.0 {
            kept_until
        } else {
            until(RECHECK)
        });
        let caller = Arc::new(caller);
        if kept_until > now {
            locked(&self.active).keep(*digest, &caller, now, kept_until);
        }
        Ok(Some(caller))
    }

    /// Whose token an active one is.
    fn identity(&self, answer: &Map<String, Value>, now: f64) -> Result<Caller, Unknown> {
        let expires = time_of(answer, "exp")?;
        if expires.is_some_and(|expires| now >= expires) {
            return Err(refused("it has expired"));
        }
        if !self.options.audience.is_empty() {
            is_for(answer, &self.options.audience)?;
        }
        let mut caller = self.options.claims.caller(answer)?;
        caller.expires = expires;
        Ok(caller)
    }

    async fn ask(&self, token: &str) -> Result<Map<String, Value>, String> {
        if let Some((why, at)) = &*locked(&self.failed)
            && at.elapsed() < RETRY_AFTER
        {
            return Err(why.clone());
        }
        let IntrospectionOptions {
            url,
            client_id,
            client_secret,
            ..
        } = &self.options;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let sent = self.fetcher.post(url, (client_id, client_secret), &form);
        let (answer, is_for_all) = match sent.await {
            Ok((StatusCode::OK, text)) => {
                let answer = serde_json::from_slice(&text);
                (
                    answer.map_err(|_| "its answer is no JSON object".to_owned()),
                    true,
                )
            }
            Ok((status, _)) => {
                let message = format!("it answered with HTTP {status}");
                // What a stranger sends must not keep the others out.
                let is_about_token = status.is_client_error() && !ABOUT_US.contains(&status);
                (Err(message), !is_about_token)
            }
            Err(why) => (Err(why), true),
        };
        let failed = answer.as_ref().err().filter(|_| is_for_all);
        *locked(&self.failed) = failed.map(|why| (why.clone(), Instant::now()));
        answer
    }
}

fn if_active(caller: Arc<Caller>) -> Option<Arc<Caller>> {
    caller.identity.is_some().then_some(caller)
}

/// For the log: callers read that they cannot be identified now.
fn unavailable(why: &str) -> Unknown {
    Unknown::Unavailable(format!("The introspection of tokens failed: {why}"))
}

//! Where the keys of an issuer are, and when they are asked for. Tokens of strangers must not make this server send more than a
//! few requests.

use std::sync::Arc;
use std::time::Duration;

use operations_http::fetch::Fetcher;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::keys::{Keys, Origin};

/// Keys that were fetched are used for so long; an issuer may have withdrawn one.
const MAX_AGE: Duration = Duration::from_secs(3_600);
/// Between two fetches for unknown keys.
const UNKNOWN_EVERY: Duration = Duration::from_secs(60);
/// After a fetch that failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The keys of an issuer.
#[derive(Debug)]
pub(super) enum IssuerKeys {
    /// Those of the configuration.
    Fixed(Arc<Keys>),
    Fetched(Arc<Fetched>),
}

#[derive(Debug)]
pub(super) struct Fetched {
    issuer: String,
    /// From the issuer's metadata otherwise.
    url: Option<String>,
    fetcher: Fetcher,
    /// Locked while keys are fetched: the others wait for these.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    keys: Option<(Arc<Keys>, Instant)>,
    failed: Option<(String, Instant)>,
    /// When keys were fetched because one was unknown.
    asked: Option<Instant>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl IssuerKeys {
    pub(super) fn new(issuer: &str, jwks: Option<&Value>) -> Result<Self, String> {
        let url = match jwks {
            Some(Value::String(url)) => Some(url.clone()),
            None => None,
            Some(set) => {
                let keys = Keys::read(set.to_string().as_bytes(), Origin::Configured);
                let keys = keys.map_err(|why| format!("the key set cannot be used: {why}"))?;
                return Ok(Self::Fixed(Arc::new(keys)));
            }
        };
        Ok(Self::Fetched(Arc::new(Fetched {
            issuer: issuer.to_owned(),
            url,
            fetcher: Fetcher::new()?,
            state: Mutex::default(),
        })))
    }

    /// The keys as they are known.
    pub(super) async fn current(&self) -> Result<Arc<Keys>, String> {
        let fetched = match self {
            Self::Fixed(keys) => return Ok(Arc::clone(keys)),
            Self::Fetched(fetched) => Arc::clone(fetched),
        };
        in_background(async move {
            let mut state = fetched.state.lock().await;
            if let Some((keys, at)) = &state.keys
                && at.elapsed() < MAX_AGE
            {
                return Ok(Arc::clone(keys));
            }
            let old = state.keys.as_ref().map(|(keys, _)| Arc::clone(keys));
            let found = fetched.fetch(&mut state).await;
            // A server that is down for a while does not lock everybody out.
            old.map_or(found.clone(), |old| Ok(found.unwrap_or(old)))
        })
        .await
    }

    /// The keys as they are now, where `seen` did not have one; `None` when this cannot be asked again yet.
    pub(super) async fn newer(&self, seen: &Arc<Keys>) -> Result<Option<Arc<Keys>>, String> {
        let fetched = match self {
            Self::Fixed(_) => return Ok(None),
            Self::Fetched(fetched) => Arc::clone(fetched),
        };
        let seen = Arc::clone(seen);
        in_background(async move {
            let mut state = fetched.state.lock().await;
            if let Some((keys, _)) = &state.keys
                && !Arc::ptr_eq(keys, &seen)
            {
                // Another request has fetched them meanwhile.
                return Ok(Some(Arc::clone(keys)));
            }
            if state
                .asked
                .is_some_and(|asked| asked.elapsed() < UNKNOWN_EVERY)
            {
                return Ok(None);
            }
            let keys = fetched.fetch(&mut state).await?;
            state.asked = Some(Instant::now());
            Ok(Some(keys))
        })
        .await
    }
}

impl Fetched {
    async fn fetch(&self, state: &mut State) -> Result<Arc<Keys>, String> {
        if let Some((why, at)) = &state.failed
            && at.elapsed() < RETRY_AFTER
        {
            return Err(why.clone());
        }
        match self.get().await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                state.failed = None;
                state.keys = Some((Arc::clone(&keys), Instant::now()));
                Ok(keys)
            }
            Err(why) => {
                state.failed = Some((why.clone(), Instant::now()));
                Err(why)
            }
        }
    }

    async fn get(&self) -> Result<Keys, String> {
        let url = match &self.url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let set = self.fetcher.get(&url).await;
        set.and_then(|set| Keys::read(&set, Origin::Fetched))
            .map_err(|why| format!("the key set: {why}"))
    }

    /// Where the metadata of the issuer says that its keys are: `OpenID` Connect Discovery, then RFC 8414.
    async fn discover(&self) -> Result<String, String> {
        let issuer = self.issuer.trim_end_matches('/');
        let start = issuer.find("://").map_or(0, |at| at + 3);
        let rest = issuer.get(start..).unwrap_or_default();
        let host_end = rest.find('/').map_or(issuer.len(), |at| start + at);
        let (origin, path) = issuer.split_at(host_end);
        let mut why = String::new();
        for url in [
            format!("{issuer}/.well-known/openid-configuration"),
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
        ] {
            let found = self.fetcher.get(&url).await.and_then(|text| {
                let metadata: Metadata = serde_json::from_slice(&text)
                    .map_err(|_| "it has no issuer or no jwks_uri".to_owned())?;
                if metadata.issuer != self.issuer {
                    return Err("it is that of another issuer".to_owned());
                }
                Ok(metadata.jwks_uri)
            });
            match found {
                Ok(url) => return Ok(url),
                Err(reason) => why = reason,
            }
        }
        Err(format!("the metadata: {why}"))
    }
}

/// What is fetched is for all: a client that goes away must not stop it. The fetcher bounds its time.
async fn in_background<T: Send + 'static>(
    work: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| Err("fetching the keys failed".to_owned()))
}

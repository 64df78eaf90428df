//! Who calls. No header is believed unless authentication is configured: a list of tokens, issuers of tokens, a server that knows
//! them, or a function, which are asked in this order. Without that, every caller is anonymous.

mod cache;
mod introspection;
mod issuer_keys;
mod jwt;
mod keys;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use operations_core::access::Identity;
use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use operations_core::secrets::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use uuid::Uuid;

use crate::js_bridge::{Expect, JsBridge, Responses};
use cache::IdentityCache;
use introspection::Introspection;
pub use introspection::IntrospectionOptions;
use jwt::Jwt;
pub use jwt::{ClaimNames, JwtOptions};

/// In milliseconds.
const MINUTE: f64 = 60_000.0;

/// When it must be known who calls, where nothing else says so, in Unix milliseconds.
#[must_use]
pub fn identity_deadline() -> f64 {
    clock::now() + MINUTE
}

/// The sender of a request.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Who it is, where that is known.
    pub identity: Option<Identity>,
    /// The same as JSON, with whatever else JavaScript knows of them.
    pub text: Option<String>,
    /// The token that the request came with, where an operation trades it for another.
    pub token: Option<Secret>,
    /// When the identity is to be checked again, in Unix milliseconds.
    pub until: Option<f64>,
    /// When the token expires and streams end, in Unix milliseconds.
    pub expires: Option<f64>,
    /// The request to `identify`, in whose async context JavaScript runs what it does for this caller. JavaScript keeps the
    /// context until this is dropped.
    pub identified_by: Option<Arc<Responses>>,
}

impl Caller {
    /// The key of a caller; those without an identity share one.
    #[must_use]
    pub fn id(&self) -> &str {
        self.identity
            .as_ref()
            .map(|identity| identity.id.as_str())
            .unwrap_or_default()
    }

    /// The same caller with the token of this request. What is cached has none: that would be a store of tokens.
    pub(crate) fn with_token(self: Arc<Self>, headers: &HeaderMap) -> Arc<Self> {
        match bearer(headers) {
            Bearer::Token(token) if self.identity.is_some() => Arc::new(Self {
                token: Some(Secret::new(token)),
                ..Self::clone(&self)
            }),
            _ => self,
        }
    }

    /// A caller with this identity, which is JSON.
    ///
    /// # Errors
    ///
    /// When it is no identity.
    pub fn of(text: &str) -> Result<Self, CallError> {
        let identity: Identity = serde_json::from_str(text).map_err(|error| {
            CallError::invalid(format!("serve: an identity cannot be used: {error}"))
        })?;
        // It is the key of a caller, and the empty one is that of anonymous callers.
        if identity.id.is_empty() {
            let message = "serve: an identity cannot be used: its id must not be empty";
            return Err(CallError::invalid(message));
        }
        Ok(Self {
            identity: Some(identity),
            text: Some(text.to_owned()),
            ..Self::default()
        })
    }
}

/// How callers are identified, as JSON.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityOptions {
    /// Tokens and whose they are.
    #[serde(default)]
    pub tokens: Option<Vec<(String, Value)>>,
    /// Issuers whose tokens are accepted.
    #[serde(default)]
    pub jwt: Vec<JwtOptions>,
    /// The server that knows opaque tokens.
    #[serde(default)]
    pub introspection: Option<IntrospectionOptions>,
    /// Whether JavaScript is to be asked.
    #[serde(default)]
    pub identify: bool,
    /// Whether callers without an identity are let in.
    #[serde(default)]
    pub anonymous: bool,
}

/// Identifies callers.
#[derive(Debug)]
pub struct Identities {
    /// By the digests of tokens: how long a comparison takes says nothing about them.
    tokens: Option<HashMap<[u8; 32], Arc<Caller>>>,
    jwt: Option<Jwt>,
    introspection: Option<Introspection>,
    /// What JavaScript has answered, where it is asked.
    identify: Option<Mutex<IdentityCache>>,
}

/// Why it is not known who calls.
#[derive(Debug)]
pub enum Unknown {
    /// What the client shows is not valid (any more).
    Invalid(CallError),
    /// The same; this is why, for the log.
    Refused(String),
    /// It cannot be found out now; this is why, for the log.
    Unavailable(String),
    /// Identification failed.
    Failed(CallError),
}

/// What JavaScript answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identified {
    #[serde(default)]
    identity: Option<Box<RawValue>>,
    /// For how long this holds, in milliseconds.
    #[serde(default)]
    max_age: Option<f64>,
    /// What JavaScript has looked at to find out: names of headers, `:method`, `:url`.
    looked_at: Vec<String>,
}

impl Identities {
    /// As the options have it.
    ///
    /// # Errors
    ///
    /// When they hold what is no identity.
    pub fn new(options: &IdentityOptions) -> Result<Self, CallError> {
        let tokens = options.tokens.as_ref().map(|tokens| {
            let known = tokens.iter().map(|(token, identity)| {
                let caller = Caller::of(&identity.to_string())?;
                Ok((Sha256::digest(token).into(), Arc::new(caller)))
            });
            known.collect::<Result<_, CallError>>()
        });
        let jwt = (!options.jwt.is_empty()).then(|| Jwt::new(&options.jwt));
        let introspection = options.introspection.as_ref().map(Introspection::new);
        Ok(Self {
            tokens: tokens.transpose()?,
            jwt: jwt.transpose()?,
            introspection: introspection.transpose()?,
            identify: options.identify.then(Mutex::default),
        })
    }

    /// Whether callers can be identified.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.tokens.is_some()
            || self.jwt.is_some()
            || self.introspection.is_some()
            || self.identify.is_some()
    }

    /// Who sent a request. `deadline` is when that must be known, in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// When it cannot be found out, or the client's credentials are not valid.
    pub async fn of(
        &self,
        head: &Parts,
        js: &Arc<JsBridge>,
        deadline: f64,
    ) -> Result<Arc<Caller>, Unknown> {
        let bearer = bearer(&head.headers);
        if let Bearer::Token(token) = bearer {
            if let Some(known) = &self.tokens {
                let digest: [u8; 32] = Sha256::digest(token).into();
                if let Some(caller) = known.get(&digest) {
                    return Ok(Arc::clone(caller));
                }
            }
            if let Some(jwt) = &self.jwt
                && let Some(caller) = jwt.caller(token, js, deadline).await?
            {
                return Ok(caller);
            }
            if let Some(introspection) = &self.introspection {
                match introspection.caller(token, deadline).await? {
                    Some(caller) => return Ok(caller),
                    None if self.identify.is_none() => {
                        return Err(jwt::refused("it is not active"));
                    }
                    None => {}
                }
            }
        }
        let Some(cache) = &self.identify else {
            return match bearer {
                Bearer::Token(_) | Bearer::Odd if self.is_configured() => Err(invalid()),
                _ => Ok(Arc::default()),
            };
        };
        let found = locked(cache).find(head, clock::now());
        if let Some(caller) = found {
            return Ok(caller);
        }
        ask(cache, head, js, deadline).await
    }
}

async fn ask(
    cache: &Mutex<IdentityCache>,
    head: &Parts,
    js: &Arc<JsBridge>,
    deadline: f64,
) -> Result<Arc<Caller>, Unknown> {
    let id: Arc<str> = Uuid::new_v4().to_string().into();
    let responses = js.request(&id, "identify", Expect::Many, None, |_| question(head));
    let mut responses = responses.map_err(failed)?;
    let answer = in_time(deadline, responses.one()).await?;
    let identified: Identified = serde_json::from_str(&answer)
        .map_err(|error| Unknown::Failed(CallError::new(Code::UnknownError, error.to_string())))?;
    let mut caller = match &identified.identity {
        None => Caller::default(),
        Some(identity) => Caller::of(identity.get()).map_err(Unknown::Failed)?,
    };
    let now = clock::now();
    // What is not kept is asked for at each request. A connection to the hub has only one: it is checked once a minute.
    let max_age = identified.max_age.filter(|max_age| *max_age > 0.0);
    caller.until = identified.max_age.map(|_| now + max_age.unwrap_or(MINUTE));
    // What is kept is for other requests, too: they do not get what this one has entered.
    caller.identified_by = max_age.is_none().then(|| Arc::new(responses));
    let caller = Arc::new(caller);
    if let Some(until) = caller.until.filter(|_| max_age.is_some()) {
        let mut cache = locked(cache);
        cache.keep(head, identified.looked_at, &caller, now, until);
    }
    Ok(caller)
}

/// What JavaScript answers, in time.
async fn answer_of_js(
    js: &Arc<JsBridge>,
    id: &Arc<str>,
    about: &str,
    deadline: f64,
    question: impl FnOnce() -> String,
) -> Result<String, Unknown> {
    let responses = js.request(id, about, Expect::One, None, |_| question());
    in_time(deadline, responses.map_err(failed)?.first()).await
}

async fn in_time(
    deadline: f64,
    answer: impl Future<Output = Result<String, CallError>>,
) -> Result<String, Unknown> {
    let answer = timeout(clock::until(deadline), answer).await;
    answer
        .map_err(|_| {
            let message = "Identifying the caller took too long";
            Unknown::Failed(
                CallError::new(Code::Timeout, message).with_details(json!({ "delivery": "none" })),
            )
        })?
        .map_err(failed)
}

fn failed(error: CallError) -> Unknown {
    if error.is(Code::AccessDenied) {
        Unknown::Invalid(error)
    } else {
        Unknown::Failed(error)
    }
}

/// What JavaScript is asked, as JSON.
fn question(head: &Parts) -> String {
    let headers: Vec<(&str, String)> = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), latin1(value.as_bytes())))
        .collect();
    let asked = json!({ "identify": {
        "method": head.method.as_str(),
        "url": target(head),
        "headers": headers,
    } });
    asked.to_string()
}

/// Path and query. HTTP/2 has the host in the same place.
fn target(head: &Parts) -> &str {
    head.uri
        .path_and_query()
        .map_or("/", |target| target.as_str())
}

/// Headers as JavaScript has them: a character for each byte.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

enum Bearer<'a> {
    None,
    Token(&'a str),
    /// Something else, or several.
    Odd,
}

fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let Some(first) = given.next() else {
        return Bearer::None;
    };
    if given.next().is_some() {
        return Bearer::Odd;
    }
    let token = first.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    token.map_or(Bearer::Odd, Bearer::Token)
}

fn invalid() -> Unknown {
    Unknown::Invalid(not_valid())
}

/// All that a caller reads about a token.
pub(crate) fn not_valid() -> CallError {
    let message = "The token is not valid here";
    CallError::new(Code::AccessDenied, message).with_details(json!({ "delivery": "none" }))
}

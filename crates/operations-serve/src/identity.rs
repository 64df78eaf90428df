//! Who calls. No header is believed unless somebody was named who can tell: a list of tokens, or the host. Without
//! that, everybody is nobody.

mod kept;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use operations_core::access::Identity;
use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use uuid::Uuid;

use crate::host::{Host, Wanted};
use kept::Kept;

/// In milliseconds.
const MINUTE: f64 = 60_000.0;

/// When it must be known who calls, where nothing else says so, in Unix milliseconds.
#[must_use]
pub fn identity_deadline() -> f64 {
    clock::now() + MINUTE
}

/// Whoever sent a request.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Who it is, where that is known.
    pub identity: Option<Identity>,
    /// The same as JSON, with whatever else the host knows of them.
    pub text: Option<String>,
    /// When the host is to be asked again, in Unix milliseconds.
    pub until: Option<f64>,
}

impl Caller {
    /// What callers are told apart by; those without an identity are one.
    #[must_use]
    pub fn id(&self) -> &str {
        self.identity
            .as_ref()
            .map(|identity| identity.id.as_str())
            .unwrap_or_default()
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
        // Callers are told apart by it, and those without an identity have this one.
        if identity.id.is_empty() {
            let message = "serve: an identity cannot be used: its id must not be empty";
            return Err(CallError::invalid(message));
        }
        Ok(Self {
            identity: Some(identity),
            text: Some(text.to_owned()),
            until: None,
        })
    }
}

/// What is told about who can tell who calls, as JSON.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityOptions {
    /// Tokens and whose they are.
    #[serde(default)]
    pub tokens: Option<Vec<(String, Value)>>,
    /// Whether the host is to be asked.
    #[serde(default)]
    pub identify: bool,
    /// Whether callers without an identity are let in.
    #[serde(default)]
    pub anonymous: bool,
}

/// Those who can tell who calls.
pub struct Identities {
    how: How,
}

enum How {
    /// Nobody can.
    Nobody,
    /// By the digests of tokens: how long a comparison takes says nothing about them.
    Tokens(HashMap<[u8; 32], Arc<Caller>>),
    Host(Mutex<Kept>),
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.how {
            How::Nobody => "Nobody",
            How::Tokens(_) => "Tokens",
            How::Host(_) => "Host",
        })
    }
}

/// Why it is not known who calls.
#[derive(Debug)]
pub enum Unknown {
    /// What the client shows is not valid (any more).
    Invalid(CallError),
    /// It could not be found out.
    Failed(CallError),
}

/// What the host answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identified {
    #[serde(default)]
    identity: Option<Box<RawValue>>,
    /// For how long this holds, in milliseconds.
    #[serde(default)]
    max_age: Option<f64>,
    /// What the host has looked at to find out: names of headers, `:method`, `:url`.
    looked_at: Vec<String>,
}

impl Identities {
    /// As the options have it.
    ///
    /// # Errors
    ///
    /// When they hold what is no identity.
    pub fn new(options: &IdentityOptions) -> Result<Self, CallError> {
        let how = if let Some(tokens) = &options.tokens {
            let known = tokens.iter().map(|(token, identity)| {
                let caller = Caller::of(&identity.to_string())?;
                Ok((Sha256::digest(token).into(), Arc::new(caller)))
            });
            How::Tokens(known.collect::<Result<_, CallError>>()?)
        } else if options.identify {
            How::Host(Mutex::default())
        } else {
            How::Nobody
        };
        Ok(Self { how })
    }

    /// Whether there is somebody who can tell.
    #[must_use]
    pub fn can_tell(&self) -> bool {
        !matches!(self.how, How::Nobody)
    }

    /// Who sent a request. `deadline` is when that must be known, in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// When it cannot be told, or the client shows what is not valid.
    pub async fn of(
        &self,
        head: &Parts,
        host: &Arc<Host>,
        deadline: f64,
    ) -> Result<Arc<Caller>, Unknown> {
        match &self.how {
            How::Nobody => Ok(Arc::default()),
            How::Tokens(known) => match bearer(&head.headers) {
                Bearer::None => Ok(Arc::default()),
                Bearer::Token(token) => {
                    let digest: [u8; 32] = Sha256::digest(token).into();
                    known.get(&digest).map(Arc::clone).ok_or_else(invalid)
                }
                Bearer::Odd => Err(invalid()),
            },
            How::Host(kept) => {
                let found = locked(kept).find(head, clock::now());
                if let Some(caller) = found {
                    return Ok(caller);
                }
                ask(kept, head, host, deadline).await
            }
        }
    }
}

async fn ask(
    kept: &Mutex<Kept>,
    head: &Parts,
    host: &Arc<Host>,
    deadline: f64,
) -> Result<Arc<Caller>, Unknown> {
    let id: Arc<str> = Uuid::new_v4().to_string().into();
    let failed = |error: CallError| {
        if error.is(Code::AccessDenied) {
            Unknown::Invalid(error)
        } else {
            Unknown::Failed(error)
        }
    };
    let answers = host
        .ask(&id, "identify", Wanted::One, None, |_| question(head))
        .map_err(failed)?;
    let answer = timeout(clock::until(deadline), answers.first())
        .await
        .map_err(|_| {
            let message = "It took too long to find out who calls";
            Unknown::Failed(
                CallError::new(Code::Timeout, message).with_details(json!({ "delivery": "none" })),
            )
        })?
        .map_err(failed)?;
    let told: Identified = serde_json::from_str(&answer)
        .map_err(|error| Unknown::Failed(CallError::new(Code::UnknownError, error.to_string())))?;
    let mut caller = match &told.identity {
        None => Caller::default(),
        Some(identity) => Caller::of(identity.get()).map_err(Unknown::Failed)?,
    };
    let now = clock::now();
    // What is not kept is asked for at each request. A connection to the hub has only one: it is checked once a minute.
    let max_age = told.max_age.filter(|max_age| *max_age > 0.0);
    caller.until = told.max_age.map(|_| now + max_age.unwrap_or(MINUTE));
    let caller = Arc::new(caller);
    if let Some(until) = caller.until.filter(|_| max_age.is_some()) {
        let mut kept = locked(kept);
        kept.keep(head, told.looked_at, &caller, now, until);
    }
    Ok(caller)
}

/// What the host is asked, as JSON.
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
    let message = "The token is not valid here";
    let error = CallError::new(Code::AccessDenied, message);
    Unknown::Invalid(error.with_details(json!({ "delivery": "none" })))
}

//! Tokens that an issuer has signed (RFC 7519). What a token says about its own keys (`jku`, `x5u`, `jwk`) is not read: keys come
//! from the configuration, or from where it says that the issuer has them.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use uuid::Uuid;

use super::cache::Callers;
use super::issuer_keys::IssuerKeys;
use super::{Caller, Unknown};
use crate::js_bridge::JsBridge;

/// The longest token that is read.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;
const PUBLIC_ALGORITHMS: [&str; 10] = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "Ed25519",
];

/// An issuer whose tokens are accepted, as JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JwtOptions {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// One of these must be in `aud`.
    pub audience: Vec<String>,
    /// Where its keys are, or a key set; from its metadata otherwise.
    #[serde(default)]
    pub jwks: Option<Value>,
    /// The signature algorithms; all public ones otherwise.
    #[serde(default)]
    pub algorithms: Option<Vec<String>>,
    /// Which claims are the identity.
    #[serde(default)]
    pub claims: ClaimNames,
    /// JavaScript makes the identity of the claims.
    #[serde(default)]
    pub maps_claims: bool,
    /// How far clocks may differ, in milliseconds.
    #[serde(default)]
    pub clock_tolerance: f64,
}

/// The names of claims.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClaimNames {
    id: Option<String>,
    scopes: Option<String>,
    resources: Option<String>,
    /// Those that the identity keeps.
    #[serde(default)]
    keep: Vec<String>,
}

/// The issuers, and the tokens that were verified.
#[derive(Debug)]
pub(super) struct Jwt {
    issuers: Vec<Issuer>,
    verified: Mutex<Callers>,
}

#[derive(Debug)]
struct Issuer {
    options: JwtOptions,
    keys: IssuerKeys,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// A token, of which nothing is verified.
struct Token<'a> {
    header: Header,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        Some(Self {
            header: serde_json::from_slice(&decode(header)?).ok()?,
            claims: serde_json::from_slice(&decode(claims)?).ok()?,
            signature: decode(signature)?,
            signed,
        })
    }
}

/// A time among claims, in Unix milliseconds.
pub(super) fn time_of(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, Unknown> {
    let time = claims.get(name).map(Value::as_f64);
    match time {
        Some(None) => Err(refused(&format!("its {name} is no number"))),
        time => Ok(time.flatten().map(|seconds| seconds * 1_000.0)),
    }
}

/// Fails unless one of the audiences is meant.
pub(super) fn is_for(claims: &Map<String, Value>, audiences: &[String]) -> Result<(), Unknown> {
    let is_meant = |one: &Value| {
        let one = one.as_str();
        one.is_some_and(|one| audiences.iter().any(|audience| audience == one))
    };
    let is_for_us = match claims.get("aud") {
        Some(Value::Array(audiences)) => audiences.iter().any(is_meant),
        Some(audience) => is_meant(audience),
        None => return Err(refused("it has no aud")),
    };
    if is_for_us {
        Ok(())
    } else {
        Err(refused("it is for another audience"))
    }
}

impl Jwt {
    pub(super) fn new(issuers: &[JwtOptions]) -> Result<Self, CallError> {
        let issuers = issuers.iter().map(|options| {
            let keys = IssuerKeys::new(&options.issuer, options.jwks.as_ref());
            Ok(Issuer {
                keys: keys.map_err(|why| CallError::invalid(format!("serve: jwt: {why}")))?,
                options: options.clone(),
            })
        });
        Ok(Self {
            issuers: issuers.collect::<Result<_, CallError>>()?,
            verified: Mutex::default(),
        })
    }

    /// Whose token it is; `None` for one that none of the issuers has issued.
    pub(super) async fn caller(
        &self,
        text: &str,
        js: &Arc<JsBridge>,
        deadline: f64,
    ) -> Result<Option<Arc<Caller>>, Unknown> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(refused(&format!(
                "it is longer than {MAX_TOKEN_BYTES} bytes"
            )));
        }
        let digest: [u8; 32] = Sha256::digest(text).into();
        if let Some(caller) = locked(&self.verified).find(&digest, clock::now()) {
            return Ok(Some(caller));
        }
        let Some(token) = Token::read(text) else {
            return Ok(None);
        };
        let by = token.claims.get("iss").and_then(Value::as_str);
        let mut issuers = self.issuers.iter().enumerate();
        let Some((at, issuer)) = issuers.find(|(_, each)| by == Some(&*each.options.issuer)) else {
            return Ok(None);
        };
        let until = issuer.check_claims(&token)?;
        let verified = timeout(clock::until(deadline), issuer.check_signature(&token)).await;
        verified.unwrap_or_else(|_| {
            let message = "Fetching the keys of an issuer took too long";
            Err(Unknown::Unavailable(message.to_owned()))
        })?;
        let mut caller = if issuer.options.maps_claims {
            mapped(at, &token.claims, js, deadline).await?
        } else {
            issuer.options.claims.caller(&token.claims)?
        };
        caller.until = Some(until);
        caller.expires = Some(until);
        let caller = Arc::new(caller);
        locked(&self.verified).keep(digest, &caller, clock::now(), until);
        Ok(Some(caller))
    }
}

impl Issuer {
    /// Checks what costs little, before keys are fetched for a token. Returns when it expires, in Unix milliseconds.
    fn check_claims(&self, token: &Token<'_>) -> Result<f64, Unknown> {
        let (header, now) = (&token.header, clock::now());
        let is_allowed = match &self.options.algorithms {
            Some(algorithms) => algorithms.contains(&header.alg),
            None => PUBLIC_ALGORITHMS.contains(&&*header.alg),
        };
        if !is_allowed {
            return Err(refused("its algorithm is not accepted"));
        }
        if header.crit.is_some() {
            return Err(refused(
                "it has critical extensions, none of which is known",
            ));
        }
        let tolerance = self.options.clock_tolerance;
        let expires = time_of(&token.claims, "exp")?.ok_or_else(|| refused("it has no exp"))?;
        let until = expires + tolerance;
        if now >= until {
            return Err(refused("it has expired"));
        }
        if time_of(&token.claims, "nbf")?.is_some_and(|begins| now + tolerance < begins) {
            return Err(refused("it is not valid yet"));
        }
        is_for(&token.claims, &self.options.audience)?;
        Ok(until)
    }

    async fn check_signature(&self, token: &Token<'_>) -> Result<(), Unknown> {
        let Header { alg, kid, .. } = &token.header;
        let kid = kid.as_deref();
        let unavailable = |why| {
            let issuer = &self.options.issuer;
            Unknown::Unavailable(format!("The keys of {issuer} cannot be had: {why}"))
        };
        let mut seen = None;
        loop {
            let keys = match &seen {
                Some(seen) => self.keys.newer(seen).await,
                None => self.keys.current().await.map(Some),
            };
            let Some(keys) = keys.map_err(unavailable)? else {
                return Err(refused("none of the issuer's keys has its kid"));
            };
            let mut fit = keys.fit(kid, alg);
            if fit.any(|key| key.verifies(alg, token.signed.as_bytes(), &token.signature)) {
                return Ok(());
            }
            if seen.is_some() || kid.is_some_and(|kid| keys.knows(kid)) {
                return Err(refused("its signature is not that of a key of its issuer"));
            }
            drop(fit);
            seen = Some(keys);
        }
    }
}

impl ClaimNames {
    pub(super) fn caller(&self, claims: &Map<String, Value>) -> Result<Caller, Unknown> {
        let name = self.id.as_deref().unwrap_or("sub");
        let id = claims.get(name).and_then(Value::as_str).unwrap_or_default();
        if id.is_empty() {
            return Err(refused(&format!("its claim {name} is no name")));
        }
        let scopes = match &self.scopes {
            Some(name) => claims.get(name),
            None => claims.get("scope").or_else(|| claims.get("scp")),
        };
        let scopes: Vec<&str> = match scopes {
            Some(Value::String(scopes)) => scopes.split_ascii_whitespace().collect(),
            Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut identity = json!({ "id": id, "scopes": scopes });
        let resources = self.resources.as_ref().and_then(|name| claims.get(name));
        if let (Some(resources), Some(identity)) = (resources, identity.as_object_mut()) {
            identity.insert("resources".to_owned(), resources.clone());
        }
        if !self.keep.is_empty()
            && let Some(identity) = identity.as_object_mut()
        {
            let kept = self.keep.iter().filter_map(|name| {
                let claim = claims.get(name)?;
                Some((name.clone(), claim.clone()))
            });
            identity.insert("claims".to_owned(), kept.collect());
        }
        Caller::of(&identity.to_string()).map_err(|error| refused(&error.message))
    }
}

/// What the user's function makes of claims.
async fn mapped(
    issuer: usize,
    claims: &Map<String, Value>,
    js: &Arc<JsBridge>,
    deadline: f64,
) -> Result<Caller, Unknown> {
    let question = json!({ "mapClaims": { "issuer": issuer, "claims": claims } });
    let id: Arc<str> = Uuid::new_v4().to_string().into();
    let answer = super::answer_of_js(js, &id, "claims", deadline, || question.to_string()).await?;
    if answer == "null" {
        return Err(refused("claims() has made no identity of it"));
    }
    Caller::of(&answer).map_err(Unknown::Failed)
}

/// For the log: callers only read that a token is not valid.
pub(super) fn refused(why: &str) -> Unknown {
    Unknown::Refused(format!("A token was refused: {why}"))
}

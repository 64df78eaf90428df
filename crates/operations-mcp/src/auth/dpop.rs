//! Tokens that are worth nothing without a key (`DPoP`, RFC 9449): each request has a proof, signed with a key that only this
//! client has. Servers may want a nonce of theirs in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use ::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use operations_core::lock::{locked, reading, writing};
use operations_http::oauth::jwt;
use reqwest::Method;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::{Value, json};
use url::Url;

use super::outbound::Outbound;
use super::token_request::{self, Means};

/// The header of a proof.
pub(crate) const PROOF: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// What a server says that wants its nonce in the proof.
pub(crate) const WANTS_NONCE: &str = "use_dpop_nonce";
/// Servers whose nonces are kept. There are two: the one with the tools, and the one with the tokens.
const MOST_NONCES: usize = 16;

/// The key of a client, and what servers want to see in proofs.
pub(crate) struct Dpop {
    key: RwLock<Key>,
    /// By origin.
    nonces: Mutex<HashMap<String, String>>,
    random: SystemRandom,
}

struct Key {
    pair: EcdsaKeyPair,
    pkcs8: Vec<u8>,
    /// The public half.
    jwk: Value,
}

impl Key {
    fn new(random: &SystemRandom) -> Result<Self, String> {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random)
            .map_err(|_| "there is no randomness")?;
        Self::read(pkcs8.as_ref(), random)
    }

    fn read(pkcs8: &[u8], random: &SystemRandom) -> Result<Self, String> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, random)
            .map_err(|error| format!("the key of the tokens cannot be used ({error})"))?;
        // 4, and the two coordinates.
        let (x, y) = pair
            .public_key()
            .as_ref()
            .get(1..)
            .and_then(|point| point.split_at_checked(32))
            .ok_or("the key of the tokens cannot be used")?;
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": jwt::encode(x), "y": jwt::encode(y) });
        Ok(Self {
            pkcs8: pkcs8.to_vec(),
            pair,
            jwk,
        })
    }
}

impl Dpop {
    /// With a key of its own.
    pub(super) fn new() -> Result<Self, String> {
        let random = SystemRandom::new();
        Ok(Self {
            key: RwLock::new(Key::new(&random)?),
            nonces: Mutex::default(),
            random,
        })
    }

    /// The key, to be kept with the tokens that belong to it. A secret.
    pub(super) fn saved(&self) -> String {
        BASE64_STANDARD.encode(&reading(&self.key).pkcs8)
    }

    /// Uses a key that was kept. Whether it can be used.
    pub(super) fn restore(&self, saved: &str) -> bool {
        let key = BASE64_STANDARD.decode(saved).ok();
        let key = key.and_then(|pkcs8| Key::read(&pkcs8, &self.random).ok());
        match key {
            Some(key) => {
                *writing(&self.key) = key;
                true
            }
            None => false,
        }
    }

    /// A proof for one request, with the token that goes with it.
    pub(super) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
    ) -> Result<HeaderValue, String> {
        let mut place = url.clone();
        place.set_query(None);
        place.set_fragment(None);
        let mut claims = json!({
            "jti": jwt::id(&self.random)?,
            "htm": method.as_str(),
            "htu": place.as_str(),
            "iat": jwt::now().as_secs(),
        });
        let mut add = |name: &str, value: String| {
            if let Some(claims) = claims.as_object_mut() {
                claims.insert(name.to_owned(), Value::String(value));
            }
        };
        if let Some(token) = token {
            add("ath", jwt::encode(digest(&SHA256, token.as_bytes())));
        }
        if let Some(nonce) = locked(&self.nonces).get(&origin(url)) {
            add("nonce", nonce.clone());
        }
        let key = reading(&self.key);
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": key.jwk });
        let proof = jwt::write(&header, &claims, |text| {
            let signature = key.pair.sign(&self.random, text);
            let signature = signature.map_err(|_| "the key of the tokens does not sign")?;
            Ok(signature.as_ref().to_vec())
        })?;
        HeaderValue::try_from(proof).map_err(|error| error.to_string())
    }

    /// Remembers what a server wants to see in the next proof. Whether that has changed.
    pub(super) fn hear(&self, url: &Url, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok()) else {
            return false;
        };
        let mut nonces = locked(&self.nonces);
        if nonces.len() >= MOST_NONCES {
            nonces.clear();
        }
        let before = nonces.insert(origin(url), nonce.to_owned());
        before.as_deref() != Some(nonce)
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The client that rmcp asks for tokens with: requests for tokens have a proof.
pub(super) struct Proving {
    dpop: Arc<Dpop>,
    outbound: Outbound,
}

impl Proving {
    pub(super) fn new(dpop: Arc<Dpop>, outbound: Outbound) -> Self {
        Self { dpop, outbound }
    }
}

impl OAuthHttpClient for Proving {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        let (parts, _) = request.request.clone().into_parts();
        let kind = parts.headers.get(::http::header::CONTENT_TYPE);
        let is_form = kind.is_some_and(|kind| {
            kind.to_str()
                .is_ok_and(|kind| kind.starts_with(token_request::FORM))
        });
        // Registrations are JSON, and everything else is asked for.
        if parts.method != Method::POST || !is_form {
            return self.outbound.execute(request);
        }
        Box::pin(async move {
            let url = Url::parse(&parts.uri.to_string())?;
            let body = request.request.into_body();
            let means = Means {
                outbound: &self.outbound,
                dpop: Some(&self.dpop),
            };
            Ok(token_request::post(&url, &parts.headers, &body, means).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn read(part: &str) -> Value {
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_is_for_one_request_and_can_be_checked() {
        let dpop = Dpop::new().unwrap();
        let url = Url::parse("https://a/mcp?x=1#y").unwrap();
        let proof = |token| {
            let proof = dpop.proof(&Method::POST, &url, token).unwrap();
            proof.to_str().unwrap().to_owned()
        };
        let first = proof(Some("token"));
        let parts: Vec<&str> = first.split('.').collect();
        let (header, claims) = (read(parts[0]), read(parts[1]));
        assert_eq!(header["typ"], "dpop+jwt");
        assert_eq!(header["jwk"].get("d"), None);
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], "https://a/mcp");
        assert_eq!(claims["ath"], jwt::encode(digest(&SHA256, b"token")));
        assert_eq!(claims.get("nonce"), None);
        let signature = BASE64_URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        let mut point = vec![4];
        for name in ["x", "y"] {
            let half = header["jwk"][name].as_str().unwrap();
            point.extend(BASE64_URL_SAFE_NO_PAD.decode(half).unwrap());
        }
        let text = format!("{}.{}", parts[0], parts[1]);
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(text.as_bytes(), &signature)
            .unwrap();

        let mut headers = HeaderMap::new();
        headers.insert(NONCE, HeaderValue::from_static("n"));
        assert!(dpop.hear(&url, &headers));
        assert!(!dpop.hear(&url, &headers));
        let second = proof(None);
        let claims_of_second = read(second.split('.').nth(1).unwrap());
        assert_eq!(claims_of_second["nonce"], "n");
        assert_ne!(claims_of_second["jti"], claims["jti"]);
        let elsewhere = Url::parse("https://b/token").unwrap();
        let proof = dpop.proof(&Method::POST, &elsewhere, None).unwrap();
        let claims = read(proof.to_str().unwrap().split('.').nth(1).unwrap());
        assert_eq!(claims.get("nonce"), None);
    }

    #[test]
    fn a_key_can_be_kept() {
        let (one, other) = (Dpop::new().unwrap(), Dpop::new().unwrap());
        assert_ne!(one.saved(), other.saved());
        assert!(other.restore(&one.saved()));
        assert_eq!(reading(&one.key).jwk, reading(&other.key).jwk);
        assert!(!other.restore("nonsense"));
    }
}

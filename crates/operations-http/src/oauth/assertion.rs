//! A program that shows who it is by a signature (`private_key_jwt`, RFC 7523). rmcp can do it too, with a
//! cryptographic library of its own in C; the one that the rest of us uses knows how to sign.

use std::time::Duration;

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaKeyPair,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::json;

use super::jwt;

/// How long an assertion is good for.
const LIFE: Duration = Duration::from_secs(300);
/// The `client_assertion_type` of a request.
pub const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How a program signs with its key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the names are those of RFC 7518")]
pub enum Algorithm {
    #[default]
    ES256,
    ES384,
    RS256,
    RS384,
    RS512,
}

/// A private key, as PKCS #8 in PEM, and how to use it.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    /// The key.
    pub pem: &'a str,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// What the authorization server knows it by, where it has several keys of the client.
    pub id: Option<&'a str>,
}

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

/// The assertion that the client is who it says, for one authorization server.
///
/// # Errors
/// When the key is none, or does not fit the algorithm.
pub fn sign(client_id: &str, key: Key<'_>, audience: &str) -> Result<String, String> {
    let Key { pem, algorithm, id } = key;
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| format!("the private key is no PKCS #8 in PEM ({error})"))?;
    let random = SystemRandom::new();
    let now = jwt::now();
    let mut header = json!({ "alg": format!("{algorithm:?}"), "typ": "JWT" });
    if let (Some(id), Some(header)) = (id, header.as_object_mut()) {
        header.insert("kid".to_owned(), json!(id));
    }
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now.as_secs(),
        "exp": (now + LIFE).as_secs(),
        "jti": jwt::id(&random)?,
    });
    jwt::write(&header, &claims, |text| {
        signature(algorithm, key.secret_pkcs8_der(), text, &random)
    })
}

fn signature(
    algorithm: Algorithm,
    key: &[u8],
    text: &[u8],
    random: &SystemRandom,
) -> Result<Vec<u8>, String> {
    let unfit = |error| format!("the private key does not fit {algorithm:?} ({error})");
    let unsigned = |_| "the private key does not sign".to_owned();
    let elliptic = |kind| {
        let key = EcdsaKeyPair::from_pkcs8(kind, key, random).map_err(unfit)?;
        let signature = key.sign(random, text).map_err(unsigned)?;
        Ok(signature.as_ref().to_vec())
    };
    let rsa = |padding: &'static dyn ring::signature::RsaEncoding| {
        let key = RsaKeyPair::from_pkcs8(key).map_err(unfit)?;
        let mut signature = vec![0; key.public().modulus_len()];
        let signed = key.sign(padding, random, text, &mut signature);
        signed.map_err(unsigned)?;
        Ok(signature)
    };
    match algorithm {
        Algorithm::ES256 => elliptic(&ECDSA_P256_SHA256_FIXED_SIGNING),
        Algorithm::ES384 => elliptic(&ECDSA_P384_SHA384_FIXED_SIGNING),
        Algorithm::RS256 => rsa(&RSA_PKCS1_SHA256),
        Algorithm::RS384 => rsa(&RSA_PKCS1_SHA384),
        Algorithm::RS512 => rsa(&RSA_PKCS1_SHA512),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_assertion_says_who_and_to_whom_and_can_be_checked() {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let body = base64::prelude::BASE64_STANDARD.encode(key.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        let mut key_of_client = Key {
            pem: &pem,
            algorithm: Algorithm::ES256,
            id: None,
        };
        let assertion = sign("me", key_of_client, "https://issuer").unwrap();
        let (text, signature) = assertion.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key())
            .verify(text.as_bytes(), &signature)
            .unwrap();
        let claims = text.split_once('.').unwrap().1;
        let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["iss"], "me");
        assert_eq!(claims["sub"], "me");
        assert_eq!(claims["aud"], "https://issuer");

        key_of_client.algorithm = Algorithm::RS256;
        assert!(
            sign("me", key_of_client, "x")
                .unwrap_err()
                .contains("RS256")
        );
        key_of_client.pem = "nonsense";
        assert!(
            sign("me", key_of_client, "x")
                .unwrap_err()
                .contains("PKCS #8")
        );
    }
}

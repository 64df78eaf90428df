//! A program that shows who it is by a signature (`private_key_jwt`, RFC 7523). rmcp can do it too, with a
//! cryptographic library of its own in C; the one that the rest of us uses knows how to sign.

use std::time::Duration;

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaKeyPair,
};
use rmcp::transport::auth::{AuthorizationMetadata, OAuthTokenResponse};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use super::jwt;
use super::token_request::{self, Means};
use crate::config::{Algorithm, ClientCredentials};

/// How long an assertion is good for.
const LIFE: Duration = Duration::from_secs(300);
const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Gets a token for `resource`.
pub(super) async fn exchange(
    credentials: &ClientCredentials,
    metadata: &AuthorizationMetadata,
    resource: &str,
    scopes: &[String],
    means: Means<'_>,
) -> Result<OAuthTokenResponse, String> {
    let audience = metadata.issuer.as_deref();
    let audience = audience.ok_or("the authorization server does not say who it is")?;
    let assertion = sign(credentials, audience)?;
    let scope = scopes.join(" ");
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("client_assertion_type", KIND),
        ("client_assertion", assertion.as_str()),
        ("resource", resource),
    ];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    token_request::token(metadata, &form, means).await
}

/// The assertion that the client is who it says, for one authorization server.
fn sign(credentials: &ClientCredentials, audience: &str) -> Result<String, String> {
    let ClientCredentials {
        client_id,
        private_key,
        algorithm,
        ..
    } = credentials;
    let pem = private_key.as_deref().unwrap_or_default();
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| format!("the private key is no PKCS #8 in PEM ({error})"))?;
    let random = SystemRandom::new();
    let now = jwt::now();
    let header = json!({ "alg": format!("{algorithm:?}"), "typ": "JWT" });
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now.as_secs(),
        "exp": (now + LIFE).as_secs(),
        "jti": jwt::id(&random)?,
    });
    jwt::write(&header, &claims, |text| {
        signature(*algorithm, key.secret_pkcs8_der(), text, &random)
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
        let mut credentials = ClientCredentials {
            client_id: "me".to_owned(),
            client_secret: None,
            private_key: Some(format!(
                "-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
            )),
            algorithm: Algorithm::ES256,
        };
        let assertion = sign(&credentials, "https://issuer").unwrap();
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

        credentials.algorithm = Algorithm::RS256;
        assert!(sign(&credentials, "x").unwrap_err().contains("RS256"));
        credentials.private_key = Some("nonsense".to_owned());
        assert!(sign(&credentials, "x").unwrap_err().contains("PKCS #8"));
    }
}

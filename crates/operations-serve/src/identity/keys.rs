//! The keys of an issuer (RFC 7517), and signatures that they verify. The key decides which algorithms can be used with it: a
//! token cannot make a public key the secret of a symmetric one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

/// Keys of one issuer that are used; a token without a `kid` is tried with all of them.
const MOST_KEYS: usize = 64;
/// Bytes of a symmetric key, at least.
const SECRET_BYTES: usize = 32;

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<Key>);

/// Where keys come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The configuration, which can hold secrets.
    Configured,
    /// A server: what it shows to everybody is no secret.
    Fetched,
}

#[derive(Debug)]
pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm, where the key says so.
    algorithm: Option<String>,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Secret(Vec<u8>),
}

impl std::fmt::Debug for Material {
    /// A secret is in no message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rsa { .. } => "Rsa",
            Self::P256(_) => "P256",
            Self::P384(_) => "P384",
            Self::Ed25519(_) => "Ed25519",
            Self::Secret(_) => "Secret",
        })
    }
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl Keys {
    /// The keys of a set that can verify signatures. Others are left out: a set may hold keys for what is not known here.
    pub(super) fn read(set: &[u8], origin: Origin) -> Result<Self, String> {
        let set: KeySet =
            serde_json::from_slice(set).map_err(|_| "it is no JSON Web Key Set".to_owned())?;
        let keys = set
            .keys
            .into_iter()
            .filter_map(|key| Key::read(key, origin));
        let keys: Vec<Key> = keys.take(MOST_KEYS).collect();
        if keys.is_empty() {
            return Err("it has no key that can be used".to_owned());
        }
        Ok(Self(keys))
    }

    /// The keys that a token may be signed with.
    pub(super) fn fit<'a>(
        &'a self,
        kid: Option<&'a str>,
        algorithm: &'a str,
    ) -> impl Iterator<Item = &'a Key> {
        self.0.iter().filter(move |key| {
            let is_named = kid.is_none_or(|kid| key.id.as_deref() == Some(kid));
            let only = key.algorithm.as_deref();
            is_named && only.is_none_or(|only| only == algorithm) && key.is_for(algorithm)
        })
    }

    /// Whether a key has this name, whatever it is for.
    pub(super) fn knows(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.id.as_deref() == Some(kid))
    }
}

impl Key {
    fn read(key: Value, origin: Origin) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(key).ok()?;
        let is_for_signatures = jwk.usage.is_none_or(|usage| usage == "sig")
            && jwk
                .key_ops
                .is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !is_for_signatures {
            return None;
        }
        let bytes = |text: Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text?).ok();
        let point = |size: usize| {
            let (x, y) = (bytes(jwk.x.clone())?, bytes(jwk.y.clone())?);
            let is_point = x.len() == size && y.len() == size;
            is_point.then(|| [&[4], x.as_slice(), y.as_slice()].concat())
        };
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa {
                n: bytes(jwk.n)?,
                e: bytes(jwk.e)?,
            },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(jwk.x)?),
            ("oct", _) if origin == Origin::Configured => {
                Material::Secret(bytes(jwk.k).filter(|secret| secret.len() >= SECRET_BYTES)?)
            }
            _ => return None,
        };
        Some(Self {
            id: jwk.kid,
            algorithm: jwk.alg,
            material,
        })
    }

    fn is_for(&self, algorithm: &str) -> bool {
        matches!(
            (&self.material, algorithm),
            (
                Material::Rsa { .. },
                "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512"
            ) | (Material::P256(_), "ES256")
                | (Material::P384(_), "ES384")
                | (Material::Ed25519(_), "EdDSA" | "Ed25519")
                | (Material::Secret(_), "HS256" | "HS384" | "HS512")
        )
    }

    /// Whether this key has signed the text.
    pub(super) fn verifies(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> bool {
        let public = |how: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(how, key).verify(text, signature)
        };
        let verified = match (&self.material, algorithm) {
            (Material::Rsa { n, e }, _) => {
                let how = match algorithm {
                    "RS256" => &RSA_PKCS1_2048_8192_SHA256,
                    "RS384" => &RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &RSA_PKCS1_2048_8192_SHA512,
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    "PS384" => &RSA_PSS_2048_8192_SHA384,
                    "PS512" => &RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(how, text, signature)
            }
            (Material::P256(key), "ES256") => public(&ECDSA_P256_SHA256_FIXED, key),
            (Material::P384(key), "ES384") => public(&ECDSA_P384_SHA384_FIXED, key),
            (Material::Ed25519(key), "EdDSA" | "Ed25519") => public(&ED25519, key),
            (Material::Secret(secret), _) => {
                let how = match algorithm {
                    "HS256" => hmac::HMAC_SHA256,
                    "HS384" => hmac::HMAC_SHA384,
                    "HS512" => hmac::HMAC_SHA512,
                    _ => return false,
                };
                // In constant time.
                hmac::verify(&hmac::Key::new(how, secret), text, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str =
        r#"{"keys":[{"kty":"oct","kid":"s","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#;
    const PUBLIC: &str = r#"{"keys":[{"kty":"RSA","kid":"r","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#;

    #[test]
    fn a_secret_is_used_only_where_the_configuration_has_it() {
        assert!(Keys::read(SECRET.as_bytes(), Origin::Configured).is_ok());
        assert!(Keys::read(SECRET.as_bytes(), Origin::Fetched).is_err());
        let short = SECRET.replace("AAAAAAAA", "AA");
        assert!(Keys::read(short.as_bytes(), Origin::Configured).is_err());
    }

    #[test]
    fn a_public_key_is_for_no_symmetric_algorithm() -> Result<(), String> {
        let keys = Keys::read(PUBLIC.as_bytes(), Origin::Fetched)?;
        for (kid, algorithm, count) in [
            (Some("r"), "RS256", 1),
            (None, "PS512", 1),
            (Some("r"), "HS256", 0),
            (Some("r"), "none", 0),
            (Some("x"), "RS256", 0),
            // Its point has the wrong size.
            (None, "ES256", 0),
        ] {
            assert_eq!(
                keys.fit(kid, algorithm).count(),
                count,
                "{kid:?} {algorithm}"
            );
        }
        // Too small for any signature.
        let mut fit = keys.fit(Some("r"), "RS256");
        assert!(!fit.any(|key| key.verifies("RS256", b"", b"")));
        Ok(())
    }
}

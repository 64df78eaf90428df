//! Tokens: as a server issues them, and as the program stores them.

use std::fmt;

use operations_core::clock;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::message::Secret;

/// A token is renewed this long before it expires, or at nine tenths of a short life. In milliseconds.
const MARGIN: f64 = 30_000.0;
/// Longer ones fit no header.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A token, and what a newer one is asked for with.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    #[serde(serialize_with = "exposed")]
    pub(super) access_token: Secret,
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "exposed_option"
    )]
    pub(super) refresh_token: Option<Secret>,
    /// When to ask for a newer one, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    renewed_at: Option<f64>,
    /// Whose they are: tokens of another client are of no use.
    pub(super) client_id: String,
}

/// For the token store, and nothing else.
fn exposed<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

#[expect(clippy::ref_option, reason = "serde hands it over so")]
fn exposed_option<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(serializer)
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    /// What a token endpoint has answered.
    pub(super) fn read(answer: &Value, client_id: &str) -> Result<Self, &'static str> {
        let word = |name: &str| answer.get(name).and_then(Value::as_str);
        let secret = |name: &str| word(name).filter(|text| !text.is_empty());
        let token = secret("access_token").ok_or("answered without an access token")?;
        if token.len() > MAX_TOKEN_BYTES {
            return Err("gave a token that is too long");
        }
        // In an exchange, `N_A` is a token that is used in another way.
        if !word("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err("gave a token of a type other than Bearer");
        }
        let refresh = secret("refresh_token").filter(|text| text.len() <= MAX_TOKEN_BYTES);
        let life = answer.get("expires_in").and_then(|life| {
            let seconds = life.as_f64().or_else(|| life.as_str()?.parse().ok());
            seconds.filter(|seconds| *seconds >= 0.0)
        });
        let life = life.map(|seconds| seconds * 1_000.0);
        Ok(Self {
            access_token: Secret::new(token),
            refresh_token: refresh.map(Secret::new),
            renewed_at: life.map(|life| clock::now() + life - MARGIN.min(life / 10.0)),
            client_id: client_id.to_owned(),
        })
    }

    /// Whether it has not expired, and is not the one that a server has just refused.
    pub(super) fn is_usable(&self, refused: Option<&Secret>) -> bool {
        refused != Some(&self.access_token) && self.renewed_at.is_none_or(|at| clock::now() < at)
    }

    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let both = [Some(&self.access_token), self.refresh_token.as_ref()];
        both.into_iter().flatten().map(Secret::expose)
    }
}

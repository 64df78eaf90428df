//! Signed JSON (RFC 7515), as assertions and proofs are written.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

/// Bytes as such texts have them.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The time since 1970.
#[must_use]
pub fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default()
}

/// A name that was never used before.
///
/// # Errors
/// When the system has no randomness.
pub fn id(random: &SystemRandom) -> Result<String, String> {
    let mut id = [0; 16];
    random.fill(&mut id).map_err(|_| "there is no randomness")?;
    Ok(encode(id))
}

/// The whole, with what `sign` makes of it.
///
/// # Errors
/// Those of `sign`.
pub fn write(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, String>,
) -> Result<String, String> {
    let text = format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    );
    let signature = sign(text.as_bytes())?;
    Ok(format!("{text}.{}", encode(signature)))
}

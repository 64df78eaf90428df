//! Credentials files: a token of the user's and the key that proves it. Read whenever a connection is made, because tokens
//! expire, and the file is rewritten when they are renewed.

use std::fs;
use std::path::Path;

use async_nats::{Auth, AuthError};
use nkeys::KeyPair;

/// Why a file cannot be used. Nothing of its text is quoted.
fn unusable(file: &Path, why: &str) -> AuthError {
    AuthError::new(format!("{} cannot be used: {why}", file.display()))
}

/// What proves to a server who this is.
///
/// # Errors
///
/// When the file cannot be read, or is no credentials file.
pub(crate) fn sign(file: &Path, nonce: &[u8]) -> Result<Auth, AuthError> {
    let text =
        fs::read_to_string(file).map_err(|error| unusable(file, &error.kind().to_string()))?;
    let (token, seed) =
        parts(&text).ok_or_else(|| unusable(file, "it is no NATS credentials file"))?;
    let signature = KeyPair::from_seed(seed)
        .and_then(|key| key.sign(nonce))
        .map_err(|_| unusable(file, "it holds no NKey seed"))?;
    let mut auth = Auth::new();
    auth.jwt = Some(token.to_owned());
    auth.signature = Some(signature);
    Ok(auth)
}

/// The token and the seed: what stands between lines of dashes, in this order.
fn parts(text: &str) -> Option<(&str, &str)> {
    let mut is_inside = false;
    let mut found = text.lines().map(str::trim).filter(|line| {
        let is_border = line.starts_with("---");
        is_inside ^= is_border;
        is_inside && !is_border && !line.is_empty()
    });
    Some((found.next()?, found.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_file_are_found() {
        let text = "-----BEGIN NATS USER JWT-----\r\na.b.c\r\n------END NATS USER JWT------\r\n\r\n\
                    ************ IMPORTANT ************\r\nkeep it secret\r\n\r\n\
                    -----BEGIN USER NKEY SEED-----\nSUA\n------END USER NKEY SEED------\n";
        assert_eq!(parts(text), Some(("a.b.c", "SUA")));
        for broken in ["", "a.b.c", "---\na.b.c\n---\n", "---\n---\n---\nx\n---\n"] {
            assert_eq!(parts(broken), None);
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_reported_without_quoting_it() {
        let missing = Path::new("no/such.creds");
        let message = sign(missing, b"nonce").err().map(|error| error.to_string());
        assert!(
            message
                .is_some_and(|text| text.contains("no/such.creds") && text.contains("not found"))
        );
    }
}

//! The redacted URL of a request, for telemetry (`url.full` of OpenTelemetry's conventions).

use std::collections::HashSet;

use operations_core::secrets::{MASK, hide};
use url::{Url, form_urlencoded};

use super::auth::{Secret, redact};
use super::url::BaseUrl;

/// What stands in the place of a secret, as the conventions want it.
const REDACTED: &str = "REDACTED";

/// Parts of names that a query has for secrets. In these, and in the names below, only letters and digits count, in lower case.
const PARTS: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "accesskey",
    "signature",
    "credential",
    "authorization",
    "bearer",
    "jwt",
    "subscriptionkey",
];
const NAMES: [&str; 11] = [
    "auth",
    "code",
    "key",
    "otp",
    "pin",
    "pwd",
    "samlresponse",
    "session",
    "sessionid",
    "sid",
    "sig",
];

/// The URL without what can be known to be secret: the values of `base`'s own query, which the configuration holds; values
/// under names such as `api_key`, `sig` or `X-Goog-Signature`; the credentials of the service, wherever they are.
#[must_use]
pub fn redact_url(url: &Url, base: &BaseUrl, secrets: &[Secret]) -> String {
    let own: HashSet<String> = base.query_names();
    let mut redacted = url.clone();
    // There are none: they travel as a header. Should there be any, they are none of a watcher's business.
    if !redacted.username().is_empty() {
        let _ = redacted.set_username(REDACTED);
    }
    if redacted.password().is_some() {
        let _ = redacted.set_password(Some(REDACTED));
    }
    if let Some(query) = url.query() {
        let pairs = query.split('&').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = form_urlencoded::parse(name.as_bytes())
                .map(|(name, _)| name.into_owned())
                .next()
                .unwrap_or_default();
            // A secret may stand there without a name, and may be Base64, which ends with this sign.
            let is_bare = value.trim_matches('=').is_empty();
            if own.contains(&plain) && is_bare {
                REDACTED.to_owned()
            } else if own.contains(&plain) || (is_secret(&plain) && !is_bare) {
                format!("{name}={REDACTED}")
            } else {
                pair.to_owned()
            }
        });
        redacted.set_query(Some(&pairs.collect::<Vec<_>>().join("&")));
    }
    let encoded = secrets
        .iter()
        .flat_map(|secret| spellings(redacted.as_str(), secret.expose()));
    let hidden = hide(redacted.as_str(), encoded);
    redact(&hidden, secrets).replace(MASK, REDACTED)
}

/// The parts of a URL that say `secret`, percent-encoded or not.
fn spellings<'a>(url: &'a str, secret: &str) -> Vec<&'a str> {
    let rests = url.char_indices().filter_map(|(at, _)| url.get(at..));
    let found = rests.filter_map(|rest| {
        let mut bytes = secret.bytes();
        let after = bytes.try_fold(rest, without)?;
        rest.strip_suffix(after)
    });
    found.collect()
}

/// What comes after a byte, as URLs spell it.
fn without(rest: &str, byte: u8) -> Option<&str> {
    if let Some((code, after)) = rest.split_at_checked(3)
        && let Some(digits) = code.strip_prefix('%')
        && u8::from_str_radix(digits, 16) == Ok(byte)
    {
        return Some(after);
    }
    match byte {
        b' ' => rest.strip_prefix('+'),
        _ => byte
            .is_ascii()
            .then(|| rest.strip_prefix(char::from(byte)))?,
    }
}

fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    NAMES.contains(&plain.as_str()) || PARTS.iter().any(|part| plain.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(base: &str, path: &str, query: &[&str], secrets: &[&str]) -> String {
        let base = BaseUrl::parse(base).unwrap();
        let query: Vec<String> = query.iter().map(|pair| (*pair).to_owned()).collect();
        let url = base.join(path, &query).unwrap();
        let secrets: Vec<Secret> = secrets
            .iter()
            .map(|secret| Secret::new((*secret).to_owned()))
            .collect();
        redact_url(&url, &base, &secrets)
    }

    #[test]
    fn what_is_no_secret_stays() {
        let url = redacted(
            "https://api.example/v1",
            "/items/7",
            &["q=a%20b", "flag"],
            &[],
        );
        assert_eq!(url, "https://api.example/v1/items/7?q=a%20b&flag");
    }

    #[test]
    fn values_under_the_names_of_the_conventions_and_their_like_do_not() {
        for name in [
            "AWSAccessKeyId",
            "Signature",
            "sig",
            "X-Goog-Signature",
            "X-Amz-Security-Token",
            "api_key",
            "api%5Fkey",
            "access_token",
            "client-secret",
            "key",
            "code",
            "id_jwt",
            "bearer",
            "otp",
            "pin",
            "SAMLResponse",
        ] {
            let pair = format!("{name}=hunter22");
            let url = redacted("https://api.example", "/a", &["q=1", &pair, "r=2"], &[]);
            assert_eq!(
                url,
                format!("https://api.example/a?q=1&{name}=REDACTED&r=2")
            );
        }
    }

    #[test]
    fn credentials_do_not_wherever_they_are() {
        let url = redacted(
            "https://me:hunter22@api.example/?k=hunter23",
            "/bot-hunter24/send",
            &["q=1"],
            &["hunter24"],
        );
        assert_eq!(url, "https://api.example/bot-REDACTED/send?k=REDACTED&q=1");
    }
    #[test]
    fn nor_does_a_secret_without_a_name_or_one_that_is_encoded() {
        for bare in ["hunter22", "aHVudGVyMjI=", "aHVudGVyMg=="] {
            let base = format!("https://api.example/v?a=1&{bare}");
            let url = redacted(&base, "/x", &["flag"], &[]);
            assert_eq!(url, "https://api.example/v/x?a=REDACTED&REDACTED&flag");
        }
        let secret = "hunter/22 \u{e4}+x";
        let url = redacted(
            "https://api.example",
            "/of/hunter%2f22%20%C3%A4%2Bx/all",
            &["q=hunter/22+%C3%A4%2Bx"],
            &[secret],
        );
        assert_eq!(url, "https://api.example/of/REDACTED/all?q=REDACTED");
    }
}

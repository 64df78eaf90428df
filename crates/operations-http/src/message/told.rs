//! The URL of a request, as those who watch are told of it (`url.full` of OpenTelemetry's conventions).

use std::collections::HashSet;

use operations_core::secrets::MASK;
use url::{Url, form_urlencoded};

use super::auth::{Secret, redact};
use super::url::BaseUrl;

/// What stands in the place of a secret, as the conventions want it.
const REDACTED: &str = "REDACTED";

/// Parts of names that a query has for secrets. In these, and in the names below, only letters and digits count, in lower case.
const PARTS: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "accesskey",
    "signature",
    "credential",
    "authorization",
];
const NAMES: [&str; 7] = ["auth", "key", "pwd", "session", "sessionid", "sid", "sig"];

/// The URL without what can be known to be secret: the values of `base`'s own query, which the configuration holds; values
/// under names such as `api_key`, `sig` or `X-Goog-Signature`; the credentials of the service, wherever they are.
#[must_use]
pub fn told(url: &Url, base: &BaseUrl, secrets: &[Secret]) -> String {
    let own: HashSet<String> = base.query_names();
    let mut told = url.clone();
    // There are none: they travel as a header. Should there be any, they are none of a watcher's business.
    if !told.username().is_empty() {
        let _ = told.set_username(REDACTED);
    }
    if told.password().is_some() {
        let _ = told.set_password(Some(REDACTED));
    }
    if let Some(query) = url.query() {
        let pairs = query.split('&').map(|pair| {
            let Some((name, _)) = pair.split_once('=') else {
                return pair.to_owned();
            };
            let plain = form_urlencoded::parse(name.as_bytes())
                .map(|(name, _)| name.into_owned())
                .next()
                .unwrap_or_default();
            if own.contains(&plain) || is_secret(&plain) {
                format!("{name}={REDACTED}")
            } else {
                pair.to_owned()
            }
        });
        told.set_query(Some(&pairs.collect::<Vec<_>>().join("&")));
    }
    redact(told.as_str(), secrets).replace(MASK, REDACTED)
}

fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    NAMES.contains(&plain.as_str()) || PARTS.iter().any(|part| plain.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_of(base: &str, path: &str, query: &[&str], secrets: &[&str]) -> String {
        let base = BaseUrl::parse(base).unwrap();
        let query: Vec<String> = query.iter().map(|pair| (*pair).to_owned()).collect();
        let url = base.join(path, &query).unwrap();
        let secrets: Vec<Secret> = secrets
            .iter()
            .map(|secret| Secret::new((*secret).to_owned()))
            .collect();
        told(&url, &base, &secrets)
    }

    #[test]
    fn what_is_no_secret_stays() {
        let url = told_of(
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
        ] {
            let pair = format!("{name}=hunter22");
            let url = told_of("https://api.example", "/a", &["q=1", &pair, "r=2"], &[]);
            assert_eq!(
                url,
                format!("https://api.example/a?q=1&{name}=REDACTED&r=2")
            );
        }
    }

    #[test]
    fn credentials_do_not_wherever_they_are() {
        let url = told_of(
            "https://me:hunter22@api.example/?k=hunter23",
            "/bot-hunter24/send",
            &["q=1"],
            &["hunter24"],
        );
        assert_eq!(url, "https://api.example/bot-REDACTED/send?k=REDACTED&q=1");
    }
}

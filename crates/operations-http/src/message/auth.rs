//! Credentials: how they become a header, and how they stay out of everything else.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use serde::Deserialize;

use super::headers::Headers;
use operations_core::error::CallError;
use operations_core::secrets;
pub use operations_core::secrets::Secret;

/// The credentials of a service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAuth")]
pub enum Auth {
    /// `Authorization: Bearer <token>`.
    Bearer(Secret),
    /// A header of its own.
    ApiKey {
        /// The key.
        key: Secret,
        /// The header, `X-API-Key` when absent.
        header_name: Option<String>,
        /// What goes before the key; see [`Auth::apply`].
        prefix: Option<String>,
    },
    /// `Authorization: Basic <token>`, the token being encoded already.
    BasicToken(Secret),
    /// `Authorization: Basic <user name and password, encoded>`.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
}

/// Credentials as a configuration has them.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawAuth {
    #[serde(rename = "type")]
    kind: String,
    token: Option<String>,
    header_name: Option<String>,
    prefix: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl TryFrom<RawAuth> for Auth {
    type Error = String;

    /// The error does not quote a secret.
    fn try_from(raw: RawAuth) -> Result<Self, String> {
        let token = |kind: &str| {
            let missing = || format!("auth of type \"{kind}\" needs a token");
            raw.token.clone().map(Secret::new).ok_or_else(missing)
        };
        match raw.kind.as_str() {
            "bearer" => token("bearer").map(Self::Bearer),
            "apiKey" => Ok(Self::ApiKey {
                key: token("apiKey")?,
                header_name: raw.header_name.clone(),
                prefix: raw.prefix.clone(),
            }),
            "basic" if raw.token.is_some() => token("basic").map(Self::BasicToken),
            "basic" => match (raw.username, raw.password) {
                (Some(username), password) => Ok(Self::Basic {
                    username,
                    password: Secret::new(password.unwrap_or_default()),
                }),
                (None, _) => {
                    Err("auth of type \"basic\" needs a token, or username and password".to_owned())
                }
            },
            _ => Err("auth.type must be \"bearer\", \"apiKey\" or \"basic\"".to_owned()),
        }
    }
}

impl Auth {
    /// The name of the header that carries the credentials.
    #[must_use]
    pub fn header_name(&self) -> &str {
        match self {
            Self::ApiKey { header_name, .. } => header_name.as_deref().unwrap_or("X-API-Key"),
            _ => "Authorization",
        }
    }

    /// Sets the header. A prefix that ends in a letter or a digit is a word, so a space follows it
    /// (`Token abc`); any other prefix says itself how it ends (`Token token=abc`).
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the header name or the credentials cannot be in a header; it does not
    /// quote the credentials.
    pub fn apply(&self, headers: &mut Headers) -> Result<(), CallError> {
        headers.set(self.header_name(), &self.header_value())
    }

    fn header_value(&self) -> String {
        match self {
            Self::Bearer(token) => format!("Bearer {}", token.expose()),
            Self::ApiKey { key, prefix, .. } => {
                let prefix = prefix.as_deref().unwrap_or_default();
                let space = if prefix.ends_with(|last: char| last.is_alphanumeric()) {
                    " "
                } else {
                    ""
                };
                format!("{prefix}{space}{}", key.expose())
            }
            Self::BasicToken(token) => format!("Basic {}", token.expose()),
            Self::Basic { username, password } => {
                format!("Basic {}", encoded(username, password))
            }
        }
    }

    /// Everything that must not be seen.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Bearer(token) => vec![token.clone()],
            Self::ApiKey { key, .. } => vec![key.clone()],
            Self::BasicToken(token) => {
                let decoded = STANDARD.decode(token.expose()).ok();
                let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
                let password = decoded
                    .as_deref()
                    .and_then(|text| text.split_once(':'))
                    .map(|(_, password)| Secret::new(password));
                [token.clone()].into_iter().chain(password).collect()
            }
            Self::Basic { username, password } => {
                vec![Secret::new(encoded(username, password)), password.clone()]
            }
        }
    }
}

fn encoded(username: &str, password: &Secret) -> String {
    STANDARD.encode(format!("{username}:{}", password.expose()))
}

/// The text with every secret blanked out.
#[must_use]
pub fn redact<'a>(text: &'a str, of: &[Secret]) -> Cow<'a, str> {
    secrets::hide(text, of.iter().map(Secret::expose))
}

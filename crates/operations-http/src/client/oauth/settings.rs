//! What a configuration says about tokens, and a document about the server that issues them.

use std::fmt;

use serde::Deserialize;

use crate::message::Secret;
use crate::oauth::assertion::Algorithm;

/// How a token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Grant {
    ClientCredentials,
    RefreshToken,
    AuthorizationCode,
    TokenExchange,
}

/// How the client shows its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuth {
    Basic,
    Post,
}

/// What a configuration says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OAuthSettings {
    pub(super) grant: Grant,
    pub(super) token_url: Option<String>,
    pub(super) authorization_url: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) client_auth: Option<ClientAuth>,
    pub(super) private_key: Option<String>,
    #[serde(default)]
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    pub(super) audience: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) redirect_url: Option<String>,
    pub(super) refresh_token: Option<Secret>,
    /// Whether the program stores tokens.
    #[serde(default)]
    pub(super) has_store: bool,
}

impl OAuthSettings {
    /// The addresses that the configuration names.
    pub(crate) fn urls(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let urls = [
            ("tokenUrl", &self.token_url),
            ("authorizationUrl", &self.authorization_url),
            ("issuer", &self.issuer),
        ];
        urls.into_iter()
            .filter_map(|(name, url)| Some((name, url.as_ref()?)))
    }
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSettings").finish_non_exhaustive()
    }
}

/// What the `securitySchemes` of a document say about the server that issues its tokens.
#[derive(Debug, Clone, Default)]
pub struct DocumentOAuth {
    /// The flows of its OAuth schemes.
    pub flows: Vec<DocumentFlow>,
    /// Where the metadata of its `OpenID` provider is.
    pub open_id_connect_url: Option<String>,
}

/// A flow, with addresses as the document writes them.
#[derive(Debug, Clone, Default)]
pub struct DocumentFlow {
    /// Its name, as `OpenAPI` 3 has it: `clientCredentials`, `authorizationCode`.
    pub name: String,
    /// The token endpoint.
    pub token_url: Option<String>,
    /// The page that the user visits.
    pub authorization_url: Option<String>,
}

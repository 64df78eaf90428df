//! A program that shows who it is by a signature (`private_key_jwt`, RFC 7523), at the authorization server of an MCP server.

use operations_http::oauth::assertion::{KIND, Key, sign};
use rmcp::transport::auth::{AuthorizationMetadata, OAuthTokenResponse};

use super::token_request::{self, Means};
use crate::config::ClientCredentials;

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
    let key = Key {
        pem: credentials.private_key.as_deref().unwrap_or_default(),
        algorithm: credentials.algorithm,
        id: None,
    };
    let assertion = sign(&credentials.client_id, key, audience)?;
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

//! Tokens for a program, or for its user, that another party vouches for: the platform that runs the program (workload
//! identity federation), or the identity provider of the user's company (enterprise-managed authorization).

use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAuthentication, EmaExchangeRequest,
};
use rmcp::transport::auth::{AuthorizationMetadata, OAuthTokenResponse, default_oauth_http_client};
use serde_json::json;

use super::outbound::Outbound;
use super::token_request::{self, Means};
use crate::config::{Enterprise, Workload};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A token for a program whose platform says in `assertion` who it is (RFC 7523).
pub(super) async fn workload(
    workload: &Workload,
    assertion: &str,
    metadata: &AuthorizationMetadata,
    resource: &str,
    scopes: &[String],
    means: Means<'_>,
) -> Result<OAuthTokenResponse, String> {
    let scope = scopes.join(" ");
    let mut form = vec![
        ("grant_type", JWT_BEARER),
        ("assertion", assertion),
        ("client_id", workload.client_id.as_str()),
        ("resource", resource),
    ];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    token_request::token(metadata, &form, means).await
}

/// A token for a user whose company says in `id_token` who that is: the identity provider gives an assertion for it, and the
/// authorization server of the tools a token for that.
pub(super) async fn enterprise(
    enterprise: &Enterprise,
    id_token: &str,
    metadata: &AuthorizationMetadata,
    resource: &str,
    scopes: &[String],
    outbound: &Outbound,
) -> Result<OAuthTokenResponse, String> {
    let Enterprise {
        client_id,
        client_secret,
        idp,
    } = enterprise;
    let issuer = metadata.issuer.as_deref();
    let issuer = issuer.ok_or("the authorization server does not say who it is")?;
    // The user has configured where the company is, so that it may be anywhere.
    let company_http = default_oauth_http_client().map_err(|error| error.to_string())?;
    let company = server(
        &idp.issuer,
        &idp.token_endpoint,
        &idp.client_id,
        idp.client_secret.as_deref(),
    )?;
    let endpoint = &metadata.token_endpoint;
    let tools = server(issuer, endpoint, client_id, client_secret.as_deref())?;
    let granted = EmaExchangeRequest::new_with_id_token(company, tools, resource, id_token)
        .with_scopes(scopes.iter().cloned())
        .exchange(&company_http, outbound)
        .await
        .map_err(|error| error.to_string())?;
    let mut scopes: Vec<String> = granted.scopes.into_iter().collect();
    scopes.sort_unstable();
    let mut token =
        json!({ "access_token": granted.access_token.secret(), "token_type": "Bearer" });
    if let Some(members) = token.as_object_mut() {
        if let Some(life) = granted.expires_in {
            members.insert("expires_in".to_owned(), json!(life.as_secs()));
        }
        if !scopes.is_empty() {
            members.insert("scope".to_owned(), json!(scopes.join(" ")));
        }
    }
    serde_json::from_value(token).map_err(|error| error.to_string())
}

fn server(
    issuer: &str,
    endpoint: &str,
    client: &str,
    secret: Option<&str>,
) -> Result<EmaAuthorizationServer, String> {
    let server = EmaAuthorizationServer::new(issuer, endpoint, client);
    let Some(secret) = secret else {
        return Ok(server);
    };
    // The type of the secret is one of a crate that nothing else here needs.
    let secret = serde_json::from_value(json!(secret)).map_err(|error| error.to_string())?;
    let how = EmaClientAuthentication::ClientSecretBasic(secret);
    Ok(server.with_client_authentication(how))
}

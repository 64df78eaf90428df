//! Tokens without a user's consent: the program has credentials of its own, or another party vouches for it.

use rmcp::transport::auth::ClientCredentialsConfig;
use rmcp::transport::{AuthError, AuthorizationManager, CredentialStore, StoredCredentials};

use super::metadata::Flow;
use super::token_request::Means;
use super::{Authorization, Challenge, assertion, federation, metadata};
use crate::client::ClientRequest;
use crate::config::{ClientCredentials, Enterprise, OAuth, Workload};

/// How to get a token without asking a user.
#[derive(Clone, Copy)]
pub(super) enum Grant<'a> {
    Credentials(&'a ClientCredentials),
    Workload(&'a Workload),
    Enterprise(&'a Enterprise),
}

impl Authorization {
    /// What there is in place of a user who is asked.
    pub(super) fn grant(&self) -> Option<Grant<'_>> {
        let OAuth {
            client_credentials,
            workload,
            enterprise,
            ..
        } = &self.settings;
        let credentials = client_credentials.as_ref().map(Grant::Credentials);
        let workload = workload.as_ref().map(Grant::Workload);
        let enterprise = enterprise.as_ref().map(Grant::Enterprise);
        credentials.or(workload).or(enterprise)
    }

    /// An assertion by another party about who this is.
    async fn identity_token(&self) -> Result<String, AuthError> {
        let refused = |reason: String| AuthError::AuthorizationFailed(reason);
        let asked = self
            .callbacks
            .request(ClientRequest::IdentityToken, "null".to_owned());
        let answer = asked.await.map_err(refused)?;
        let token = serde_json::from_str::<Option<String>>(&answer)
            .ok()
            .flatten();
        let token = token.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| refused("there is no identity token".to_owned()))?;
        self.tokens.hide([token.clone()]);
        Ok(token)
    }

    /// What the authorization server grants without a user.
    pub(super) async fn granted(
        &self,
        grant: Grant<'_>,
        challenge: &Challenge,
        scopes: Vec<String>,
    ) -> Result<(AuthorizationManager, Vec<String>), AuthError> {
        let mut manager = self.manager().await?;
        let found = manager
            .resolve_metadata_from_challenge(Some(&challenge.header))
            .await?;
        metadata::check(&found.metadata, Flow::Direct)?;
        manager.set_metadata(found.metadata.clone());
        let configured = &self.settings.scopes;
        let scopes = match (scopes.is_empty(), configured.is_empty()) {
            (false, _) => scopes,
            (true, false) => configured.clone(),
            (true, true) => manager.select_initial_scopes(&[]).await,
        };
        let metadata = &found.metadata;
        let outbound = self.outbound()?;
        let means = Means {
            outbound: &outbound,
            dpop: self.dpop.as_deref(),
        };
        let (client_id, token) = match grant {
            Grant::Credentials(ClientCredentials {
                client_id,
                client_secret: Some(secret),
                ..
            }) => {
                let config = ClientCredentialsConfig::ClientSecret {
                    client_id: client_id.clone(),
                    client_secret: secret.clone(),
                    scopes: scopes.clone(),
                    resource: Some(self.url.clone()),
                };
                manager.validate_client_credentials_metadata(&config)?;
                manager.configure_client_credentials(&config)?;
                manager.exchange_client_credentials(&config).await?;
                return Ok((manager, scopes));
            }
            Grant::Credentials(credentials) => {
                let token = assertion::exchange(credentials, metadata, &self.url, &scopes, means);
                (&credentials.client_id, token.await)
            }
            Grant::Workload(workload) => {
                let vouched = self.identity_token().await?;
                let token =
                    federation::workload(workload, &vouched, metadata, &self.url, &scopes, means);
                (&workload.client_id, token.await)
            }
            Grant::Enterprise(enterprise) => {
                let vouched = self.identity_token().await?;
                let token = federation::enterprise(
                    enterprise, &vouched, metadata, &self.url, &scopes, &outbound,
                );
                (&enterprise.client_id, token.await)
            }
        };
        let token = token.map_err(AuthError::ClientCredentialsError)?;
        let stored = StoredCredentials::new(client_id.clone(), Some(token), scopes.clone(), None);
        let stored = stored.with_issuer(found.metadata.issuer.clone());
        self.tokens.save(stored).await?;
        manager.configure_client_id(client_id)?;
        Ok((manager, scopes))
    }
}

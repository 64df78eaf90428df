//! How a server gets the token that it wants: rmcp knows the protocol, the user's program shows the page.

pub(crate) mod callback;
pub(crate) mod tokens;

use rmcp::transport::auth::{OAuthClientConfig, OAuthState};
use rmcp::transport::{AuthError, AuthorizationManager, AuthorizationRequest};
use serde_json::json;
use url::Url;

use crate::auth::callback::Callback;
use crate::client::handler::Handler;
use crate::client::host::Question;
use crate::config::OAuth;
use crate::error::Failed;

/// The name that a user sees who is asked for permission.
const CLIENT_NAME: &str = "@alkdev/operations";

/// The authorization of one server.
pub(crate) struct Authorization<'a> {
    pub(crate) handler: &'a Handler,
    pub(crate) url: &'a str,
    pub(crate) settings: &'a OAuth,
}

impl Authorization<'_> {
    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut manager = AuthorizationManager::new(self.url).await?;
        manager.set_credential_store(self.handler.tokens.clone());
        Ok(manager)
    }

    /// With the tokens that are there, if there are any.
    pub(crate) async fn known(&self) -> Result<AuthorizationManager, Failed> {
        let known = async {
            let mut manager = self.manager().await?;
            let found = manager.initialize_from_store().await?;
            if let (true, Some(id), Some(secret)) = (
                found,
                &self.settings.client_id,
                &self.settings.client_secret,
            ) {
                let redirect = self.settings.redirect_url.as_deref().unwrap_or(self.url);
                let config = OAuthClientConfig::new(id, redirect).with_client_secret(secret);
                manager.configure_client(config)?;
            }
            Ok(manager)
        };
        let known: Result<_, AuthError> = known.await;
        known.map_err(|error| Failed::new(format!("the saved tokens cannot be used: {error}")))
    }

    /// Asks the user. `challenge` is what the server said when it refused.
    pub(crate) async fn ask(&self, challenge: &str) -> Result<AuthorizationManager, Failed> {
        let failed = |error: AuthError| Failed::new(format!("no permission was granted: {error}"));
        let refused = |why: String| failed(AuthError::AuthorizationFailed(why));
        let redirect = Callback::open(self.settings.redirect_url.as_deref()).await;
        let redirect = redirect.map_err(refused)?;
        let mut state = OAuthState::Unauthorized(self.manager().await.map_err(failed)?);
        let request = self.request(redirect.url(), challenge);
        state.start_authorization(request).await.map_err(failed)?;
        let url = state.get_authorization_url().await.map_err(failed)?;
        let secret = checked_page(&url).map_err(refused)?;
        let page = json!({ "url": url, "redirectUrl": redirect.url() }).to_string();
        let shown = self.handler.host.ask(Question::Authorize, page);
        let came_back = redirect.wait(shown, &secret).await.map_err(refused)?;
        state
            .handle_callback_url(&came_back)
            .await
            .map_err(failed)?;
        if matches!(state, OAuthState::Session(_)) {
            state.complete_authorization().await.map_err(failed)?;
        }
        state
            .into_authorization_manager()
            .ok_or_else(|| failed(AuthError::AuthorizationRequired))
    }

    fn request(&self, redirect: &str, challenge: &str) -> AuthorizationRequest {
        let OAuth {
            client_id,
            client_secret,
            scopes,
            client_name,
            ..
        } = self.settings;
        let name = client_name.as_deref().unwrap_or(CLIENT_NAME);
        let mut request = AuthorizationRequest::new(redirect)
            .with_client_name(name)
            .with_initial_scope_selection();
        if !challenge.is_empty() {
            request = request.with_challenge(challenge);
        }
        if !scopes.is_empty() {
            request = request.with_scopes(scopes.iter().cloned());
        }
        if let Some(id) = client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = client_secret {
            request = request.with_client_secret(secret);
        }
        request
    }
}

/// The `state` of the page that the user is to visit. The page comes from a server that nobody here controls,
/// and programs hand it to whatever opens addresses: it must be one of the web.
fn checked_page(page: &str) -> Result<String, String> {
    let url = Url::parse(page).map_err(|error| format!("the page to visit is no URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "the page to visit is not of the web but of '{}'",
            url.scheme()
        ));
    }
    url.query_pairs()
        .find(|(name, _)| name == "state")
        .map(|(_, state)| state.into_owned())
        .ok_or_else(|| "the page to visit has no state".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_shown() {
        assert_eq!(checked_page("https://a/b?x=1&state=s").as_deref(), Ok("s"));
        for page in [
            "javascript:alert(1)?state=s",
            "file:///etc/hosts?state=s",
            "calc://x?state=s",
            "x",
            "http://a/",
        ] {
            assert!(checked_page(page).is_err(), "{page}");
        }
    }
}

//! How a server gets the token that it wants: rmcp knows the protocol, the user's program shows the page.

mod assertion;
mod challenge;
mod dpop;
mod federation;
mod grants;
mod metadata;
mod outbound;
mod page;
mod reach;
mod token_request;
pub(crate) mod tokens;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::HeaderValue;
use ::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use operations_core::lock::locked;
use operations_http::oauth::callback::Callback;
use reqwest::{Request, Response, StatusCode};
use rmcp::transport::auth::{AuthorizationSession, OAuthClientConfig};
use rmcp::transport::{AuthError, AuthorizationManager, AuthorizationRequest, CredentialStore};
use serde_json::json;
use tokio::sync::Mutex;

pub(crate) use self::challenge::Challenge;
use self::dpop::{Dpop, Proving};
use self::metadata::Flow;
use self::outbound::Outbound;
use self::page::Page;
use self::tokens::Tokens;
use crate::client::{ClientCallbacks, ClientRequest};
use crate::config::OAuth;
use crate::error::{Failure, Needs};
use crate::secrets::Secrets;

/// The name that a user sees who is asked for permission.
const CLIENT_NAME: &str = "@alkdev/operations";
/// How often the user is asked for the sake of one request.
const ASKS: u32 = 3;
/// How often one request is tried in all.
const TRIES: u32 = 8;

/// How many scopes a user is asked for at once: a page has to show them.
const MOST_SCOPES: usize = 200;
/// How often a user is asked for scopes that are not granted.
const TIMES_IN_VAIN: usize = 3;
/// How many of the requests for scopes are remembered that were in vain.
const MOST_IN_VAIN: usize = 100;

/// What was done for one request that a server refused.
#[derive(Default)]
pub(crate) struct Attempts {
    all: u32,
    refreshed: bool,
    asks: u32,
}

/// The authorization of one server, over all its connections.
pub(crate) struct Authorization {
    url: String,
    settings: OAuth,
    callbacks: Arc<dyn ClientCallbacks>,
    tokens: Tokens,
    /// The key that tokens are bound to, where the user wants that.
    dpop: Option<Arc<Dpop>>,
    /// Held while the user is asked: others that need a token wait for the same answer.
    state: Mutex<State>,
    is_authorizing: AtomicBool,
    /// Who was asked last.
    issuer: std::sync::Mutex<Option<String>>,
}

#[derive(Default)]
struct State {
    /// None before the first request.
    manager: Option<AuthorizationManager>,
    /// What the user was asked to allow.
    requested: Vec<String>,
    /// What was asked for in vain: the user is not asked for it again.
    in_vain: VecDeque<String>,
}

impl Authorization {
    pub(crate) fn new(
        url: &str,
        settings: &OAuth,
        callbacks: Arc<dyn ClientCallbacks>,
        secrets: Secrets,
    ) -> Self {
        // Without randomness there is no key, and a server that wants one says so.
        let dpop = settings.dpop.then(|| Dpop::new().ok().map(Arc::new));
        let dpop = dpop.flatten();
        Self {
            url: url.to_owned(),
            settings: settings.clone(),
            tokens: Tokens::new(Arc::clone(&callbacks), secrets, dpop.clone()),
            dpop,
            callbacks,
            state: Mutex::default(),
            is_authorizing: AtomicBool::new(false),
            issuer: std::sync::Mutex::default(),
        }
    }

    /// Whether the user is being asked right now.
    pub(crate) fn is_authorizing(&self) -> bool {
        self.is_authorizing.load(Ordering::Acquire)
    }

    /// The token to send, if there is one.
    pub(crate) async fn token(&self) -> Result<Option<String>, Failure> {
        let mut state = self.state.lock().await;
        let token = async {
            let manager = match state.manager.take() {
                Some(manager) => manager,
                None => self.known().await?,
            };
            let token = manager.get_access_token().await;
            state.manager = Some(manager);
            token
        };
        match token.await {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(failure(
                401,
                None,
                "the saved tokens cannot be used",
                &error,
            )),
        }
    }

    /// Puts a token into a request, with a proof where it is bound to a key.
    pub(crate) fn sign(&self, request: &mut Request, token: &str) -> Result<(), Failure> {
        let bound = self.dpop.as_ref().filter(|_| self.tokens.are_bound());
        let scheme = if bound.is_some() { "DPoP" } else { "Bearer" };
        if let Ok(mut value) = HeaderValue::try_from(format!("{scheme} {token}")) {
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        if let Some(dpop) = bound {
            let proof = dpop.proof(request.method(), request.url(), Some(token));
            let proof = proof.map_err(|reason| Failure::NotAuthorized {
                status: 401,
                scope: None,
                reason,
                needs: Needs::Auth,
            })?;
            request.headers_mut().insert(dpop::PROOF, proof);
        }
        Ok(())
    }

    /// Checks a response. Returns whether the request is to be sent again, because the server wants its nonce in the proof.
    pub(crate) fn wants_other_proof(&self, response: &Response) -> bool {
        let Some(dpop) = &self.dpop else {
            return false;
        };
        let is_new = dpop.hear(response.url(), response.headers());
        let mut challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
        is_new
            && response.status() == StatusCode::UNAUTHORIZED
            && challenges.any(|challenge| {
                challenge
                    .to_str()
                    .is_ok_and(|text| text.contains(dpop::WANTS_NONCE))
            })
    }

    /// With the tokens that were kept, if there are any.
    async fn known(&self) -> Result<AuthorizationManager, AuthError> {
        let mut manager = self.manager().await?;
        let stored = self.tokens.load().await?;
        if stored.is_some_and(|stored| stored.token_response.is_some()) {
            // They may be renewed there.
            let found = manager.resolve_metadata().await?;
            metadata::check(&found.metadata, Flow::Direct)?;
            manager.set_metadata(found.metadata);
        }
        let found = manager.initialize_from_store().await?;
        let OAuth {
            client_id,
            client_secret,
            redirect_url,
            ..
        } = &self.settings;
        if let (true, Some(id), Some(secret)) = (found, client_id, client_secret) {
            let redirect = redirect_url.as_deref().unwrap_or(&self.url);
            let config = OAuthClientConfig::new(id, redirect).with_client_secret(secret);
            manager.configure_client(config)?;
        }
        Ok(manager)
    }

    fn outbound(&self) -> Result<Outbound, AuthError> {
        Outbound::new(&self.url).map_err(AuthError::InternalError)
    }

    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut manager = match &self.dpop {
            None => AuthorizationManager::new(self.url.as_str()).await?,
            Some(dpop) => {
                let client = Arc::new(Proving::new(Arc::clone(dpop), self.outbound()?));
                AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), client).await?
            }
        };
        manager.set_credential_store(self.tokens.clone());
        Ok(manager)
    }

    /// Does what a server wants that refused a request which had this token. If it returns, the request is worth
    /// another try.
    pub(crate) async fn satisfy(
        &self,
        challenge: &Challenge,
        sent: Option<&str>,
        attempts: &mut Attempts,
    ) -> Result<(), Failure> {
        attempts.all += 1;
        if attempts.all >= TRIES {
            return Err(challenge.failure());
        }
        let mut state = self.state.lock().await;
        let now = match &state.manager {
            Some(manager) => manager.get_access_token().await.ok(),
            None => None,
        };
        if now.is_some() && now.as_deref() != sent {
            // Another request was refused too, and has renewed it.
            return Ok(());
        }
        if challenge.wants_more() {
            return self.step_up(&mut state, challenge, attempts).await;
        }
        let is_renewable = self.grant().is_none();
        if sent.is_some() && is_renewable && !attempts.refreshed {
            attempts.refreshed = true;
            if let Some(manager) = &state.manager {
                match manager.refresh_token().await {
                    Ok(_) => return Ok(()),
                    Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {}
                    Err(error) => {
                        return Err(failure(401, None, "the token cannot be renewed", &error));
                    }
                }
            }
        }
        if attempts.asks > 0 {
            return Err(challenge.failure());
        }
        attempts.asks += 1;
        self.ask(&mut state, challenge, Vec::new()).await
    }

    /// Asks for what the user has allowed already and what the server wants beside it.
    async fn step_up(
        &self,
        state: &mut State,
        challenge: &Challenge,
        attempts: &mut Attempts,
    ) -> Result<(), Failure> {
        let wanted = challenge.scope().unwrap_or_default();
        let in_vain = |each: &&String| each.as_str() == wanted;
        if attempts.asks >= ASKS || state.in_vain.iter().filter(in_vain).count() >= TIMES_IN_VAIN {
            return Err(challenge.failure());
        }
        attempts.asks += 1;
        let mut scopes = state.requested.clone();
        scopes.extend(self.tokens.granted().await);
        scopes.extend(self.settings.scopes.iter().cloned());
        scopes.extend(wanted.split_whitespace().map(str::to_owned));
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        if scopes.len() > MOST_SCOPES {
            return Err(challenge.failure());
        }
        self.ask(state, challenge, scopes).await?;
        // Counted for all requests: concurrent ones must not have the user asked in turns.
        let granted = self.tokens.granted().await;
        let mut parts = wanted.split_whitespace();
        if !parts.all(|part| granted.iter().any(|scope| scope == part)) {
            if state.in_vain.len() >= MOST_IN_VAIN {
                state.in_vain.pop_front();
            }
            state.in_vain.push_back(wanted.to_owned());
        }
        Ok(())
    }

    /// Asks the user. Without `scopes`, for what the configuration or else the server says.
    async fn ask(
        &self,
        state: &mut State,
        challenge: &Challenge,
        scopes: Vec<String>,
    ) -> Result<(), Failure> {
        let asked = if let Some(grant) = self.grant() {
            self.granted(grant, challenge, scopes).await
        } else {
            let _guard = AuthorizingGuard::new(&self.is_authorizing);
            self.ask_user(challenge, scopes).await
        };
        let (manager, requested) = asked.map_err(|error| {
            let scope = challenge.scope().map(str::to_owned);
            let mut failure = failure(challenge.status, scope, "no permission was granted", &error);
            if let (AuthError::RegistrationFailed(_), Failure::NotAuthorized { needs, .. }) =
                (&error, &mut failure)
            {
                let issuer = locked(&self.issuer).clone();
                *needs = Needs::Registration { issuer };
            }
            failure
        })?;
        state.manager = Some(manager);
        state.requested = requested;
        Ok(())
    }

    async fn ask_user(
        &self,
        challenge: &Challenge,
        scopes: Vec<String>,
    ) -> Result<(AuthorizationManager, Vec<String>), AuthError> {
        let refused = AuthError::AuthorizationFailed;
        let callback = Callback::open(self.settings.redirect_url.as_deref()).await;
        let callback = callback.map_err(refused)?;
        let mut manager = self.manager().await?;
        let found = manager
            .resolve_metadata_from_challenge(Some(&challenge.header))
            .await?;
        locked(&self.issuer).clone_from(&found.metadata.issuer);
        metadata::check(&found.metadata, Flow::Code)?;
        manager.set_metadata(found.metadata);
        let request = self.request(callback.url(), &challenge.header, scopes);
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| error)?;
        let url = session.get_authorization_url();
        let page = Page::read(url).map_err(refused)?;
        let shown = json!({ "url": url, "redirectUrl": callback.url() }).to_string();
        let shown = self.callbacks.request(ClientRequest::Authorize, shown);
        let came_back = callback.wait(shown, &page.state).await.map_err(refused)?;
        session.handle_callback_url(&came_back).await?;
        Ok((session.auth_manager, page.scopes))
    }

    fn request(
        &self,
        redirect: &str,
        challenge: &str,
        scopes: Vec<String>,
    ) -> AuthorizationRequest {
        let OAuth {
            client_id,
            client_secret,
            scopes: configured,
            client_name,
            client_metadata_url,
            ..
        } = &self.settings;
        let name = client_name.as_deref().unwrap_or(CLIENT_NAME);
        let mut request = AuthorizationRequest::new(redirect)
            .with_client_name(name)
            .with_initial_scope_selection();
        if !challenge.is_empty() {
            request = request.with_challenge(challenge);
        }
        let scopes = if scopes.is_empty() {
            configured.clone()
        } else {
            scopes
        };
        if !scopes.is_empty() {
            request = request.with_scopes(scopes);
        }
        if let Some(id) = client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = client_secret {
            request = request.with_client_secret(secret);
        }
        if let Some(url) = client_metadata_url {
            request = request.with_client_metadata_url(url);
        }
        request
    }
}

/// That the user is being asked, for as long as this guard lives: its waiter may be dropped.
struct AuthorizingGuard<'a>(&'a AtomicBool);

impl<'a> AuthorizingGuard<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Release);
        Self(flag)
    }
}

impl Drop for AuthorizingGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn failure(status: u16, scope: Option<String>, what: &str, error: &AuthError) -> Failure {
    Failure::NotAuthorized {
        status,
        scope,
        reason: format!("{what}: {error}"),
        needs: Needs::Auth,
    }
}

//! OAuth tokens: kept as long as the client lives, and wherever the user's program keeps them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::transport::auth::OAuthTokenResponse;
use rmcp::transport::{AuthError, CredentialStore, StoredCredentials};
use serde_json::Value;
use tokio::sync::Mutex;

use super::dpop::Dpop;
use crate::client::{ClientCallbacks, ClientRequest};
use crate::secrets::Secrets;

/// The tokens of one server.
#[derive(Clone)]
pub(crate) struct Tokens {
    callbacks: Arc<dyn ClientCallbacks>,
    secrets: Secrets,
    cached: Arc<Mutex<Option<StoredCredentials>>>,
    /// The key that tokens may be bound to.
    dpop: Option<Arc<Dpop>>,
    /// Whether the present ones are.
    is_bound: Arc<AtomicBool>,
}

/// Where the key is kept, beside the tokens.
const KEY: &str = "dpopKey";

impl Tokens {
    pub(crate) fn new(
        callbacks: Arc<dyn ClientCallbacks>,
        secrets: Secrets,
        dpop: Option<Arc<Dpop>>,
    ) -> Self {
        Self {
            callbacks,
            secrets,
            cached: Arc::default(),
            dpop,
            is_bound: Arc::default(),
        }
    }

    /// Whether the tokens are of use only with the key.
    pub(super) fn are_bound(&self) -> bool {
        self.is_bound.load(Ordering::Acquire)
    }

    async fn ask(&self, request: ClientRequest, json: String) -> Result<String, AuthError> {
        self.callbacks
            .request(request, json)
            .await
            .map_err(AuthError::CredentialStoreError)
    }

    /// What the user has allowed.
    pub(super) async fn granted(&self) -> Vec<String> {
        let cached = self.cached.lock().await;
        cached
            .as_ref()
            .map_or_else(Vec::new, |cached| cached.granted_scopes.clone())
    }

    /// From now on, these texts are shown nowhere.
    pub(super) fn hide(&self, texts: impl IntoIterator<Item = String>) {
        self.secrets.add(texts);
    }

    /// What is to be known about tokens. From now on, they are shown nowhere.
    ///
    /// # Errors
    /// When they are of an unknown type: "The client MUST NOT use an access token if it does not
    /// understand the token type" (RFC 6749, section 7.1).
    fn learn(&self, tokens: Option<&OAuthTokenResponse>) -> Result<(), AuthError> {
        let Ok(Value::Object(fields)) = serde_json::to_value(tokens) else {
            return Ok(());
        };
        let kind = fields.get("token_type").and_then(Value::as_str);
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        let is_bound = kind == "dpop";
        self.is_bound.store(is_bound, Ordering::Release);
        let secret = ["access_token", "refresh_token", "id_token"];
        let texts = secret.iter().filter_map(|name| fields.get(*name)?.as_str());
        self.hide(texts.map(str::to_owned));
        if kind == "bearer" || is_bound && self.dpop.is_some() {
            return Ok(());
        }
        let shown: String = kind.chars().take(40).collect();
        Err(AuthError::AuthorizationFailed(format!(
            "the authorization server gave a token of the type {shown:?}, where only Bearer (or DPoP, with `oauth.dpop`) can be used"
        )))
    }
}

#[async_trait::async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let mut cached = self.cached.lock().await;
        if cached.is_none() {
            let text = self
                .ask(ClientRequest::LoadTokens, "null".to_owned())
                .await?;
            // What cannot be read, perhaps of an older version, is as good as nothing: the user is asked.
            let mut saved: Value = serde_json::from_str(&text).unwrap_or_default();
            let key = saved.as_object_mut().and_then(|saved| saved.remove(KEY));
            *cached = serde_json::from_value(saved).ok();
            let is_known = self
                .learn(
                    cached
                        .as_ref()
                        .and_then(|cached| cached.token_response.as_ref()),
                )
                .is_ok();
            let is_usable = match (&self.dpop, key.as_ref().and_then(Value::as_str)) {
                _ if !is_known => false,
                _ if !self.are_bound() => true,
                (Some(dpop), Some(key)) => dpop.restore(key),
                _ => false,
            };
            if !is_usable {
                *cached = None;
            }
        }
        Ok(cached.clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.learn(credentials.token_response.as_ref())?;
        let mut saved = serde_json::to_value(&credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        if let (true, Some(dpop), Some(saved)) =
            (self.are_bound(), &self.dpop, saved.as_object_mut())
        {
            saved.insert(KEY.to_owned(), Value::String(dpop.saved()));
        }
        let text = saved.to_string();
        *self.cached.lock().await = Some(credentials);
        self.ask(ClientRequest::SaveTokens, text).await.map(drop)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        *self.cached.lock().await = None;
        self.ask(ClientRequest::ClearTokens, "null".to_owned())
            .await
            .map(drop)
    }
}

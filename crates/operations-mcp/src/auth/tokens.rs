//! OAuth tokens: kept as long as the client lives, and wherever the user's program keeps them.

use std::sync::Arc;

use rmcp::transport::auth::OAuthTokenResponse;
use rmcp::transport::{AuthError, CredentialStore, StoredCredentials};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::client::{Host, Question};
use crate::secrets::Secrets;

/// The tokens of one server.
#[derive(Clone)]
pub(crate) struct Tokens {
    host: Arc<dyn Host>,
    secrets: Secrets,
    kept: Arc<Mutex<Option<StoredCredentials>>>,
}

impl Tokens {
    pub(crate) fn new(host: Arc<dyn Host>, secrets: Secrets) -> Self {
        Self {
            host,
            secrets,
            kept: Arc::default(),
        }
    }

    async fn ask(&self, question: Question, json: String) -> Result<String, AuthError> {
        self.host
            .ask(question, json)
            .await
            .map_err(AuthError::CredentialStoreError)
    }

    /// What the user has allowed.
    pub(super) async fn granted(&self) -> Vec<String> {
        let kept = self.kept.lock().await;
        kept.as_ref()
            .map_or_else(Vec::new, |kept| kept.granted_scopes.clone())
    }

    /// From now on, the tokens are shown nowhere.
    fn hide(&self, tokens: Option<&OAuthTokenResponse>) {
        let Ok(Value::Object(fields)) = serde_json::to_value(tokens) else {
            return;
        };
        let secret = ["access_token", "refresh_token", "id_token"];
        let texts = secret.iter().filter_map(|name| fields.get(*name)?.as_str());
        self.secrets.add(texts.map(str::to_owned));
    }
}

#[async_trait::async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let mut kept = self.kept.lock().await;
        if kept.is_none() {
            let text = self.ask(Question::LoadTokens, "null".to_owned()).await?;
            // What cannot be read, perhaps of an older version, is as good as nothing: the user is asked.
            *kept = serde_json::from_str::<Option<StoredCredentials>>(&text)
                .ok()
                .flatten();
            self.hide(kept.as_ref().and_then(|kept| kept.token_response.as_ref()));
        }
        Ok(kept.clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.hide(credentials.token_response.as_ref());
        let text = serde_json::to_string(&credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        *self.kept.lock().await = Some(credentials);
        self.ask(Question::SaveTokens, text).await.map(drop)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        *self.kept.lock().await = None;
        self.ask(Question::ClearTokens, "null".to_owned())
            .await
            .map(drop)
    }
}

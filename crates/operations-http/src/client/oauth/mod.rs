//! Tokens that a service gets for itself (OAuth 2.0).
//!
//! | file | idea |
//! |---|---|
//! | `settings` | what a configuration says, and a document |
//! | `endpoints` | where the authorization server is |
//! | `http` | requests to it |
//! | `login` | asking a person |
//! | `tokens` | what it issues |

mod endpoints;
mod http;
mod login;
mod settings;
mod tokens;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::secrets;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::endpoints::{Endpoints, Locator, Trust};
use self::http::{Form, Http, Refusal};
use self::settings::Grant;
pub(super) use self::settings::OAuthSettings;
pub use self::settings::{DocumentFlow, DocumentOAuth};
use self::tokens::Tokens;
use super::pool::Pool;
use crate::message::{Reach, Secret};
use url::Url;

/// Tokens that are kept for the callers of an exchange.
const MAX_SUBJECTS: usize = 10_000;
/// How long the program may take to load or save tokens.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// What only the program can do: its token store, and showing a page to its user.
pub trait OAuthCallbacks: Send + Sync {
    /// Asks it: `loadTokens`, `saveTokens`, `clearTokens`, or `authorize`. Question and answer are JSON.
    fn request(
        &self,
        kind: &'static str,
        question: String,
    ) -> BoxFuture<'static, Result<String, String>>;
}

/// What a service knows of the world when it gets its tokens itself.
#[derive(Default)]
pub struct OAuthSurroundings {
    /// What the document says.
    pub document: DocumentOAuth,
    /// The program.
    pub callbacks: Option<Arc<dyn OAuthCallbacks>>,
}

impl fmt::Debug for OAuthSurroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSurroundings").finish_non_exhaustive()
    }
}

type Fetch = Shared<BoxFuture<'static, Result<Secret, CallError>>>;

/// The tokens of a service, fetched when they are first needed: one, or one for each caller.
pub(super) struct OAuth {
    namespace: String,
    settings: OAuthSettings,
    locator: Locator,
    http: Http,
    callbacks: Option<Arc<dyn OAuthCallbacks>>,
    /// By the digests of the callers' tokens; without an exchange there is one.
    slots: Mutex<IndexMap<[u8; 32], Slot>>,
    /// What could not be saved, and what there is without a store. A refresh token may be the only one that is valid.
    unsaved: Mutex<Option<Tokens>>,
}

#[derive(Default)]
struct Slot {
    tokens: Option<Tokens>,
    /// All calls that need a token wait for the same request.
    fetching: Option<Fetch>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").finish_non_exhaustive()
    }
}

impl OAuth {
    pub(super) fn new(
        namespace: String,
        settings: OAuthSettings,
        surroundings: OAuthSurroundings,
        urls: (Option<Url>, Option<Url>),
        pool: Arc<Pool>,
        reach: Arc<Reach>,
    ) -> Result<Self, CallError> {
        let (base_url, document_url) = urls;
        let trust = Trust {
            base_url,
            document_url,
            reach: Arc::clone(&reach),
        };
        Ok(Self {
            locator: Locator::new(&settings, &surroundings.document, trust)?,
            callbacks: surroundings.callbacks.filter(|_| settings.has_store),
            namespace,
            settings,
            http: Http { pool, reach },
            slots: Mutex::default(),
            unsaved: Mutex::default(),
        })
    }

    /// Whether it trades the tokens of callers.
    pub(super) fn is_exchange(&self) -> bool {
        self.settings.grant == Grant::TokenExchange
    }

    /// A token that has not expired, and is not the one that a server has just refused. `subject` is the caller's.
    pub(super) async fn token(
        self: &Arc<Self>,
        subject: Option<&Secret>,
        refused: Option<&Secret>,
    ) -> Result<Secret, CallError> {
        let subject = subject.filter(|_| self.is_exchange()).cloned();
        if self.is_exchange() && subject.is_none() {
            return Err(self.failure(
                "is asked with the token of the caller (`token_exchange`), and this call came without one",
            ));
        }
        let text = subject.as_ref().map_or("", Secret::expose);
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        let fetching = {
            let mut slots = locked(&self.slots);
            if slots.len() >= MAX_SUBJECTS && !slots.contains_key(&key) {
                slots.retain(|_, slot| {
                    slot.fetching.is_some()
                        || slot.tokens.as_ref().is_some_and(|it| it.is_usable(None))
                });
                if slots.len() >= MAX_SUBJECTS {
                    slots.shift_remove_index(0);
                }
            }
            let slot = slots.entry(key).or_default();
            if let Some(tokens) = slot.tokens.as_ref().filter(|it| it.is_usable(refused)) {
                return Ok(tokens.access_token.clone());
            }
            let start = || self.start(key, subject, refused.cloned());
            slot.fetching.get_or_insert_with(start).clone()
        };
        fetching.await
    }

    /// A task of its own: a call that is cancelled must not end the request that others wait for.
    fn start(
        self: &Arc<Self>,
        key: [u8; 32],
        subject: Option<Secret>,
        refused: Option<Secret>,
    ) -> Fetch {
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            let fetched = this.fetch(subject, refused.as_ref()).await;
            let mut slots = locked(&this.slots);
            let slot = slots.get_mut(&key);
            let token = fetched.as_ref().map(|tokens| tokens.access_token.clone());
            let token = token.map_err(|refusal| this.failure(&refusal.why));
            if let Some(slot) = slot {
                slot.fetching = None;
                slot.tokens = fetched.ok();
            }
            token
        });
        let task = task.map(|ended| {
            ended.unwrap_or_else(|_| {
                Err(CallError::failed("The request for a token was interrupted"))
            })
        });
        task.boxed().shared()
    }

    /// Asks a person now, whatever tokens there are.
    pub(super) async fn login(&self, is_device: bool) -> Result<(), CallError> {
        let work = async {
            let tokens = self.ask_person(is_device).await?;
            self.save(tokens).await
        };
        let saved = work.await.map_err(|refusal| self.failure(&refusal.why));
        saved.map(|_| locked(&self.slots).clear())
    }

    fn failure(&self, why: &str) -> CallError {
        let host = self.locator.host();
        CallError::failed(format!("There is no token for the call: {host} {why}"))
            .with_details(json!({ "reason": "not-authorized", "tokenHost": host }))
    }

    async fn fetch(
        &self,
        subject: Option<Secret>,
        refused: Option<&Secret>,
    ) -> Result<Tokens, Refusal> {
        if let Some(subject) = subject {
            let mut form = vec![
                (
                    "grant_type",
                    "urn:ietf:params:oauth:grant-type:token-exchange".to_owned(),
                ),
                ("subject_token", subject.expose().to_owned()),
                ("subject_token_type", ACCESS_TOKEN.to_owned()),
                ("requested_token_type", ACCESS_TOKEN.to_owned()),
            ];
            form.extend(self.what_for());
            return self.request(form).await;
        }
        // Another process may have renewed them.
        let stored = self.load().await?;
        if let Some(usable) = stored.as_ref().filter(|it| it.is_usable(refused)) {
            return Ok(usable.clone());
        }
        if self.settings.grant == Grant::ClientCredentials {
            let mut form = vec![("grant_type", "client_credentials".to_owned())];
            form.extend(self.what_for());
            let tokens = self.request(form).await?;
            return self.save(tokens).await;
        }
        let seed = || self.settings.refresh_token.clone();
        let refresh = stored.map_or_else(seed, |stored| stored.refresh_token);
        let is_code = self.settings.grant == Grant::AuthorizationCode;
        if let Some(refresh) = refresh {
            match self.refresh(refresh).await {
                // The store keeps its tokens: another process may be about to save newer ones.
                Err(refusal) if refusal.code == "invalid_grant" && is_code => {}
                ended => return ended,
            }
        }
        if !is_code {
            return Err(
                "needs a refresh token, and neither `refreshToken` nor `tokenStore` has one".into(),
            );
        }
        let tokens = self.ask_person(false).await?;
        self.save(tokens).await
    }

    /// Renews a token. Where the server does not know the refresh token (any more), another process may have used it just now.
    async fn refresh(&self, refresh: Secret) -> Result<Tokens, Refusal> {
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.expose().to_owned()),
        ];
        let refused = match self.request(form).await {
            Ok(mut tokens) => {
                tokens.refresh_token.get_or_insert(refresh);
                return self.save(tokens).await;
            }
            Err(refusal) if refusal.code == "invalid_grant" => refusal,
            Err(refusal) => return Err(refusal),
        };
        let newer = self.load().await?.filter(|it| it.is_usable(None));
        newer
            .filter(|newer| newer.refresh_token.as_ref() != Some(&refresh))
            .ok_or(refused)
    }

    async fn endpoints(&self) -> Result<&Endpoints, Refusal> {
        Ok(self.locator.find(&self.http).await?)
    }

    /// Asks the token endpoint.
    async fn request(&self, form: Form) -> Result<Tokens, Refusal> {
        let endpoints = self.endpoints().await?;
        let asked = self
            .http
            .post(&endpoints.token, form, &self.settings, endpoints);
        Ok(Tokens::read(&asked.await?, &self.settings.client_id)?)
    }

    /// What a token is to be for.
    fn what_for(&self) -> Form {
        let OAuthSettings {
            scopes,
            audience,
            resource,
            ..
        } = &self.settings;
        vec![
            ("scope", scopes.join(" ")),
            ("audience", audience.clone().unwrap_or_default()),
            ("resource", resource.clone().unwrap_or_default()),
        ]
    }

    /// Shows a page to the user. The answer is an address, or nothing.
    async fn ask_to_visit(&self, mut page: Value) -> Result<String, String> {
        let callbacks = self.callbacks.as_ref();
        let callbacks = callbacks.ok_or("needs a login, and there is no `onAuthorize`")?;
        if let Some(page) = page.as_object_mut() {
            page.insert("server".to_owned(), json!(self.namespace));
        }
        callbacks.request("authorize", page.to_string()).await
    }

    async fn load(&self) -> Result<Option<Tokens>, Refusal> {
        let unsaved = locked(&self.unsaved).clone();
        let text = match (unsaved, &self.callbacks) {
            (unsaved, None) => return Ok(unsaved),
            (Some(unsaved), Some(_)) => return self.save(unsaved).await.map(Some),
            (None, Some(_)) => self.store("loadTokens", "null".to_owned()).await?,
        };
        // What cannot be read, perhaps of another client, is as good as nothing.
        let stored: Option<Tokens> = serde_json::from_str(&text).unwrap_or_default();
        Ok(stored.filter(|stored| stored.client_id == self.settings.client_id))
    }

    /// The tokens, once they are stored: a refresh token that was used is of no use any more.
    async fn save(&self, tokens: Tokens) -> Result<Tokens, Refusal> {
        *locked(&self.unsaved) = Some(tokens.clone());
        if self.callbacks.is_some() {
            let text = json!(tokens).to_string();
            let saved = self.store("saveTokens", text).await;
            saved.map_err(|why| secrets::hide(&why, tokens.secrets()).into_owned())?;
            *locked(&self.unsaved) = None;
        }
        Ok(tokens)
    }

    async fn store(&self, kind: &'static str, question: String) -> Result<String, String> {
        let callbacks = self.callbacks.as_ref().ok_or("has no token store")?;
        let answer = timeout(STORE_TIMEOUT, callbacks.request(kind, question)).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        answer.map_err(|why| format!("could not be asked, because `tokenStore` failed: {why}"))
    }
}

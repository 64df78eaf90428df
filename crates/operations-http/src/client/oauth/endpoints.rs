//! Where the authorization server is: as the configuration says, its metadata, or a document that may be believed.

use std::sync::Arc;

use operations_core::error::CallError;
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::Url;

use super::http::Http;
use super::settings::{DocumentFlow, DocumentOAuth, Grant, OAuthSettings};
use crate::fetch::is_secure;
use crate::message::Reach;

/// The addresses of an authorization server.
#[derive(Debug, Clone)]
pub(super) struct Endpoints {
    pub(super) token: Url,
    pub(super) authorization: Option<Url>,
    pub(super) device: Option<Url>,
    /// Who it says it is.
    pub(super) issuer: Option<String>,
    /// Whether it takes secrets in the body alone.
    pub(super) wants_post: bool,
}

/// What is known of them before anything is fetched.
pub(super) struct Locator {
    token: Option<Url>,
    authorization: Option<Url>,
    metadata: Option<Metadata>,
    found: OnceCell<Endpoints>,
}

enum Metadata {
    /// Of the issuer that the configuration names.
    Issuer(String),
    /// Where a document says. Its author must not choose who gets the credentials.
    Document(Url, Box<Trust>),
}

/// Hosts that a document may name.
pub(super) struct Trust {
    pub(super) base_url: Option<Url>,
    pub(super) document_url: Option<Url>,
    pub(super) reach: Arc<Reach>,
}

impl Trust {
    /// The address in a document, if credentials may go there.
    fn url(&self, text: &str, what: &str) -> Result<Url, CallError> {
        let base = self.document_url.as_ref().or(self.base_url.as_ref());
        let url = base.map_or_else(|| Url::parse(text), |base| base.join(text));
        let url = url.ok().filter(is_secure).ok_or_else(|| {
            CallError::invalid(format!(
                "config.auth: the {what} of the document is no https URL. Set `tokenUrl`, or `issuer`"
            ))
        })?;
        if self.includes(&url) {
            return Ok(url);
        }
        let host = url.host_str().unwrap_or_default();
        Err(CallError::invalid(format!(
            "config.auth: credentials are not sent to {host}, which only the document names. Set `tokenUrl` or `issuer`, or list \
             the host in `hosts`"
        )))
    }

    fn includes(&self, url: &Url) -> bool {
        let own = [&self.base_url, &self.document_url].into_iter().flatten();
        own.into_iter().any(|own| own.host_str() == url.host_str()) || self.reach.lists(url)
    }
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    token_endpoint: String,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl Locator {
    pub(super) fn new(
        settings: &OAuthSettings,
        document: &DocumentOAuth,
        trust: Trust,
    ) -> Result<Self, CallError> {
        let named = |url: &Option<String>| url.as_deref().and_then(|url| Url::parse(url).ok());
        let mut this = Self {
            token: named(&settings.token_url),
            authorization: named(&settings.authorization_url),
            metadata: settings.issuer.clone().map(Metadata::Issuer),
            found: OnceCell::new(),
        };
        if this.token.is_some() || this.metadata.is_some() {
            return Ok(this);
        }
        if let Some((flow, token_url)) = flow_for(settings.grant, document) {
            this.token = Some(trust.url(token_url, "token URL")?);
            let page = flow.authorization_url.as_deref();
            let page = page.and_then(|page| trust.url(page, "authorization URL").ok());
            this.authorization = this.authorization.or(page);
        } else if let Some(url) = &document.open_id_connect_url {
            let url = trust.url(url, "openIdConnectUrl")?;
            this.metadata = Some(Metadata::Document(url, Box::new(trust)));
        } else {
            return Err(CallError::invalid(
                "config.auth must have `tokenUrl` or `issuer`: the document names no token endpoint",
            ));
        }
        Ok(this)
    }

    /// The host that messages name.
    pub(super) fn host(&self) -> String {
        let issuer = match &self.metadata {
            Some(Metadata::Issuer(issuer)) => Url::parse(issuer).ok(),
            Some(Metadata::Document(url, _)) => Some(url.clone()),
            None => None,
        };
        let url = self.token.clone().or(issuer);
        let host = url.as_ref().and_then(Url::host_str);
        host.unwrap_or_default().to_owned()
    }

    /// The addresses, with the metadata where there is some. What could not be fetched is asked for again the next time.
    pub(super) async fn find(&self, http: &Http) -> Result<&Endpoints, String> {
        let found = self.found.get_or_try_init(|| self.look_up(http));
        found.await
    }

    async fn look_up(&self, http: &Http) -> Result<Endpoints, String> {
        let found = match &self.metadata {
            None => None,
            Some(Metadata::Document(url, trust)) => {
                let found = metadata(http, url).await?;
                let pages = [
                    &found.authorization_endpoint,
                    &found.device_authorization_endpoint,
                ];
                let leaves = |url: &String| !Url::parse(url).is_ok_and(|url| trust.includes(&url));
                if leaves(&found.token_endpoint) || pages.into_iter().flatten().any(leaves) {
                    return Err(
                        "has an endpoint at a host that only the document leads to. Set `tokenUrl` or `issuer`, or list \
                         that host in `hosts`"
                            .to_owned(),
                    );
                }
                Some(found)
            }
            Some(Metadata::Issuer(issuer)) => Some(of_issuer(http, issuer).await?),
        };
        let secure = |url: &String| Url::parse(url).ok().filter(is_secure);
        let Some(found) = found else {
            let token = self.token.clone().ok_or("has no token endpoint")?;
            return Ok(Endpoints {
                token,
                authorization: self.authorization.clone(),
                device: None,
                issuer: None,
                wants_post: false,
            });
        };
        let named = || secure(&found.token_endpoint);
        let token = self.token.clone().or_else(named);
        let page = || found.authorization_endpoint.as_ref().and_then(secure);
        let methods = &found.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().any(|each| each == method);
        Ok(Endpoints {
            token: token.ok_or("has a token endpoint that is no https URL")?,
            authorization: self.authorization.clone().or_else(page),
            device: found
                .device_authorization_endpoint
                .as_ref()
                .and_then(secure),
            wants_post: takes("client_secret_post") && !takes("client_secret_basic"),
            issuer: Some(found.issuer),
        })
    }
}

/// The flow for a grant, else any that has a token endpoint.
fn flow_for(grant: Grant, document: &DocumentOAuth) -> Option<(&DocumentFlow, &str)> {
    let name = match grant {
        Grant::ClientCredentials | Grant::TokenExchange => "clientCredentials",
        Grant::RefreshToken | Grant::AuthorizationCode => "authorizationCode",
    };
    let mut flows = document.flows.iter();
    let own = flows.find(|flow| flow.name == name && flow.token_url.is_some());
    let flow = own.or_else(|| document.flows.iter().find(|flow| flow.token_url.is_some()))?;
    Some((flow, flow.token_url.as_deref()?))
}

async fn metadata(http: &Http, url: &Url) -> Result<Document, String> {
    let (status, body) = http.get(url).await?;
    if status != 200 {
        return Err(format!("answered with HTTP {status} for its metadata"));
    }
    serde_json::from_slice(&body)
        .map_err(|_| "has metadata without an issuer or a token endpoint".to_owned())
}

/// `OpenID` Connect Discovery, then RFC 8414.
async fn of_issuer(http: &Http, issuer: &str) -> Result<Document, String> {
    let same = |text: &str| text.trim_end_matches('/') == issuer.trim_end_matches('/');
    let url = Url::parse(issuer).map_err(|_| "is no URL".to_owned())?;
    let path = url.path().trim_end_matches('/');
    let mut why = String::new();
    for path in [
        format!("{path}/.well-known/openid-configuration"),
        format!("/.well-known/oauth-authorization-server{path}"),
    ] {
        let mut url = url.clone();
        url.set_path(&path);
        match metadata(http, &url).await {
            Ok(found) if same(&found.issuer) => return Ok(found),
            Ok(_) => "has the metadata of another issuer".clone_into(&mut why),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

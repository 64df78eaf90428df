//! Asking a person: in a browser that comes back to a port of this machine, or on any device, with a code.

use std::time::Duration;

use futures::future::pending;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use url::Url;

use super::OAuth;
use super::http::{Form, Refusal};
use super::tokens::Tokens;
use crate::fetch::is_secure;
use crate::oauth::callback::Callback;
use crate::oauth::jwt;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two questions of the device flow, in seconds, where the server does not say.
const INTERVAL: u64 = 5;
const SLOWEST: u64 = 60;

impl OAuth {
    /// Asks a person, by a code for another device where `is_device` says so.
    pub(super) async fn ask_person(&self, is_device: bool) -> Result<Tokens, Refusal> {
        let work = async {
            if is_device {
                self.by_device().await
            } else {
                self.by_browser().await
            }
        };
        let asked = timeout(PATIENCE, work).await;
        asked.unwrap_or_else(|_| Err("was not visited in time".into()))
    }

    async fn by_browser(&self) -> Result<Tokens, Refusal> {
        let endpoints = self.endpoints().await?;
        let page = endpoints.authorization.clone();
        let mut page = page.ok_or(
            "has no page for a login that is known here: set `authorizationUrl`, or `issuer`",
        )?;
        let callback = Callback::open(self.settings.redirect_url.as_deref()).await?;
        let random = SystemRandom::new();
        let state = jwt::id(&random)?;
        // RFC 7636 wants 43 characters at least.
        let verifier = format!("{}{}", jwt::id(&random)?, jwt::id(&random)?);
        let challenge = jwt::encode(digest(&SHA256, verifier.as_bytes()));
        let mut query: Form = vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.settings.client_id.clone()),
            ("redirect_uri", callback.url().to_owned()),
            ("state", state.clone()),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256".to_owned()),
        ];
        query.extend(self.what_for());
        query.retain(|(_, value)| !value.is_empty());
        page.query_pairs_mut().extend_pairs(query);
        let redirect = callback.url().to_owned();
        let shown = self.ask_to_visit(json!({ "url": page.as_str(), "redirectUrl": redirect }));
        let address = callback.wait(shown, &state).await?;
        let address = Url::parse(&address).map_err(|error| error.to_string())?;
        let find = |name: &str| {
            let mut pairs = address.query_pairs();
            let found = pairs.find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned())
        };
        if find("state").as_deref() != Some(&*state) {
            return Err("sent the browser back with another state than ours".into());
        }
        // RFC 9207: a code of another server is not for this one.
        if let (Some(by), Some(issuer)) = (find("iss"), &endpoints.issuer)
            && by != *issuer
        {
            return Err("sent the browser back with a code of another issuer".into());
        }
        let code = find("code").ok_or("sent the browser back without a code")?;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        self.request(form).await
    }

    /// RFC 8628.
    async fn by_device(&self) -> Result<Tokens, Refusal> {
        let endpoints = self.endpoints().await?;
        let endpoint = endpoints.device.as_ref();
        let endpoint = endpoint.ok_or("has no endpoint for device codes in its metadata")?;
        let form = self.what_for();
        let answer = self.http.post(endpoint, form, &self.settings, endpoints);
        let answer = answer.await?;
        let word = |name: &str| answer.get(name).and_then(Value::as_str);
        let secure = |url: &&str| Url::parse(url).is_ok_and(|url| is_secure(&url));
        let page = word("verification_uri").filter(secure);
        let (Some(page), Some(device), Some(code)) = (page, word("device_code"), word("user_code"))
        else {
            return Err("answered without a device code, or without a page for it".into());
        };
        let page = word("verification_uri_complete")
            .filter(secure)
            .unwrap_or(page);
        let shown = self.ask_to_visit(json!({ "url": page, "userCode": code }));
        let shown = async {
            match shown.await {
                Ok(_) => pending().await,
                Err(why) => why,
            }
        };
        let interval = answer.get("interval").and_then(Value::as_u64);
        tokio::select! {
            why = shown => Err(why.into()),
            tokens = self.poll(device, interval.unwrap_or(INTERVAL)) => tokens,
        }
    }

    async fn poll(&self, device: &str, mut interval: u64) -> Result<Tokens, Refusal> {
        loop {
            interval = interval.clamp(1, SLOWEST);
            sleep(Duration::from_secs(interval)).await;
            let kind = "urn:ietf:params:oauth:grant-type:device_code";
            let form = vec![
                ("grant_type", kind.to_owned()),
                ("device_code", device.to_owned()),
            ];
            match self.request(form).await {
                Err(refusal) if refusal.code == "authorization_pending" => {}
                Err(refusal) if refusal.code == "slow_down" => interval += INTERVAL,
                ended => return ended,
            }
        }
    }
}

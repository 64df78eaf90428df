//! What the configuration of a service says, as the facade hands it over.

use std::time::Duration;

use indexmap::IndexMap;
use operations_core::clock::milliseconds;
use operations_core::error::CallError;
use operations_core::number::{count, size};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::oauth::OAuthSettings;
use crate::fetch::is_secure;
use crate::machine::Rules;
use crate::machine::retry::{Reconnect, RetryPolicy};
use crate::message::headers::{check_name, check_value};
use crate::message::{Auth, BaseUrl, Reach, Secret};
use crate::sse::Limits;

/// The settings of a service, checked.
#[derive(Debug)]
pub struct ServiceSettings {
    /// The namespace of the operations, for messages.
    pub(super) namespace: String,
    pub(super) base_url: Option<BaseUrl>,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) auth: Option<Auth>,
    pub(super) oauth: Option<OAuthSettings>,
    pub(super) rules: Rules,
    pub(super) reach: Reach,
    /// Where streams begin; empty for at the beginning.
    pub(super) last_event_id: String,
    pub(super) ca: Vec<String>,
}

/// How much of a response is read when the configuration says nothing.
const DEFAULT_MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// How long a call may take when the configuration says nothing. A limit of 0 means no limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// Attempts in a row without an event, where the configuration does not say.
const DEFAULT_STREAM_RETRIES: u32 = 5;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    namespace: String,
    base_url: Option<String>,
    hosts: Option<Vec<String>>,
    allow_private_addresses: bool,
    headers: IndexMap<String, String>,
    auth: Option<Auth>,
    oauth: Option<OAuthSettings>,
    timeout: Option<f64>,
    max_response_bytes: Option<f64>,
    retry: Option<RawRetry>,
    sse: RawSse,
    ca: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawRetry {
    retries: Option<f64>,
    delay: Option<f64>,
    max_delay: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSse {
    /// Whether; or `any-method`.
    reconnect: Value,
    max_retries: Option<f64>,
    last_event_id: Option<String>,
    max_event_bytes: Option<f64>,
}

impl ServiceSettings {
    /// Reads the settings from JSON.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` that names the setting and never quotes a secret.
    pub fn from_json(text: &str) -> Result<Self, CallError> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| {
            let why = error.to_string();
            // Where it stands in a text that the user has never seen says nothing.
            let why = why.split(" at line ").next().unwrap_or_default();
            CallError::invalid(format!("The configuration cannot be used: {why}"))
        })?;
        let base_url = raw.base_url.as_deref().map(BaseUrl::parse).transpose()?;
        let mut reach = Reach::new(raw.hosts.as_deref(), raw.allow_private_addresses)?;
        if let Some(base_url) = &base_url {
            reach.name(base_url.url());
        }
        for (name, url) in raw.oauth.iter().flat_map(OAuthSettings::urls) {
            let url = Url::parse(url).ok().filter(is_secure).ok_or_else(|| {
                CallError::invalid(format!(
                    "config.auth.{name} must be an https URL (http is for this machine alone)"
                ))
            })?;
            reach.name(&url);
        }
        let timeout = raw.timeout.map_or(DEFAULT_TIMEOUT, milliseconds);
        let any_method = raw.sse.reconnect == "any-method";
        for (name, value) in &raw.headers {
            check_value(check_name(name)?, value)?;
        }
        let headers = raw.headers.into_iter();
        let headers = headers.map(|(name, value)| (name, Secret::new(value)));
        let sse = raw.sse;
        if let Some(id) = &sse.last_event_id {
            check_value("Last-Event-ID", id)?;
        }
        let max_response_bytes = raw.max_response_bytes;
        let event_bytes = sse.max_event_bytes.map(size);
        Ok(Self {
            namespace: raw.namespace,
            reach,
            base_url,
            headers: headers.collect(),
            auth: raw.auth,
            oauth: raw.oauth,
            rules: Rules {
                timeout: (!timeout.is_zero()).then_some(timeout),
                max_response_bytes: max_response_bytes.map_or(DEFAULT_MAX_RESPONSE_BYTES, size),
                retry: raw.retry.as_ref().map(retry).unwrap_or_default(),
                event_limits: event_bytes
                    .map(|event_bytes| Limits { event_bytes })
                    .unwrap_or_default(),
                reconnect: (any_method || sse.reconnect == true).then(|| Reconnect {
                    max_retries: sse.max_retries.map_or(DEFAULT_STREAM_RETRIES, count),
                    any_method,
                }),
            },
            last_event_id: sse.last_event_id.unwrap_or_default(),
            ca: raw.ca,
        })
    }
}

fn retry(raw: &RawRetry) -> RetryPolicy {
    let default = RetryPolicy::default();
    RetryPolicy {
        retries: raw.retries.map_or(0, count),
        first_delay: raw.delay.map_or(default.first_delay, milliseconds),
        longest_delay: raw.max_delay.map_or(default.longest_delay, milliseconds),
    }
}

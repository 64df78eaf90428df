//! What a document says about credentials: a hint for the `auth` of a service.

use std::sync::Arc;

use operations_http::{DocumentFlow, DocumentOAuth};
use serde::Serialize;

use super::document::{At, Document};
use super::version::Version;

/// One way to prove who calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecurityHint {
    /// The name of the scheme in the document.
    pub scheme: String,
    /// `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS` or `basic` (Swagger 2.0).
    #[serde(rename = "type")]
    pub kind: String,
    /// For `apiKey`: where the key goes.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// For `apiKey`: the name of the header, query parameter or cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For `http`: the scheme of the `Authorization` header, such as `bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_scheme: Option<String>,
    /// The scopes that are needed.
    pub scopes: Vec<String>,
}

/// What an operation demands: one of several sets of schemes. An empty set means that it can be
/// called without any.
pub type Security = Arc<[Vec<SecurityHint>]>;

/// The requirements in a `security` list; nothing when there is no such list.
pub(super) fn of_list(document: &Document, holder: &At<'_>) -> Option<Security> {
    let list = holder.get("security")?;
    let sets: Vec<Vec<SecurityHint>> = list
        .items()
        .map(|set| {
            set.entries()
                .filter_map(|(name, scopes)| hint(document, name, &scopes))
                .collect()
        })
        .collect();
    Some(sets.into())
}

fn schemes(document: &Document) -> Option<At<'_>> {
    let start = document.start();
    match document.version() {
        Version::Swagger2 => start.get("securityDefinitions"),
        _ => start.get("components")?.get("securitySchemes"),
    }
}

/// What the OAuth schemes of a document say about the server that issues its tokens.
pub(super) fn oauth_of(document: &Document) -> DocumentOAuth {
    let mut found = DocumentOAuth::default();
    let Some(schemes) = schemes(document) else {
        return found;
    };
    let flow = |name: &str, flow: &At<'_>| {
        let name = match name {
            // As Swagger 2.0 has them.
            "application" => "clientCredentials",
            "accessCode" => "authorizationCode",
            name => name,
        };
        DocumentFlow {
            name: name.to_owned(),
            token_url: flow.string("tokenUrl").map(str::to_owned),
            authorization_url: flow.string("authorizationUrl").map(str::to_owned),
        }
    };
    for (_, scheme) in schemes.entries() {
        let Ok(scheme) = document.follow(scheme) else {
            continue;
        };
        let flows = scheme.get("flows");
        match (scheme.string("type"), flows) {
            (Some("oauth2"), Some(flows)) => {
                let flows = flows.entries().map(|(name, each)| flow(name, &each));
                found.flows.extend(flows);
            }
            (Some("oauth2"), None) => {
                let name = scheme.string("flow").unwrap_or_default();
                found.flows.push(flow(name, &scheme));
            }
            (Some("openIdConnect"), _) => {
                let url = scheme.string("openIdConnectUrl").map(str::to_owned);
                found.open_id_connect_url = found.open_id_connect_url.or(url);
            }
            _ => {}
        }
    }
    found
}

fn hint(document: &Document, name: &str, scopes: &At<'_>) -> Option<SecurityHint> {
    let scheme = document.follow(schemes(document)?.get(name)?).ok()?;
    let word = |key: &str| scheme.string(key).map(str::to_owned);
    Some(SecurityHint {
        scheme: name.to_owned(),
        kind: word("type")?,
        location: word("in"),
        name: word("name"),
        http_scheme: word("scheme"),
        scopes: scopes
            .items()
            .filter_map(|scope| scope.value.as_str().map(str::to_owned))
            .collect(),
    })
}

/// What a requirement takes where it is written out, in bytes, roughly.
pub(super) fn size(security: &Security) -> usize {
    let texts = |hint: &SecurityHint| {
        let words = [&hint.location, &hint.name, &hint.http_scheme];
        let words: usize = words.into_iter().flatten().map(String::len).sum();
        let scopes: usize = hint.scopes.iter().map(|scope| scope.len() + 24).sum();
        64 + hint.scheme.len() + hint.kind.len() + words + scopes
    };
    security.iter().flatten().map(texts).sum()
}

//! How a client that is not let in can get in: `WWW-Authenticate`, and the metadata of a protected resource
//! (RFC 9728).

use http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::{self, Body};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Who hands out the tokens that are valid here.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth {
    /// What is protected: the URL under which clients know it.
    pub resource: String,
    /// Who hands out tokens for it.
    pub authorization_servers: Vec<String>,
    /// The scopes that there are.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
}

/// Put into the extensions of an answer with the status 401: the client has shown something that is not valid.
#[derive(Debug, Clone, Copy)]
pub struct InvalidToken;

/// Put into the extensions of an answer with the status 403: these would have let the client in.
#[derive(Debug, Clone)]
pub struct MissingScopes(pub Vec<String>);

impl OAuth {
    /// The metadata, if this path is where it is looked for.
    #[must_use]
    pub fn metadata(&self, path: &str) -> Option<Response<Body>> {
        let below = path.strip_prefix(WELL_KNOWN)?;
        // Clients try the address for the path that they use, and then at the root.
        if !below.is_empty() && !below.starts_with('/') {
            return None;
        }
        let mut metadata = json!({
            "resource": self.resource,
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
        });
        if let (Some(scopes), Some(metadata)) = (&self.scopes, metadata.as_object_mut()) {
            metadata.insert("scopes_supported".to_owned(), json!(scopes));
        }
        let mut response = Response::new(body::full(metadata.to_string()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
        Some(response)
    }

    /// Where the metadata is: between the host and the path of the resource.
    fn metadata_url(&self) -> String {
        let (origin, path) = self.parts();
        format!("{origin}{WELL_KNOWN}{path}")
    }

    /// The resource without its path.
    pub(crate) fn origin(&self) -> &str {
        self.parts().0
    }

    fn parts(&self) -> (&str, &str) {
        let start = self.resource.find("://").map_or(0, |at| at + 3);
        let resource = self.resource.trim_end_matches('/');
        let path_at = resource
            .get(start..)
            .and_then(|rest| rest.find('/'))
            .map_or(resource.len(), |at| start + at);
        resource.split_at(path_at)
    }
}

/// Adds what a client needs to know to an answer that does not let it in.
pub fn add(response: &mut Response<Body>, oauth: Option<&OAuth>) {
    let mut parts = Vec::new();
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            if response.extensions().get::<InvalidToken>().is_some() {
                parts.push("error=\"invalid_token\"".to_owned());
            }
        }
        StatusCode::FORBIDDEN => {
            let Some(MissingScopes(scopes)) = response.extensions().get() else {
                return;
            };
            parts.push("error=\"insufficient_scope\"".to_owned());
            if !scopes.is_empty() && scopes.iter().all(|scope| is_scope(scope)) {
                parts.push(format!("scope=\"{}\"", scopes.join(" ")));
            }
        }
        _ => return,
    }
    if let Some(oauth) = oauth {
        parts.push(format!("resource_metadata=\"{}\"", oauth.metadata_url()));
    }
    let challenge = if parts.is_empty() {
        "Bearer".to_owned()
    } else {
        format!("Bearer {}", parts.join(", "))
    };
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

/// Whether a scope can stand in a header as it is.
fn is_scope(scope: &str) -> bool {
    !scope.is_empty()
        && scope
            .bytes()
            .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// The scopes that a denial says were missing.
#[must_use]
pub fn missing_scopes(details: Option<&Value>) -> MissingScopes {
    let list = |name| {
        let scopes = details.and_then(|details| details.get(name)?.as_array());
        scopes
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect::<Vec<String>>()
    };
    let missing = list("missingScopes");
    MissingScopes(if missing.is_empty() {
        list("requiredScopesAny")
    } else {
        missing
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oauth(resource: &str) -> OAuth {
        OAuth {
            resource: resource.to_owned(),
            authorization_servers: vec!["https://login.example".to_owned()],
            scopes: None,
        }
    }

    #[test]
    fn the_metadata_is_between_host_and_path() {
        for (resource, url) in [
            (
                "https://a.example",
                "https://a.example/.well-known/oauth-protected-resource",
            ),
            (
                "https://a.example/",
                "https://a.example/.well-known/oauth-protected-resource",
            ),
            (
                "https://a.example:1/x/y",
                "https://a.example:1/.well-known/oauth-protected-resource/x/y",
            ),
        ] {
            assert_eq!(oauth(resource).metadata_url(), url);
        }
        let known = oauth("https://a.example");
        for (path, is_there) in [
            ("/.well-known/oauth-protected-resource", true),
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/.well-known/oauth-protected-resources", false),
            ("/.well-known", false),
        ] {
            assert_eq!(known.metadata(path).is_some(), is_there, "{path}");
        }
    }

    #[test]
    fn a_scope_that_would_end_the_header_is_left_out() {
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::FORBIDDEN;
        response
            .extensions_mut()
            .insert(MissingScopes(vec!["a\"b".to_owned()]));
        add(&mut response, None);
        assert_eq!(
            response.headers()[WWW_AUTHENTICATE],
            "Bearer error=\"insufficient_scope\""
        );
    }
}

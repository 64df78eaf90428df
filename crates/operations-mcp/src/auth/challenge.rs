//! What a server says that refuses a request for want of a token, or of a better one.

use ::http::header::WWW_AUTHENTICATE;
use reqwest::{Response, StatusCode};
use rmcp::transport::auth::WWWAuthenticateParams;

use crate::error::{Failure, Needs};

/// A refusal that a token may cure.
pub(crate) struct Challenge {
    pub(crate) status: u16,
    /// `WWW-Authenticate`, as it came.
    pub(crate) header: String,
    scope: Option<String>,
}

impl Challenge {
    /// The challenge in a response, if there is one.
    pub(crate) fn of(response: &Response) -> Option<Self> {
        let status = response.status();
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return None;
        }
        let headers = response.headers().get_all(WWW_AUTHENTICATE);
        let mut headers: Vec<&str> = headers
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        // Some servers offer other schemes too.
        headers.sort_by_key(|header| !header.to_ascii_lowercase().starts_with("bearer"));
        let header = headers.first().copied().unwrap_or_default();
        let params = WWWAuthenticateParams::parse(header, response.url());
        // A request that is forbidden for other reasons is not helped by a token.
        (status == StatusCode::UNAUTHORIZED || params.is_insufficient_scope()).then(|| Self {
            status: status.as_u16(),
            header: header.to_owned(),
            scope: params.scope.filter(|scope| !scope.is_empty()),
        })
    }

    /// Whether the token is good, and does not allow enough.
    pub(crate) fn wants_more(&self) -> bool {
        self.status == StatusCode::FORBIDDEN.as_u16()
    }

    /// What the token should allow.
    pub(crate) fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// The error that it becomes when nothing helps.
    pub(crate) fn failure(&self) -> Failure {
        let reason = match (self.wants_more(), &self.scope) {
            (true, Some(scope)) => {
                format!("it wants a token that allows more (HTTP 403): '{scope}'")
            }
            (true, None) => "it wants a token that allows more (HTTP 403)".to_owned(),
            (false, _) => "it wants a token (HTTP 401). Send one in 'headers', or let the user grant one: 'oauth' \
                           in the configuration says how"
                .to_owned(),
        };
        Failure::NotAuthorized {
            status: self.status,
            scope: self.scope.clone(),
            reason,
            needs: Needs::Auth,
        }
    }
}

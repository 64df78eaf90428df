//! Pages of other origins: what their browsers want to know before they let them read an answer. Which origins may call at
//! all is decided before ([`crate::origin_check`]).

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use serde::Deserialize;

use crate::body::{self, Body};

/// What pages may do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cors {
    /// Whether browsers may send cookies and their like along.
    #[serde(default)]
    pub credentials: bool,
}

impl Cors {
    /// The answer to a browser that asks before it sends; `None` if this is no such request.
    #[must_use]
    pub fn preflight(head: &Parts) -> Option<Response<Body>> {
        let asks = head.method == Method::OPTIONS
            && head.headers.contains_key(ORIGIN)
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks {
            return None;
        }
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"),
        );
        if let Some(wanted) = head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        Some(response)
    }

    /// Lets the page that has asked read the answer.
    pub fn add(&self, response: &mut Response<Body>, origin: &HeaderValue) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "x-request-id, www-authenticate, retry-after, etag, link, location, mcp-session-id",
            ),
        );
        if self.credentials {
            headers.insert(
                ACCESS_CONTROL_ALLOW_CREDENTIALS,
                HeaderValue::from_static("true"),
            );
        }
    }
}

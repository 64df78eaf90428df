//! A file of the page, and the headers that keep it from doing anything but its work.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::body::{self, Body};

/// What the page may do: run its own scripts, use its own style sheets, show images that are in results, and talk to its own
/// server. What third parties have written
/// (names, descriptions, results) cannot become a script, even if the page had a mistake: texts that become HTML or code are
/// refused by the browser (`require-trusted-types-for`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// A file, as JavaScript has read it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Its name in the folder of the page.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A file that is ready to be sent.
#[derive(Debug)]
pub(super) struct Page {
    name: String,
    bytes: Bytes,
    media_type: HeaderValue,
    etag: Option<HeaderValue>,
}

impl Page {
    pub(super) fn new(file: &File) -> Self {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.text));
        Self {
            name: file.name.clone(),
            bytes: Bytes::from(file.text.clone()),
            media_type: HeaderValue::from_static(media_type(&file.name)),
            etag: HeaderValue::from_str(&format!("\"{digest}\"")).ok(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The file, or word that the client has it.
    pub(super) fn answer(&self, asked: &HeaderMap) -> Response<Body> {
        let known = asked.get(IF_NONE_MATCH);
        let mut response = if known.is_some() && known == self.etag.as_ref() {
            let mut response = Response::new(body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = Response::new(body::full(self.bytes.clone()));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, self.media_type.clone());
            response
        };
        let headers = response.headers_mut();
        if let Some(etag) = &self.etag {
            headers.insert(ETAG, etag.clone());
        }
        for (name, value) in GUARDS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

const GUARDS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    // The next version of the package may have other files under the same names.
    (CACHE_CONTROL, "no-cache"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("mjs") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

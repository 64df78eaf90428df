//! The URL of a request: a base, a path below it, a query.

use std::collections::HashSet;

use url::{Url, form_urlencoded};

use super::auth::Secret;
use super::plan::Server;
use operations_core::error::CallError;

/// A base URL, checked, without the parts that a request does not inherit as they are.
#[derive(Debug, Clone)]
pub struct BaseUrl {
    /// Scheme, host, port and path, no credentials, query or fragment.
    url: Url,
    /// The query, which each request keeps.
    query: Option<String>,
    /// User name and password that were part of the URL. They travel as a header, never in a URL
    /// that may be printed.
    pub(super) credentials: Option<(String, Secret)>,
}

impl BaseUrl {
    /// Reads a base URL.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when it is not an absolute `http` or `https` URL.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        // The text itself stays out of the message: it may hold a password or a key.
        let mut url = Url::parse(text.trim()).map_err(|reason| {
            CallError::invalid(format!(
                "The base URL is not an absolute URL ({reason}); give one like https://api.example.com/v1"
            ))
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(CallError::invalid(format!(
                "The base URL has the scheme \"{}\"; only http and https are supported",
                url.scheme()
            )));
        }
        let credentials = (!url.username().is_empty() || url.password().is_some()).then(|| {
            let decode = |text: &str| {
                percent_encoding::percent_decode_str(text)
                    .decode_utf8_lossy()
                    .into_owned()
            };
            (
                decode(url.username()),
                Secret::new(decode(url.password().unwrap_or_default())),
            )
        });
        // Both can fail only for URLs without a host, which http URLs always have.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let query = url.query().filter(|query| !query.is_empty());
        let query = query.map(str::to_owned);
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self {
            url,
            query,
            credentials,
        })
    }

    /// Where it leads.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The names in the query that each request keeps.
    pub(super) fn query_names(&self) -> HashSet<String> {
        let query = self.query.as_deref().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes())
            .map(|(name, _)| name.into_owned())
            .collect()
    }

    /// The URL for a filled path template and a query. One slash is between base and path, and every
    /// other slash of both stays. A query in the base, and one in the path, come before `query`.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the result is no URL, or one of another origin.
    pub fn join(&self, path: &str, query: &[String]) -> Result<Url, CallError> {
        // A fragment is not sent. Some documents tell operations on one path apart by it.
        let path = path.split('#').next().unwrap_or_default();
        let (path, path_query) = path.split_once('?').unwrap_or((path, ""));
        let mut text = self.url.as_str().to_owned();
        if !path.is_empty() {
            if text.ends_with('/') {
                text.pop();
            }
            if !path.starts_with('/') {
                text.push('/');
            }
            text.push_str(path);
        }
        let queries = self.query.as_deref().into_iter().chain([path_query]);
        let queries = queries.chain(query.iter().map(String::as_str));
        let mut separator = '?';
        for part in queries.filter(|part| !part.is_empty()) {
            text.push(separator);
            text.push_str(part);
            separator = '&';
        }
        let url = Url::parse(&text).map_err(|reason| {
            CallError::invalid(format!(
                "The path of the operation does not make a URL: {reason}"
            ))
        })?;
        if url.origin() != self.url.origin() {
            return Err(CallError::invalid(
                "The path of the operation leads to another host than the base URL",
            ));
        }
        Ok(url)
    }
}

/// The URL of a server entry: variables by their defaults, relative to the document.
///
/// # Errors
/// `VALIDATION_ERROR` when a variable has no default, or when the URL is relative and the document
/// has none of its own.
pub fn resolve_server(server: &Server, document_url: Option<&Url>) -> Result<String, CallError> {
    let mut text = String::new();
    let mut rest = server.url.as_str();
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        let value = server.variables.get(name).ok_or_else(|| {
            CallError::invalid(format!(
                "The server URL \"{}\" uses the variable \"{name}\", which has no default; set baseUrl",
                server.url
            ))
        })?;
        text.push_str(literal);
        text.push_str(value);
        rest = tail;
    }
    text.push_str(rest);
    let text = text.trim();
    let relative = match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => return Ok(text.to_owned()),
        // A host and a port without a scheme look like a scheme.
        Ok(_) => {
            return Err(CallError::invalid(format!(
                "The server URL \"{text}\" is neither an http or https URL nor a relative one; set baseUrl"
            )));
        }
        Err(_) if text.is_empty() => "/",
        Err(_) => text,
    };
    let document = document_url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(document) = document else {
        return Err(CallError::invalid(format!(
            "The server URL \"{relative}\" is relative, and the URL of the document is not known; set baseUrl"
        )));
    };
    let mut url = document.join(relative).map_err(|reason| {
        CallError::invalid(format!(
            "The server URL \"{relative}\" cannot be resolved: {reason}"
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(CallError::invalid(format!(
            "The server URL \"{relative}\" has the scheme \"{}\"; set baseUrl",
            url.scheme()
        )));
    }
    url.set_fragment(None);
    Ok(url.into())
}

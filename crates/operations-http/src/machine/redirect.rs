//! Redirects: where the next request goes, and what it takes along.

use operations_core::error::CallError;
use url::Url;

use crate::message::Request;

/// How many redirects one call follows.
pub const MAX_REDIRECTS: usize = 20;

/// The request that follows a response, or none when the response is not a redirect to follow.
///
/// To another origin go no credentials, and of the headers only those that could be none. The method
/// changes as the Fetch standard says: `303` makes a `GET` of everything but `HEAD`, `301` and `302`
/// of a `POST`.
///
/// # Errors
/// `EXECUTION_ERROR` when the response points to something that is no `http` or `https` URL, or when
/// `followed` redirects were followed already and that is enough.
pub fn next_request(
    request: &Request,
    status: u16,
    location: Option<&str>,
    followed: usize,
) -> Result<Option<Request>, CallError> {
    let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) else {
        return Ok(None);
    };
    if followed >= MAX_REDIRECTS {
        return Err(CallError::failed(format!(
            "{} redirected more than {MAX_REDIRECTS} times",
            request.host()
        )));
    }
    let url = target(&request.url, location).ok_or_else(|| {
        CallError::failed(format!(
            "{} redirected (HTTP {status}) to something that is not an http or https URL",
            request.host()
        ))
    })?;
    let mut next = request.clone();
    if url.origin() != request.url.origin() {
        next.headers = request.headers.for_another_origin();
    }
    next.url = url;
    let to_get = match status {
        301 | 302 => request.method == "POST",
        303 => !matches!(request.method.as_str(), "GET" | "HEAD"),
        _ => false,
    };
    if to_get {
        "GET".clone_into(&mut next.method);
        next.body = None;
        for name in ["Content-Type", "Content-Language", "Content-Encoding"] {
            next.headers.remove(name);
        }
    }
    Ok(Some(next))
}

/// The URL that a `Location` means. Credentials in it are the server's idea, not ours.
fn target(base: &Url, location: &str) -> Option<Url> {
    let mut url = base.join(location.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return None;
    }
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_fragment(None);
    Some(url)
}

//! What an authorization server has to offer before anything is sent to it.

pub(super) use operations_http::fetch::is_secure;
use rmcp::transport::AuthError;
use rmcp::transport::auth::AuthorizationMetadata;
use url::Url;

/// The flows that need different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// A user is sent to a page, and comes back with a code.
    Code,
    /// The program has credentials, or tokens, of its own.
    Direct,
}

/// Whether the metadata of an authorization server allows a flow.
///
/// # Errors
/// Where credentials would travel without encryption, or codes without PKCE: a server that does not announce it "does not
/// support PKCE and MCP clients MUST refuse to proceed" (2025-11-25).
pub(super) fn check(metadata: &AuthorizationMetadata, flow: Flow) -> Result<(), AuthError> {
    let AuthorizationMetadata {
        authorization_endpoint,
        token_endpoint,
        registration_endpoint,
        code_challenge_methods_supported,
        ..
    } = metadata;
    let mut endpoints = vec![("token", Some(token_endpoint))];
    if flow == Flow::Code {
        endpoints.push(("authorization", Some(authorization_endpoint)));
        endpoints.push(("registration", registration_endpoint.as_ref()));
    }
    for (what, endpoint) in endpoints {
        let is_fit = |endpoint: &String| Url::parse(endpoint).is_ok_and(|url| is_secure(&url));
        if !endpoint.is_none_or(is_fit) {
            return Err(AuthError::AuthorizationFailed(format!(
                "the {what} endpoint of the authorization server must be an https URL (http is for this machine alone)"
            )));
        }
    }
    let methods = code_challenge_methods_supported.as_deref();
    let announced = methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"));
    if flow == Flow::Code && !announced {
        return Err(AuthError::PkceUnsupported);
    }
    Ok(())
}

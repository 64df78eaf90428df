//! The HTTP client.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, StatusCode};

/// Node's servers close a connection that was idle for five seconds; a request that meets the close
/// would be lost.
const IDLE: Duration = Duration::from_secs(4);
const MOST_REDIRECTS: usize = 10;

/// A client, made when it is first needed: it reads the certificates of the system.
///
/// # Errors
///
/// When the system has none, or none that can be read.
pub(crate) fn http_client(connect_timeout: Duration) -> reqwest::Result<Client> {
    // The provider is one for the whole process. If the host has installed another already, that
    // one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("alkdev-operations/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .redirect(Policy::custom(same_origin))
        .build()
}

/// Redirects keep the method, the body and the credentials, so they must stay where they are.
fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_body = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let stays = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if !keeps_body || !stays || attempt.previous().len() > MOST_REDIRECTS {
        attempt.stop()
    } else {
        attempt.follow()
    }
}

//! Requests to authorization servers: bounded in time and size, and kept within [`Reach`].

use std::time::Duration;

use ::http::{Request, Response};
use futures::StreamExt as _;
use reqwest::Client;
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use url::Url;

use super::reach::Reach;

const PATIENCE: Duration = Duration::from_secs(30);
/// How much of an answer is read.
const LONGEST_ANSWER: usize = 1024 * 1024;
const MOST_REDIRECTS: usize = 5;

/// Asks what the metadata of one server leads to.
pub(super) struct Outbound {
    reach: Reach,
    /// Follows redirects, where that is allowed.
    following: Client,
    /// Does not: requests with credentials are for one address.
    staying: Client,
}

impl Outbound {
    /// For this server.
    pub(super) fn new(server: &str) -> Result<Self, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = Url::parse(server).map_err(|error| error.to_string())?;
        let reach = Reach::of(&server);
        let allowed = reach.clone();
        let following = Policy::custom(move |attempt| {
            if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("it redirects too often")
            } else if !allowed.allows_url(attempt.url()) {
                attempt.error("it redirects to an address that it may not lead to")
            } else {
                attempt.follow()
            }
        });
        let client = |redirects: Policy| {
            let client = Client::builder()
                .user_agent(concat!("alkdev-operations/", env!("CARGO_PKG_VERSION")))
                .timeout(PATIENCE)
                .redirect(redirects)
                .dns_resolver(reach.clone());
            client.build().map_err(|error| error.to_string())
        };
        Ok(Self {
            following: client(following)?,
            staying: client(Policy::none())?,
            reach,
        })
    }

    /// Sends a request, and reads all of the answer.
    pub(super) async fn send(
        &self,
        request: Request<Vec<u8>>,
        redirects: OAuthHttpRedirectPolicy,
    ) -> Result<Response<Vec<u8>>, String> {
        let failed = |error: reqwest::Error| with_sources(&error.without_url());
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        if !self.reach.allows_url(request.url()) {
            let host = request.url().host_str().unwrap_or_default();
            return Err(format!("the server may not lead to the address {host}"));
        }
        let client = match redirects {
            OAuthHttpRedirectPolicy::Follow => &self.following,
            _ => &self.staying,
        };
        let response = client.execute(request).await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(failed)?;
            if body.len() + piece.len() > LONGEST_ANSWER {
                return Err(format!("its answer is longer than {LONGEST_ANSWER} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

/// What went wrong, down to its reason: the library says little in its first words.
fn with_sources(error: &reqwest::Error) -> String {
    let mut message = error.to_string();
    let mut reason = std::error::Error::source(error);
    while let Some(error) = reason {
        message = format!("{message}: {error}");
        reason = error.source();
    }
    message
}

impl OAuthHttpClient for Outbound {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest {
                request,
                redirect_policy,
                ..
            } = request;
            Ok(self.send(request, redirect_policy).await?)
        })
    }
}

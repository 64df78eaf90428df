//! A connection over streamable HTTP.

mod client;
mod events;
mod post;

use std::collections::HashMap;
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use operations_core::error::InfrastructureErrorCode as Code;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

pub(crate) use self::client::http_client;
pub(crate) use self::post::TappedClient;
use crate::client::handler::Handler;
use crate::client::tap::Tap;
use crate::config::Http;
use crate::error::Failed;

/// Requests that may be under way at once; more wait.
const AT_ONCE: usize = 64;

/// What our requests are sent with.
pub(crate) fn tapped(handler: &Handler, tap: &Arc<Tap>) -> Result<TappedClient, Failed> {
    let config = &handler.config;
    let client = http_client(config.connect_timeout)
        .map_err(|error| Failed::new(format!("no HTTPS client can be made: {error}")))?;
    Ok(TappedClient::new(
        client,
        Arc::clone(tap),
        config.max_message_bytes,
    ))
}

/// rmcp's transport over our client.
pub(crate) fn transport<C>(
    client: C,
    handler: &Handler,
    endpoint: &Http,
) -> Result<StreamableHttpClientTransport<C>, Failed>
where
    C: rmcp::transport::streamable_http_client::StreamableHttpClient + Sync,
{
    let settings = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .custom_headers(headers(endpoint)?)
        .max_concurrent_requests(AT_ONCE)
        .max_sse_event_size(handler.config.max_message_bytes);
    Ok(StreamableHttpClientTransport::with_client(client, settings))
}

/// The protocol's own headers are not the user's to set.
const RESERVED: [&str; 4] = ["accept", "content-type", "mcp-session-id", "last-event-id"];

fn headers(endpoint: &Http) -> Result<HashMap<HeaderName, HeaderValue>, Failed> {
    let refused = |name: &str, why: &str| {
        Failed::new(format!("the header '{name}' cannot be sent: {why}"))
            .with(Code::ValidationError)
    };
    endpoint
        .headers
        .iter()
        .map(|(name, value)| {
            let parsed = HeaderName::try_from(name.as_str())
                .map_err(|_| refused(name, "its name is not one of a header"))?;
            if RESERVED.contains(&parsed.as_str()) {
                return Err(refused(name, "the protocol sets it"));
            }
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| refused(name, "its value has characters that headers cannot have"))?;
            value.set_sensitive(true);
            Ok((parsed, value))
        })
        .collect()
}

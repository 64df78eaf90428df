//! HTTP+SSE of 2024-11-05: everything that the server says comes on one stream, and the first event of it names the address that
//! messages are sent to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::HttpTransport;
use super::answer::status_failure;
use super::events::{EventStream, is_stream};
use crate::error::Failure;

/// How long the first event may take.
const ENDPOINT: Duration = Duration::from_secs(5);

impl HttpTransport {
    /// Opens the stream, and uses the address that it names. When the stream ends, the connection is lost.
    pub(crate) async fn open_stream(self: &Arc<Self>) -> Result<(), Failure> {
        let response = self.stream(None).await?;
        if !response.status().is_success() {
            return Err(status_failure(response).await);
        }
        if !is_stream(&response) {
            return Err(Failure::answered(
                "an answer that is no event stream".to_owned(),
            ));
        }
        let (sender, receiver) = oneshot::channel();
        let transport = Arc::clone(self);
        let reading = self.conversation.tasks.spawn(async move {
            EventStream::naming_endpoint(sender)
                .read(&transport, response, None)
                .await;
            transport.conversation.lose(&[]);
        });
        self.running().insert(None, reading.abort_handle());
        let named = tokio::time::timeout(ENDPOINT, receiver).await;
        let Ok(Ok(named)) = named else {
            let what = "an event stream that does not begin with the address for messages";
            return Err(Failure::answered(what.to_owned()));
        };
        let _ = self.endpoint.set(self.at_same_origin(&named)?);
        Ok(())
    }

    /// Tokens and headers are for this server alone.
    fn at_same_origin(&self, named: &str) -> Result<String, Failure> {
        let own = url::Url::parse(&self.url).ok();
        let named = own.as_ref().and_then(|own| own.join(named.trim()).ok());
        match (own, named) {
            (Some(own), Some(named)) if own.origin() == named.origin() => Ok(named.into()),
            _ => Err(Failure::answered(
                "an address for messages that is at another server".to_owned(),
            )),
        }
    }
}

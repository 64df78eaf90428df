//! Calls: the request, retries, the time limit, the decoded answer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::message::HttpOperation;
use crate::message::retry::Failure as Why;
use crate::message::{InputValue, RetryPolicy, Secret, transport};
use crate::sse::Limits;
use indexmap::IndexMap;
use operations_core::error::CallError;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::exchange::{Answer, Broken, Outgoing, exchange};
use crate::limited::{BodyError, collect};
use crate::outcome::{Failure, Reply, decoded_reply};
use crate::pool::{Connections, Pool, certificates};
use crate::reconnect::Reconnect;
use crate::settings::ServiceSettings;
use crate::tries::{Failed, retry_after, with_retries};

/// What one call brings along.
#[derive(Debug, Default)]
pub struct CallInput {
    /// A value for each property of the input.
    pub values: IndexMap<String, InputValue>,
    /// Headers of this call.
    pub headers: Vec<(String, Secret)>,
}

/// A text that was fetched, and where it came from in the end.
#[derive(Debug)]
pub struct Fetched {
    /// The response.
    pub reply: Reply,
    /// Its address, after redirects.
    pub url: String,
}

/// The requests of one imported document.
#[derive(Debug)]
pub struct Service {
    pub(crate) settings: ServiceSettings,
    pub(crate) document_url: Option<String>,
    pool: Pool,
}

impl Service {
    /// A service. Nothing is opened before the first call.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when a certificate in `ca` is none.
    pub fn new(
        mut settings: ServiceSettings,
        document_url: Option<String>,
    ) -> Result<Self, CallError> {
        let ca = std::mem::take(&mut settings.ca);
        certificates(&ca)?;
        Ok(Self {
            settings,
            document_url,
            pool: Pool::new(ca),
        })
    }

    /// Lets idle connections go; the next call makes new ones.
    pub fn clear(&self) {
        self.pool.clear();
    }

    /// The largest response that is read.
    #[must_use]
    pub fn max_response_bytes(&self) -> usize {
        self.settings.max_response_bytes
    }

    /// What an event may cost.
    #[must_use]
    pub fn event_limits(&self) -> Limits {
        self.settings.event_limits
    }

    /// How a stream is opened again, if it is.
    #[must_use]
    pub fn reconnect(&self) -> Option<Reconnect> {
        self.settings.reconnect
    }

    /// Where streams begin.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.settings.last_event_id.as_deref().unwrap_or_default()
    }

    /// Which failures are worth another try.
    #[must_use]
    pub fn retry_policy(&self) -> RetryPolicy {
        self.settings.retry
    }

    /// Makes a call.
    ///
    /// # Errors
    /// As the contract says: bad input, no answer, a status outside 2XX, too late, aborted.
    pub async fn call(
        &self,
        operation: &HttpOperation,
        input: CallInput,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let (request, secrets) = self.prepare(operation, input)?;
        let host = request.host();
        let outgoing = Outgoing::new(request);
        let limit = self.settings.max_response_bytes;
        let work = self.trying(&outgoing, &secrets, limit);
        let reply = bounded(work, cancel, self.settings.timeout, &host).await?;
        Ok(reply.reply)
    }

    /// Fetches something that is no operation, such as the document itself.
    ///
    /// # Errors
    /// As [`Service::call`].
    pub async fn fetch(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        with_auth: bool,
        max_bytes: usize,
        timeout: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Result<Fetched, Failure> {
        let (request, secrets) = self.prepare_fetch(url, headers, with_auth)?;
        let host = request.host();
        let outgoing = Outgoing::new(request);
        let work = self.trying(&outgoing, &secrets, max_bytes);
        let done = bounded(work, cancel, timeout, &host).await?;
        Ok(Fetched {
            reply: done.reply,
            url: done.url.into(),
        })
    }

    async fn trying(
        &self,
        outgoing: &Outgoing,
        secrets: &[Secret],
        limit: usize,
    ) -> Result<Done, Failure> {
        let method = &outgoing.request.method;
        let work = || self.attempt(outgoing, secrets, limit);
        with_retries(self.settings.retry, method, work).await
    }

    async fn attempt(
        &self,
        outgoing: &Outgoing,
        secrets: &[Secret],
        limit: usize,
    ) -> Result<Done, Failed> {
        let connections = self.connections()?;
        let mut answer = exchange(&connections, outgoing, secrets).await?;
        let read = collect(&mut answer.response, limit).await;
        let bytes = read.map_err(|error| Failed {
            failure: error.describe(&answer.host, limit, secrets).into(),
            why: match error {
                BodyError::Lost(_) => Some(Why::ConnectionLost),
                BodyError::TooLarge => None,
            },
            retry_after: None,
        })?;
        let url = answer.response.url().clone();
        let status = answer.head.status;
        let retry_after = retry_after(&answer.head);
        match decoded_reply(answer.head, bytes, secrets) {
            Ok(reply) => Ok(Done { reply, url }),
            Err(failure) => Err(Failed {
                failure,
                why: Some(Why::Status(status)),
                retry_after,
            }),
        }
    }

    pub(crate) fn connections(&self) -> Result<Arc<Connections>, CallError> {
        self.pool.get()
    }

    /// The head of the answer to a request, within the time limit; for streams.
    pub(crate) async fn open_exchange(
        &self,
        outgoing: &Outgoing,
        secrets: &[Secret],
    ) -> Result<Answer, Broken> {
        let connections = self.connections()?;
        let work = exchange(&connections, outgoing, secrets);
        match self.settings.timeout {
            None => work.await,
            Some(limit) => match tokio::time::timeout(limit, work).await {
                Ok(answer) => answer,
                Err(_) => Err(too_late(&outgoing.request.host(), limit).into()),
            },
        }
    }
}

struct Done {
    reply: Reply,
    url: Url,
}

/// The time limit that passed, as an error.
pub(crate) fn too_late(host: &str, limit: Duration) -> CallError {
    transport::timed_out(host, u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

/// The work, unless the caller or the clock ends it. The connection of work that is ended is closed.
async fn bounded<T>(
    work: impl Future<Output = Result<T, Failure>>,
    cancel: &CancellationToken,
    limit: Option<Duration>,
    host: &str,
) -> Result<T, Failure> {
    let in_time = async {
        match limit {
            None => work.await,
            Some(limit) => match tokio::time::timeout(limit, work).await {
                Ok(done) => done,
                Err(_) => Err(too_late(host, limit).into()),
            },
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(transport::aborted(host).into()),
        done = in_time => done,
    }
}

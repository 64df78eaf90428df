//! Calls: the request, retries, the time limit, the decoded answer.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::http::retry::{self, Failure as Why};
use operations_core::http::{
    BaseUrl, InputValue, Request, RequestPlan, ResponseHead, RetryPolicy, Secret, Settings,
    request, resolve_server, transport,
};
use operations_core::openapi::ImportedOperation;
use operations_core::sse::Limits;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::exchange::{Answer, Broken, Outgoing, exchange};
use crate::limited::collect;
use crate::outcome::{Failure, Reply, decoded_reply};
use crate::pool::{Connections, Pool, certificates};
use crate::random;
use crate::reconnect::Reconnect;
use crate::settings::ServiceSettings;

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
    document_url: Option<String>,
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

    /// Builds the request of a call, and names what must not be shown about it.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the input or the base URL cannot be used.
    pub fn prepare(
        &self,
        operation: &ImportedOperation,
        input: CallInput,
    ) -> Result<(Request, Vec<Secret>), CallError> {
        let resolved;
        let base_url = if let Some(base_url) = &self.settings.base_url {
            base_url
        } else {
            let server = operation.servers.first().cloned().unwrap_or_default();
            let text = resolve_server(&server, self.document_url.as_deref())?;
            resolved = BaseUrl::parse(&text)?;
            &resolved
        };
        let settings = Settings {
            base_url,
            default_headers: &self.settings.headers,
            call_headers: &input.headers,
            auth: self.settings.auth.as_ref(),
        };
        let secrets = settings.secrets();
        let plan = &operation.request;
        let request = if operation.response.is_stream() {
            request::build(&stream_plan(operation), input.values, &settings)?
        } else {
            request::build(plan, input.values, &settings)?
        };
        Ok((request, secrets))
    }

    /// Makes a call.
    ///
    /// # Errors
    /// As the contract says: bad input, no answer, a status outside 2XX, too late, aborted.
    pub async fn call(
        &self,
        operation: &ImportedOperation,
        input: CallInput,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let (request, secrets) = self.prepare(operation, input)?;
        let host = request.host();
        let outgoing = Outgoing::new(request);
        let limit = self.settings.max_response_bytes;
        let work = self.with_retries(&outgoing, &secrets, limit);
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
        let work = self.with_retries(&outgoing, &secrets, max_bytes);
        let done = bounded(work, cancel, timeout, &host).await?;
        Ok(Fetched {
            reply: done.reply,
            url: done.url.into(),
        })
    }

    /// Builds a `GET` that is no operation.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the URL or a header is none.
    pub fn prepare_fetch(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        with_auth: bool,
    ) -> Result<(Request, Vec<Secret>), CallError> {
        let base_url = BaseUrl::parse(url)?;
        let settings = Settings {
            base_url: &base_url,
            default_headers: &[],
            call_headers: headers,
            auth: self.settings.auth.as_ref().filter(|_| with_auth),
        };
        let plan = RequestPlan {
            method: "GET".to_owned(),
            ..RequestPlan::default()
        };
        let request = request::build(&plan, IndexMap::new(), &settings)?;
        Ok((request, settings.secrets()))
    }

    async fn with_retries(
        &self,
        outgoing: &Outgoing,
        secrets: &[Secret],
        limit: usize,
    ) -> Result<Done, Failure> {
        let mut tries = 1;
        loop {
            let attempt = self.attempt(outgoing, secrets, limit).await;
            let failed = match attempt {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            let pause = failed.why.and_then(|why| {
                self.settings.retry.delay(
                    tries,
                    &outgoing.request.method,
                    why,
                    failed.retry_after,
                    random::fraction(),
                )
            });
            let Some(pause) = pause else {
                let mut failure = failed.failure;
                failure.error = Box::new(retry::with_tries(*failure.error, tries));
                return Err(failure);
            };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
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
                crate::limited::BodyError::Lost(_) => Some(Why::ConnectionLost),
                crate::limited::BodyError::TooLarge => None,
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

/// A stream asks for the stream only: a server that also has JSON must not choose that.
fn stream_plan(operation: &ImportedOperation) -> RequestPlan {
    let mut plan = operation.request.clone();
    plan.accept.retain(|media_type| {
        operations_core::openapi::ResponseKind::of_media_type(media_type) == operation.response
    });
    plan
}

struct Done {
    reply: Reply,
    url: Url,
}

struct Failed {
    failure: Failure,
    /// What another try has to know; nothing when it would not help.
    why: Option<Why>,
    retry_after: Option<Duration>,
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self {
            failure: error.into(),
            why: None,
            retry_after: None,
        }
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Self {
        Self {
            failure: (*broken.error).into(),
            why: broken.kind,
            retry_after: None,
        }
    }
}

/// What the server asks for, if it asks.
pub(crate) fn retry_after(head: &ResponseHead) -> Option<Duration> {
    let value = head.headers.get("retry-after")?.as_str()?;
    retry::retry_after(value, SystemTime::now())
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

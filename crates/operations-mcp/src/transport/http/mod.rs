//! A connection over streamable HTTP: each message is a POST, and what the server says comes in the answers, or
//! on a stream that stands for as long as a session does.

mod answer;
mod client;
mod events;
mod legacy;
mod parameters;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::lock::{locked, reading, writing};
use operations_http::message::mirrored;
use reqwest::{Method, RequestBuilder, Response};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

pub(crate) use self::client::http_client;
use self::events::EventStream;
use self::parameters::Parameters;
use super::{AnnotatedTool, Kind, Outgoing, STATELESS, Transport};
use crate::auth::{Attempts, Authorization, Challenge};
use crate::client::conversation::Conversation;
use crate::config::Http;
use crate::error::{Failure, NotConnected};

/// Requests that may be in flight at once; more wait.
const AT_ONCE: usize = 64;
/// How long ending a session may take.
const GOODBYE: Duration = Duration::from_secs(3);
/// How long the stream of a session is awaited before the tools are listed: a change in between would be missed.
const STANDS: Duration = Duration::from_millis(200);
/// How often a server may want another proof for one request.
const MOST_PROOFS: u32 = 2;
/// How long a notification or an answer may take.
const WORD: Duration = Duration::from_secs(5);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The protocol's own headers are not the user's to set.
const RESERVED: [HeaderName; 4] = [ACCEPT, CONTENT_TYPE, SESSION, LAST_EVENT];

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";
const EITHER: &str = "application/json, text/event-stream";

const DISCOVER: &str = "server/discover";
const LISTEN: &str = "subscriptions/listen";

/// The way to one endpoint.
pub(crate) struct HttpTransport {
    conversation: Arc<Conversation>,
    client: reqwest::Client,
    url: String,
    /// The user's.
    headers: HeaderMap,
    authorization: Option<Arc<Authorization>>,
    session: OnceLock<HeaderValue>,
    /// Where messages are sent, if that is a different address (HTTP+SSE). Their answers come on the stream.
    endpoint: OnceLock<String>,
    version: RwLock<Option<HeaderValue>>,
    parameters: Parameters,
    at_once: Semaphore,
    /// Answers to the server that may be on their way at once; more are dropped.
    answers: Arc<Semaphore>,
    /// The tasks of the requests that are in flight, and that of the standing stream.
    running: Mutex<HashMap<Option<u64>, AbortHandle>>,
    runtime: Handle,
}

impl HttpTransport {
    /// Must be called on the Tokio runtime.
    pub(crate) fn new(
        endpoint: &Http,
        authorization: Option<Arc<Authorization>>,
        conversation: Arc<Conversation>,
    ) -> Result<Arc<Self>, NotConnected> {
        let client = http_client(conversation.config.connect_timeout)
            .map_err(|error| NotConnected::new(format!("no HTTPS client can be made: {error}")))?;
        Ok(Arc::new(Self {
            conversation,
            client,
            url: endpoint.url.clone(),
            headers: headers_of(endpoint)?,
            authorization,
            session: OnceLock::new(),
            endpoint: OnceLock::new(),
            version: RwLock::default(),
            parameters: Parameters::default(),
            at_once: Semaphore::new(AT_ONCE),
            answers: Arc::new(Semaphore::new(AT_ONCE)),
            running: Mutex::default(),
            runtime: Handle::current(),
        }))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Option<u64>, AbortHandle>> {
        locked(&self.running)
    }

    fn is_stateless(&self) -> bool {
        let version = reading(&self.version);
        version.as_ref().is_some_and(|version| version == STATELESS)
    }

    /// A request with everything but the token.
    fn prepare(&self, method: Method, accept: &'static str) -> (RequestBuilder, HeaderMap) {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        let version = reading(&self.version);
        if let Some(version) = version.as_ref() {
            headers.insert(VERSION, version.clone());
        }
        let endpoint = self.endpoint.get().filter(|_| method == Method::POST);
        let url = endpoint.unwrap_or(&self.url);
        (self.client.request(method, url), headers)
    }

    fn post(&self, kind: &Kind, body: Bytes) -> (RequestBuilder, HeaderMap) {
        let (request, mut headers) = self.prepare(Method::POST, EITHER);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let (method, name) = match kind {
            Kind::Request { method, name, .. } => (Some(*method), name.as_deref()),
            Kind::Notification { method } => (Some(*method), None),
            Kind::Answer => (None, None),
        };
        if let Some(method) = method
            && (method == DISCOVER || self.is_stateless())
        {
            headers.insert(VERSION, HeaderValue::from_static(STATELESS));
            headers.insert(METHOD, HeaderValue::from_static(method));
            if let Some(name) = name {
                headers.extend(mirrored::encode(name).map(|name| (NAME, name)));
                headers.extend(self.parameters.headers(method, name, &body));
            }
        }
        (request.body(body), headers)
    }

    /// Sends a request, with a token if there is one. Whatever the server wants to see first is seen to here.
    async fn exchange(
        &self,
        prepare: impl Fn() -> (RequestBuilder, HeaderMap),
    ) -> Result<Response, Failure> {
        let mut attempts = Attempts::default();
        let mut proofs = 0;
        loop {
            let (request, headers) = prepare();
            let request = request.headers(headers).build();
            let mut request = request.map_err(|error| Failure::http(&error))?;
            let token = match &self.authorization {
                Some(authorization) => authorization.token().await?,
                None => None,
            };
            if let (Some(authorization), Some(token)) = (&self.authorization, &token) {
                authorization.sign(&mut request, token)?;
            }
            let response = self.client.execute(request).await;
            let response = response.map_err(|error| Failure::http(&error))?;
            let wants_other_proof =
                |authorization: &Arc<Authorization>| authorization.wants_other_proof(&response);
            if self.authorization.as_ref().is_some_and(wants_other_proof) && proofs < MOST_PROOFS {
                proofs += 1;
                continue;
            }
            let Some(challenge) = Challenge::of(&response) else {
                return Ok(response);
            };
            let Some(authorization) = &self.authorization else {
                return Err(challenge.failure());
            };
            authorization
                .satisfy(&challenge, token.as_deref(), &mut attempts)
                .await?;
        }
    }

    /// Sends a request, and makes sure that it is answered.
    async fn ask(self: Arc<Self>, id: u64, kind: Kind, body: Bytes) {
        let permit = match kind {
            // It stands as long as the connection does.
            Kind::Request { method: LISTEN, .. } => None,
            _ => self.at_once.acquire().await.ok(),
        };
        let requests = &self.conversation.requests;
        // Whether it arrives, only the answer shows.
        requests.mark_sent(id);
        let had_session = self.session.get().is_some();
        let asked = async {
            let response = self.exchange(|| self.post(&kind, body.clone())).await?;
            if self.endpoint.get().is_none() {
                self.take_answer(response, id, had_session).await
            } else if response.status().is_success() {
                Ok(())
            } else {
                Err(answer::status_failure(response).await)
            }
        };
        if let Err(failure) = asked.await {
            if matches!(failure, Failure::Lost { .. }) {
                // The session is gone; what else is in flight in it finds that out by itself.
                self.conversation.lost.cancel();
            }
            requests.settle(id, Err(failure));
        }
        drop(permit);
        self.running().remove(&Some(id));
    }

    /// Says something that needs no answer.
    async fn notify(&self, message: Outgoing) -> Result<(), Failure> {
        let body = Bytes::from(message.text);
        let sent = self.exchange(|| self.post(&message.kind, body.clone()));
        let response = tokio::time::timeout(WORD, sent).await;
        let response = response.map_err(|_| Failure::Timeout(WORD))??;
        if response.status().is_success() {
            Ok(())
        } else {
            Err(answer::status_failure(response).await)
        }
    }

    /// A GET for a stream of events.
    async fn stream(&self, last_event: Option<&str>) -> Result<Response, Failure> {
        let last_event = last_event.and_then(|id| HeaderValue::try_from(id).ok());
        self.exchange(|| {
            let (request, mut headers) = self.prepare(Method::GET, STREAM);
            if let Some(id) = &last_event {
                headers.insert(LAST_EVENT, id.clone());
            }
            (request, headers)
        })
        .await
    }

    /// Listens to what the server says by itself, for as long as the session lasts. Resolves when it does, or when
    /// that takes long.
    async fn stand(self: &Arc<Self>) {
        let stands = Arc::new(Notify::new());
        let (transport, begun) = (Arc::clone(self), Arc::clone(&stands));
        let standing = self.conversation.tasks.spawn(async move {
            tokio::select! {
                () = EventStream::default().stand(&transport, &begun) => {}
                () = transport.conversation.lost.cancelled() => {}
            }
        });
        self.running().insert(None, standing.abort_handle());
        let stood = tokio::time::timeout(STANDS, stands.notified()).await;
        if stood.is_err() {
            let changed = Arc::clone(&self.conversation.tools_changed);
            let lost = self.conversation.lost.clone();
            self.conversation.tasks.spawn(async move {
                tokio::select! {
                    // We have no notifications about changes before this.
                    () = stands.notified() => changed.notify_one(),
                    () = lost.cancelled() => {}
                }
            });
        }
    }
}

impl Transport for HttpTransport {
    fn send(self: Arc<Self>, message: Outgoing) {
        let (tasks, runtime) = (self.conversation.tasks.clone(), self.runtime.clone());
        match message.kind {
            Kind::Request { id, .. } => {
                let body = Bytes::from(message.text);
                let mut running = self.running();
                let asking = Arc::clone(&self).ask(id, message.kind, body);
                running.insert(Some(id), tasks.spawn_on(asking, &runtime).abort_handle());
            }
            Kind::Notification { .. } | Kind::Answer => {
                let is_answer = matches!(message.kind, Kind::Answer);
                let permit = Arc::clone(&self.answers).try_acquire_owned();
                // A server that asks faster than it reads gets no more answers.
                if is_answer && permit.is_err() {
                    return;
                }
                let lost = self.conversation.lost.clone();
                let notifying = async move {
                    let notified = Box::pin(self.notify(message));
                    let _ = lost.run_until_cancelled(notified).await;
                    drop(permit);
                };
                tasks.spawn_on(notifying, &runtime);
            }
        }
    }

    /// In the stateless revision, leaving says it all.
    fn withdraw(&self, request: u64) -> bool {
        if let Some(task) = self.running().remove(&Some(request)) {
            task.abort();
        }
        !self.is_stateless()
    }

    fn agreed(
        self: Arc<Self>,
        version: &str,
        last: Option<Outgoing>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let mut place = writing(&self.version);
        *place = HeaderValue::try_from(version).ok();
        drop(place);
        async move {
            if let Some(last) = last {
                self.notify(last).await?;
            }
            if self.session.get().is_some() {
                self.stand().await;
            }
            Ok(())
        }
        .boxed()
    }

    fn learn_tools(&self, annotated: &[AnnotatedTool]) -> HashMap<String, String> {
        if self.is_stateless() {
            self.parameters.learn(annotated)
        } else {
            HashMap::new()
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            self.conversation.lose(&[]);
            for (_, task) in self.running().drain() {
                task.abort();
            }
            if self.session.get().is_some() {
                // Whether the server deletes sessions or not is its own affair.
                let goodbye = self.exchange(|| self.prepare(Method::DELETE, EITHER));
                let _ = tokio::time::timeout(GOODBYE, goodbye).await;
            }
        }
        .boxed()
    }
}

fn headers_of(endpoint: &Http) -> Result<HeaderMap, NotConnected> {
    let refused = |name: &str, why: &str| {
        NotConnected::invalid(format!("the header '{name}' cannot be sent: {why}"))
    };
    endpoint
        .headers
        .iter()
        .map(|(name, value)| {
            let parsed = HeaderName::try_from(name.as_str())
                .map_err(|_| refused(name, "its name is not one of a header"))?;
            if RESERVED.contains(&parsed) {
                return Err(refused(name, "the protocol sets it"));
            }
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| refused(name, "its value has characters that headers cannot have"))?;
            value.set_sensitive(true);
            Ok((parsed, value))
        })
        .collect()
}

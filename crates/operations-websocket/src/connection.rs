//! A spoke: a connection to a hub that is made again whenever it is lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use operations_core::call::status::{Link, Status};
use operations_core::clock::now;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use operations_core::mailbox::Mailbox;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::CONNECTING;
use crate::options::{Options, Plan, Reconnect};
use crate::peer::Peer;
use crate::serving::Serving;
use crate::session::{Metered, Session, Settings, Socket};
use crate::tls;

/// The module under which log lines appear.
const MODULE: &str = "hub";

/// A connection to a hub. Dropping it ends it at once; [`Connection::close`] ends it gracefully.
pub struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    peer: Arc<Peer>,
    serving: Arc<dyn Serving>,
    options: Options,
    plan: Plan,
    settings: Settings,
    tls: Option<Arc<ClientConfig>>,
    status: Mutex<Status>,
    /// What is served here, each operation as JSON; nothing while nothing is.
    offer: Mutex<Option<Arc<Vec<String>>>>,
    /// Where JavaScript finds what there is for it.
    mailbox: Arc<Mailbox>,
    session: Mutex<Option<Arc<Session>>>,
    /// It is to end gracefully.
    closing: CancellationToken,
    /// It is to end now.
    kill: CancellationToken,
    tasks: TaskTracker,
    logger: Logger,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closing.cancel();
        self.shared.kill.cancel();
        self.shared.peer.close();
    }
}

type Connected = WebSocketStream<Metered<Box<dyn Socket>>>;

impl Connection {
    /// Connects. What there is for JavaScript goes to the mailbox.
    ///
    /// # Errors
    ///
    /// When the options are wrong, or the hub cannot be reached or does not let us in.
    pub async fn open(
        options: Options,
        serving: Arc<dyn Serving>,
        logger: Logger,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, CallError> {
        let plan = options.plan()?;
        let tls = if plan.is_tls {
            Some(Arc::new(
                tls::config(options.ca.as_deref(), options.ca_file.as_deref()).await?,
            ))
        } else {
            None
        };
        let peer = Peer::new(&plan.shown);
        peer.limit_waiting(options.max_waiting());
        let shared = Arc::new(Shared {
            peer,
            serving,
            settings: options.settings(),
            plan,
            tls,
            status: Mutex::new(Status::new(now())),
            offer: Mutex::default(),
            mailbox,
            session: Mutex::default(),
            closing: CancellationToken::new(),
            kill: CancellationToken::new(),
            tasks: TaskTracker::new(),
            logger,
            options,
        });
        let connection = Self {
            shared: Arc::clone(&shared),
        };
        let first = match shared.connect().await {
            Ok(socket) => {
                // The connection may be used as soon as it is reported.
                shared.connected();
                Some(socket)
            }
            Err(error) if shared.options.wait_on_first_connect => {
                shared.failed(&error);
                None
            }
            Err(error) => return Err(error),
        };
        shared.tasks.spawn(Arc::clone(&shared).stay(first));
        Ok(connection)
    }

    /// The other end.
    #[must_use]
    pub fn peer(&self) -> &Arc<Peer> {
        &self.shared.peer
    }

    /// Offers operations to the hub, each of which is JSON, now and after every loss of the connection. Returns what the hub
    /// makes of it, a JSON object.
    ///
    /// # Errors
    ///
    /// When the hub does not take them.
    pub async fn offer(&self, operations: Vec<String>) -> Result<String, CallError> {
        let shared = &self.shared;
        let operations = Arc::new(operations);
        let (before, asked) = {
            let status = locked(&shared.status);
            let mut offer = locked(&shared.offer);
            let before = offer.replace(Arc::clone(&operations));
            // Without a connection it is offered as soon as there is one ([`Shared::connected`]).
            if status.link() != Link::Connected {
                return Ok("{}".to_owned());
            }
            // Sent while nothing else can be offered: the hub keeps what it gets last.
            (before, shared.peer.offer(&operations))
        };
        let answer = asked.await;
        if let Err(error) = &answer
            && !is_lost(error)
        {
            let mut offer = locked(&shared.offer);
            // The hub still has what it took before, and would get it again.
            if is_same(offer.as_ref(), &operations) {
                *offer = before;
            }
        }
        match answer {
            Err(error) if is_lost(&error) && shared.options.reconnect.is_some() => {
                Ok("{}".to_owned())
            }
            answer => answer,
        }
    }

    /// Whether there is a connection, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        locked(&self.shared.status).to_json()
    }

    /// What was counted, as JSON.
    #[must_use]
    pub fn stats(&self) -> Value {
        let refused = self.shared.peer.refused();
        let by_reason: std::collections::BTreeMap<&str, u64> = refused.by_reason().collect();
        let running = locked(&self.shared.session)
            .as_ref()
            .map_or(0, |session| session.running());
        json!({
            "malformed": refused.total(),
            "malformedBy": by_reason,
            "reconnections": locked(&self.shared.status).reconnections(),
            "running": running,
        })
    }

    /// Ends it, after what is being worked on, but not after more than this.
    pub async fn close(&self, drain: Duration) {
        let shared = &self.shared;
        shared.closing.cancel();
        shared.tasks.close();
        if timeout(drain, shared.tasks.wait()).await.is_err() {
            shared.kill.cancel();
            shared.tasks.wait().await;
        }
    }
}

fn is_same(offer: Option<&Arc<Vec<String>>>, other: &Arc<Vec<String>>) -> bool {
    offer.is_some_and(|offer| Arc::ptr_eq(offer, other))
}

fn is_lost(error: &CallError) -> bool {
    error
        .details
        .as_ref()
        .and_then(|details| details.get("reason"))
        .and_then(Value::as_str)
        == Some("peer-lost")
}

impl Shared {
    /// From the first connection to the last.
    async fn stay(self: Arc<Self>, mut first: Option<Connected>) {
        let mut attempt = 0;
        loop {
            let (socket, offer) = match first.take() {
                // There was no connection before to offer anything on.
                Some(socket) => (socket, None),
                None => match self.again(&mut attempt).await {
                    Some(socket) => (socket, self.connected()),
                    None => break,
                },
            };
            attempt = 0;
            let why = self.converse(socket, offer).await;
            if self.closing.is_cancelled() {
                break;
            }
            let warning = format!("The connection to {} is lost: {why}", self.plan.shown);
            self.logger.log(Level::Warning, MODULE, warning, []);
            locked(&self.status).failed(&why);
            self.change(Link::Disconnected);
            if self.options.reconnect.is_none() {
                self.peer.lost(&why);
                break;
            }
            self.peer.disconnected(&why);
        }
        self.peer.close();
        self.change(Link::Closed);
    }

    /// There is a connection. Returns what is to be offered on it: later offers see that there is one.
    fn connected(&self) -> Option<Arc<Vec<String>>> {
        self.peer.connected();
        let mut status = locked(&self.status);
        status.change(now(), Link::Connected);
        let offer = locked(&self.offer).clone();
        drop(status);
        self.notify();
        offer
    }

    async fn converse(
        self: &Arc<Self>,
        socket: Connected,
        offer: Option<Arc<Vec<String>>>,
    ) -> String {
        let session = Session::new(
            Arc::clone(&self.peer),
            Arc::clone(&self.serving),
            self.settings.clone(),
            self.closing.clone(),
        );
        *locked(&self.session) = Some(Arc::clone(&session));
        let offering = self.offer_again(offer);
        let running = session.run(socket, &self.kill);
        let (end, ()) = futures::future::join(
            async {
                let end = running.await;
                if self.closing.is_cancelled() {
                    self.peer.close();
                }
                self.peer.disconnected(&end.why);
                end
            },
            offering,
        )
        .await;
        *locked(&self.session) = None;
        end.why.into_owned()
    }

    /// What is served is offered to the hub again, unless something else has been offered since.
    async fn offer_again(&self, offer: Option<Arc<Vec<String>>>) {
        let Some(offer) = offer else { return };
        // The link has to be up, which the session says first of all.
        tokio::task::yield_now().await;
        let asked = {
            let now = locked(&self.offer);
            if !is_same(now.as_ref(), &offer) {
                return;
            }
            self.peer.offer(&offer)
        };
        if let Err(error) = asked.await {
            let message = format!(
                "The hub at {} did not take the operations again: {}",
                self.plan.shown, error.message
            );
            self.logger.log(Level::Error, MODULE, message, []);
        }
    }

    /// Tries until there is a connection; gives nothing when it is to end instead.
    async fn again(&self, attempt: &mut u32) -> Option<Connected> {
        let reconnect = self.options.reconnect.unwrap_or(Reconnect {
            min_delay: 200.0,
            max_delay: 10_000.0,
        });
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                () = sleep(reconnect.delay(*attempt)) => {}
            }
            *attempt += 1;
            let connected = tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                connected = self.connect() => connected,
            };
            match connected {
                Ok(socket) => return Some(socket),
                Err(error) => self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &CallError) {
        if error.code == Code::AccessDenied.as_str() {
            self.peer.refused_us(error);
        }
        let is_news = locked(&self.status).failed(&error.message);
        if is_news {
            self.logger
                .log(Level::Warning, MODULE, error.message.clone(), []);
            self.notify();
        }
    }

    fn change(&self, link: Link) {
        locked(&self.status).change(now(), link);
        self.notify();
    }

    fn notify(&self) {
        let status = locked(&self.status).to_json();
        self.mailbox.set("link", &status.to_string());
    }

    async fn connect(&self) -> Result<Connected, CallError> {
        match timeout(CONNECTING, self.dial()).await {
            Ok(connected) => connected,
            Err(_) => Err(self.unreachable("timeout", "it takes too long", None)),
        }
    }

    fn unreachable(&self, reason: &str, why: &str, cause: Option<String>) -> CallError {
        let message = format!("No connection to the hub at {}: {why}", self.plan.shown);
        let mut details = json!({ "reason": reason, "delivery": "none", "url": self.plan.shown });
        if let (Some(cause), Some(details)) = (cause, details.as_object_mut()) {
            details.insert("cause".to_owned(), cause.into());
        }
        CallError::failed(message).with_details(details)
    }

    async fn dial(&self) -> Result<Connected, CallError> {
        let Plan { host, port, .. } = &self.plan;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((bare, *port)).await.map_err(|error| {
            self.unreachable("unreachable", &error.to_string(), Some(error.to_string()))
        })?;
        let _ = stream.set_nodelay(true);
        let stream: Box<dyn Socket> = match &self.tls {
            None => Box::new(stream),
            Some(config) => {
                let name = ServerName::try_from(bare.to_owned())
                    .map_err(|error| self.unreachable("tls", &error.to_string(), None))?;
                let connector = TlsConnector::from(Arc::clone(config));
                let stream = connector.connect(name, stream).await.map_err(|error| {
                    let cause = tls::cut_off_or(&error);
                    self.unreachable("tls", &tls::why_not(&error), Some(cause))
                })?;
                Box::new(stream)
            }
        };
        let config = self.settings.websocket();
        let request = self.plan.request.clone();
        match client_async_with_config(request, Metered::new(stream), Some(config)).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => Err(self.refused(response.status())),
            Err(error) => {
                let what = match &error {
                    Error::Io(error) => tls::cut_off_or(error),
                    error => error.to_string(),
                };
                let mut why = format!("it does not answer as a hub does ({what})");
                if !self.plan.is_tls {
                    why.push_str(". If the hub has TLS, try wss://");
                }
                Err(self.unreachable("no-hub", &why, None))
            }
        }
    }

    /// What an answer other than 101 means.
    fn refused(&self, status: StatusCode) -> CallError {
        let (code, why) = match status {
            StatusCode::UNAUTHORIZED => (
                Code::AccessDenied,
                "the hub refused the token: it is missing or not valid there".to_owned(),
            ),
            StatusCode::FORBIDDEN => (
                Code::AccessDenied,
                "the hub does not let us in (allowedHosts, allowedOrigins or identify)".to_owned(),
            ),
            StatusCode::NOT_FOUND => (
                Code::ExecutionError,
                "there is no hub at this path. The door's default is /hub".to_owned(),
            ),
            // Some TLS servers answer plain HTTP like this.
            StatusCode::BAD_REQUEST if !self.plan.is_tls => (
                Code::ExecutionError,
                format!("it answers with the status {status}. If the hub has TLS, try wss://"),
            ),
            other => (
                Code::ExecutionError,
                format!("it answers with the status {other}"),
            ),
        };
        let mut error = self.unreachable("refused", &why, None);
        error.code = code.into();
        if let Some(details) = error.details.as_mut().and_then(Value::as_object_mut) {
            details.insert("statusCode".to_owned(), status.as_u16().into());
        }
        error
    }
}

//! One connection, from its handshake to its end.

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::handshake::Facts;
use super::list::Tools;
use super::requests::{Done, OnProgress, Patience, watch_deadlines};
use crate::config::ServerConfig;
use crate::error::{About, Failure};
use crate::process::ServerProcess;
use crate::transport::{Kind, Outgoing, Transport, message};

/// How long the end of a process is awaited for the sake of a better message.
pub(crate) const POST_MORTEM: Duration = Duration::from_secs(2);
/// How long its last words are.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(300);
/// Pauses before subscribing again to changes.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// As good as for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Something to ask a server.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// Of the tool or prompt, or the address of the resource.
    pub(crate) name: Option<Arc<str>>,
    /// The members of its parameters, as JSON.
    pub(crate) params: String,
    /// The members of its `_meta` that are its own, as JSON.
    pub(crate) meta: String,
}

impl Request {
    pub(crate) fn new(method: &'static str) -> Self {
        Self {
            method,
            name: None,
            params: String::new(),
            meta: String::new(),
        }
    }
}

/// A connection that works, or did.
pub(crate) struct Connection {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) process: Option<Arc<ServerProcess>>,
    pub(crate) facts: Facts,
    /// The members of the `_meta` that every request carries.
    pub(super) meta: String,
    pub(crate) tools: Tools,
    pub(crate) since: Instant,
    close: CancellationToken,
    gone: CancellationToken,
}

impl Connection {
    pub(crate) fn new(
        conversation: Arc<Conversation>,
        transport: Arc<dyn Transport>,
        process: Option<Arc<ServerProcess>>,
    ) -> Self {
        let connection = Self {
            conversation,
            transport,
            process,
            facts: Facts::default(),
            meta: String::new(),
            tools: Tools::default(),
            since: Instant::now(),
            close: CancellationToken::new(),
            gone: CancellationToken::new(),
        };
        connection.watch();
        connection
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.conversation.config
    }

    /// Whether nothing can be asked any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.conversation.lost.is_cancelled()
    }

    /// Sends a request. `done` is called when it has ended, and never by this thread before this returns. Tells the
    /// number of the request, if it was sent.
    pub(crate) fn start(
        &self,
        request: &Request,
        patience: Patience,
        on_progress: Option<OnProgress>,
        done: Done,
    ) -> Result<u64, Done> {
        let wants_progress = on_progress.is_some() || patience.reset_on_progress;
        let requests = &self.conversation.requests;
        let id = requests.begin(patience, on_progress, done)?;
        let mut meta = Cow::Borrowed(self.meta.as_str());
        add_members(&mut meta, &request.meta);
        let token = wants_progress.then(|| format!(r#""progressToken":{id}"#));
        add_members(&mut meta, token.as_deref().unwrap_or_default());
        let text = message::request(id, request.method, &request.params, &meta);
        let kind = Kind::Request {
            id,
            method: request.method,
            name: request.name.clone(),
        };
        Arc::clone(&self.transport).send(Outgoing { kind, text });
        Ok(id)
    }

    /// The answer is not needed any more: its waiter gets `failure`, and the server is notified.
    pub(crate) fn withdraw(&self, id: u64, failure: Failure) {
        let reason = match failure {
            Failure::Timeout(_) => "the time limit of the client passed",
            _ => "the caller aborted the call",
        };
        // What was answered in the meantime needs no notice.
        if self.conversation.requests.settle(id, Err(failure)) {
            notify_cancelled(&self.transport, id, reason);
        }
    }

    /// Sends a request and waits for the result, which is JSON as the server wrote it.
    pub(crate) async fn request(
        &self,
        request: &Request,
        patience: Patience,
        on_progress: Option<OnProgress>,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        if cancel.is_cancelled() {
            return Err(Failure::Aborted);
        }
        let (done, mut ended) = awaited();
        let Ok(id) = self.start(request, patience, on_progress, done) else {
            return Err(Failure::Lost { sent: false });
        };
        tokio::select! {
            biased;
            outcome = &mut ended => return outcome.unwrap_or(Err(Failure::Lost { sent: true })),
            () = cancel.cancelled() => self.withdraw(id, Failure::Aborted),
        }
        ended.await.unwrap_or(Err(Failure::Aborted))
    }

    /// The same, for a question that a server may well ignore: nothing, if there is no answer in time, and the server
    /// is not notified.
    pub(crate) async fn request_within(
        &self,
        request: &Request,
        limit: Duration,
    ) -> Option<Result<String, Failure>> {
        let (done, ended) = awaited();
        let Ok(id) = self.start(request, Patience::of(FOR_EVER), None, done) else {
            return Some(Err(Failure::Lost { sent: false }));
        };
        if let Ok(answer) = tokio::time::timeout(limit, ended).await {
            return Some(answer.unwrap_or(Err(Failure::Lost { sent: true })));
        }
        self.conversation.requests.give_up_on(id);
        None
    }

    /// Sees to the deadlines, and to the end: the goodbye, then the process.
    fn watch(&self) {
        let tasks = &self.conversation.tasks;
        let (close, gone) = (self.close.clone(), self.gone.clone());
        let process = self.process.clone();
        let lost = self.conversation.lost.clone();
        let requests = Arc::clone(&self.conversation.requests);
        let transport = Arc::clone(&self.transport);
        tasks.spawn(watch_deadlines(requests, move |id| {
            notify_cancelled(&transport, id, "the time limit of the client passed");
        }));
        let transport = Arc::clone(&self.transport);
        tasks.spawn(async move {
            if let Some(process) = process {
                tokio::select! {
                    () = lost.cancelled() => {}
                    () = close.cancelled() => {}
                }
                process.scan();
                transport.close().await;
                process.end().await;
            } else {
                // What is in flight over HTTP comes to its own end, whatever becomes of the session.
                close.cancelled().await;
                transport.close().await;
            }
            gone.cancel();
        });
    }

    /// Servers of the stateless revision announce changes only to subscribers. Subscribes until it is of no
    /// use any more.
    pub(crate) async fn listen(connection: Weak<Self>) {
        let mut request = Request::new("subscriptions/listen");
        request
            .params
            .push_str(r#""notifications":{"toolsListChanged":true}"#);
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(alive) = connection.upgrade() else {
                return;
            };
            if !alive.facts.is_stateless() || !alive.facts.announces_tools() {
                return;
            }
            let (lost, changed) = (
                alive.conversation.lost.clone(),
                Arc::clone(&alive.conversation.tools_changed),
            );
            let (done, ended) = awaited();
            let begun = Instant::now();
            let started = alive.start(&request, Patience::of(FOR_EVER), None, done);
            // Listening holds no connection.
            drop(alive);
            if started.is_err() {
                return;
            }
            match ended.await {
                Err(_) | Ok(Err(Failure::Refused(_) | Failure::Lost { .. })) => return,
                Ok(_) => {}
            }
            // One that stood for long was cut; one that ended at once may do so again.
            pause = if begun.elapsed() > LONGEST_PAUSE {
                FIRST_PAUSE
            } else {
                (pause * 2).min(LONGEST_PAUSE)
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = lost.cancelled() => return,
            }
            // There were no notifications about what changed in between.
            changed.notify_one();
        }
    }

    /// Says goodbye. Returns when everything of it is gone.
    pub(crate) async fn close(&self) {
        self.close.cancel();
        self.gone.cancelled().await;
    }

    /// What is known about the end of the server, for messages.
    pub(crate) async fn about<'a>(&'a self, tool: Option<&'a str>, died: bool) -> About<'a> {
        let mut about = About::server(self.config());
        about.tool = tool;
        if let Some(process) = &self.process {
            if died {
                about.exit = process.exit_within(POST_MORTEM).await;
                process.stderr.ended_within(LAST_WORDS).await;
            }
            about.stderr = process.stderr.text();
        }
        about
    }

    /// What is known about the server, and its tools, as JSON.
    pub(crate) fn described(&self) -> String {
        let Facts {
            version,
            info,
            capabilities,
            instructions,
        } = &self.facts;
        let about = json!({
            "protocolVersion": version,
            "serverInfo": info,
            "capabilities": capabilities,
            "instructions": instructions,
            "pid": self.process.as_ref().map(|process| process.pid),
        });
        format!(r#"{{"about":{about},{}}}"#, self.tools.members())
    }

    /// Writes that the server is there.
    pub(crate) fn log_connected(&self, logger: &Logger) {
        let name = &self.config().name;
        let message = format!("MCP server '{name}' is connected");
        let facts = [
            ("server", json!(name)),
            ("protocol", json!(self.facts.version)),
        ];
        logger.log(Level::Debug, "mcp", message, facts);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

fn notify_cancelled(transport: &Arc<dyn Transport>, id: u64, reason: &str) {
    if transport.withdraw(id) {
        let method = "notifications/cancelled";
        let params = format!(r#""requestId":{id},"reason":"{reason}""#);
        Arc::clone(transport).send(Outgoing {
            kind: Kind::Notification { method },
            text: message::notification(method, &params),
        });
    }
}

/// Adds members of an object to others. Most requests have no more than each of them has.
fn add_members<'a>(all: &mut Cow<'a, str>, more: &'a str) {
    if all.is_empty() {
        *all = Cow::Borrowed(more);
    } else if !more.is_empty() {
        let all = all.to_mut();
        all.push(',');
        all.push_str(more);
    }
}

/// The callback for the end of a request, and the receiver that it completes.
fn awaited() -> (Done, oneshot::Receiver<Result<String, Failure>>) {
    let (sender, ended) = oneshot::channel();
    let done = Box::new(move |outcome| {
        // The receiver may have been dropped.
        let _ = sender.send(outcome);
    });
    (done, ended)
}

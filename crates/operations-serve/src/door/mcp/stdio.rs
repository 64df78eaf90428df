//! One conversation, a message in each line: what standard input and output are for. Lines come and go through channels;
//! the owner of the streams reads and writes them.

use std::ops::Deref;
use std::sync::Arc;

use operations_core::byte_budget::{Held, Share, exhausted};
use operations_core::clock;
use operations_core::json::Object;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::cancellation::{Key, RunningCalls};
use super::client::{self, Abilities};
use super::message::{self, INTERNAL_ERROR, Kind, Message, Refusal};
use super::notifications::{Audience, Subscription, Watcher};
use super::progress;
use super::protocol_version::{self, ProtocolVersion};
use super::request::{self, Reply, RequestContext};
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;

/// Messages before an answer that wait to be sent; notifications beyond it are left out.
const WAITING_MESSAGES: usize = 64;
/// Requests that are worked on at a time. Others are refused: to stop reading would keep the client's answers and cancellations
/// from us.
const MOST_REQUESTS: usize = 1_024;

/// A line for the client. A response counts in the byte budget until it is written.
#[derive(Debug)]
pub struct OutgoingLine {
    text: String,
    _held: Option<Held>,
}

impl OutgoingLine {
    fn response(id: &str, reply: Reply, share: &Arc<Share>) -> Option<Self> {
        let mut held = None;
        let text = match reply {
            Reply::Result(result) => {
                held = share.try_hold(result.len());
                match held {
                    Some(_) => message::result(id, &String::from_utf8_lossy(&result)),
                    None => message::error(Some(id), &overloaded("unknown")),
                }
            }
            Reply::Refused(refusal) => message::error(Some(id), &refusal),
            Reply::Denied(_, result) => message::result(id, &result),
            Reply::Silence => return None,
        };
        let text = message::one_line(text);
        Some(Self { text, _held: held })
    }
}

impl From<String> for OutgoingLine {
    fn from(text: String) -> Self {
        Self { text, _held: None }
    }
}

impl Deref for OutgoingLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// `delivery` says whether the call was made.
fn overloaded(delivery: &str) -> Refusal {
    Refusal::new(INTERNAL_ERROR, exhausted(delivery).message)
}

/// A conversation with one client.
#[derive(Debug)]
pub struct Conversation {
    shared: Arc<Shared>,
    door: McpDoor,
    caller: Arc<Caller>,
    running: RunningCalls,
    tasks: TaskTracker,
    /// No more notifications are sent.
    quiet: CancellationToken,
    /// Ends everything.
    over: CancellationToken,
    /// A client that does not read is not read from: there is room for a few lines.
    out: mpsc::Sender<OutgoingLine>,
    /// Counts requests until their calls end, and responses until they are written.
    share: Arc<Share>,
    /// The conversation among those of this server.
    session: String,
    /// The requests that an older client supports.
    abilities: Abilities,
    /// An older client gets notifications of changes.
    announces: bool,
}

impl Conversation {
    /// What is said goes to `out`, a line each. Calls that are not done when `kill` is cancelled are ended.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        door: McpDoor,
        caller: Arc<Caller>,
        out: mpsc::Sender<OutgoingLine>,
        kill: &CancellationToken,
    ) -> Self {
        Self {
            share: shared.bytes.share(caller.id()),
            shared,
            door,
            caller,
            running: RunningCalls::default(),
            tasks: TaskTracker::new(),
            quiet: CancellationToken::new(),
            over: kill.child_token(),
            out,
            session: Uuid::new_v4().to_string(),
            abilities: Abilities::default(),
            announces: false,
        }
    }

    /// Talks until there are no more lines, or the server closes and calls have come to their ends, or were ended.
    pub async fn run(mut self, mut lines: mpsc::Receiver<String>) {
        let (over, tasks) = (self.over.clone(), self.tasks.clone());
        let (closing, quiet) = (self.shared.closing.clone(), self.quiet.clone());
        // `wait` needs a closed tracker; it takes tasks all the same.
        tasks.close();
        let finished = async {
            closing.cancelled().await;
            quiet.cancel();
            tasks.wait().await;
        };
        let mut finished = std::pin::pin!(finished);
        loop {
            let line = tokio::select! {
                biased;
                () = over.cancelled() => break,
                // Calls may need their client to finish. Nothing new is begun.
                () = &mut finished => break,
                line = lines.recv() => line,
            };
            // Without a reader, nothing else needs to be written.
            let Some(line) = line else { break };
            if !line.trim().is_empty() {
                self.hear(&line).await;
            }
        }
        self.quiet.cancel();
        over.cancel();
        tasks.wait().await;
    }

    async fn hear(&mut self, line: &str) {
        let message = match Message::read(line) {
            Ok(message) => message,
            Err(refusal) => return self.say(message::error(None, &refusal)).await,
        };
        let params = message.params;
        match message.kind {
            Kind::Answer { id, result, error } => {
                let mut key = key(id);
                key.session.clone_from(&self.session);
                self.caller.id().clone_into(&mut key.caller);
                self.shared
                    .mcp
                    .client_requests
                    .answered(&key, result, error);
            }
            Kind::Notification { method } => match method.as_str() {
                "notifications/initialized" => self.announce(),
                "notifications/cancelled" => {
                    if let Some(id) = params.get("requestId") {
                        self.running.cancel(&key(id));
                    }
                }
                _ => {}
            },
            Kind::Request { id, .. } if self.shared.closing.is_cancelled() => {
                let refusal = Refusal::new(INTERNAL_ERROR, "The server is closing");
                self.say(message::error(Some(id), &refusal)).await;
            }
            Kind::Request { id, .. } if self.tasks.len() >= MOST_REQUESTS => {
                let message = format!(
                    "{MOST_REQUESTS} requests are worked on already. Wait for answers before you send more"
                );
                let refusal = Refusal::new(INTERNAL_ERROR, message);
                self.say(message::error(Some(id), &refusal)).await;
            }
            Kind::Request { id, method } => match protocol_version::of(&method, &params, None) {
                Err(refusal) => self.say(message::error(Some(id), &refusal)).await,
                Ok(ProtocolVersion::Stateless) if method == "subscriptions/listen" => {
                    match Subscription::read(id, &params) {
                        Ok(subscription) => self.subscribe(id, subscription).await,
                        Err(refusal) => self.say(message::error(Some(id), &refusal)).await,
                    }
                }
                Ok(protocol) => {
                    let held = self.share.hold();
                    if !held.try_add(line.len()) {
                        return self
                            .say(message::error(Some(id), &overloaded("none")))
                            .await;
                    }
                    if method == "initialize" {
                        let capabilities = params.object("capabilities");
                        self.abilities = Abilities::read(capabilities.as_ref());
                    }
                    let text = message::params_text(line);
                    self.answer(id, method, &params, text, protocol, held);
                }
            },
        }
    }

    async fn say(&self, line: String) {
        // The other side may be gone, or may not read for so long that it is not waited for.
        let _ = self
            .over
            .run_until_cancelled(self.out.send(line.into()))
            .await;
    }

    fn answer(
        &self,
        id: &str,
        method: String,
        params: &Object<'_>,
        text: String,
        protocol: ProtocolVersion,
        held: Held,
    ) {
        let timeout = self.shared.options.timeout;
        let (say, mut messages) = mpsc::channel::<String>(WAITING_MESSAGES);
        let (client, level) = match protocol {
            ProtocolVersion::Stateless => {
                let level = client::level_of_request(params);
                (Abilities::of_request(params), level)
            }
            ProtocolVersion::Handshake => {
                let sessions = &self.shared.mcp.sessions;
                let level = sessions.level(&self.session, self.caller.id());
                (self.abilities, level)
            }
        };
        let context = RequestContext {
            method,
            params: text,
            protocol,
            client,
            level,
            token: progress::token(params),
            session: Some(self.session.clone()),
            caller: Arc::clone(&self.caller),
            request_id: Uuid::new_v4().to_string().into(),
            deadline: timeout
                .map(|timeout| (clock::now() + timeout.as_secs_f64() * 1_000.0).ceil()),
            headers: None,
            metadata: None,
            trace: request::trace_of(params),
            out: Some(say),
            client_requests: self.shared.mcp.client_requests.clone(),
            server: request::server_info(&self.door),
            held: Some(Arc::new(held)),
        };
        let entry = self.running.begin(key(id));
        let (shared, share) = (Arc::clone(&self.shared), Arc::clone(&self.share));
        let (door, out) = (self.door.clone(), self.out.clone());
        let id = id.to_owned();
        let talk = async move {
            let work = request::answer(&shared, &door, context);
            let mut work = std::pin::pin!(work);
            let reply = loop {
                tokio::select! {
                    biased;
                    Some(line) = messages.recv() => {
                        let _ = out.send(message::one_line(line).into()).await;
                    }
                    reply = &mut work => break reply,
                }
            };
            while let Ok(line) = messages.try_recv() {
                let _ = out.send(message::one_line(line).into()).await;
            }
            if let Some(line) = OutgoingLine::response(&id, reply, &share) {
                let _ = out.send(line).await;
            }
        };
        let over = self.over.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = entry.cancel.cancelled() => {}
                () = over.cancelled() => {}
                () = talk => {}
            }
        });
    }

    /// From now on an older client gets notifications of changes.
    fn announce(&mut self) {
        if std::mem::replace(&mut self.announces, true) {
            return;
        }
        let audience = Audience::Session(Some(self.session.clone()));
        self.notify(self.watcher(audience), CancellationToken::new());
    }

    async fn subscribe(&self, id: &str, subscription: Subscription) {
        let (acknowledgement, end) = (subscription.acknowledgement(), subscription.end());
        if subscription.is_empty() {
            self.say(acknowledgement).await;
            return self.say(end).await;
        }
        // From here on, changes are noticed: a client that has read the acknowledgement relies on that.
        let watcher = self.watcher(Audience::Subscription(subscription));
        self.say(acknowledgement).await;
        let entry = self.running.begin(key(id));
        let cancel = entry.cancel.clone();
        let (out, quiet, over) = (self.out.clone(), self.quiet.clone(), self.over.clone());
        self.notify(watcher, cancel.clone());
        self.tasks.spawn(async move {
            let _entry = entry;
            tokio::select! {
                () = cancel.cancelled() => {}
                () = quiet.cancelled() => {
                    let _ = over.run_until_cancelled(out.send(end.into())).await;
                }
            }
        });
    }

    fn watcher(&self, audience: Audience) -> Watcher {
        Watcher::new(&self.shared, &self.door, &self.caller, audience)
    }

    fn notify(&self, mut watcher: Watcher, cancel: CancellationToken) {
        let (out, quiet) = (self.out.clone(), self.quiet.clone());
        let talk = async move {
            while let Some(messages) = watcher.next().await {
                for line in messages {
                    let _ = out.send(message::one_line(line).into()).await;
                }
            }
        };
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = quiet.cancelled() => {}
                () = talk => {}
            }
        });
    }
}

/// There is one client, and so one conversation.
fn key(id: &str) -> Key {
    Key {
        session: String::new(),
        caller: String::new(),
        id: id.to_owned(),
    }
}

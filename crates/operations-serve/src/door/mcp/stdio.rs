//! One conversation, a message in each line: what standard input and output are for. Lines come and go through channels;
//! whoever has the streams reads and writes them.

use std::sync::Arc;

use operations_core::clock;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::changes::{self, Subscription};
use super::generation::{self, Generation};
use super::message::{self, Kind, Message};
use super::progress;
use super::request::{self, Asked, Reply};
use super::running::{Key, Running};
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;

/// Signs of progress that wait to be sent; more are left out.
const WAITING_NOTES: usize = 64;

/// A conversation with one client.
#[derive(Debug)]
pub struct Conversation {
    shared: Arc<Shared>,
    door: McpDoor,
    caller: Arc<Caller>,
    running: Running,
    tasks: TaskTracker,
    /// Everything ends with it.
    over: CancellationToken,
    out: mpsc::UnboundedSender<String>,
    /// An older client was told, or is to be told, when the list of tools changes.
    announces: bool,
}

impl Conversation {
    /// What is said goes to `out`, a line each.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        door: McpDoor,
        caller: Arc<Caller>,
        out: mpsc::UnboundedSender<String>,
    ) -> Self {
        Self {
            shared,
            door,
            caller,
            running: Running::default(),
            tasks: TaskTracker::new(),
            over: CancellationToken::new(),
            out,
            announces: false,
        }
    }

    /// Talks until there are no more lines, or the server closes; then calls have come to their ends, or were ended.
    pub async fn run(mut self, mut lines: mpsc::Receiver<String>) {
        let closing = self.shared.closing.clone();
        loop {
            let line = tokio::select! {
                biased;
                () = closing.cancelled() => break,
                line = lines.recv() => line,
            };
            match line {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => self.hear(&line),
                // Nobody reads what else there is to say.
                None => break,
            }
        }
        self.over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn hear(&mut self, line: &str) {
        let message = match Message::read(line) {
            Ok(message) => message,
            Err(refusal) => {
                self.say(message::error(None, &refusal));
                return;
            }
        };
        let params = message.params;
        match message.kind {
            Kind::Answer => {}
            Kind::Notification { method } => match method.as_str() {
                "notifications/initialized" => self.announce(),
                "notifications/cancelled" => {
                    if let Some(id) = params.get("requestId") {
                        self.running.cancel(&key(id));
                    }
                }
                _ => {}
            },
            Kind::Request { id, method } => match generation::of(&method, &params, None) {
                Err(refusal) => self.say(message::error(Some(id), &refusal)),
                Ok(Generation::Stateless) if method == "subscriptions/listen" => {
                    match Subscription::read(id, &params) {
                        Ok(subscription) => self.subscribe(id, subscription),
                        Err(refusal) => self.say(message::error(Some(id), &refusal)),
                    }
                }
                Ok(generation) => {
                    let token = progress::token(&params);
                    let text = super::params_text(line);
                    self.answer(id, method, text, generation, token);
                }
            },
        }
    }

    fn say(&self, line: String) {
        // The other side may be gone.
        let _ = self.out.send(line);
    }

    fn answer(
        &self,
        id: &str,
        method: String,
        params: String,
        generation: Generation,
        token: Option<String>,
    ) {
        let timeout = self.shared.options.timeout;
        let (tell, mut notes) = mpsc::channel::<String>(WAITING_NOTES);
        let asked = Asked {
            method,
            params,
            generation,
            caller: Arc::clone(&self.caller),
            request_id: Uuid::new_v4().to_string().into(),
            deadline: timeout
                .map(|timeout| (clock::now() + timeout.as_secs_f64() * 1_000.0).ceil()),
            metadata: None,
            progress: token.is_some().then_some(tell),
        };
        let entry = self.running.begin(key(id));
        let (shared, door, out) = (
            Arc::clone(&self.shared),
            self.door.clone(),
            self.out.clone(),
        );
        let over = self.over.clone();
        let id = id.to_owned();
        self.tasks.spawn(async move {
            let work = request::answer(&shared, &door, asked);
            let mut work = std::pin::pin!(work);
            let reply = loop {
                tokio::select! {
                    biased;
                    () = entry.cancel.cancelled() => return,
                    () = over.cancelled() => return,
                    Some(note) = notes.recv() => {
                        let token = token.as_deref().unwrap_or_default();
                        if let Some(line) = progress::notification(token, &note) {
                            let _ = out.send(line);
                        }
                    }
                    reply = &mut work => break reply,
                }
            };
            let line = match reply {
                Reply::Result(result) => message::result(&id, &String::from_utf8_lossy(&result)),
                Reply::Refused(refusal) => message::error(Some(&id), &refusal),
                Reply::Denied(_, result) => message::result(&id, &result),
                Reply::Silence => return,
            };
            let _ = out.send(message::one_line(line));
        });
    }

    /// From now on an older client is told when the list of tools changes.
    fn announce(&mut self) {
        if std::mem::replace(&mut self.announces, true) {
            return;
        }
        let revision = self.shared.calls.revision();
        self.tell(revision, CancellationToken::new(), changes::announcement());
    }

    fn subscribe(&self, id: &str, subscription: Subscription) {
        self.say(subscription.acknowledgement());
        if !subscription.wants_tools {
            self.say(subscription.end());
            return;
        }
        let entry = self.running.begin(key(id));
        let cancel = entry.cancel.clone();
        let revision = self.shared.calls.revision();
        self.tell(revision, cancel.clone(), subscription.announcement());
        let (out, over) = (self.out.clone(), self.over.clone());
        self.tasks.spawn(async move {
            let _entry = entry;
            tokio::select! {
                () = cancel.cancelled() => {}
                () = over.cancelled() => { let _ = out.send(subscription.end()); }
            }
        });
    }

    fn tell(&self, mut revision: watch::Receiver<u64>, cancel: CancellationToken, line: String) {
        let (out, over) = (self.out.clone(), self.over.clone());
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    () = over.cancelled() => return,
                    changed = changes::next(&mut revision) => match changed {
                        Some(()) => { let _ = out.send(line.clone()); }
                        None => return,
                    },
                }
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

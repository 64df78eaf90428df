//! A server for tests that answers by a script, without a process or a socket.

use std::sync::{Arc, Mutex, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::log::Logger;
use serde_json::Value;
use tokio::runtime::Handle;

use super::connection::Connection;
use super::conversation::Conversation;
use super::{Client, ClientCallbacks, ClientRequest};
use crate::config::ServerConfig;
use crate::error::Failure;
use crate::transport::{Kind, Outgoing, Transport};

/// Answers nothing, and ignores notifications.
struct NoCallbacks;

impl ClientCallbacks for NoCallbacks {
    fn request(&self, _: ClientRequest, _: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::pending())
    }

    fn tools_changed(&self, _: String) {}

    fn status_changed(&self) {}
}

pub(super) fn config(mut settings: Value) -> ServerConfig {
    settings["command"] = "x".into();
    ServerConfig::from_json("demo", &settings.to_string()).unwrap()
}

/// A client that is not connected.
pub(super) fn client(config: ServerConfig) -> Client {
    Client::new(
        config,
        Arc::new(NoCallbacks),
        Logger::silent(),
        Handle::current(),
    )
}

/// A client that is connected to a script.
pub(super) fn scripted(settings: Value, script: Arc<Scripted>) -> Arc<Client> {
    let client = Arc::new(client(config(settings)));
    let conversation = Arc::new(client.conversation());
    let _ = script.conversation.set(Arc::clone(&conversation));
    client.adopt(&Arc::new(Connection::new(conversation, script, None)));
    client
}

/// Says the same to every request.
pub(super) struct Scripted {
    /// The member of the answer; nothing for silence.
    answer: Option<String>,
    sent: Mutex<Vec<String>>,
    conversation: OnceLock<Arc<Conversation>>,
}

impl Scripted {
    fn new(answer: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            answer,
            sent: Mutex::default(),
            conversation: OnceLock::new(),
        })
    }

    pub(super) fn answering(result: &str) -> Arc<Self> {
        Self::new(Some(format!(r#""result":{result}"#)))
    }

    pub(super) fn refusing(error: &str) -> Arc<Self> {
        Self::new(Some(format!(r#""error":{error}"#)))
    }

    pub(super) fn silent() -> Arc<Self> {
        Self::new(None)
    }

    /// The server says something by itself.
    pub(super) fn say(self: &Arc<Self>, text: &str) {
        let transport: Arc<dyn Transport> = Arc::clone(self) as _;
        self.conversation.get().unwrap().hear(text, &transport);
    }

    /// The notifications that it got so far.
    pub(super) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(self: Arc<Self>, message: Outgoing) {
        self.sent.lock().unwrap().push(message.text);
        let conversation = Arc::clone(self.conversation.get().unwrap());
        if let (Kind::Request { id, .. }, Some(answer)) = (message.kind, self.answer.clone()) {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#);
            // Answers never come before the request has been sent.
            tokio::spawn(async move {
                let transport: Arc<dyn Transport> = self;
                conversation.hear(&text, &transport);
            });
        }
    }

    fn withdraw(&self, _: u64) -> bool {
        true
    }

    fn agreed(
        self: Arc<Self>,
        _: &str,
        _: Option<Outgoing>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.conversation.get().unwrap().lose(&[]);
        async {}.boxed()
    }
}

/// Waits until something is so.
pub(super) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

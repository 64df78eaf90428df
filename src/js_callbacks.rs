//! What native clients need from JavaScript: requests of an MCP server, and of those who get tokens, go to the mailbox, and the answers
//! come back under numbers. How many requests may be open at a time is the client's to decide.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use operations_http::OAuthCallbacks;
use operations_mcp::{ClientCallbacks, ClientRequest};
use tokio::sync::oneshot;

#[derive(Default)]
struct Open {
    pending: HashMap<u32, oneshot::Sender<Result<String, String>>>,
    last: u32,
}

/// Sends requests through a mailbox.
pub(crate) struct MailboxCallbacks {
    mailbox: Arc<Mailbox>,
    open: Mutex<Open>,
}

impl MailboxCallbacks {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        locked(&self.open)
    }

    /// The answer to a request, or why it has no answer.
    pub(crate) fn answer(&self, id: u32, answer: Result<String, String>) {
        let sender = self.open().pending.remove(&id);
        if let Some(sender) = sender {
            // The receiver may have been dropped.
            let _ = sender.send(answer);
        }
    }

    fn ask(&self, kind: &str, json: &str) -> BoxFuture<'static, Result<String, String>> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut open = self.open();
            open.last = open.last.wrapping_add(1);
            let number = open.last;
            open.pending.retain(|_, sender| !sender.is_closed());
            open.pending.insert(number, sender);
            number
        };
        let value = format!(r#"{{"kind":"{kind}","question":{json}}}"#);
        self.mailbox.push(Item::asked(number, &value));
        async move {
            answer
                .await
                .unwrap_or_else(|_| Err("there was no answer".to_owned()))
        }
        .boxed()
    }
}

impl OAuthCallbacks for MailboxCallbacks {
    fn request(
        &self,
        kind: &'static str,
        question: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        self.ask(kind, &question)
    }
}

impl ClientCallbacks for MailboxCallbacks {
    fn request(
        &self,
        request: ClientRequest,
        json: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        self.ask(request.as_str(), &json)
    }

    fn tools_changed(&self, tools: String) {
        self.mailbox.set("tools", &tools);
    }

    fn status_changed(&self) {
        self.mailbox.set("status", "null");
    }
}

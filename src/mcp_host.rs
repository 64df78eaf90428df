//! The JavaScript program as the host of an MCP server: what the server asks goes to the mailbox, and the answers come
//! back under numbers. How many questions may be open at a time is the client's to decide.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use operations_mcp::{Host, Question};
use tokio::sync::oneshot;

#[derive(Default)]
struct Open {
    askers: HashMap<u32, oneshot::Sender<Result<String, String>>>,
    last: u32,
}

/// Asks through a mailbox.
pub(crate) struct MailboxHost {
    mailbox: Arc<Mailbox>,
    open: Mutex<Open>,
}

impl MailboxHost {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        locked(&self.open)
    }

    /// The answer to a question, or why there is none.
    pub(crate) fn answer(&self, question: u32, answer: Result<String, String>) {
        let asker = self.open().askers.remove(&question);
        if let Some(asker) = asker {
            // The asker may have gone.
            let _ = asker.send(answer);
        }
    }
}

impl Host for MailboxHost {
    fn ask(&self, question: Question, json: String) -> BoxFuture<'static, Result<String, String>> {
        let (asker, answer) = oneshot::channel();
        let number = {
            let mut open = self.open();
            open.last = open.last.wrapping_add(1);
            let number = open.last;
            open.askers.retain(|_, asker| !asker.is_closed());
            open.askers.insert(number, asker);
            number
        };
        let value = format!(r#"{{"kind":"{}","question":{json}}}"#, question.as_str());
        self.mailbox.push(Item::asked(number, &value));
        async move {
            answer
                .await
                .unwrap_or_else(|_| Err("nobody answers".to_owned()))
        }
        .boxed()
    }

    fn tools_changed(&self, tools: String) {
        self.mailbox.set("tools", &tools);
    }
}

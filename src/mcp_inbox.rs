//! What native code has for JavaScript about one MCP server: answers, progress, questions. They wait in
//! one place and are fetched together, after one wake-up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use operations_core::error::CallError;
use operations_mcp::{Host, Question};
use tokio::sync::oneshot;

use crate::wake::{Look, waker};

/// Signs of progress that wait for the JavaScript thread, in bytes. Beyond it the oldest go: a thread that
/// is too busy to look is best served with the newest.
const WAITING_PROGRESS: usize = 8 * 1024 * 1024;
/// What a waiting sign of progress costs beside its text.
const OVERHEAD: usize = 64;
/// Questions that wait for an answer. Beyond it they are refused.
const OPEN_QUESTIONS: usize = 256;

/// One thing to tell: what it is, and its text.
struct News {
    head: String,
    text: String,
}

#[derive(Default)]
struct Waiting {
    news: VecDeque<News>,
    progress: usize,
    /// The newest list of tools, if it was not fetched yet.
    tools: Option<String>,
    awake: bool,
    questions: HashMap<u32, oneshot::Sender<Result<String, String>>>,
    last_question: u32,
}

/// The inbox of one client.
pub(crate) struct Inbox {
    wake: Box<dyn Fn() + Send + Sync>,
    waiting: Mutex<Waiting>,
}

impl Inbox {
    pub(crate) fn new(look: &Look<'_>) -> napi::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            wake: Box::new(waker(look)?),
            waiting: Mutex::default(),
        }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let was_awake = {
            let mut waiting = self.waiting();
            change(&mut waiting);
            std::mem::replace(&mut waiting.awake, true)
        };
        if !was_awake {
            (self.wake)();
        }
    }

    fn push(&self, head: String, text: String) {
        self.change(|waiting| waiting.news.push_back(News { head, text }));
    }

    /// The end of a request.
    pub(crate) fn settle(&self, request: u32, outcome: Result<String, CallError>) {
        match outcome {
            Ok(text) => self.push(format!("r{request}"), text),
            Err(error) => {
                let text = serde_json::to_string(&error).unwrap_or_default();
                self.push(format!("e{request}"), text);
            }
        }
    }

    /// Progress of a request.
    pub(crate) fn progress(&self, request: u32, json: &str) {
        self.change(|waiting| {
            waiting.progress += json.len() + OVERHEAD;
            while waiting.progress > WAITING_PROGRESS {
                let is_progress = |news: &News| news.head.starts_with('p');
                let oldest = waiting.news.iter().position(is_progress);
                let Some(gone) = oldest.and_then(|oldest| waiting.news.remove(oldest)) else {
                    break;
                };
                waiting.progress -= gone.text.len() + OVERHEAD;
            }
            waiting.news.push_back(News {
                head: format!("p{request}"),
                text: json.to_owned(),
            });
        });
    }

    /// Everything that waits: heads and texts in turn.
    pub(crate) fn drain(&self) -> Vec<String> {
        let mut waiting = self.waiting();
        waiting.awake = false;
        waiting.progress = 0;
        let tools = waiting.tools.take();
        let mut all = Vec::with_capacity(waiting.news.len() * 2 + 2);
        for news in waiting.news.drain(..) {
            all.push(news.head);
            all.push(news.text);
        }
        if let Some(tools) = tools {
            all.push("t".to_owned());
            all.push(tools);
        }
        all
    }

    /// The answer to a question, or why there is none.
    pub(crate) fn answer(&self, question: u32, answer: Result<String, String>) {
        let asker = self.waiting().questions.remove(&question);
        if let Some(asker) = asker {
            // The asker may have gone.
            let _ = asker.send(answer);
        }
    }
}

/// The inbox as a server's host.
pub(crate) struct InboxHost(pub(crate) Arc<Inbox>);

impl Host for InboxHost {
    fn ask(&self, question: Question, json: String) -> BoxFuture<'static, Result<String, String>> {
        let (asker, answer) = oneshot::channel();
        let mut asker = Some(asker);
        self.0.change(|waiting| {
            if waiting.questions.len() >= OPEN_QUESTIONS {
                return;
            }
            waiting.last_question = waiting.last_question.wrapping_add(1);
            let number = waiting.last_question;
            if let Some(asker) = asker.take() {
                waiting.questions.insert(number, asker);
            }
            waiting.news.push_back(News {
                head: format!("q{number}:{}", question.as_str()),
                text: json,
            });
        });
        drop(asker);
        async move {
            answer
                .await
                .unwrap_or_else(|_| Err("nobody answers".to_owned()))
        }
        .boxed()
    }

    fn tools_changed(&self, tools: String) {
        self.0.change(|waiting| waiting.tools = Some(tools));
    }
}

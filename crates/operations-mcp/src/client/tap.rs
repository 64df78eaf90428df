//! What goes over a connection, seen from the side: both transports pass every message by here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use operations_core::log::{Level, Logger};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions, GetMeta, NumberOrString, RequestId,
    ServerJsonRpcMessage,
};
use serde_json::json;

use crate::client::slot::{Keep, Slot};
use crate::transport::message::{Message, Progress};

/// Requests of the server's that may wait for our answer. A server that asks more is not heard: its
/// questions would fill our memory.
const OPEN_QUESTIONS: usize = 256;
/// Lines that are no messages are logged up to this number.
const LOGGED_LINES: usize = 20;
/// And up to this length.
const LOGGED_LENGTH: usize = 200;

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// rmcp gets this.
    Forward(Cow<'a, str>),
    /// It is dealt with, or nobody waits for it.
    Done,
    /// It is no message at all.
    NotAMessage,
}

/// What is to be known about a message that is about to be sent.
#[derive(Default)]
pub(crate) struct Outbound {
    /// Of a request of ours: to be told how the sending went.
    pub(crate) slot: Option<Slot>,
    /// The id, when it is the question which protocol the server speaks.
    pub(crate) discover: Option<u64>,
}

enum Waiting {
    Slot(Slot),
    /// rmcp's own, of the handshake.
    Rmcp,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<u64, Waiting>,
    /// The request of a progress token.
    by_token: HashMap<u64, u64>,
    given_up: Option<u64>,
    answered_late: bool,
}

/// The requests that are under way on one connection.
pub(crate) struct Tap {
    server: String,
    logger: Logger,
    requests: Mutex<Requests>,
    open_questions: AtomicUsize,
    odd_lines: AtomicUsize,
}

fn number(id: &RequestId) -> Option<u64> {
    match id {
        NumberOrString::Number(number) => u64::try_from(*number).ok(),
        NumberOrString::String(text) => text.parse().ok(),
    }
}

impl Tap {
    pub(crate) fn new(server: &str, logger: Logger) -> Self {
        Self {
            server: server.to_owned(),
            logger,
            requests: Mutex::default(),
            open_questions: AtomicUsize::new(0),
            odd_lines: AtomicUsize::new(0),
        }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what we are about to send.
    pub(crate) fn outbound(&self, message: &ClientJsonRpcMessage) -> Outbound {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let Some(id) = number(&request.id) else {
                    return Outbound::default();
                };
                let slot = request.request.extensions().get::<Slot>().cloned();
                let token = request.request.get_meta().get_progress_token();
                let mut requests = self.requests();
                if let Some(token) = token.and_then(|token| number(&token.0))
                    && slot.is_some()
                {
                    requests.by_token.insert(token, id);
                }
                let waiting = slot.clone().map_or(Waiting::Rmcp, Waiting::Slot);
                requests.by_id.insert(id, waiting);
                let is_discover = matches!(request.request, ClientRequest::DiscoverRequest(_));
                if let Some(slot) = &slot {
                    slot.mark_writing();
                }
                Outbound {
                    slot,
                    discover: is_discover.then_some(id),
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {
                let _ =
                    self.open_questions
                        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |open| {
                            open.checked_sub(1)
                        });
                Outbound::default()
            }
            ClientJsonRpcMessage::Notification(_) => Outbound::default(),
        }
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn forget(&self, id: &RequestId) {
        if let Some(id) = number(id) {
            self.take(id);
        }
    }

    /// Gives up on a request of the handshake. Whether it was still open.
    pub(crate) fn give_up_on(&self, id: u64) -> bool {
        let was_open = self.take(id).is_some();
        if was_open {
            self.requests().given_up = Some(id);
        }
        was_open
    }

    /// Whether a request that we gave up on was answered after all.
    pub(crate) fn answered_late(&self) -> bool {
        self.requests().answered_late
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        let mut requests = self.requests();
        requests.by_token.retain(|_, request| *request != id);
        requests.by_id.remove(&id)
    }

    /// Decides about a message that came.
    pub(crate) fn inbound<'a>(&self, text: &'a str) -> Verdict<'a> {
        let Some(message) = Message::read(text) else {
            self.note_odd_line(text);
            return Verdict::NotAMessage;
        };
        if message.method.as_deref() == Some("notifications/progress") {
            self.progress(&message);
            return Verdict::Done;
        }
        if message.is_request() {
            return self.question(text);
        }
        if message.result.is_none() && message.error.is_none() {
            return Verdict::Forward(Cow::Borrowed(text));
        }
        let Some(id) = message.number() else {
            // A server that could not read a request says so without an id. Other answers without one of
            // our numbers answer nothing.
            let is_complaint = message.error.is_some() && !message.has_id();
            return if is_complaint {
                Verdict::Forward(Cow::Borrowed(text))
            } else {
                Verdict::Done
            };
        };
        match (self.take(id), message.result) {
            (None, result) => {
                let mut requests = self.requests();
                requests.answered_late |= result.is_some() && requests.given_up == Some(id);
                Verdict::Done
            }
            (Some(Waiting::Slot(slot)), Some(result)) => {
                slot.put(result.get());
                // What rmcp cannot read, it does without.
                let readable = || serde_json::from_str::<ServerJsonRpcMessage>(text).is_ok();
                if slot.keep() == Keep::Copy && readable() {
                    Verdict::Forward(Cow::Borrowed(text))
                } else {
                    Verdict::Forward(Cow::Owned(placeholder(id)))
                }
            }
            (Some(_), _) => Verdict::Forward(Cow::Borrowed(text)),
        }
    }

    /// A message that is too large to be read: whoever waits for it learns that. When nothing tells
    /// who that is, all callers do. The answers are for rmcp.
    pub(crate) fn too_large(&self, id: Option<u64>) -> Vec<String> {
        let mut requests = self.requests();
        let ids: Vec<u64> = match id {
            Some(id) => vec![id],
            None => requests
                .by_id
                .iter()
                .filter(|(_, waiting)| matches!(waiting, Waiting::Slot(_)))
                .map(|(id, _)| *id)
                .collect(),
        };
        let mut answers = Vec::new();
        for id in ids {
            requests.by_token.retain(|_, request| *request != id);
            match requests.by_id.remove(&id) {
                Some(Waiting::Slot(slot)) => {
                    slot.mark_too_large();
                    answers.push(placeholder(id));
                }
                Some(Waiting::Rmcp) => answers.push(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"too large"}}}}"#
                )),
                None => {}
            }
        }
        answers
    }

    fn progress(&self, message: &Message<'_>) {
        let Some(params) = message.params else { return };
        let slot = Progress::token_of(params).and_then(|token| {
            let requests = self.requests();
            let id = requests.by_token.get(&token)?;
            match requests.by_id.get(id)? {
                Waiting::Slot(slot) => Some(slot.clone()),
                Waiting::Rmcp => None,
            }
        });
        if let Some(slot) = slot {
            slot.progress(params.get());
        }
    }

    fn question<'a>(&self, text: &'a str) -> Verdict<'a> {
        let open = self.open_questions.fetch_add(1, Ordering::AcqRel);
        if open < OPEN_QUESTIONS {
            return Verdict::Forward(Cow::Borrowed(text));
        }
        self.open_questions.fetch_sub(1, Ordering::AcqRel);
        Verdict::Done
    }

    pub(crate) fn note_odd_line(&self, text: &str) {
        let text = text.trim();
        let before = self.odd_lines.fetch_add(1, Ordering::Relaxed);
        if text.is_empty() || before > LOGGED_LINES {
            return;
        }
        let message = if before == LOGGED_LINES {
            format!(
                "MCP server '{}' goes on writing lines that are no messages; they are not logged any more",
                self.server
            )
        } else {
            let cut: String = text.chars().take(LOGGED_LENGTH).collect();
            format!(
                "MCP server '{}' wrote a line that is no message: {cut}",
                self.server
            )
        };
        let facts = [("server", json!(self.server))];
        self.logger.log(Level::Warning, "mcp", message, facts);
    }
}

/// What rmcp gets in place of an answer that is kept.
fn placeholder(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rmcp::model::{CallToolRequest, CallToolRequestParams, ProgressToken};

    use super::*;

    fn tap() -> Tap {
        Tap::new("demo", Logger::silent())
    }

    /// A call that is under way, as the transports see it.
    fn sent(tap: &Tap, id: i64, slot: &Slot) {
        let call = CallToolRequest::new(CallToolRequestParams::new("tool"));
        let mut request = ClientRequest::CallToolRequest(call);
        request.extensions_mut().insert(slot.clone());
        let token = ProgressToken(NumberOrString::Number(id + 100));
        request.get_meta_mut().set_progress_token(token);
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
        tap.outbound(&message);
    }

    #[test]
    fn a_result_is_kept_as_it_was_written_and_rmcp_gets_a_stand_in() {
        let tap = tap();
        let slot = Slot::new(Keep::Instead, None);
        sent(&tap, 3, &slot);
        let verdict = tap.inbound(r#"{"result":{"n": 1.0, "x":[ ]},"jsonrpc":"2.0","id":"3"}"#);
        assert_eq!(
            verdict,
            Verdict::Forward(Cow::Borrowed(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#))
        );
        assert_eq!(slot.take().as_deref(), Some(r#"{"n": 1.0, "x":[ ]}"#));
        let again = tap.inbound(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
        assert_eq!(again, Verdict::Done, "nobody waits for it any more");
    }

    #[test]
    fn an_error_goes_to_rmcp() {
        let tap = tap();
        sent(&tap, 3, &Slot::new(Keep::Instead, None));
        let text = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#;
        assert_eq!(tap.inbound(text), Verdict::Forward(Cow::Borrowed(text)));
    }

    #[test]
    fn progress_reaches_its_call_and_no_other() {
        let tap = tap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let listener = Arc::new(move |json: &str| sink.lock().unwrap().push(json.to_owned()));
        sent(&tap, 3, &Slot::new(Keep::Instead, Some(listener)));
        for token in ["103", r#""103""#, "104", "{}"] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token}}}}}"#
            );
            assert_eq!(tap.inbound(&text), Verdict::Done);
        }
        assert_eq!(seen.lock().unwrap().len(), 2);
    }

    #[test]
    fn a_server_that_asks_without_end_is_not_heard() {
        let tap = tap();
        let question = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for _ in 0..OPEN_QUESTIONS {
            assert!(matches!(tap.inbound(question), Verdict::Forward(_)));
        }
        assert_eq!(tap.inbound(question), Verdict::Done);
        let answer = rmcp::model::ClientResult::empty(());
        tap.outbound(&ClientJsonRpcMessage::response(
            answer,
            RequestId::Number(1),
        ));
        assert!(matches!(tap.inbound(question), Verdict::Forward(_)));
    }

    #[test]
    fn an_answer_that_is_too_large_is_told_to_whoever_waits() {
        let tap = tap();
        let (one, other) = (
            Slot::new(Keep::Instead, None),
            Slot::new(Keep::Instead, None),
        );
        sent(&tap, 3, &one);
        sent(&tap, 4, &other);
        assert_eq!(tap.too_large(Some(3)).len(), 1);
        assert!(one.was_too_large() && !other.was_too_large());
        assert_eq!(tap.too_large(None).len(), 1);
        assert!(other.was_too_large());
    }

    #[test]
    fn odd_lines_are_logged_up_to_a_number() {
        let lines = Arc::new(Mutex::new(0));
        let count = Arc::clone(&lines);
        let logger = Logger::new(move |_| *count.lock().unwrap() += 1);
        let tap = Tap::new("demo", logger);
        for _ in 0..1000 {
            assert_eq!(tap.inbound("Listening on port 3000"), Verdict::NotAMessage);
        }
        assert_eq!(*lines.lock().unwrap(), LOGGED_LINES + 1);
    }
}

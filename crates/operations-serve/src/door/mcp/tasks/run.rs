//! The work on a task, which goes on when the request that began it was answered.

use std::sync::Arc;
use std::time::Duration;

use operations_core::clock;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::sleep;

use super::store::{Record, Status};
use super::{Live, Talk, Tasks, wire};
use crate::client_channel::{CallerMessage, ClientRequests};
use crate::door::mcp::client_requests;
use crate::door::mcp::interactive_call;
use crate::door::mcp::message::{INTERNAL_ERROR, Refusal};
use crate::door::mcp::protocol_version::ProtocolVersion;
use crate::door::mcp::request::{Reply, RequestContext};
use crate::door::mcp::running_call::RunningCall;
use crate::door::mcp::tools::Finishing;
use crate::service::Shared;

/// How long it takes until an end that could not be kept is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What a handler may send, as JSON. In the handshake protocol, a task cannot make requests to its client.
pub(in super::super) fn offers(shared: &Shared, context: &RequestContext) -> String {
    let mut offers = Map::new();
    offers.insert("progress".to_owned(), Value::Bool(true));
    if context.protocol == ProtocolVersion::Stateless {
        for (name, is_able) in context.client.request_kinds() {
            if is_able {
                offers.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if context.client.elicitation {
            let approve = interactive_call::approvals(shared, context, &[]);
            offers.insert("approve".to_owned(), approve);
        }
    }
    Value::Object(offers).to_string()
}

/// How the work ended.
enum Ended {
    Done(Result<ResponseEnvelope, CallError>),
    Cancelled,
    Closed,
}

/// Works on a task until it is done, and keeps what came of it.
pub(super) async fn run(
    shared: Arc<Shared>,
    live: Arc<Live>,
    mut call: RunningCall,
    finishing: Finishing,
    end: watch::Sender<bool>,
) {
    let ended = loop {
        tokio::select! {
            biased;
            () = live.cancel.cancelled() => break Ended::Cancelled,
            () = shared.closing.cancelled() => break Ended::Closed,
            Some(message) = call.messages.recv() => {
                locked(&live.talk).hear(message);
                changed(&shared, &live);
            }
            Some(questions) = call.requests.recv() => {
                locked(&live.talk).ask(&questions);
                changed(&shared, &live);
            }
            done = &mut call.work => break Ended::Done(done),
        }
    };
    // What is still running is aborted, before the end is reported.
    drop(call);
    let (record, result) = outcome(&shared, &live, &finishing, ended);
    if let Some(tasks) = &shared.mcp.tasks {
        keep(tasks, &shared, &finishing, &record, result.as_deref()).await;
        locked(&tasks.live).remove(&record.id);
    }
    changed(&shared, &live);
    // There may be no receiver.
    let _ = end.send(true);
}

/// Keeps the end of a task. If that is not possible now, it is tried again for as long as the task is worth it.
async fn keep(
    tasks: &Tasks,
    shared: &Shared,
    finishing: &Finishing,
    record: &Record,
    result: Option<&str>,
) {
    let mut pause = FIRST_PAUSE;
    while let Err(error) = tasks.store.finish(record, result).await {
        if pause == FIRST_PAUSE {
            let message = format!("The end of a task cannot be stored yet: {}", error.message);
            shared.log_failure(&finishing.request_id, &CallError::failed(message));
        }
        if shared.closing.is_cancelled() || record.until() < clock::now() {
            return;
        }
        tokio::select! {
            () = sleep(pause) => {}
            // Then there is one last try.
            () = shared.closing.cancelled() => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Subscribers are notified.
fn changed(shared: &Shared, live: &Live) {
    if let Some(tasks) = &shared.mcp.tasks {
        tasks.changed(live);
    }
}

fn says_that_it_failed(result: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outcome {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str(result).is_ok_and(|Outcome { is_error }| is_error)
}

/// What is kept of the end of a task: its record, and a result as JSON.
fn outcome(
    shared: &Shared,
    live: &Live,
    finishing: &Finishing,
    ended: Ended,
) -> (Record, Option<String>) {
    let (status, error, result) = match ended {
        Ended::Cancelled => (Status::Cancelled, None, None),
        Ended::Closed => {
            let refusal = Refusal::new(
                INTERNAL_ERROR,
                "The server was closed before the task was done",
            );
            (Status::Failed, Some(wire::error(&refusal)), None)
        }
        Ended::Done(done) => match finishing.reply(shared, done) {
            Reply::Result(result) => {
                let text = String::from_utf8_lossy(&result).into_owned();
                (Status::Completed, None, Some(text))
            }
            Reply::Refused(refusal) | Reply::Denied(refusal, _) => {
                (Status::Failed, Some(wire::error(&refusal)), None)
            }
            Reply::Silence => (Status::Cancelled, None, None),
        },
    };
    let record = Record {
        status,
        error,
        is_error: result.as_deref().is_some_and(says_that_it_failed),
        updated: clock::now().floor(),
        ..live.record.clone()
    };
    (record, result)
}

impl Talk {
    /// A message of the handler. Log lines have no reader in a task.
    fn hear(&mut self, message: CallerMessage) {
        let CallerMessage::Progress(note) = message else {
            return;
        };
        let Ok(note) = serde_json::from_str::<Value>(&note) else {
            return;
        };
        if let Some(message) = note.get("message").and_then(Value::as_str) {
            self.message = Some(message.to_owned());
        }
        self.progress = Some(note);
        self.updated = clock::now().floor();
    }

    /// The handler makes requests to the client.
    fn ask(&mut self, ClientRequests { id, list }: &ClientRequests) {
        for request in client_requests::read(list) {
            self.asked_count += 1;
            // A client may keep what it has answered by this name, so each is used once.
            let key = format!("{}-{}", request.key, self.asked_count);
            self.open.insert(key, (Arc::clone(id), request));
        }
        self.updated = clock::now().floor();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_have_names_of_their_own() {
        let mut talk = Talk::default();
        let list = json!([{ "key": "a", "method": "elicitation/create", "params": {} }]);
        for _ in 0..2 {
            talk.ask(&ClientRequests {
                id: "work".into(),
                list: list.to_string(),
            });
        }
        talk.hear(CallerMessage::Progress(
            r#"{"progress":1,"message":"half"}"#.to_owned(),
        ));
        talk.hear(CallerMessage::Progress(r#"{"progress":2}"#.to_owned()));
        let keys: Vec<&str> = talk.open.keys().map(String::as_str).collect();
        assert_eq!(keys, ["a-1", "a-2"]);
        assert_eq!(talk.message.as_deref(), Some("half"));
    }
}

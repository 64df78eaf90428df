//! A call that the server has made a task of: it is asked how far it is until there is a result. The caller does not notice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use operations_core::clock;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Client;
use super::call::Call;
use super::connection::{Connection, Request};
use super::input_required::InputRequest;
use super::requests::Patience;
use crate::error::Failure;
use crate::transport::message::{self, RpcError};

/// What every task has, and hardly a result that is none.
pub(super) const MARK: &str = "\"taskId\"";
/// How often a server is asked that does not say how often, and the bounds of what it may say.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many questions a task may ask.
const MOST_QUESTIONS: usize = 100;
/// How long a server may take to hear that nobody wants its task any more.
const PARTING: Duration = Duration::from_secs(5);

/// A task, as a server tells of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task<'a> {
    #[serde(rename = "taskId")]
    id: String,
    status: String,
    #[serde(alias = "pollInterval")]
    poll_interval_ms: Option<f64>,
    status_message: Option<String>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
    #[serde(borrow, default)]
    input_requests: HashMap<String, InputRequest<'a>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

/// What our own servers tell beside the words of the protocol.
#[derive(Deserialize)]
struct Meta<'a> {
    /// The last sign of progress.
    #[serde(borrow, rename = "alkdev.operations/progress")]
    progress: Option<&'a RawValue>,
}

/// What was told of the progress of a task.
#[derive(Default)]
struct Told {
    /// The last sign.
    last: Option<String>,
    signs: u32,
}

impl Told {
    /// What is to be told now, as the parameters of a notification: what our servers say as it is; of others the message, with
    /// the number of messages as the progress, because it has to increase.
    fn next(&mut self, task: &Task<'_>) -> Option<String> {
        let sign = task.meta.as_ref().and_then(|meta| meta.progress);
        let sign = sign.map(RawValue::get);
        let new = sign.or(task.status_message.as_deref())?;
        if self.last.as_deref() == Some(new) {
            return None;
        }
        self.signs = self.signs.saturating_add(1);
        self.last = Some(new.to_owned());
        let signs = self.signs;
        Some(sign.map_or_else(
            || format!(r#"{{"progress":{signs},"message":{}}}"#, message::text(new)),
            str::to_owned,
        ))
    }
}

impl<'a> Task<'a> {
    /// The task in the result of a call, if it is one: as a whole (2026-07-28), or as a member for those who have asked for it
    /// (2025-11-25).
    pub(super) fn read(result: &'a str) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Kind<'a> {
            result_type: Option<String>,
            #[serde(borrow)]
            task: Option<&'a RawValue>,
            #[serde(borrow)]
            content: Option<&'a RawValue>,
        }
        let kind: Kind<'a> = serde_json::from_str(result).ok()?;
        let text = match (kind.result_type.as_deref(), kind.task, kind.content) {
            (Some("task"), _, _) => result,
            (None, Some(task), None) => task.get(),
            _ => return None,
        };
        serde_json::from_str(text).ok()
    }

    fn pause(&self) -> Duration {
        let asked = self.poll_interval_ms.map(clock::milliseconds);
        asked
            .unwrap_or(USUAL_PAUSE)
            .clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }
}

/// What a server is asked about a task.
fn about(method: &'static str, id: &str) -> Request {
    let mut request = Request::new(method);
    request.name = Some(id.into());
    request.params = format!(r#""taskId":{}"#, message::text(id));
    request
}

/// Where the server was asked last: a task outlives connections.
enum Way<'a> {
    First(&'a Connection),
    Later(Arc<Connection>),
}

impl std::ops::Deref for Way<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Self::First(connection) => connection,
            Self::Later(connection) => connection,
        }
    }
}

impl Client {
    /// The result of a call that became a task.
    pub(super) async fn follow(
        self: &Arc<Self>,
        call: &Call,
        connection: &Connection,
        result: &str,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let Some(first) = Task::read(result) else {
            return Err(Failure::Odd("its task cannot be read".to_owned()));
        };
        let (id, pause) = (first.id.clone(), first.pause());
        let most = self.config().task_timeout;
        let end = Instant::now() + most;
        let end = call.patience.end.map_or(end, |limit| limit.min(end));
        let within = end.saturating_duration_since(Instant::now());
        let followed = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::Aborted),
            followed = self.polled(call, Way::First(connection), &id, pause, cancel) => followed,
            () = sleep(within) => Err(Failure::Timeout(within)),
        };
        if matches!(followed, Err(Failure::Aborted | Failure::Timeout(_))) {
            self.part_with(&id);
        }
        followed
    }

    async fn polled(
        self: &Arc<Self>,
        call: &Call,
        mut way: Way<'_>,
        id: &str,
        mut pause: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let question = about("tasks/get", id);
        let patience = Patience::of(call.patience.limit);
        let mut answered = HashSet::new();
        let mut told = Told::default();
        loop {
            sleep(pause).await;
            let text = match way.request(&question, patience, None, cancel).await {
                Ok(text) => text,
                Err(failure) if self.may_ask_again(&failure) => {
                    let connected = self.connected(call.patience.limit, cancel).await;
                    way = Way::Later(connected.map_err(|_| failure)?);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let task: Task<'_> = serde_json::from_str(&text)
                .map_err(|error| Failure::Odd(format!("its task cannot be read ({error})")))?;
            if task.id != id {
                return Err(Failure::Odd("it tells of another task".to_owned()));
            }
            if let Some(listener) = &call.on_progress
                && let Some(sign) = told.next(&task)
            {
                listener(&sign);
            }
            match task.status.as_str() {
                "completed" => {
                    if let Some(result) = task.result {
                        return Ok(result.get().to_owned());
                    }
                    // The older revision has it elsewhere.
                    let question = about("tasks/result", id);
                    return way.request(&question, patience, None, cancel).await;
                }
                "failed" => {
                    let error = task.error;
                    return match error {
                        Some(error) => Err(Failure::Refused(error)),
                        None if way.facts.is_stateless() => {
                            Err(Failure::Odd("its task failed without an error".to_owned()))
                        }
                        None => {
                            let question = about("tasks/result", id);
                            way.request(&question, patience, None, cancel).await
                        }
                    };
                }
                "cancelled" => return Err(Failure::Odd("it has cancelled the task".to_owned())),
                _ => {}
            }
            pause = task.pause();
            self.answer_task(&way, id, &task, &mut answered, cancel)
                .await?;
        }
    }

    /// Answers what a task wants to know and has not been told.
    async fn answer_task(
        &self,
        way: &Connection,
        id: &str,
        task: &Task<'_>,
        answered: &mut HashSet<String>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let mut answers = Vec::new();
        for (key, request) in &task.input_requests {
            if !answered.contains(key) {
                if answered.len() >= MOST_QUESTIONS {
                    let reason = format!("its task asks more than {MOST_QUESTIONS} questions");
                    return Err(Failure::Odd(reason));
                }
                let answer = request.answer(way).await?;
                answers.push(format!("{}:{answer}", message::text(key)));
                answered.insert(key.clone());
            }
        }
        if answers.is_empty() {
            return Ok(());
        }
        let mut update = about("tasks/update", id);
        let answers = answers.join(",");
        update.params.push_str(r#","inputResponses":{"#);
        update.params.push_str(&answers);
        update.params.push('}');
        let patience = Patience::of(self.config().timeout);
        way.request(&update, patience, None, cancel).await?;
        Ok(())
    }

    /// Whether a question about a task can be asked on another connection.
    fn may_ask_again(&self, failure: &Failure) -> bool {
        matches!(failure, Failure::Lost { .. })
            && self.config().reconnect
            && !self.closed.is_cancelled()
    }

    /// Tells the server that nobody waits any more. The caller does not wait for that.
    fn part_with(self: &Arc<Self>, id: &str) {
        let Some(connection) = self.live() else {
            return;
        };
        let question = about("tasks/cancel", id);
        self.runtime.spawn(async move {
            let never = CancellationToken::new();
            let patience = Patience::of(PARTING);
            // It may be done, or gone.
            let _ = connection.request(&question, patience, None, &never).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_once() {
        let mut told = Told::default();
        let mut next = |members: &str| {
            let text = format!(r#"{{"taskId":"a","status":"working"{members}}}"#);
            told.next(&serde_json::from_str(&text).unwrap())
        };
        assert_eq!(next(""), None);
        let half = Some(r#"{"progress":1,"message":"half \"of\" it"}"#.to_owned());
        assert_eq!(next(r#","statusMessage":"half \"of\" it""#), half);
        assert_eq!(next(r#","statusMessage":"half \"of\" it""#), None);
        let more = r#","statusMessage":"x","_meta":{"alkdev.operations/progress":{"progress":7}}"#;
        assert_eq!(next(more), Some(r#"{"progress":7}"#.to_owned()));
        assert_eq!(next(more), None);
    }

    #[test]
    fn a_task_is_told_from_a_result() {
        let task = Task::read(
            r#"{"resultType":"task","taskId":"a","status":"working","pollIntervalMs":5,"ttlMs":null}"#,
        )
        .unwrap();
        assert_eq!((task.id.as_str(), task.pause()), ("a", SHORTEST_PAUSE));
        let older = r#"{"task":{"taskId":"b","status":"working","pollInterval":2000}}"#;
        let task = Task::read(older).unwrap();
        assert_eq!(task.pause(), Duration::from_secs(2));
        for plain in [
            r#"{"content":[],"structuredContent":{"taskId":"a"}}"#,
            r#"{"content":[],"task":{"taskId":"a","status":"working"}}"#,
            r#"{"resultType":"complete","taskId":"a","status":"working"}"#,
            r#"{"resultType":"task"}"#,
        ] {
            assert!(Task::read(plain).is_none(), "{plain}");
        }
    }
}

//! A call that the server has made a task of: it is asked how far it is until there is a result. The caller does not notice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
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

/// A member that every task has, and hardly any other result.
pub(super) const MARK: &str = "\"taskId\"";
/// How often a server is asked that does not say how often, and the bounds of what it may say.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many requests for input a task may make.
const MAX_INPUT_REQUESTS: usize = 100;
/// How long cancelling a task at the server may take.
const PARTING: Duration = Duration::from_secs(5);
/// The pause before a server that failed to tell of a task is asked again: it doubles up to this.
const LONGEST_RETRY_PAUSE: Duration = Duration::from_secs(5);

/// A task, as a server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task<'a> {
    #[serde(rename = "taskId")]
    id: String,
    status: String,
    poll_interval_ms: Option<f64>,
    /// The same in the older revision. Some servers send both.
    poll_interval: Option<f64>,
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

/// The progress of a task that was reported.
#[derive(Default)]
struct ReportedProgress {
    /// The last sign.
    last: Option<String>,
    signs: u32,
}

impl ReportedProgress {
    /// What is to be reported now, as the parameters of a notification: what our servers say as it is; of others the message, with
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
        let asked = self.poll_interval_ms.or(self.poll_interval);
        let asked = asked.map(clock::milliseconds);
        asked
            .unwrap_or(DEFAULT_PAUSE)
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
enum CurrentConnection<'a> {
    First(&'a Connection),
    Later(Arc<Connection>),
}

impl std::ops::Deref for CurrentConnection<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Self::First(connection) => connection,
            Self::Later(connection) => connection,
        }
    }
}

/// How a call ends that became a task and has no result.
enum End {
    /// The server has ended the task, and this is what it says.
    ByServer(Failure),
    /// We ask no longer. What becomes of the task is unknown.
    Left(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Left(failure)
    }
}

impl End {
    /// Whether the server is to be asked to cancel: not if it has ended the task, or does not know it.
    fn is_parting(&self) -> bool {
        matches!(self, Self::Left(failure) if !matches!(failure, Failure::Refused(_) | Failure::TooLarge(_)))
    }

    fn of_task(self, id: String) -> Failure {
        let (cause, is_answer) = match self {
            Self::ByServer(cause) => (cause, true),
            Self::Left(cause) => (cause, false),
        };
        Failure::Task {
            id,
            is_answer,
            cause: Box::new(cause),
        }
    }
}

/// Whether a request about a task may be answered when it is asked once more: the server is away, or cannot read the task now.
fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Lost { .. } => true,
        Failure::Transport { may_pass, .. } => *may_pass,
        Failure::Refused(error) => error.code == message::INTERNAL_ERROR,
        _ => false,
    }
}

/// Whether a connection that was not made may be made later: not if the server wants a different user, or if the configuration is
/// wrong.
fn may_connect_later(error: &CallError) -> bool {
    let details = error.details.as_ref();
    let status = details.and_then(|details| details.get("status"));
    let is_forbidden = status.is_some_and(|status| *status == 401 || *status == 403);
    let is_final = [Code::ValidationError.as_str(), Code::Aborted.as_str()];
    !is_forbidden && !is_final.contains(&&*error.code)
}

/// The pause after one more failure.
fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_RETRY_PAUSE).max(pause)
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
            () = cancel.cancelled() => Err(End::Left(Failure::Aborted)),
            () = self.closed.cancelled() => Err(End::Left(Failure::Lost { sent: true })),
            followed = self.polled(call, CurrentConnection::First(connection), &id, pause, cancel) => followed,
            () = sleep(within) => Err(End::Left(Failure::Timeout(within))),
        };
        followed.map_err(|end| {
            if end.is_parting() {
                self.part_with(&id);
            }
            end.of_task(id)
        })
    }

    async fn polled(
        self: &Arc<Self>,
        call: &Call,
        mut current: CurrentConnection<'_>,
        id: &str,
        mut pause: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, End> {
        let request = about("tasks/get", id);
        let limit = call.patience.limit;
        let mut answered = HashSet::new();
        let mut reported = ReportedProgress::default();
        loop {
            sleep(pause).await;
            let text = self
                .ask(&mut current, &request, (limit, pause), may_pass, cancel)
                .await?;
            let task: Task<'_> = serde_json::from_str(&text)
                .map_err(|error| Failure::Odd(format!("its task cannot be read ({error})")))?;
            if task.id != id {
                return Err(Failure::Odd("it tells of another task".to_owned()).into());
            }
            if let Some(listener) = &call.on_progress
                && let Some(sign) = reported.next(&task)
            {
                listener(&sign);
            }
            match task.status.as_str() {
                "completed" => {
                    if task.error.is_some() {
                        let reason = "its task is completed and has an error".to_owned();
                        return Err(End::ByServer(Failure::Odd(reason)));
                    }
                    let result = if let Some(result) = task.result {
                        result.get().to_owned()
                    } else {
                        // The older revision has it elsewhere.
                        let request = about("tasks/result", id);
                        self.ask(&mut current, &request, (limit, pause), may_pass, cancel)
                            .await?
                    };
                    if Task::read(&result).is_some() {
                        let reason = "the result of its task is itself a task".to_owned();
                        return Err(End::ByServer(Failure::Odd(reason)));
                    }
                    return Ok(result);
                }
                "failed" => {
                    if let Some(error) = task.error {
                        return Err(End::ByServer(Failure::Refused(error)));
                    }
                    if current.facts.is_stateless() {
                        let reason = "its task failed without an error".to_owned();
                        return Err(End::ByServer(Failure::Odd(reason)));
                    }
                    // Here an error is what the call has come to, whatever its code is.
                    let is_away = |failure: &Failure| may_pass(failure) && !is_refusal(failure);
                    let request = about("tasks/result", id);
                    let asked = self.ask(&mut current, &request, (limit, pause), is_away, cancel);
                    return asked.await.map_err(|failure| {
                        if is_refusal(&failure) {
                            End::ByServer(failure)
                        } else {
                            End::Left(failure)
                        }
                    });
                }
                "cancelled" => {
                    let reason = "it has cancelled the task".to_owned();
                    return Err(End::ByServer(Failure::Odd(reason)));
                }
                _ => {}
            }
            pause = task.pause();
            if let Some(update) = answers(&current, id, &task, &mut answered).await? {
                let limit = self.config().timeout;
                self.ask(&mut current, &update, (limit, pause), may_pass, cancel)
                    .await?;
            }
        }
    }

    /// Asks something about a task, and asks again for as long as the failure may pass. The caller sets an end to it.
    async fn ask(
        self: &Arc<Self>,
        current: &mut CurrentConnection<'_>,
        request: &Request,
        (limit, mut pause): (Duration, Duration),
        may_pass: impl Fn(&Failure) -> bool,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        loop {
            let asked = current.request(request, Patience::of(limit), None, cancel);
            let failure = match asked.await {
                Ok(text) => return Ok(text),
                Err(failure) => failure,
            };
            if self.closed.is_cancelled() || !may_pass(&failure) {
                return Err(failure);
            }
            sleep(pause).await;
            pause = longer(pause);
            if current.is_lost() {
                if !self.config().reconnect {
                    return Err(failure);
                }
                // A session that a server has forgotten is begun anew; the task is the same.
                match self.connected(limit, cancel).await {
                    Ok(connection) => *current = CurrentConnection::Later(connection),
                    Err(error) if may_connect_later(&error) => {}
                    Err(_) => return Err(failure),
                }
            }
        }
    }

    /// Asks the server to cancel the task. The caller does not wait for that.
    fn part_with(self: &Arc<Self>, id: &str) {
        let Some(connection) = self.live() else {
            return;
        };
        let request = about("tasks/cancel", id);
        let parting = async move {
            let never = CancellationToken::new();
            let patience = Patience::of(PARTING);
            // It may be done, or gone.
            let _ = connection.request(&request, patience, None, &never).await;
        };
        self.tasks.spawn_on(parting, &self.runtime);
    }
}

fn is_refusal(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(_))
}

/// The answers to a task's requests for input that it has not got yet, as the request that sends them.
async fn answers(
    current: &Connection,
    id: &str,
    task: &Task<'_>,
    answered: &mut HashSet<String>,
) -> Result<Option<Request>, Failure> {
    let mut answers = Vec::new();
    for (key, request) in &task.input_requests {
        if !answered.contains(key) {
            if answered.len() >= MAX_INPUT_REQUESTS {
                let reason = format!("its task asks more than {MAX_INPUT_REQUESTS} questions");
                return Err(Failure::Odd(reason));
            }
            let answer = request.answer(current).await?;
            answers.push(format!("{}:{answer}", message::text(key)));
            answered.insert(key.clone());
        }
    }
    if answers.is_empty() {
        return Ok(None);
    }
    let mut update = about("tasks/update", id);
    let answers = answers.join(",");
    update.params.push_str(r#","inputResponses":{"#);
    update.params.push_str(&answers);
    update.params.push('}');
    Ok(Some(update))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Delivery;

    fn transport(may_pass: bool) -> Failure {
        Failure::Transport {
            sent: false,
            answered: false,
            may_pass,
            reason: String::new(),
        }
    }

    fn refused(code: i64) -> Failure {
        Failure::Refused(RpcError::new(code, "x"))
    }

    #[test]
    fn a_server_that_is_away_is_asked_again() {
        let lost = Failure::Lost { sent: true };
        for failure in [lost, transport(true), refused(-32603)] {
            assert!(may_pass(&failure), "{failure:?}");
        }
        let forbidden = Failure::NotAuthorized {
            needs: crate::error::Needs::Auth,
            status: 401,
            scope: None,
            reason: String::new(),
        };
        let others = [
            transport(false),
            refused(-32602),
            refused(-32601),
            forbidden,
        ];
        let late = Failure::Timeout(PARTING);
        for failure in others.into_iter().chain([late, Failure::Aborted]) {
            assert!(!may_pass(&failure), "{failure:?}");
        }
    }

    #[test]
    fn a_connection_that_is_forbidden_is_not_tried_again() {
        let error = |details| CallError::failed("x").with_details(details);
        assert!(may_connect_later(&error(serde_json::json!({}))));
        assert!(may_connect_later(&error(
            serde_json::json!({ "status": 503 })
        )));
        assert!(!may_connect_later(&error(
            serde_json::json!({ "status": 401 })
        )));
        let invalid = CallError::new(Code::ValidationError, "x");
        assert!(!may_connect_later(&invalid));
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_never_shrink() {
        let seconds = Duration::from_secs;
        assert_eq!(longer(seconds(1)), seconds(2));
        assert_eq!(longer(seconds(4)), seconds(5));
        assert_eq!(longer(seconds(60)), seconds(60));
    }

    #[test]
    fn only_what_the_server_says_of_a_task_is_its_answer() {
        for (end, delivery, is_parting) in [
            (End::ByServer(refused(-32603)), Delivery::Done, false),
            (End::Left(refused(-32602)), Delivery::Unknown, false),
            (End::Left(transport(true)), Delivery::Unknown, true),
            (
                End::Left(Failure::Timeout(PARTING)),
                Delivery::Unknown,
                true,
            ),
        ] {
            assert_eq!(end.is_parting(), is_parting);
            assert_eq!(end.of_task("a".to_owned()).delivery(), delivery);
        }
    }

    #[test]
    fn progress_is_reported_once() {
        let mut reported = ReportedProgress::default();
        let mut next = |members: &str| {
            let text = format!(r#"{{"taskId":"a","status":"working"{members}}}"#);
            reported.next(&serde_json::from_str(&text).unwrap())
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
    fn a_task_is_distinguished_from_a_result() {
        let task = Task::read(
            r#"{"resultType":"task","taskId":"a","status":"working","pollIntervalMs":5,"ttlMs":null}"#,
        )
        .unwrap();
        assert_eq!((task.id.as_str(), task.pause()), ("a", SHORTEST_PAUSE));
        let older = r#"{"task":{"taskId":"b","status":"working","pollInterval":2000}}"#;
        let task = Task::read(older).unwrap();
        assert_eq!(task.pause(), Duration::from_secs(2));
        let both = r#"{"task":{"taskId":"b","status":"working","pollInterval":2000,"pollIntervalMs":3000}}"#;
        assert_eq!(Task::read(both).unwrap().pause(), Duration::from_secs(3));
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

//! A call: what becomes of it when the server ends in the middle, and when it answers with a question.

use std::sync::{Arc, Weak};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::{MAX_ANSWER_DEPTH, is_too_deep};
use operations_core::trace;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Client;
use super::connection::{Connection, Request};
use super::input_required::{self, Incomplete};
use super::requests::{OnProgress, Patience};
use super::task::{self, Task};
use crate::error::{Delivery, Failure};
use crate::transport::{SpillSlot, message};

/// How often a call is sent again that met the end of its server.
const REPEATS: usize = 2;
/// How often a server may come back with another question.
const ROUNDS: usize = 10;
/// How long we wait before we ask a server again that only wanted to be asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// How one call is treated.
#[derive(Default, Clone)]
pub struct CallOptions {
    /// In place of the server's own.
    pub timeout: Option<Duration>,
    /// How long anybody waits for it, whatever the time limit is and whether there is progress or not.
    pub deadline: Option<Duration>,
    /// Whether progress starts the time anew; the server's own setting when there is none.
    pub reset_timeout_on_progress: Option<bool>,
    /// Receives progress as JSON.
    pub on_progress: Option<OnProgress>,
    /// Where a large result goes, and what became of it.
    pub slot: Option<Arc<SpillSlot>>,
    /// The trace that it belongs to: a JSON object ([`operations_core::trace`]).
    pub trace: Option<String>,
}

/// Something to call, and how far it got.
pub(crate) struct Call {
    request: Arc<Request>,
    /// The same with our answers to what the server asked back.
    round: Option<Arc<Request>>,
    rounds: usize,
    repeats: usize,
    pub(super) patience: Patience,
    pub(super) on_progress: Option<OnProgress>,
    /// Whether the server may have carried it out, be it at an earlier attempt.
    may_have_executed: bool,
}

impl Call {
    fn tool(&self) -> Option<&str> {
        let name = self.request.name.as_deref();
        name.filter(|_| self.request.method == "tools/call")
    }

    /// An error of an attempt as the error of the call: never more hopeful than what is known of earlier attempts.
    fn told(&self, mut error: CallError) -> CallError {
        if self.may_have_executed
            && let Some(Value::Object(details)) = &mut error.details
            && let Some(delivery) = details.get_mut("delivery")
            && *delivery == Delivery::None.as_str()
        {
            *delivery = json!(Delivery::Unknown.as_str());
            error
                .message
                .push_str(". An earlier attempt may have been carried out");
        }
        error
    }

    /// What is to be sent now.
    fn next_request(&self) -> Arc<Request> {
        Arc::clone(self.round.as_ref().unwrap_or(&self.request))
    }
}

/// A call that is under way without anybody waiting for it in a task.
pub struct Started {
    connection: Weak<Connection>,
    request: Option<u64>,
    cancel: CancellationToken,
}

impl Started {
    /// Ends the call, if it has not ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
        if let (Some(connection), Some(request)) = (self.connection.upgrade(), self.request) {
            connection.withdraw(request, Failure::Aborted);
        }
    }
}

/// What to do after an attempt.
enum Next {
    Finished(String),
    Failed(Failure),
    Again,
}

/// The fields of a trace as members of an object.
fn members_of(trace: &str) -> String {
    let fields = trace::fields(trace).into_iter();
    let members: Vec<String> = fields
        .map(|(name, value)| format!(r#""{name}":{}"#, message::text(&value)))
        .collect();
    members.join(",")
}

impl Client {
    pub(crate) fn prepare(&self, mut request: Request, options: CallOptions) -> Call {
        request.slot = options.slot;
        if let Some(trace) = &options.trace {
            request.meta = members_of(trace);
        }
        let config = self.config();
        let left = options.deadline.unwrap_or(Duration::MAX);
        Call {
            request: Arc::new(request),
            round: None,
            rounds: 0,
            repeats: 0,
            patience: Patience {
                limit: options.timeout.unwrap_or(config.timeout).min(left),
                end: options
                    .deadline
                    .and_then(|left| Instant::now().checked_add(left)),
                reset_on_progress: options
                    .reset_timeout_on_progress
                    .unwrap_or(config.reset_timeout_on_progress),
            },
            on_progress: options.on_progress,
            may_have_executed: false,
        }
    }

    /// Calls, and waits for the result, which is JSON as the server wrote it.
    pub(crate) async fn call(
        self: &Arc<Self>,
        mut call: Call,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        loop {
            let connection = self.connected(call.patience.limit, cancel).await;
            let connection = connection.map_err(|error| call.told(error))?;
            let progress = call.on_progress.clone();
            let outcome = connection
                .request(&call.next_request(), call.patience, progress, cancel)
                .await;
            if let Some(end) = self
                .attempted(&mut call, &connection, outcome, cancel)
                .await
            {
                return end;
            }
        }
    }

    /// The same without waiting: `done` is called once, and never before this returns. If the server is there, the
    /// request is on its way by then, and no task is needed for it.
    pub(crate) fn start(
        self: &Arc<Self>,
        mut call: Call,
        done: impl FnOnce(Result<String, CallError>) + Send + 'static,
    ) -> Started {
        let cancel = CancellationToken::new();
        let server = Arc::clone(self);
        let Some(connection) = self.live() else {
            let token = cancel.clone();
            self.runtime
                .spawn(async move { done(server.call(call, &token).await) });
            return Started {
                connection: Weak::new(),
                request: None,
                cancel,
            };
        };
        let (request, patience, progress) =
            (call.next_request(), call.patience, call.on_progress.clone());
        let (token, way) = (cancel.clone(), Arc::clone(&connection));
        let ended = Box::new(move |outcome: Result<String, Failure>| match outcome {
            Ok(result) if is_plain(&result) => {
                server.is_well();
                done(Ok(result));
            }
            outcome => {
                let runtime = server.runtime.clone();
                runtime.spawn(async move {
                    let end = server.attempted(&mut call, &way, outcome, &token).await;
                    drop(way);
                    match end {
                        Some(end) => done(end),
                        None => done(server.call(call, &token).await),
                    }
                });
            }
        });
        let request = match connection.start(&request, patience, progress, ended) {
            Ok(id) => Some(id),
            // It was lost at this very moment.
            Err(ended) => {
                ended(Err(Failure::Lost { sent: false }));
                None
            }
        };
        Started {
            connection: Arc::downgrade(&connection),
            request,
            cancel,
        }
    }

    /// What an attempt has come to. Nothing, if there is to be another.
    async fn attempted(
        self: &Arc<Self>,
        call: &mut Call,
        connection: &Connection,
        outcome: Result<String, Failure>,
        cancel: &CancellationToken,
    ) -> Option<Result<String, CallError>> {
        let next = match outcome {
            Ok(result) => {
                self.is_well();
                if is_plain(&result) {
                    return Some(Ok(result));
                }
                let answered = Box::pin(self.answer_back(call, connection, result, cancel));
                answered.await.unwrap_or_else(Next::Failed)
            }
            Err(failure) if self.may_repeat(&failure, call) => {
                call.repeats += 1;
                call.round = None;
                call.may_have_executed |= failure.delivery() != Delivery::None;
                Next::Again
            }
            Err(failure) => Next::Failed(failure),
        };
        match next {
            Next::Finished(result) => Some(Ok(result)),
            Next::Again => None,
            Next::Failed(failure) => {
                let told = Box::pin(self.told(connection, call.tool(), failure));
                Some(Err(call.told(told.await)))
            }
        }
    }

    /// Whether a call that met its server's end may be sent to the next one: if it never left us, or if
    /// doing it twice does no harm.
    fn may_repeat(&self, failure: &Failure, call: &Call) -> bool {
        if call.repeats >= REPEATS || !self.config().reconnect || self.closed.is_cancelled() {
            return false;
        }
        let is_harmless = || {
            let tool = call.tool();
            tool.is_none_or(|tool| {
                self.seen()
                    .names
                    .get(tool)
                    .is_some_and(|tool| tool.is_repeatable)
            })
        };
        // A server that has asked back has begun.
        (failure.never_left() && call.rounds == 0)
            || (matches!(failure, Failure::Lost { .. }) && is_harmless())
    }

    /// Sees to a result that may be a question: if it is, answers it, and has the call sent again with the answers.
    async fn answer_back(
        self: &Arc<Self>,
        call: &mut Call,
        connection: &Connection,
        result: String,
        cancel: &CancellationToken,
    ) -> Result<Next, Failure> {
        // Lists go without this: one tool with a bad schema must not hide the others.
        if is_too_deep(&result) {
            let reason = format!("it is nested more than {MAX_ANSWER_DEPTH} levels deep");
            return Err(Failure::Odd(reason));
        }
        if call.tool().is_some() && Task::read(&result).is_some() {
            call.may_have_executed = true;
            let result = self.follow(call, connection, &result, cancel).await?;
            return Ok(Next::Finished(result));
        }
        let Some(incomplete) = Incomplete::read(&result) else {
            return Ok(Next::Finished(result));
        };
        call.rounds += 1;
        call.may_have_executed = true;
        if call.rounds >= ROUNDS {
            let reason = format!("it asked back more than {ROUNDS} times");
            return Err(Failure::Odd(reason));
        }
        let answering = async {
            if incomplete.input_requests.is_empty() {
                sleep(PAUSE).await;
            }
            incomplete.answers(connection).await
        };
        let answers = tokio::select! {
            answers = answering => answers?,
            () = cancel.cancelled() => return Err(Failure::Aborted),
        };
        let mut round = Request::clone(&call.request);
        round.params.push_str(&answers);
        call.round = Some(Arc::new(round));
        Ok(Next::Again)
    }

    /// The error that a failure is told as.
    pub(crate) async fn told(
        &self,
        connection: &Connection,
        tool: Option<&str>,
        failure: Failure,
    ) -> CallError {
        let died = failure.is_lost();
        let mut about = connection.about(tool, died).await;
        // A refusal or a time limit says it all; words from long ago would only confuse.
        if matches!(
            failure,
            Failure::Refused(_) | Failure::Aborted | Failure::TooLarge(_)
        ) {
            about.stderr.clear();
        }
        let error = about.failure(failure);
        self.seen().last_error = serde_json::to_value(&error).ok();
        error
    }

    /// The connection that is there, or a new one.
    pub(crate) async fn connected(
        self: &Arc<Self>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, CallError> {
        match self.live() {
            Some(connection) => Ok(connection),
            // Boxed: what is rarely needed must not make every call larger.
            None => Box::pin(self.connected_within(limit, cancel)).await,
        }
    }

    /// The connection, as far as the caller's patience goes. One that is being made when it ends is made
    /// all the same, for the next call.
    async fn connected_within(
        self: &Arc<Self>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, CallError> {
        let server = Arc::clone(self);
        let connecting = tokio::spawn(async move { server.connection().await });
        tokio::select! {
            biased;
            connected = connecting => match connected {
                Ok(connected) => connected,
                Err(error) => {
                    let what = format!("the connection failed: {error}");
                    Err(self.not_sent(Code::ExecutionError, "not-connected", &what))
                }
            },
            () = cancel.cancelled() => {
                let what = "the call was aborted before it was sent";
                Err(self.not_sent(Code::Aborted, "aborted", what))
            }
            () = sleep(limit) => {
                let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let what = format!("it was not connected again within {limit} ms; the call was not sent");
                Err(self.not_sent(Code::Timeout, "timeout", &what))
            }
        }
    }
}

/// Whether a result is certainly no question and no task, and can be handed on as it is. Almost every one is.
fn is_plain(result: &str) -> bool {
    !result.contains(input_required::MARK) && !result.contains(task::MARK) && !is_too_deep(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_mentions_the_mark_is_no_question() {
        for plain in [
            r#"{"content":[{"type":"text","text":"input_required"}]}"#,
            r#"{"resultType":"complete","content":["input_required"]}"#,
        ] {
            assert!(!is_plain(plain) && Incomplete::read(plain).is_none());
        }
        assert!(is_plain(r#"{"content":[]}"#));
        let read = Incomplete::read(r#"{"resultType":"input_required","requestState":"s"}"#);
        assert_eq!(read.unwrap().request_state.unwrap().get(), r#""s""#);
    }

    #[test]
    fn what_may_have_been_carried_out_once_stays_so() {
        let mut call = Call {
            request: Arc::new(Request::new("tools/call")),
            round: None,
            rounds: 0,
            repeats: 0,
            patience: Patience::of(PAUSE),
            on_progress: None,
            may_have_executed: false,
        };
        let told = |call: &Call, delivery: Delivery| {
            let error = CallError::failed("x");
            let error = call.told(error.with_details(json!({ "delivery": delivery.as_str() })));
            (error.details.unwrap()["delivery"].clone(), error.message)
        };
        assert_eq!(told(&call, Delivery::None), (json!("none"), "x".to_owned()));
        call.may_have_executed = true;
        let (delivery, message) = told(&call, Delivery::None);
        assert_eq!(delivery, "unknown");
        assert!(message.ends_with("An earlier attempt may have been carried out"));
        assert_eq!(told(&call, Delivery::Done).0, "done");
        assert_eq!(told(&call, Delivery::Unknown).0, "unknown");
    }
}

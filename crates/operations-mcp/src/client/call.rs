//! A call: what becomes of it when the server ends in the middle, and when it answers with a request for input.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::{MAX_ANSWER_DEPTH, Object, is_too_deep};
use operations_core::registry::APPROVAL;
use operations_core::trace;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Client;
use super::connection::{Connection, Request};
use super::input_required::{self, Incomplete};
use super::requests::{OnProgress, Patience};
use super::spill::SpillSlot;
use super::task::{self, Task};
use crate::error::{About, Delivery, Failure};
use crate::transport::message;

/// How often a call is sent again that met the end of its server.
const REPEATS: usize = 2;
/// How often a server may come back with another request for input.
const ROUNDS: usize = 10;
/// How long we wait before we ask a server again that only wanted to be asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// How one call is treated.
#[derive(Default, Clone)]
pub struct CallOptions {
    /// In place of the server's own.
    pub timeout: Option<Duration>,
    /// How long its caller waits, whatever the time limit is and whether there is progress or not.
    pub deadline: Option<Duration>,
    /// Whether progress starts the time anew; by default the server's own setting.
    pub reset_timeout_on_progress: Option<bool>,
    /// Receives progress as JSON.
    pub on_progress: Option<OnProgress>,
    /// Where a large result goes, and what became of it.
    pub slot: Option<Arc<SpillSlot>>,
    /// The trace that it belongs to: a JSON object ([`operations_core::trace`]). It may have the approval that the caller names, too.
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
    /// Where a large result goes.
    slot: Option<Arc<SpillSlot>>,
    /// Whether the server may have carried it out, be it at an earlier attempt.
    may_have_executed: bool,
    /// Whether its tool was in the list when the call was made.
    pub(super) was_listed: bool,
}

impl Call {
    fn tool(&self) -> Option<&str> {
        let name = self.request.name.as_deref();
        name.filter(|_| self.request.method == "tools/call")
    }

    /// An error of an attempt as the error of the call: never more hopeful than what is known of earlier attempts.
    fn call_error(&self, mut error: CallError) -> CallError {
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

    fn is_worth_a_file(&self, result: &str) -> bool {
        let slot = self.slot.as_ref();
        slot.is_some_and(|slot| result.len() > slot.over())
    }

    /// What is to be sent now.
    fn next_request(&self) -> Arc<Request> {
        Arc::clone(self.round.as_ref().unwrap_or(&self.request))
    }
}

/// A running call that no task awaits.
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

/// The fields of a trace, and an approval, as members of an object.
fn members_of(trace: &str) -> String {
    let approval = Object::read(trace).ok();
    let approval = approval.and_then(|object| object.string(APPROVAL));
    let approval = approval.map(|id| (APPROVAL, id));
    let fields = trace::fields(trace).into_iter().chain(approval);
    let members: Vec<String> = fields
        .map(|(name, value)| format!(r#""{name}":{}"#, message::text(&value)))
        .collect();
    members.join(",")
}

impl Client {
    pub(crate) fn prepare(&self, mut request: Request, options: CallOptions) -> Call {
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
            slot: options.slot,
            may_have_executed: false,
            was_listed: false,
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
            let connection = connection.map_err(|error| call.call_error(error))?;
            self.refuse_removed(&call)
                .map_err(|error| call.call_error(error))?;
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
            let calling = async move { done(server.call(call, &token).await) };
            self.tasks.spawn_on(calling, &self.runtime);
            return Started {
                connection: Weak::new(),
                request: None,
                cancel,
            };
        };
        let (request, patience, progress) =
            (call.next_request(), call.patience, call.on_progress.clone());
        let (token, used) = (cancel.clone(), Arc::clone(&connection));
        let ended = Box::new(move |outcome: Result<String, Failure>| match outcome {
            Ok(result) if is_plain(&result) && !call.is_worth_a_file(&result) => {
                server.is_well();
                done(Ok(result));
            }
            outcome => {
                let (tasks, runtime) = (server.tasks.clone(), server.runtime.clone());
                let ending = async move {
                    let end = server.attempted(&mut call, &used, outcome, &token).await;
                    drop(used);
                    match end {
                        Some(end) => done(end),
                        None => done(server.call(call, &token).await),
                    }
                };
                tasks.spawn_on(ending, &runtime);
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
                let answered = if is_plain(&result) {
                    Ok(Next::Finished(result))
                } else {
                    Box::pin(self.answer_back(call, connection, result, cancel)).await
                };
                answered.unwrap_or_else(Next::Failed)
            }
            Err(failure) if self.may_repeat(&failure, call) => {
                call.repeats += 1;
                call.round = None;
                call.may_have_executed |= failure.delivery() != Delivery::None;
                Next::Again
            }
            Err(failure) => Next::Failed(failure),
        };
        let end = match next {
            Next::Finished(result) => match &call.slot {
                Some(slot) if call.is_worth_a_file(&result) => {
                    let parses = self.config().parses_json_text;
                    let spilled = Box::pin(slot.spill(result, parses)).await;
                    spilled.map_err(|error| Failure::Spill(Box::new(error)))
                }
                _ => Ok(result),
            },
            Next::Again => return None,
            Next::Failed(failure) => Err(failure),
        };
        Some(match end {
            Ok(result) => Ok(result),
            Err(failure) => {
                let error = Box::pin(self.error_for(connection, call.tool(), failure));
                Err(call.call_error(error.await))
            }
        })
    }

    /// The server may have been started for this call, and have another list than before.
    fn refuse_removed(&self, call: &Call) -> Result<(), CallError> {
        let Some(tool) = call.tool().filter(|_| call.was_listed) else {
            return Ok(());
        };
        if self.seen().names.contains_key(tool) {
            return Ok(());
        }
        let what =
            "the server no longer has this tool: its list has changed. The call was not sent";
        let about = About::tool(self.config(), tool);
        let (code, reason) = (Code::OperationNotFound, "tool-removed");
        Err(about.error(code, reason, Delivery::None, what))
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

    /// Sees to a result that may be a request for input: if it is, answers it, and has the call sent again with the answers.
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

    /// The error that a failure becomes.
    pub(crate) async fn error_for(
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
            Failure::Refused(_) | Failure::Aborted | Failure::TooLarge(_) | Failure::Spill(_)
        ) {
            about.stderr.clear();
        }
        let is_unauthorized = matches!(failure, Failure::NotAuthorized { .. });
        let error = about.failure(failure);
        self.seen().last_error = serde_json::to_value(&error).ok();
        if is_unauthorized {
            self.is_unauthorized.store(true, Ordering::Release);
            self.announce();
        }
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
        let connecting = self.tasks.spawn(async move { server.connection().await });
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
                let what = format!("it was not connected within {limit} ms; the call was not sent");
                Err(self.not_sent(Code::Timeout, "timeout", &what))
            }
        }
    }
}

/// Whether a result is certainly no request for input and no task, and can be handed on as it is. Almost every one is.
fn is_plain(result: &str) -> bool {
    !result.contains(input_required::MARK) && !result.contains(task::MARK) && !is_too_deep(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_mentions_the_mark_is_no_request_for_input() {
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
            slot: None,
            may_have_executed: false,
            was_listed: false,
        };
        let outcome = |call: &Call, delivery: Delivery| {
            let error = CallError::failed("x");
            let error =
                call.call_error(error.with_details(json!({ "delivery": delivery.as_str() })));
            (error.details.unwrap()["delivery"].clone(), error.message)
        };
        assert_eq!(
            outcome(&call, Delivery::None),
            (json!("none"), "x".to_owned())
        );
        call.may_have_executed = true;
        let (delivery, message) = outcome(&call, Delivery::None);
        assert_eq!(delivery, "unknown");
        assert!(message.ends_with("An earlier attempt may have been carried out"));
        assert_eq!(outcome(&call, Delivery::Done).0, "done");
        assert_eq!(outcome(&call, Delivery::Unknown).0, "unknown");
    }
}

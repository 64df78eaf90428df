//! A call that is done here, from access to the last envelope.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use operations_schema::Program;
use operations_schema::json::Document;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::handler::{Call, Context, Handler, Outcome, Produced};
use super::operation::Operation;
use super::output::Shaping;
use super::reports::Reports;
use super::watched::{Wants, Watched};
use super::{MAX_ERRORS, Registry, format_errors};
use crate::access::{CallInput, enforce_access};
use crate::call::{timed_out, took_too_long, wire_bytes, wire_text};
use crate::clock;
use crate::envelope::ResponseEnvelope;
use crate::error::{CallError, Failure, InfrastructureErrorCode};
use crate::limits::{Limited, Permit, Verdict};
use crate::spec::OperationType;

/// A call and who does it.
pub struct Served {
    pub(super) reporting: Option<(Wants, Arc<Reports>)>,
    pub(super) registry: Arc<Registry>,
    pub(super) limited: Option<Limited>,
    pub(super) operation: Arc<Operation>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) input: Option<Arc<Program>>,
    pub(super) output: Option<Arc<Program>>,
    pub(super) call: Call,
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served")
            .field("operation", &self.call.operation_id)
            .finish_non_exhaustive()
    }
}

/// What a call gives.
pub enum Answer {
    /// One, of a QUERY or a MUTATION.
    One(BoxFuture<'static, Result<ResponseEnvelope, CallError>>),
    /// As many as come, of a SUBSCRIPTION. An error is the last item. Dropping the stream ends the work.
    Many(BoxStream<'static, Result<ResponseEnvelope, CallError>>),
}

impl Served {
    /// Does the call. Nothing happens before the answer is polled. It fails when the caller may not, the input does not
    /// fit, the deadline passes, or the handler fails.
    #[must_use]
    pub fn answer(self) -> Answer {
        match self.operation.spec.operation_type {
            OperationType::Query | OperationType::Mutation => Answer::One(self.execute().boxed()),
            OperationType::Subscription => {
                Answer::Many(stream::unfold(Stage::New(self), Stage::next).boxed())
            }
        }
    }

    /// What is recorded for observers of the call, from now on.
    fn watched(&mut self) -> Option<Watched> {
        let (wants, reports) = self.reporting.take()?;
        let kind = self.operation.spec.operation_type;
        let Call {
            operation_id,
            context,
            ..
        } = &self.call;
        Some(Watched::new(reports, wants, operation_id, kind, context))
    }

    async fn execute(mut self) -> Result<ResponseEnvelope, CallError> {
        let mut watched = self.watched();
        let answer = self.executed(&mut watched).await;
        if let Some(watched) = &mut watched {
            watched.end(answer.as_ref().err());
        }
        answer
    }

    async fn executed(
        &mut self,
        watched: &mut Option<Watched>,
    ) -> Result<ResponseEnvelope, CallError> {
        let (input, mut context) = self.admit(watched.as_ref())?;
        let mut permit = self.permit(&context).await?;
        let limits = Limits::of(&context, self.limited.as_ref());
        // What it came with is no trace that the call itself belongs to.
        context.trace = None;
        if let Some(watched) = watched {
            watched.works(&mut context);
        }
        let pieces = context.pieces.clone();
        let work = self.handler.call(input, context);
        let held = limits.hold(work, &self.call.operation_id).await;
        let outcome = held.and_then(|outcome| outcome.map_err(on_wire));
        if let Some(watched) = watched {
            watched.has_worked();
            if let Ok(produced) = &outcome {
                watched.gave(produced);
            }
        }
        if let Some(permit) = &mut permit {
            permit.judge(verdict(&outcome));
        }
        // Shaping an answer needs no permit, but a body that is still on its way does.
        match pieces {
            Some(pieces) => pieces.hold(permit),
            None => drop(permit),
        }
        self.envelope(outcome?)
    }

    /// The permits that the call needs, if it needs any.
    async fn permit(&self, context: &Context) -> Result<Option<Permit>, CallError> {
        let Some(limited) = &self.limited else {
            return Ok(None);
        };
        let caller = context
            .identity
            .as_ref()
            .map_or("", |identity| &identity.id);
        let permit = limited.enter(
            &self.call.operation_id,
            caller,
            context.deadline,
            &context.cancel,
        );
        permit.await.map(Some)
    }

    /// Lets the caller and the input in.
    fn admit(
        &mut self,
        watched: Option<&Watched>,
    ) -> Result<(Option<Document>, Context), CallError> {
        let id = &self.call.operation_id;
        let context = std::mem::take(&mut self.call.context);
        let rules = &self.operation.spec.access_control;
        let given = CallInput::Json(self.call.input.as_deref());
        let decision = enforce_access(rules, context.identity.as_ref(), id, given);
        if let Some(watched) = watched {
            watched.decided(rules, &decision);
        }
        decision?;
        let input = match self.call.input.take() {
            None => None,
            Some(text) => Some(Document::parse(text).map_err(|why| {
                let message = format!("The input of operation {id} cannot be read: {why}");
                CallError::invalid(message).with_details(json!({ "operationId": id }))
            })?),
        };
        if let Some(program) = &self.input {
            check_input(program, id, input.as_ref())?;
        }
        if context.cancel.is_cancelled() {
            let message = format!("Operation {id} was aborted before it started");
            return Err(CallError::new(InfrastructureErrorCode::Aborted, message)
                .with_details(json!({ "operationId": id })));
        }
        if let Some(deadline) = context.deadline {
            refuse_late(id, deadline)?;
        }
        Ok((input, context))
    }

    async fn open(mut self) -> Result<(Self, Open), CallError> {
        let mut watched = self.watched();
        match self.opened(&mut watched).await {
            Ok((items, limits, permit)) => {
                let open = Open {
                    items,
                    limits,
                    permit,
                    watched,
                };
                Ok((self, open))
            }
            Err(error) => {
                if let Some(watched) = &mut watched {
                    watched.end(Some(&error));
                }
                Err(error)
            }
        }
    }

    async fn opened(
        &mut self,
        watched: &mut Option<Watched>,
    ) -> Result<(BoxStream<'static, Outcome>, Limits, Option<Permit>), CallError> {
        let (input, mut context) = self.admit(watched.as_ref())?;
        let permit = self.permit(&context).await?;
        let limits = Limits::of(&context, self.limited.as_ref());
        // What it came with is no trace that the call itself belongs to.
        context.trace = None;
        if let Some(watched) = watched {
            watched.works(&mut context);
        }
        Ok((self.handler.subscribe(input, context), limits, permit))
    }

    fn envelope(&self, produced: Produced) -> Result<ResponseEnvelope, CallError> {
        let shaping = Shaping {
            operation_id: &self.call.operation_id,
            program: self.output.as_deref(),
            mode: self.operation.spec.output.unwrap_or(self.registry.output),
            warnings: &self.registry.warnings,
        };
        shaping.envelope(produced)
    }
}

/// Fails unless there is time left for work that is about to start. Worded as in `facade/registry/deadline.ts`.
fn refuse_late(id: &str, deadline: f64) -> Result<(), CallError> {
    /// A time of before 26 April 1970, in milliseconds, is a duration that was passed as a deadline.
    const LONGEST_DURATION: f64 = 1e10;
    if deadline < LONGEST_DURATION || deadline.is_nan() {
        let message = format!(
            "The deadline of the call of {id} must be a time in milliseconds since 1970, not {deadline}: use Date.now() + ms"
        );
        return Err(CallError::invalid(message)
            .with_details(json!({ "operationId": id, "deadline": deadline })));
    }
    if deadline <= clock::now() {
        return Err(timed_out(id, deadline, None));
    }
    Ok(())
}

fn check_input(program: &Program, id: &str, input: Option<&Document>) -> Result<(), CallError> {
    let passes = program.check_json(input).map_err(|interrupt| {
        let mut error = CallError::from(interrupt);
        error.message = format!(
            "The input of operation {id} cannot be checked: {}",
            error.message
        );
        if let Some(Value::Object(details)) = &mut error.details {
            details.insert("operationId".to_owned(), json!(id));
        }
        error
    })?;
    if passes {
        return Ok(());
    }
    let errors = program.errors_json(input, MAX_ERRORS)?;
    let (lines, errors) = format_errors(&errors);
    let message = format!("Validation failed for input of operation {id}:\n{lines}");
    Err(CallError::invalid(message).with_details(json!({ "errors": errors })))
}

/// An error of a handler as it travels: with details as they are when JavaScript has read and written them (without a negative zero,
/// say).
fn on_wire(Failure { error, body }: Failure) -> CallError {
    let mut error = error.without_stderr();
    if let Some(details) = &error.details {
        let text = Document::from(details).root().stringify();
        // It holds no infinite number any more, so this cannot fail.
        let text = wire_text(text, "The details of an error cannot be sent").unwrap_or_default();
        error.details = serde_json::from_str(&text).ok();
    }
    if let (Some(body), Some(Value::Object(details))) = (body, &mut error.details) {
        details.insert("body".to_owned(), wire_bytes(&body));
    }
    error
}

fn verdict<T>(outcome: &Result<T, CallError>) -> Verdict {
    match outcome {
        Ok(_) => Verdict::Success,
        Err(error) => Verdict::of(&error.code, error.details.as_ref()),
    }
}

/// How far a subscription has come.
enum Stage {
    New(Served),
    Open(Served, Box<Open>),
    Over,
}

/// A stream that runs. It holds its permit as long.
struct Open {
    items: BoxStream<'static, Outcome>,
    limits: Limits,
    permit: Option<Permit>,
    watched: Option<Watched>,
}

impl Stage {
    async fn next(self) -> Option<(Result<ResponseEnvelope, CallError>, Self)> {
        let (served, mut open) = match self {
            Self::Over => return None,
            Self::Open(served, open) => (served, open),
            Self::New(served) => match served.open().await {
                Err(error) => return Some((Err(error), Self::Over)),
                Ok((served, open)) => (served, Box::new(open)),
            },
        };
        open.limits.restart();
        let id = &served.call.operation_id;
        let held = open.limits.hold(open.items.next(), id).await;
        let Some(outcome) = held.transpose() else {
            open.judge(Verdict::Success);
            open.end(None);
            return None;
        };
        let outcome = outcome.and_then(|outcome| outcome.map_err(on_wire));
        open.judge(verdict(&outcome));
        if let (Some(watched), Ok(produced)) = (&mut open.watched, &outcome) {
            watched.gave(produced);
        }
        match outcome.and_then(|produced| served.envelope(produced)) {
            Ok(envelope) => Some((Ok(envelope), Self::Open(served, open))),
            Err(error) => {
                open.end(Some(&error));
                Some((Err(error), Self::Over))
            }
        }
    }
}

impl Open {
    fn end(&mut self, error: Option<&CallError>) {
        if let Some(watched) = &mut self.watched {
            watched.has_worked();
            watched.end(error);
        }
    }

    /// The first that is known counts.
    fn judge(&mut self, verdict: Verdict) {
        if let Some(permit) = &mut self.permit {
            permit.judge_now(verdict);
        }
    }
}

/// When work is to end, and how it is signalled.
struct Limits {
    deadline: Option<f64>,
    began: f64,
    /// How long it may hold its permit: a call in all, a stream without an event.
    timeout: Option<f64>,
    held_since: f64,
    cancel: CancellationToken,
}

impl Limits {
    fn of(context: &Context, limited: Option<&Limited>) -> Self {
        let now = clock::now();
        Self {
            deadline: context.deadline,
            began: now,
            timeout: limited.and_then(Limited::timeout),
            held_since: now,
            cancel: context.cancel.clone(),
        }
    }

    /// From now on it holds its permit anew.
    fn restart(&mut self) {
        if self.timeout.is_some() {
            self.held_since = clock::now();
        }
    }

    /// The time that is up first.
    fn end(&self) -> Option<f64> {
        let permit = self.timeout.map(|timeout| self.held_since + timeout);
        self.deadline.into_iter().chain(permit).reduce(f64::min)
    }

    fn too_late(&self, id: &str, end: f64) -> CallError {
        match (self.deadline, self.timeout) {
            (deadline, Some(timeout)) if deadline.is_none_or(|deadline| end < deadline) => {
                took_too_long(id, timeout)
            }
            (deadline, _) => {
                timed_out(id, deadline.unwrap_or(end), Some(clock::now() - self.began))
            }
        }
    }

    /// Waits for work, unless its time is up before it is done. Then it is cancelled, without waiting for it to stop.
    async fn hold<T>(
        &self,
        mut work: impl Future<Output = T> + Unpin,
        id: &str,
    ) -> Result<T, CallError> {
        let Some(end) = self.end() else {
            return Ok(work.await);
        };
        tokio::select! {
            biased;
            // First, so that a stream which always has something ready ends in time too.
            () = sleep(clock::until(end)) => {
                self.cancel.cancel();
                // Once more, so that it sees the cancellation and can clean up.
                let _ = work.now_or_never();
                Err(self.too_late(id, end))
            }
            done = &mut work => Ok(done),
        }
    }
}

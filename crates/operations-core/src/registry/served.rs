//! A call that is done here, from access to the last envelope.

use std::fmt;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use operations_schema::Program;
use operations_schema::json::Document;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::handler::{Call, Context, Handler, Produced};
use super::operation::Operation;
use super::output::Shaping;
use super::{MAX_ERRORS, Registry};
use crate::access::enforce_access;
use crate::call::timed_out;
use crate::clock;
use crate::error::{CallError, InfrastructureErrorCode};
use crate::spec::OperationType;

/// A call and who does it.
pub struct Served {
    pub(super) registry: Arc<Registry>,
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

impl Served {
    /// Whether [`Served::subscribe`] is the way to call it.
    #[must_use]
    pub fn is_subscription(&self) -> bool {
        self.operation.spec.operation_type == OperationType::Subscription
    }

    /// Does a QUERY or a MUTATION. Gives the envelope as JSON.
    ///
    /// # Errors
    ///
    /// When the caller may not, the input does not fit, the deadline passes, or the handler fails.
    pub async fn execute(mut self) -> Result<String, CallError> {
        let id = self.call.operation_id.clone();
        if self.is_subscription() {
            let message =
                format!("Operation {id} is a subscription: use subscribe() instead of execute()");
            return Err(refused(&id, message));
        }
        let (input, context) = self.admit()?;
        let (deadline, cancel) = (context.deadline, context.cancel.clone());
        let work = self.handler.call(input, context);
        let produced = in_time(work, &id, deadline, &cancel).await??;
        Ok(self.envelope(produced))
    }

    /// Does a SUBSCRIPTION. Gives envelopes as JSON, one at a time; an error is the last item. Dropping the stream ends
    /// the work.
    #[must_use]
    pub fn subscribe(mut self) -> BoxStream<'static, Result<String, CallError>> {
        let id = self.call.operation_id.clone();
        let (input, context) = match self.admit() {
            Ok(admitted) => admitted,
            Err(error) => return only(error),
        };
        if !self.is_subscription() {
            let message = format!("The handler of subscription {id} must return an async iterable");
            return only(refused(&id, message));
        }
        let (deadline, cancel) = (context.deadline, context.cancel.clone());
        let items = self.handler.subscribe(input, context);
        let state = Some((self, items));
        stream::unfold(state, move |state| {
            let (id, cancel) = (id.clone(), cancel.clone());
            async move {
                let (served, mut items) = state?;
                match in_time(items.next(), &id, deadline, &cancel).await {
                    Ok(Some(Ok(produced))) => {
                        let envelope = served.envelope(produced);
                        Some((Ok(envelope), Some((served, items))))
                    }
                    Ok(Some(Err(error))) | Err(error) => Some((Err(error), None)),
                    Ok(None) => None,
                }
            }
        })
        .boxed()
    }

    /// Lets the caller and the input in.
    fn admit(&mut self) -> Result<(Option<Document>, Context), CallError> {
        let id = &self.call.operation_id;
        let context = std::mem::take(&mut self.call.context);
        let rules = &self.operation.spec.access_control;
        enforce_access(rules, context.identity.as_ref(), id)?;
        let input = match self.call.input.take() {
            None => None,
            Some(text) => Some(Document::parse(text).map_err(|why| {
                let message = format!("The input of operation {id} cannot be read: {why}");
                CallError::new(InfrastructureErrorCode::ValidationError, message)
                    .with_details(json!({ "operationId": id }))
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
        Ok((input, context))
    }

    fn envelope(&self, produced: Produced) -> String {
        let shaping = Shaping {
            operation_id: &self.call.operation_id,
            program: self.output.as_deref(),
            mode: self.operation.spec.output.unwrap_or(self.registry.output),
            warnings: &self.registry.warnings,
        };
        shaping.envelope(produced)
    }
}

fn only(error: CallError) -> BoxStream<'static, Result<String, CallError>> {
    stream::once(async { Err(error) }).boxed()
}

fn refused(id: &str, message: String) -> CallError {
    CallError::new(InfrastructureErrorCode::ExecutionError, message)
        .with_details(json!({ "operationId": id }))
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
    let lines: Vec<String> = errors
        .iter()
        .map(|error| format!("  - {}: {}", error.path, error.message))
        .collect();
    let message = format!(
        "Validation failed for input of operation {id}:\n{}",
        lines.join("\n")
    );
    let errors: Value = errors
        .iter()
        .map(|error| json!({ "path": error.path, "message": error.message }))
        .collect();
    Err(
        CallError::new(InfrastructureErrorCode::ValidationError, message)
            .with_details(json!({ "errors": errors })),
    )
}

/// The work, unless the deadline passes before it is done. Then it is told to end, and nobody waits for that.
async fn in_time<T>(
    mut work: impl Future<Output = T> + Unpin,
    id: &str,
    deadline: Option<f64>,
    cancel: &CancellationToken,
) -> Result<T, CallError> {
    let Some(deadline) = deadline else {
        return Ok(work.await);
    };
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        () = sleep(clock::until(deadline)) => {
            cancel.cancel();
            // Once more, so that it sees this and says its farewells.
            let _ = work.now_or_never();
            Err(timed_out(id, deadline))
        }
    }
}

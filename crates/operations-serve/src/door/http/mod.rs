//! Plain HTTP: `POST <door>/<namespace>/<name>` with the input as JSON; the data comes back as the body.

mod answer;
mod events;
pub mod problem;
pub(crate) mod request;

use http::Method;
use operations_core::error::{CallError, InfrastructureErrorCode};
use serde_json::json;

use crate::call::NewCall;
use crate::failure::{self, Outcome};
use crate::service::{Answered, Exchange, Shared};

/// Answers a request. `path` is what is left of its path.
pub(crate) async fn serve(shared: &Shared, exchange: Exchange, path: &str) -> Answered {
    let request_id = exchange.request_id.clone();
    let Some((namespace, name)) = request::named(path) else {
        return Ok(problem::not_found(&request_id));
    };
    let id = format!("{namespace}.{name}");
    let operation = shared
        .calls
        .operation(&id)
        .filter(|operation| operation.spec.namespace == namespace);
    let Some(operation) = operation else {
        let message = format!("Operation not found: {id}");
        let error = CallError::new(InfrastructureErrorCode::OperationNotFound, message)
            .with_details(json!({ "operationId": id }));
        return Ok(problem::of_call(
            &error,
            http::StatusCode::NOT_FOUND,
            &id,
            &request_id,
        ));
    };
    if exchange.head.method != Method::POST {
        return Ok(problem::wrong_method("POST", &request_id));
    }
    let wants_envelope = request::accepts_envelope(&exchange.head.headers);
    let metadata = request::metadata(&exchange.head.headers, &shared.options.request_headers);
    let caller = exchange.caller.clone();
    let deadline = exchange.deadline;
    let last_event_id = request::last_event_id(&exchange.head.headers);
    let input = match request::input(shared, exchange, &id).await {
        Ok(input) => input,
        Err(refusal) => return Ok(*refusal),
    };
    let has_identity = caller.identity.is_some();
    let mut call = NewCall {
        operation,
        input,
        caller,
        request_id: request_id.clone(),
        deadline,
        metadata: Some(metadata),
        line: None,
    };
    let spec = &call.operation.clone().spec;
    let answered = if call.is_subscription() {
        // A stream has no end that could be waited for; its client ends it.
        call.deadline = None;
        events::stream(shared, call, wants_envelope, last_event_id).await
    } else {
        let envelope = shared.calls.call(call).await;
        envelope.map(|envelope| answer::of(shared, &envelope, wants_envelope, &request_id))
    };
    let error = match answered {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    match failure::outcome(&error, Some(spec), has_identity) {
        Outcome::Closed => Err(crate::service::Closed),
        Outcome::Answer(status) => {
            if error.is(InfrastructureErrorCode::UnknownError) {
                shared.log_failure(&request_id, &error);
            }
            let error = failure::masked(error);
            Ok(problem::of_call(&error, status, &id, &request_id))
        }
    }
}

//! What a failed call is in the terms of HTTP: a status, and what the client may see.

use http::StatusCode;
pub use operations_core::call::may_have_run;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::limits::Reason;
use operations_core::spec::{DeclaredError, OperationSpec};
use operations_http::message::RELAYED_STATUSES;
use serde_json::{Value, json};

/// What the client gets for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An answer with this status.
    Answer(StatusCode),
    /// Nothing: the call was ended, and its connection is.
    Closed,
}

/// The status of a failed call. `spec` is that of the operation, where there is one.
#[must_use]
pub fn outcome(error: &CallError, spec: Option<&OperationSpec>, has_identity: bool) -> Outcome {
    let declared = spec.map_or(&[] as &[_], |spec| &spec.errors);
    outcome_among(error, declared, has_identity)
}

/// The same for an operation that declares these errors.
#[must_use]
pub fn outcome_among(error: &CallError, declared: &[DeclaredError], has_identity: bool) -> Outcome {
    let declared = declared.iter().find(|known| known.code == error.code);
    if let Some(declared) = declared {
        let status = declared
            .http_status
            .and_then(|status| StatusCode::from_u16(status).ok())
            .filter(|status| status.is_client_error() || status.is_server_error());
        return Outcome::Answer(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    }
    let status = if error.is(Code::OperationNotFound) {
        StatusCode::NOT_FOUND
    } else if error.is(Code::AccessDenied) {
        if has_identity || is_not_approved(error) {
            StatusCode::FORBIDDEN
        } else {
            StatusCode::UNAUTHORIZED
        }
    } else if approval(error).is_some() {
        StatusCode::ACCEPTED
    } else if error.is(Code::ValidationError) && word(error) == Some("decided") {
        StatusCode::CONFLICT
    } else if error.is(Code::ValidationError) {
        // An output that is not as declared is nothing that the caller could correct.
        match refused_source(error) {
            None => StatusCode::BAD_REQUEST,
            Some("local") => StatusCode::INTERNAL_SERVER_ERROR,
            Some(_) => StatusCode::BAD_GATEWAY,
        }
    } else if error.is(Code::Timeout) {
        StatusCode::GATEWAY_TIMEOUT
    } else if error.is(Code::Aborted) {
        return Outcome::Closed;
    } else if let Some(refused) = refused(error) {
        refused.status()
    } else if error.is(Code::ExecutionError) && reason(error) == Some(Reason::Overloaded) {
        StatusCode::SERVICE_UNAVAILABLE
    } else if error.is(Code::ExecutionError) && detail(error, "/delivery").is_some() {
        // It was about a call that left the process.
        relayed(error).unwrap_or(StatusCode::BAD_GATEWAY)
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    Outcome::Answer(status)
}

/// The status of an upstream server, where its document declares it and a client can act on it.
fn relayed(error: &CallError) -> Option<StatusCode> {
    let is_documented = detail(error, "/documented") == Some(&Value::Bool(true));
    let status = detail(error, "/statusCode").filter(|_| is_documented)?;
    let status = u16::try_from(status.as_u64()?).ok()?;
    let is_relayed = RELAYED_STATUSES.contains(&status);
    StatusCode::from_u16(status).ok().filter(|_| is_relayed)
}

/// A call that was not made because of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    reason: Reason,
    /// How long to wait before the next try, in whole seconds.
    pub retry_after: u64,
}

impl Refused {
    fn status(self) -> StatusCode {
        match self.reason {
            Reason::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Reason::Overloaded | Reason::CircuitOpen => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The request for an approval that a call was not made for.
#[must_use]
pub fn approval(error: &CallError) -> Option<&Value> {
    let approval = detail(error, "/approval")?;
    (error.code == "APPROVAL_REQUIRED" && approval.get("id")?.is_string()).then_some(approval)
}

/// Whether a person, or what decides in place of one, did not want the call. Another token would not change that.
#[must_use]
pub fn is_not_approved(error: &CallError) -> bool {
    error.is(Code::AccessDenied) && word(error) == Some("not-approved")
}

/// The approval that a call was refused for, or was not made without.
#[must_use]
pub fn approval_id(error: &CallError) -> Option<&str> {
    let is_meant = is_not_approved(error) || approval(error).is_some();
    detail(error, "/approval/id").filter(|_| is_meant)?.as_str()
}

fn word(error: &CallError) -> Option<&str> {
    detail(error, "/reason").and_then(Value::as_str)
}

fn reason(error: &CallError) -> Option<Reason> {
    let word = word(error)?;
    let reasons = [Reason::Overloaded, Reason::RateLimited, Reason::CircuitOpen];
    reasons.into_iter().find(|reason| reason.as_str() == word)
}

/// Whether a call was not made because of a limit.
#[must_use]
pub fn refused(error: &CallError) -> Option<Refused> {
    let reason = reason(error)?;
    let is_untouched = detail(error, "/delivery").and_then(Value::as_str) == Some("none");
    // Where the time is unknown, a client can try after a second.
    let wait = detail(error, "/retryAfter").and_then(Value::as_u64);
    let retry_after = wait.unwrap_or(1).div_ceil(1_000).max(1);
    is_untouched.then_some(Refused {
        reason,
        retry_after,
    })
}

/// What a caller reads in place of a message that was not written for it.
pub const MASKED: &str = "The operation failed";

/// Whether callers see another message than that of this error. A door that exposes errors passes on the messages of
/// exceptions, but never what may be a defect of ours.
#[must_use]
pub fn is_masked(error: &CallError, exposes: bool) -> bool {
    error.is(Code::UnknownError) || error.is_internal && !exposes
}

/// Where the output came from that a strict registry refused. Such an error is the operator's business.
#[must_use]
pub fn refused_source(error: &CallError) -> Option<&str> {
    let source = detail(error, "/envelope/meta/source").and_then(Value::as_str);
    source.filter(|_| error.is(Code::ValidationError))
}

/// A refused output may have what the schema would have removed: its caller gets no more of it than where it came from.
#[must_use]
pub fn without_refused_output(mut error: CallError) -> CallError {
    if let Some(source) = refused_source(&error).map(str::to_owned)
        && let Some(envelope) =
            (error.details.as_mut()).and_then(|all| all.pointer_mut("/envelope"))
    {
        *envelope = json!({ "meta": { "source": source } });
    }
    error
}

/// The error as callers may see it. An internal error has no details but those that transports add.
#[must_use]
pub fn masked(error: CallError, exposes: bool) -> CallError {
    if error.is(Code::UnknownError) {
        return CallError::new(Code::UnknownError, MASKED);
    }
    if !is_masked(&error, exposes) {
        return without_refused_output(error);
    }
    CallError {
        message: MASKED.to_owned(),
        is_internal: false,
        ..error
    }
}

fn detail<'a>(error: &'a CallError, path: &str) -> Option<&'a Value> {
    error
        .details
        .as_ref()
        .and_then(|details| details.pointer(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    fn spec() -> OperationSpec {
        serde_json::from_value(json!({
            "namespace": "t", "name": "it", "type": "query", "description": "",
            "accessControl": { "requiredScopes": [] },
            "errors": [
                { "code": "NO_SUCH_TASK", "httpStatus": 404 },
                { "code": "ODD", "httpStatus": 200 },
                { "code": "PLAIN" },
            ],
        }))
        .expect("a spec")
    }

    #[test]
    fn each_code_has_its_status() {
        let spec = spec();
        for (code, details, has_identity, status) in [
            ("OPERATION_NOT_FOUND", json!({}), false, 404),
            ("ACCESS_DENIED", json!({}), false, 401),
            ("ACCESS_DENIED", json!({}), true, 403),
            (
                "ACCESS_DENIED",
                json!({ "reason": "not-approved" }),
                false,
                403,
            ),
            (
                "APPROVAL_REQUIRED",
                json!({ "approval": { "id": "a" } }),
                false,
                202,
            ),
            ("APPROVAL_REQUIRED", json!({ "approval": {} }), true, 500),
            ("VALIDATION_ERROR", json!({}), true, 400),
            (
                "VALIDATION_ERROR",
                json!({ "envelope": { "meta": { "source": "local" } } }),
                true,
                500,
            ),
            (
                "VALIDATION_ERROR",
                json!({ "envelope": { "meta": { "source": "http" } } }),
                true,
                502,
            ),
            ("TIMEOUT", json!({}), true, 504),
            ("EXECUTION_ERROR", json!({}), true, 500),
            (
                "EXECUTION_ERROR",
                json!({ "statusCode": 401, "delivery": "done" }),
                true,
                502,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "reason": "overloaded", "delivery": "none" }),
                true,
                503,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "reason": "overloaded", "delivery": "unknown" }),
                true,
                503,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "reason": "rate-limited", "delivery": "none", "retryAfter": 1_001 }),
                true,
                429,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "reason": "circuit-open", "delivery": "none" }),
                true,
                503,
            ),
            // A server that was asked and said so: its limits are not ours.
            (
                "EXECUTION_ERROR",
                json!({ "reason": "rate-limited", "delivery": "done" }),
                true,
                502,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "statusCode": 404, "delivery": "done" }),
                true,
                502,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "statusCode": 422, "delivery": "done", "documented": true }),
                true,
                422,
            ),
            (
                "EXECUTION_ERROR",
                json!({ "statusCode": 401, "delivery": "done", "documented": true }),
                true,
                502,
            ),
            ("NO_SUCH_TASK", json!({}), true, 404),
            ("ODD", json!({}), true, 500),
            ("PLAIN", json!({}), true, 500),
            ("UNDECLARED", json!({}), true, 500),
            ("UNKNOWN_ERROR", json!({}), true, 500),
        ] {
            let error = CallError::new(code, "").with_details(details.clone());
            let found = outcome(&error, Some(&spec), has_identity);
            let expected = StatusCode::from_u16(status).expect("a status");
            assert_eq!(found, Outcome::Answer(expected), "{code} {details}");
        }
        let aborted = CallError::new("ABORTED", "");
        assert_eq!(outcome(&aborted, None, true), Outcome::Closed);
    }
}

//! Why a call was not let through, and what the end of one that was says about its source.

use serde_json::{Value, json};

use crate::error::{CallError, InfrastructureErrorCode};

/// Why a call was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Too many run or wait already.
    Overloaded,
    /// Too many have begun.
    RateLimited,
    /// The source fails, and is left alone.
    CircuitOpen,
}

impl Reason {
    /// The word in `details.reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate-limited",
            Self::CircuitOpen => "circuit-open",
        }
    }
}

/// A call that was not let through.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// Whose limits they are.
    pub by: String,
    /// How long to wait before the next try, in milliseconds.
    pub retry_after: f64,
}

impl Refusal {
    /// The error for the caller.
    #[must_use]
    pub fn error(&self, operation_id: &str) -> CallError {
        let Self {
            reason,
            by,
            retry_after,
        } = self;
        let why = match reason {
            Reason::Overloaded => format!("too many calls are running or waiting already ({by})"),
            Reason::RateLimited => format!("too many calls were made within a short time ({by})"),
            Reason::CircuitOpen => {
                format!("calls have failed too often, so none is made for now ({by})")
            }
        };
        let wait = retry_after.ceil().max(1.0);
        let message =
            format!("The call of {operation_id} was refused: {why}. Try again in {wait} ms");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a duration"
        )]
        let wait = wait as u64;
        CallError::failed(message).with_details(json!({
            "reason": reason.as_str(),
            "delivery": "none",
            "operationId": operation_id,
            "limit": by,
            "retryAfter": wait,
        }))
    }
}

/// What the end of a call says about the source that it was made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Success,
    /// It does not.
    Failure,
    /// Nothing: the caller left, or was in the wrong.
    Neutral,
}

impl Verdict {
    /// What an error says. A source that answers works, whatever it answers, unless it says itself that it does not. What a
    /// caller brings about says nothing: otherwise any caller could open the breaker, by deadlines that are too short.
    #[must_use]
    pub fn of(code: &str, details: Option<&Value>) -> Self {
        let field = |name| details.and_then(|details| details.get(name));
        if code == InfrastructureErrorCode::Timeout.as_str() {
            return if field("deadline").is_some() {
                Self::Neutral
            } else {
                Self::Failure
            };
        }
        if code != InfrastructureErrorCode::ExecutionError.as_str() {
            return Self::Neutral;
        }
        match field("statusCode").and_then(Value::as_u64) {
            Some(429 | 500..) => return Self::Failure,
            Some(_) => return Self::Success,
            None => {}
        }
        if field("rpcCode").and_then(Value::as_i64) == Some(RPC_INTERNAL_ERROR) {
            return Self::Failure;
        }
        match field("delivery").and_then(Value::as_str) {
            Some("none" | "unknown") if !is_own(field("reason")) => Self::Failure,
            Some("done") => Self::Success,
            _ => Self::Neutral,
        }
    }
}

/// What a JSON-RPC server answers that has failed itself.
const RPC_INTERNAL_ERROR: i64 = -32603;

/// Reasons that are ours, or the caller's: they say nothing about the source, if it was called at all.
fn is_own(reason: Option<&Value>) -> bool {
    const OWN: [&str; 11] = [
        "overloaded",
        "rate-limited",
        "circuit-open",
        "closed",
        "aborted",
        "invalid-input",
        "too-large",
        "host-not-allowed",
        "private-address",
        "spill-failed",
        "spill-quota",
    ];
    reason
        .and_then(Value::as_str)
        .is_some_and(|reason| OWN.contains(&reason))
}

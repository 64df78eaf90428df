//! What went wrong with Redis, in words that hold no secret.

use std::fmt;

use operations_core::error::CallError;
use operations_core::secrets;
use redis::{ErrorKind, RedisError};
use serde_json::json;

use crate::options::Options;

/// How much of a server's own text is passed on.
const QUOTED: usize = 300;

/// A failure to connect, to listen or to publish.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Problem {
    pub(crate) reason: String,
    /// Trying again soon will not help: a wrong password, a certificate that is not trusted.
    pub(crate) is_lasting: bool,
}

impl Problem {
    pub(crate) fn passing(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_lasting: false,
        }
    }

    pub(crate) fn lasting(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_lasting: true,
        }
    }

    /// The server did not accept us in time.
    pub(crate) fn too_slow(options: &Options) -> Self {
        let server = options.server();
        Self::passing(format!(
            "Redis at {server} took too long to accept a connection"
        ))
    }

    /// What the client library reports. A server may quote the command that it refuses, and with it the
    /// password, so secrets are taken out of its text.
    pub(crate) fn of(error: &RedisError, options: &Options) -> Self {
        let server = options.server();
        let reason = redact(&error.to_string(), options);
        if is_login_refused(error) {
            Self::lasting(format!(
                "Redis at {server} refused the login ({reason}): check the user and the password in the URL"
            ))
        } else if error.code() == Some("NOPERM") {
            Self::lasting(format!(
                "Redis at {server} does not permit it ({reason}): check the ACL of the user"
            ))
        } else {
            Self::passing(format!("Redis at {server}: {reason}"))
        }
    }

    /// What a caller gets.
    pub(crate) fn into_error(self, delivery: Delivery, options: &Options) -> CallError {
        let message = format!("The request {delivery}: {}", self.reason);
        CallError::failed(message).with_details(json!({
            "reason": delivery.reason(),
            "delivery": delivery.as_str(),
            "server": options.server(),
        }))
    }
}

/// What became of a message that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// No receiver has it.
    NotSent,
    /// A receiver may have it.
    MaybeSent,
}

impl Delivery {
    fn reason(self) -> &'static str {
        match self {
            Self::NotSent => "not-sent",
            Self::MaybeSent => "unconfirmed",
        }
    }

    /// What its caller may conclude (`details.delivery`).
    fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "none",
            Self::MaybeSent => "unknown",
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent => "was not sent",
            Self::MaybeSent => "may not have been sent",
        })
    }
}

/// Whether the server does not let us in at all.
pub(crate) fn is_login_refused(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}

/// Nothing was taken in, and so nothing was sent.
pub(crate) fn refused(message: String, reason: &str, options: &Options) -> CallError {
    CallError::failed(message).with_details(json!({
        "reason": reason,
        "delivery": "none",
        "server": options.server(),
    }))
}

fn redact(text: &str, options: &Options) -> String {
    let text = secrets::hide(text, options.secrets());
    text.chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_quotes_the_password_is_not_repeated() {
        let options = Options::from_json(r#"{"url":"redis://:s3cret@h"}"#).expect("fine");
        let error = RedisError::from((
            ErrorKind::Client,
            "ERR",
            "unknown command 'AUTH', with args beginning with: 's3cret'".to_owned(),
        ));
        let problem = Problem::of(&error, &options);
        assert!(!problem.reason.contains("s3cret"), "{problem}");
        assert!(problem.reason.contains("h:6379"), "{problem}");
    }

    #[test]
    fn a_long_text_is_cut() {
        let options = Options::from_json(r#"{"url":"redis://h"}"#).expect("fine");
        let error = RedisError::from((ErrorKind::Client, "ERR", "x".repeat(100_000)));
        assert!(Problem::of(&error, &options).reason.len() < 500);
    }
}

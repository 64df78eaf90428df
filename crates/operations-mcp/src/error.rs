//! What went wrong with a server, in words for its users.

use operations_core::error::STDERR_QUOTE;
use std::error::Error;
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use serde_json::{Map, Value, json};

use crate::config::ServerConfig;
use crate::process::Exit;
use crate::process::stderr::StderrTail;
use crate::transport::message::RpcError;

/// What a caller can know about the effect of its call: `details.delivery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It was certainly not carried out.
    None,
    /// It may have been, in part or in full.
    Unknown,
    /// It was, and the error is its answer.
    Done,
}

impl Delivery {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Unknown => "unknown",
            Self::Done => "done",
        }
    }

    fn of(sent: bool) -> Self {
        if sent { Self::Unknown } else { Self::None }
    }
}

/// What is missing to be let in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Needs {
    /// A server that grants tokens.
    #[default]
    Auth,
    /// A client that is registered by hand with this authorization server.
    Registration { issuer: Option<String> },
}

impl Needs {
    /// For programs.
    fn details(self, status: u16, scope: Option<String>) -> Value {
        let (needs, url) = match self {
            Self::Auth => ("auth", None),
            Self::Registration { issuer } => ("registration", issuer),
        };
        let mut details = json!({ "status": status, "needs": needs });
        if let Some(details) = details.as_object_mut() {
            details.extend(scope.map(|scope| ("scope".to_owned(), json!(scope))));
            details.extend(url.map(|url| ("url".to_owned(), json!(url))));
        }
        details
    }
}

/// A failure of a server, before it becomes the caller's error.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Our own time limit passed.
    Timeout(Duration),
    /// The caller does not want it any more.
    Aborted,
    /// The connection is gone. `sent` says whether the request had left us.
    Lost { sent: bool },
    /// One HTTP request failed. `sent` as above; `answered`: the server did answer, but not as the protocol says. `may_pass`: the
    /// server, or the way to it, may be well again soon.
    Transport {
        sent: bool,
        answered: bool,
        may_pass: bool,
        reason: String,
    },
    /// The server wants a token, or one that allows more. `scope` is what it should allow.
    NotAuthorized {
        status: u16,
        scope: Option<String>,
        reason: String,
        needs: Needs,
    },
    /// The server refused.
    Refused(RpcError),
    /// The answer was larger than the limit.
    TooLarge(usize),
    /// The answer is large, and its file cannot be written.
    Spill(Box<CallError>),
    /// The server said something that is no answer.
    Odd(String),
    /// The call became a task, and has no result. `is_answer`: the cause is what the server says of the task, and not why we do not
    /// know what became of it.
    Task {
        id: String,
        is_answer: bool,
        cause: Box<Failure>,
    },
}

impl Failure {
    /// An HTTP response that is not valid in the protocol.
    pub(crate) fn answered(reason: String) -> Self {
        Self::Transport {
            sent: true,
            answered: true,
            may_pass: false,
            reason,
        }
    }

    /// An HTTP answer that was cut.
    pub(crate) fn cut(reason: String) -> Self {
        Self::Transport {
            sent: true,
            answered: true,
            may_pass: true,
            reason,
        }
    }

    /// A request that got no answer.
    pub(crate) fn http(error: &reqwest::Error) -> Self {
        Self::Transport {
            // To a connection that was never made, nothing was sent.
            sent: !(error.is_connect() || error.is_builder()),
            answered: false,
            may_pass: !(error.is_builder() || error.is_redirect()),
            reason: http_reason(error),
        }
    }

    /// Whether a server that answers so may speak another protocol.
    pub(crate) fn is_other_protocol(&self) -> bool {
        matches!(
            self,
            Self::Transport {
                answered: true,
                may_pass: false,
                ..
            }
        )
    }

    /// Whether the server cannot have acted on the request.
    pub(crate) fn never_left(&self) -> bool {
        matches!(self, Self::Lost { sent: false })
    }

    /// What is known about the effect of the request.
    pub(crate) fn delivery(&self) -> Delivery {
        match self {
            Self::Lost { sent } | Self::Transport { sent, .. } => Delivery::of(*sent),
            Self::NotAuthorized { .. } => Delivery::None,
            Self::Refused(_) | Self::Spill(_) => Delivery::Done,
            Self::Timeout(_) | Self::Aborted | Self::TooLarge(_) | Self::Odd(_) => {
                Delivery::Unknown
            }
            Self::Task {
                is_answer: true,
                cause,
                ..
            } => cause.delivery(),
            Self::Task { .. } => Delivery::Unknown,
        }
    }

    /// Whether the connection is gone.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Lost { .. } => true,
            Self::Task { cause, .. } => cause.is_lost(),
            _ => false,
        }
    }
}

/// All that is said along the chain of causes, once each. reqwest puts the URL into its messages, which
/// may hold a token; the name of the server is enough to know which one is meant.
fn http_reason(error: &reqwest::Error) -> String {
    let what = if error.is_connect() {
        "the connection could not be made"
    } else if error.is_timeout() {
        "the server did not answer in time"
    } else if error.is_body() || error.is_decode() {
        "the answer ended early"
    } else if error.is_redirect() {
        "too many redirects"
    } else {
        "the request failed"
    };
    let mut reasons = vec![what.to_owned()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        let is_news = !reasons.iter().any(|known| known.contains(&text));
        if is_news && !text.contains("for url (") {
            reasons.push(text);
        }
        next = cause.source();
    }
    reasons.join(": ")
}

/// What a message is about.
pub(crate) struct About<'a> {
    pub(crate) config: &'a ServerConfig,
    /// For a call.
    pub(crate) tool: Option<&'a str>,
    pub(crate) exit: Option<Exit>,
    pub(crate) stderr: String,
}

impl<'a> About<'a> {
    pub(crate) fn server(config: &'a ServerConfig) -> Self {
        Self {
            config,
            tool: None,
            exit: None,
            stderr: String::new(),
        }
    }

    pub(crate) fn tool(config: &'a ServerConfig, tool: &'a str) -> Self {
        Self {
            tool: Some(tool),
            ..Self::server(config)
        }
    }

    fn subject(&self) -> String {
        let server = &self.config.name;
        self.tool.map_or_else(
            || format!("MCP server '{server}'"),
            |tool| format!("MCP server '{server}', tool '{tool}'"),
        )
    }

    /// An error about this server. `reason` is a word for programs.
    pub(crate) fn error(
        &self,
        code: Code,
        reason: &'static str,
        delivery: Delivery,
        what: &str,
    ) -> CallError {
        self.error_with(code, reason, delivery, what, Value::Null)
    }

    /// The same, with more for programs.
    pub(crate) fn error_with(
        &self,
        code: Code,
        reason: &'static str,
        delivery: Delivery,
        what: &str,
        details: Value,
    ) -> CallError {
        let mut message = format!("{}: {what}", self.subject());
        if let Some(exit) = self.exit {
            message = format!("{message}. The server {exit}");
        }
        let quoted = StderrTail::quote(&self.stderr);
        if !quoted.is_empty() {
            message = format!("{message}{STDERR_QUOTE}{quoted}");
        }
        let mut facts = Map::new();
        facts.insert("server".into(), json!(self.config.name));
        if let Some(tool) = self.tool {
            facts.insert("tool".into(), json!(tool));
        }
        facts.insert("reason".into(), json!(reason));
        facts.insert("delivery".into(), json!(delivery.as_str()));
        if let Some(exit) = self.exit {
            facts.insert("exitCode".into(), json!(exit.code));
            facts.insert("signal".into(), json!(exit.signal));
        }
        if !self.stderr.is_empty() {
            facts.insert("stderr".into(), json!(self.stderr));
        }
        if let Value::Object(details) = details {
            facts.extend(details);
        }
        let mut details = Value::Object(facts);
        self.hide(&mut details);
        CallError::new(code, self.config.secrets.hide(&message)).with_details(details)
    }

    fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.config.secrets.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.hide(field)),
            _ => {}
        }
    }

    /// The error that a failure becomes.
    pub(crate) fn failure(&self, failure: Failure) -> CallError {
        let delivery = failure.delivery();
        let Failure::Task { id, cause, .. } = failure else {
            return self.error_with_delivery(failure, delivery);
        };
        let mut error = self.error_with_delivery(*cause, delivery);
        if let Some(Value::Object(details)) = &mut error.details {
            let id = self.config.secrets.hide(&id);
            details.insert("taskId".to_owned(), json!(id));
        }
        error
    }

    /// The same, where more is known about the effect of the call than the failure can tell.
    fn error_with_delivery(&self, failure: Failure, delivery: Delivery) -> CallError {
        let carried_out = match delivery {
            Delivery::None => "and the call was not carried out",
            _ => "and the call may have been carried out",
        };
        let error = |code, reason, what: &str, details| {
            self.error_with(code, reason, delivery, what, details)
        };
        match failure {
            Failure::Timeout(limit) => {
                let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let what = format!(
                    "no answer within {limit} ms. The server was asked to stop; the call may have been \
                     carried out. 'timeout' in the configuration, or in the metadata of the call, sets the limit"
                );
                let details = json!({ "timeout": limit });
                error(Code::Timeout, "timeout", &what, details)
            }
            Failure::Aborted => {
                let what = "the call was aborted. The server was asked to stop; it may have been carried out";
                self.error(Code::Aborted, "aborted", delivery, what)
            }
            Failure::Lost { .. } => {
                let what = format!("the connection was lost, {carried_out}");
                self.error(Code::ExecutionError, "connection-lost", delivery, &what)
            }
            Failure::NotAuthorized {
                status,
                scope,
                reason,
                needs,
            } => {
                let what = format!("{reason}, {carried_out}");
                let details = needs.details(status, scope);
                error(Code::ExecutionError, "not-authorized", &what, details)
            }
            Failure::Transport { reason, .. } => {
                let what = format!("{reason}, {carried_out}");
                self.error(Code::ExecutionError, "request-failed", delivery, &what)
            }
            Failure::Refused(refusal) => {
                let what = format!("error {}: {}", refusal.code, refusal.message);
                let details = json!({
                    "rpcCode": refusal.code,
                    "rpcMessage": refusal.message,
                    "rpcData": refusal.data,
                });
                error(Code::ExecutionError, "refused", &what, details)
            }
            Failure::TooLarge(limit) => {
                let what = format!(
                    "the answer is larger than the limit of {limit} bytes; the call was carried out. \
                     'maxResultBytes' in the configuration sets the limit"
                );
                let details = json!({ "maxResultBytes": limit });
                error(Code::ExecutionError, "too-large", &what, details)
            }
            Failure::Spill(spill) => {
                let CallError {
                    message, details, ..
                } = *spill;
                let what = format!("{message}; the call was carried out");
                let is_quota = details
                    .as_ref()
                    .is_some_and(|details| details.get("quota").is_some());
                let reason = if is_quota {
                    "spill-quota"
                } else {
                    "spill-failed"
                };
                self.error(Code::ExecutionError, reason, delivery, &what)
            }
            Failure::Odd(reason) => {
                let what = format!("an answer that does not follow the protocol: {reason}");
                self.error(Code::ExecutionError, "odd-answer", delivery, &what)
            }
            Failure::Task { cause, .. } => self.error_with_delivery(*cause, delivery),
        }
    }
}

/// Why a connection did not come about.
#[derive(Debug)]
pub(crate) struct NotConnected {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) details: Value,
    /// Whether the other side went away.
    pub(crate) closed: bool,
}

impl NotConnected {
    pub(crate) fn new(reason: impl std::fmt::Display) -> Self {
        Self {
            code: Code::ExecutionError,
            reason: format!("the connection failed: {reason}"),
            details: json!({}),
            closed: false,
        }
    }

    /// The configuration cannot work.
    pub(crate) fn invalid(reason: impl std::fmt::Display) -> Self {
        Self {
            code: Code::ValidationError,
            ..Self::new(reason)
        }
    }

    pub(crate) fn too_slow(config: &ServerConfig, phase: &str) -> Self {
        let limit = u64::try_from(config.connect_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            code: Code::Timeout,
            reason: format!(
                "it was not ready within {limit} ms: still waiting for {phase}. 'connectTimeout' in the \
                 configuration sets the limit"
            ),
            details: json!({ "timeout": limit, "phase": phase }),
            closed: false,
        }
    }

    /// The same with the place: scheme, host and port, and no more, because the rest of a URL may hold a
    /// secret.
    pub(crate) fn at(mut self, url: &str) -> Self {
        if let Ok(url) = url::Url::parse(url) {
            let place = url.origin().ascii_serialization();
            self.reason = format!("{} ({place})", self.reason);
        }
        self
    }
}

impl From<Failure> for NotConnected {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost { .. } => Self {
                closed: true,
                ..Self::new("it closed the connection before it was ready")
            },
            Failure::Transport { reason, .. } => Self::new(reason),
            Failure::NotAuthorized {
                reason,
                status,
                scope,
                needs,
            } => Self {
                details: needs.details(status, scope),
                ..Self::new(reason)
            },
            Failure::Refused(error) => Self {
                details: json!({ "rpcCode": error.code, "rpcMessage": error.message }),
                ..Self::new(format!("error {}: {}", error.code, error.message))
            },
            Failure::TooLarge(limit) => Self::new(format!(
                "an answer is larger than the limit of {limit} bytes. 'maxResultBytes' in the configuration sets \
                 the limit"
            )),
            Failure::Spill(error) => Self::new(error.message),
            Failure::Odd(reason) => Self::new(format!(
                "an answer that does not follow the protocol: {reason}"
            )),
            Failure::Timeout(limit) => Self {
                code: Code::Timeout,
                ..Self::new(format!("no answer within {} ms", limit.as_millis()))
            },
            Failure::Task { cause, .. } => Self::from(*cause),
            Failure::Aborted => Self {
                code: Code::Aborted,
                ..Self::new("it was not wanted any more")
            },
        }
    }
}

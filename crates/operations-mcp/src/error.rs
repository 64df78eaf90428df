//! What went wrong with a server, in words for its users.

use std::error::Error;
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::AuthError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
};
use serde_json::{Map, Value, json};

use crate::config::ServerConfig;
use crate::process::Exit;
use crate::process::stderr::StderrTail;

/// A server that failed us, before anybody was told.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Our own time limit passed.
    Timeout(Duration),
    /// The caller does not want it any more.
    Aborted,
    /// The connection is gone. `sent` says whether the request had left us.
    Lost { sent: bool },
    /// One HTTP request failed. `sent` as above; `unauthorized`: because the server wants a token.
    Transport {
        sent: bool,
        unauthorized: bool,
        reason: String,
    },
    /// The server refused.
    Refused(ErrorData),
    /// The answer was larger than the limit.
    TooLarge(usize),
    /// The server said something that is no answer.
    Odd(String),
}

impl Failure {
    pub(crate) fn from_rmcp(error: ServiceError, sent: bool) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Refused(error),
            ServiceError::TransportClosed => Self::Lost { sent },
            // A pipe that is broken.
            ServiceError::TransportSend(error) if error.error.is::<std::io::Error>() => {
                Self::Lost { sent }
            }
            ServiceError::TransportSend(error) => Self::Transport {
                unauthorized: wants_token(error.error.as_ref()),
                sent: sent && !never_arrived(error.error.as_ref()),
                reason: transport_reason(error.error.as_ref()),
            },
            ServiceError::Cancelled { .. } => Self::Aborted,
            ServiceError::Timeout { timeout } => Self::Timeout(timeout),
            other => Self::Odd(other.to_string()),
        }
    }

    /// Whether the connection is of no use any more. Over one that lacks a token, nothing goes; a new one
    /// is made with the user's help.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. }
                | Self::Transport {
                    unauthorized: true,
                    ..
                }
        )
    }

    /// Whether nobody can have acted on the request.
    pub(crate) fn never_left(&self) -> bool {
        matches!(self, Self::Lost { sent: false })
    }
}

/// A connection that was never made, and requests that were turned away at the door, carried nothing out.
fn never_arrived(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        error
            .downcast_ref::<reqwest::Error>()
            .is_some_and(|error| error.is_connect() || error.is_builder())
            || error.is::<AuthRequiredError>()
            || error.is::<InsufficientScopeError>()
            || error
                .downcast_ref::<HttpStatusError>()
                .is_some_and(|error| matches!(error.status, 429 | 503))
    })
}

/// Whether the server wants a token, or another one.
pub(crate) fn wants_token(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        error.is::<AuthRequiredError>()
            || matches!(
                error.downcast_ref::<AuthError>(),
                Some(AuthError::AuthorizationRequired)
            )
    })
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        // rmcp does not tell that this one has a cause.
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(cause)) => Some(cause),
            _ => error.source(),
        }
    })
}

/// All that is said along the chain of causes, once each. reqwest puts the URL into its messages, which
/// may hold a token; the name of the server is enough to know which one is meant.
pub(crate) fn transport_reason(error: &(dyn Error + 'static)) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for cause in chain(error) {
        let text = cause
            .downcast_ref::<reqwest::Error>()
            .map_or_else(|| cause.to_string(), http_reason);
        // A challenge is for programs.
        if cause.is::<AuthRequiredError>() || cause.is::<InsufficientScopeError>() {
            continue;
        }
        let is_news = !reasons.iter().any(|known| known.contains(&text));
        if is_news && !text.contains("for url (") {
            reasons.push(text);
        }
    }
    reasons.join(": ")
}

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
    what.to_owned()
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

    fn subject(&self) -> String {
        let server = &self.config.name;
        self.tool.map_or_else(
            || format!("MCP server '{server}'"),
            |tool| format!("MCP server '{server}', tool '{tool}'"),
        )
    }

    /// An error about this server.
    pub(crate) fn error(&self, code: Code, what: &str, details: Value) -> CallError {
        let mut message = format!("{}: {what}", self.subject());
        if let Some(exit) = self.exit {
            message = format!("{message}. The server {exit}");
        }
        let quoted = StderrTail::quote(&self.stderr);
        if !quoted.is_empty() {
            message = format!("{message}. Its last words on stderr:\n{quoted}");
        }
        let mut facts = Map::new();
        facts.insert("server".into(), json!(self.config.name));
        if let Some(tool) = self.tool {
            facts.insert("tool".into(), json!(tool));
        }
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

    /// The error that a failure is told as.
    pub(crate) fn failure(&self, failure: Failure) -> CallError {
        let executed = |may: bool| json!({ "mayHaveExecuted": may });
        match failure {
            Failure::Timeout(limit) => {
                let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let what = format!(
                    "no answer within {limit} ms. The server was told to stop; the call may have been \
                     carried out. 'timeout' in the configuration, or in the metadata of the call, sets the limit"
                );
                let details = json!({ "timeout": limit, "mayHaveExecuted": true });
                self.error(Code::Timeout, &what, details)
            }
            Failure::Aborted => {
                let what = "the call was aborted. The server was told to stop; it may have been carried out";
                self.error(Code::Aborted, what, executed(true))
            }
            Failure::Lost { sent } => {
                let what = format!("the connection was lost, {}", carried_out(sent));
                self.error(Code::ExecutionError, &what, executed(sent))
            }
            Failure::Transport { sent, reason, .. } => {
                let what = format!("{reason}, {}", carried_out(sent));
                self.error(Code::ExecutionError, &what, executed(sent))
            }
            Failure::Refused(error) => {
                let what = format!("error {}: {}", error.code.0, error.message);
                let details = json!({
                    "rpcCode": error.code.0,
                    "rpcMessage": error.message,
                    "rpcData": error.data,
                });
                self.error(Code::ExecutionError, &what, details)
            }
            Failure::TooLarge(limit) => {
                let what = format!(
                    "the answer is larger than the limit of {limit} bytes; the call was carried out. \
                     'maxResultBytes' in the configuration sets the limit"
                );
                let details = json!({ "maxResultBytes": limit, "mayHaveExecuted": true });
                self.error(Code::ExecutionError, &what, details)
            }
            Failure::Odd(reason) => {
                let what = format!("an answer that does not follow the protocol: {reason}");
                self.error(Code::ExecutionError, &what, executed(true))
            }
        }
    }
}

fn carried_out(sent: bool) -> &'static str {
    if sent {
        "and the call may have been carried out"
    } else {
        "and the call was not carried out"
    }
}

/// Why a connection did not come about.
pub(crate) struct Failed {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) details: Value,
    /// Whether the other side went away.
    pub(crate) closed: bool,
}

impl Failed {
    pub(crate) fn new(reason: impl std::fmt::Display) -> Self {
        Self {
            code: Code::ExecutionError,
            reason: format!("it could not be connected: {reason}"),
            details: json!({}),
            closed: false,
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

    /// The same with another code.
    pub(crate) fn with(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    pub(crate) fn handshake(error: ClientInitializeError) -> Self {
        use ClientInitializeError as E;
        match error {
            E::ConnectionClosed(_) => Self {
                closed: true,
                ..Self::new("it closed the connection before it was ready")
            },
            E::TransportError { error, .. } if wants_token(error.error.as_ref()) => Self::new(
                "it wants a token (HTTP 401). Send one in 'headers', or let the user grant one: 'oauth' in \
                 the configuration says how",
            ),
            E::TransportError { error, .. } => Self {
                closed: true,
                ..Self::new(transport_reason(error.error.as_ref()))
            },
            E::JsonRpcError(error) => Self {
                details: json!({ "rpcCode": error.code.0, "rpcMessage": error.message }),
                ..Self::new(format!("error {}: {}", error.code.0, error.message))
            },
            E::LegacyFallbackFailed { fallback, .. } => Self::handshake(*fallback),
            E::ExpectedInitResponse(_) | E::ExpectedInitResult(_) => {
                Self::new("its answer to the first message is not what the protocol prescribes")
            }
            other => Self::new(other.to_string()),
        }
    }

    pub(crate) fn listing(failure: Failure, config: &ServerConfig) -> Self {
        let closed = matches!(failure, Failure::Lost { .. });
        let error = About::server(config).failure(failure);
        let reason = if closed {
            "it closed the connection before it was ready".to_owned()
        } else {
            error.message
        };
        Self {
            details: error.details.unwrap_or_else(|| json!({})),
            closed,
            ..Self::new(reason)
        }
    }
}

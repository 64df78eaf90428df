//! Why a connection did not come about.

use operations_core::error::InfrastructureErrorCode as Code;
use rmcp::service::ClientInitializeError;
use serde_json::json;

use crate::config::ServerConfig;
use crate::failure::{About, Failure, transport_reason, wants_token};

/// Why a connection did not come about.
pub(crate) struct Failed {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) details: serde_json::Value,
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

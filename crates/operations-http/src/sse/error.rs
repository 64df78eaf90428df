//! What a stream may cost, and what is said when it costs more.

use serde_json::json;

use operations_core::error::{CallError, InfrastructureErrorCode};

/// The default limit for the size of an event: 16 MiB.
const DEFAULT_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Bounds on what a parser keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The bytes that the data, the type and the id of one event may have together, as they were
    /// sent. Comments and unknown fields do not count: they are not kept.
    pub event_bytes: usize,
}

impl Limits {
    /// For text that is in memory already, where refusing it would save nothing.
    pub(crate) const NONE: Self = Self {
        event_bytes: usize::MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            event_bytes: DEFAULT_EVENT_BYTES,
        }
    }
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// One event is larger than [`Limits::event_bytes`].
    #[error(
        "An event of the stream is larger than the limit of {limit} bytes. \
         If such events are expected, raise `sse.maxEventBytes` in the configuration"
    )]
    EventTooLarge {
        /// The limit that was in force.
        limit: usize,
    },
}

impl From<SseError> for CallError {
    fn from(error: SseError) -> Self {
        let SseError::EventTooLarge { limit } = error;
        Self::new(InfrastructureErrorCode::ExecutionError, error.to_string())
            .with_details(json!({ "maxEventBytes": limit }))
    }
}

//! How a connection ends, in the words of the WebSocket protocol.

use std::borrow::Cow;

use tokio_tungstenite::tungstenite::error::{CapacityError, Error, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::tls::cut_off_or;

/// How a connection ends, in the words of the protocol beneath.
#[derive(Debug, Clone)]
pub struct End {
    pub(super) code: CloseCode,
    /// For messages.
    pub why: Cow<'static, str>,
    /// Whether there is a reader for a last frame.
    pub(super) is_heard: bool,
}

impl End {
    pub(super) fn ours(code: CloseCode, why: &'static str) -> Self {
        Self {
            code,
            why: why.into(),
            is_heard: true,
        }
    }

    pub(super) fn theirs(why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code: CloseCode::Normal,
            why: why.into(),
            is_heard: false,
        }
    }

    /// The last frame that is sent.
    pub(super) fn frame(&self) -> CloseFrame {
        CloseFrame {
            code: self.code,
            reason: self.why.as_ref().into(),
        }
    }

    /// What was wrong with what was read.
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                End::ours(CloseCode::Size, "a frame is larger than this side takes")
            }
            Error::Utf8(_) => End::ours(CloseCode::Invalid, "a frame is no text"),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                End::theirs("it was cut off")
            }
            Error::Protocol(_) => End::ours(
                CloseCode::Protocol,
                "a frame does not follow the WebSocket protocol",
            ),
            Error::Capacity(_) => End::ours(CloseCode::Size, "there is too much in a frame"),
            Error::Io(error) => End::theirs(cut_off_or(error)),
            other => End::theirs(other.to_string()),
        }
    }

    /// The other end has closed it.
    pub(super) fn closed_by(frame: Option<CloseFrame>) -> Self {
        let why = match frame {
            Some(CloseFrame { code, reason }) if !reason.is_empty() => {
                let reason: String = reason.chars().filter(|it| !it.is_control()).collect();
                Cow::from(format!("the other side has closed it: {reason} ({code})"))
            }
            Some(CloseFrame { code, .. }) => {
                format!("the other side has closed it ({code})").into()
            }
            None => "the other side has closed it".into(),
        };
        Self::theirs(why)
    }
}

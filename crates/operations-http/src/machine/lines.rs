//! One JSON value per line.

use std::borrow::Cow;

use memchr::memchr;
use operations_core::error::CallError;
use operations_core::utf8::text_of;
use serde_json::json;

use crate::message::reply::is_json;
use crate::sse::{Limits, SseError};

/// Cuts a stream into lines that are JSON, however it is cut into pieces.
#[derive(Debug)]
pub(super) struct LineParser {
    unfinished: Vec<u8>,
    limit: usize,
    line: u64,
}

impl LineParser {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            unfinished: Vec::new(),
            limit: limits.event_bytes,
            line: 0,
        }
    }

    pub(super) fn push(
        &mut self,
        mut piece: &[u8],
        on_line: &mut impl FnMut(&str),
    ) -> Result<(), CallError> {
        while let Some(end) = memchr(b'\n', piece) {
            let (line, rest) = piece.split_at(end);
            self.keep_within(line.len())?;
            piece = rest.get(1..).unwrap_or_default();
            if self.unfinished.is_empty() {
                self.hand_over(line, on_line)?;
            } else {
                let mut whole = std::mem::take(&mut self.unfinished);
                whole.extend_from_slice(line);
                self.hand_over(&whole, on_line)?;
            }
        }
        self.keep_within(piece.len())?;
        self.unfinished.extend_from_slice(piece);
        Ok(())
    }

    pub(super) fn finish(&mut self, on_line: &mut impl FnMut(&str)) -> Result<(), CallError> {
        let last = std::mem::take(&mut self.unfinished);
        self.hand_over(&last, on_line)
    }

    fn keep_within(&self, more: usize) -> Result<(), CallError> {
        if more > self.limit.saturating_sub(self.unfinished.len()) {
            return Err(SseError::EventTooLarge { limit: self.limit }.into());
        }
        Ok(())
    }

    fn hand_over(&mut self, line: &[u8], on_line: &mut impl FnMut(&str)) -> Result<(), CallError> {
        self.line += 1;
        let text = text_of(line);
        let text = match (self.line, text) {
            (1, Cow::Borrowed(text)) => {
                Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))
            }
            (_, text) => text,
        };
        let text = text.trim_matches([' ', '\t', '\r']);
        if text.is_empty() {
            return Ok(());
        }
        if !is_json(text) {
            let message = format!(
                "The stream must have one JSON value per line, and line {} is not JSON",
                self.line
            );
            return Err(CallError::failed(message).with_details(json!({ "line": self.line })));
        }
        on_line(text);
        Ok(())
    }
}

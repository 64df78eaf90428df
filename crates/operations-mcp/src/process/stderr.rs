//! The last words of a child: its standard error, kept for messages and passed to the log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use crate::secrets::Secrets;

/// How much is kept.
const KEPT: usize = 64 * 1024;
/// How much of it is quoted in a message.
const QUOTED: usize = 2 * 1024;
/// A line for the log is cut here.
const LOGGED_LINE: usize = 2 * 1024;

/// The end of what a child wrote to standard error.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    bytes: Mutex<VecDeque<u8>>,
    ended: CancellationToken,
}

impl StderrTail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = locked(&self.bytes);
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    /// Waits until all was read, at most for the given time: processes that the child left behind may hold
    /// the stream open.
    pub(crate) async fn ended_within(&self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.ended.cancelled()).await;
    }

    /// All that is kept.
    pub(crate) fn text(&self) -> String {
        let mut kept = locked(&self.bytes);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }

    /// The end of it, for a message.
    pub(crate) fn quote(text: &str) -> &str {
        let text = text.trim();
        let mut start = text.len().saturating_sub(QUOTED);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.get(start..).unwrap_or(text)
    }
}

/// Reads a child's standard error until its end.
pub(crate) async fn read(
    mut stream: impl AsyncRead + Unpin,
    tail: Arc<StderrTail>,
    server: String,
    secrets: Secrets,
    logger: Logger,
) {
    let mut buffer = vec![0_u8; 8 * 1024];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let bytes = buffer.get(..count).unwrap_or_default();
        tail.push(bytes);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LOGGED_LINE.saturating_sub(line.len());
            line.extend_from_slice(piece.get(..piece.len().min(room)).unwrap_or_default());
            if piece.ends_with(b"\n") {
                log(&line, &server, &secrets, &logger);
                line.clear();
            }
        }
    }
    log(&line, &server, &secrets, &logger);
    tail.ended.cancel();
}

fn log(line: &[u8], server: &str, secrets: &Secrets, logger: &Logger) {
    let text = secrets.hide(String::from_utf8_lossy(line).trim_end());
    if !text.is_empty() {
        let message = format!("MCP server '{server}' on stderr: {text}");
        logger.log(Level::Info, "mcp", message, [("server", json!(server))]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_and_lines_are_logged() {
        let tail = Arc::new(StderrTail::default());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&lines);
        let logger = Logger::new(move |record| seen.lock().unwrap().push(record.message));
        let text = format!("{}\nlast token=hunter22 words", "x".repeat(KEPT));
        let secrets = Secrets::new(vec!["hunter22".into()]);
        read(
            text.as_bytes(),
            Arc::clone(&tail),
            "demo".into(),
            secrets,
            logger,
        )
        .await;

        let kept = tail.text();
        assert_eq!(kept.len(), KEPT);
        assert!(kept.ends_with("words"));
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() < LOGGED_LINE + 100);
        assert!(lines[1].ends_with("last token=[secret] words"));
    }

    #[test]
    fn a_quotation_is_cut_between_characters() {
        let text = "é".repeat(QUOTED);
        assert!(StderrTail::quote(&text).len() <= QUOTED);
        assert_eq!(StderrTail::quote("  a \n"), "a");
    }
}

//! Standard input and output as a transport. Threads of their own read and write: a read cannot be
//! interrupted, and must not hold up the end of the runtime.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::thread;

use operations_core::error::CallError;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::door::mcp::stdio::{Conversation, OutgoingLine};
use crate::identity::Caller;
use crate::service::Shared;

/// Lines that wait to be handled, or to be written.
const WAITING_LINES: usize = 64;

/// Talks with the program's parent process, until that is gone, or the server closes and calls are done, or `kill` is cancelled.
///
/// # Errors
///
/// When the door is closed, or there is no thread left.
pub(crate) async fn converse(
    shared: Arc<Shared>,
    caller: Arc<Caller>,
    kill: &CancellationToken,
) -> Result<(), CallError> {
    let Some(door) = shared.options.doors.mcp.clone() else {
        return Err(CallError::invalid("serveStdio: the MCP door is closed"));
    };
    let most = shared.options.max_body_bytes;
    let (say, lines) = mpsc::channel(WAITING_LINES);
    let (out, said) = mpsc::channel(WAITING_LINES);
    let (written, all_written) = oneshot::channel::<()>();
    let no_thread = |error: io::Error| CallError::failed(format!("serveStdio: {error}"));
    thread::Builder::new()
        .name("operations-stdin".to_owned())
        .spawn(move || read_lines(&mut io::stdin().lock(), most, &say))
        .map_err(no_thread)?;
    thread::Builder::new()
        .name("operations-stdout".to_owned())
        .spawn(move || {
            write_lines(&mut io::stdout(), said);
            drop(written);
        })
        .map_err(no_thread)?;
    Conversation::new(shared, door, caller, out, kill)
        .run(lines)
        .await;
    // It ends when it is dropped. A client that does not read is not waited for.
    let _ = kill.run_until_cancelled(all_written).await;
    Ok(())
}

/// Reads until there is nothing more, or a line is longer than it may be.
fn read_lines(input: &mut impl BufRead, most: usize, say: &mpsc::Sender<String>) {
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() >= most && !line.ends_with(b"\n") => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if say.blocking_send(line).is_err() {
            return;
        }
    }
}

fn write_lines(output: &mut impl Write, mut said: mpsc::Receiver<OutgoingLine>) {
    while let Some(line) = said.blocking_recv() {
        let sent = output
            .write_all(line.as_bytes())
            .and_then(|()| output.write_all(b"\n"))
            .and_then(|()| output.flush());
        if sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_one_that_is_too_long() {
        let (say, mut lines) = mpsc::channel(8);
        read_lines(&mut &b"ab\n\nlonger than that\nx\n"[..], 10, &say);
        drop(say);
        let mut heard = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            heard.push(line);
        }
        assert_eq!(heard, ["ab\n", "\n"]);
    }

    #[test]
    fn what_is_said_is_written_line_by_line() {
        let (out, said) = mpsc::channel(8);
        for line in ["a", "b"] {
            assert!(out.blocking_send(line.to_owned().into()).is_ok());
        }
        drop(out);
        let mut written = Vec::new();
        write_lines(&mut written, said);
        assert_eq!(written, b"a\nb\n");
    }
}

//! A connection over a child's standard streams.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::slot::Slot;
use crate::client::tap::{Outbound, Tap, Verdict};
use crate::transport::message;

/// Messages that wait for rmcp. A server that writes faster waits in its pipe.
const WAITING_MESSAGES: usize = 64;
/// Messages that wait for the child to read them.
const WAITING_LINES: usize = 1024;
/// How long a line may still take to be written once the input is to end.
const LAST_LINE: Duration = Duration::from_millis(200);
/// What is kept of the two ends of a line that is too long.
const EDGE: usize = 1024;

/// A line on its way to the child.
struct Line {
    text: Vec<u8>,
    done: oneshot::Sender<io::Result<()>>,
    unsent: Unsent,
}

/// A request of which nothing was written yet. If it is dropped, nothing ever will be.
struct Unsent(Option<Slot>);

impl Unsent {
    fn begin(mut self) -> Option<Slot> {
        self.0.take()
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Some(slot) = &self.0 {
            slot.mark_written(false);
        }
    }
}

/// Both directions.
pub(crate) struct StdioTransport {
    tap: Arc<Tap>,
    lines: Option<mpsc::Sender<Line>>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    /// For answers that we give ourselves in a server's place.
    echo: mpsc::Sender<ServerJsonRpcMessage>,
    tasks: [JoinHandle<()>; 2],
    end_input: CancellationToken,
    /// How long a server may ponder the question which protocol it speaks.
    discover_patience: Option<Duration>,
}

impl StdioTransport {
    /// Takes over the two streams. `max_line` bounds what is kept of one line; `end_input` ends the
    /// child's input, whether or not it reads what waits for it.
    pub(crate) fn new(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        tap: Arc<Tap>,
        max_line: usize,
        end_input: CancellationToken,
        discover_patience: Option<Duration>,
    ) -> Self {
        let (lines, outgoing) = mpsc::channel(WAITING_LINES);
        let (incoming, messages) = mpsc::channel(WAITING_MESSAGES);
        let (echo, echoed) = mpsc::channel(1);
        let reader = read(
            BufReader::new(stdout),
            Arc::clone(&tap),
            incoming,
            echoed,
            max_line,
        );
        Self {
            tap,
            lines: Some(lines),
            messages,
            echo,
            tasks: [
                tokio::spawn(write(stdin, outgoing, end_input.clone())),
                tokio::spawn(reader),
            ],
            end_input,
            discover_patience,
        }
    }

    /// Answers in the server's place when it does not say which protocol it speaks.
    fn give_up_on_discover(&self, id: u64) {
        let Some(patience) = self.discover_patience else {
            return;
        };
        let tap = Arc::clone(&self.tap);
        let echo = self.echo.clone();
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            if tap.give_up_on(id) {
                let answer = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no answer"}}}}"#
                );
                if let Some(answer) = message::typed(&answer) {
                    let _ = echo.send(answer).await;
                }
            }
        });
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let Outbound { slot, discover } = self.tap.outbound(&item);
        if let Some(id) = discover {
            self.give_up_on_discover(id);
        }
        let lines = self.lines.clone();
        let text = serde_json::to_vec(&item);
        let unsent = Unsent(slot);
        async move {
            let mut text = text?;
            text.push(b'\n');
            let (done, written) = oneshot::channel();
            let lines = lines.ok_or(io::ErrorKind::BrokenPipe)?;
            let line = Line { text, done, unsent };
            lines
                .send(line)
                .await
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
            written.await.map_err(|_| io::ErrorKind::BrokenPipe)?
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    /// Ends the child's input. The process is ended by whoever owns it.
    async fn close(&mut self) -> io::Result<()> {
        self.lines = None;
        self.end_input.cancel();
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Line>,
    end: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            line = lines.recv() => line,
            () = end.cancelled() => None,
        };
        let Some(Line { text, done, unsent }) = next else {
            return;
        };
        let slot = unsent.begin();
        let written = async {
            stdin.write_all(&text).await?;
            stdin.flush().await
        };
        let outcome = tokio::select! {
            outcome = written => outcome,
            // What a child has not begun to read by now, it will not read.
            () = ended_for(&end, LAST_LINE) => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let broken = outcome.is_err();
        if let Some(slot) = slot {
            slot.mark_written(!broken);
        }
        let _ = done.send(outcome);
        if broken {
            return;
        }
    }
}

async fn ended_for(end: &CancellationToken, grace: Duration) {
    end.cancelled().await;
    tokio::time::sleep(grace).await;
}

async fn read(
    mut stdout: impl AsyncBufRead + Unpin,
    tap: Arc<Tap>,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
    mut echoed: mpsc::Receiver<ServerJsonRpcMessage>,
    max_line: usize,
) {
    let mut line = LongLine::new(max_line);
    loop {
        let piece = tokio::select! {
            piece = stdout.fill_buf() => piece,
            Some(message) = echoed.recv() => {
                if incoming.send(message).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let Ok(piece @ [_, ..]) = piece else { return };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(piece.len(), |at| at + 1);
        line.push(piece.get(..length).unwrap_or_default());
        stdout.consume(length);
        if end.is_none() {
            continue;
        }
        for message in line.messages(&tap) {
            if incoming.send(message).await.is_err() {
                return;
            }
        }
        line.clear();
    }
}

/// One line of whatever length, of which no more than a limit is kept.
struct LongLine {
    kept: Vec<u8>,
    limit: usize,
    /// The last bytes of a line that went beyond the limit.
    tail: Option<Vec<u8>>,
}

impl LongLine {
    fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            limit,
            tail: None,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.tail.is_none() && self.kept.len() + bytes.len() <= self.limit {
            self.kept.extend_from_slice(bytes);
            return;
        }
        let tail = self.tail.get_or_insert_with(|| {
            self.kept.truncate(EDGE);
            self.kept.shrink_to_fit();
            Vec::new()
        });
        tail.extend_from_slice(bytes);
        let excess = tail.len().saturating_sub(EDGE);
        tail.drain(..excess);
    }

    fn clear(&mut self) {
        self.kept.clear();
        // The memory of one large result is not held for ever.
        self.kept.shrink_to(1024 * 1024);
        self.tail = None;
    }

    fn messages(&self, tap: &Tap) -> Vec<ServerJsonRpcMessage> {
        if let Some(tail) = &self.tail {
            let head = String::from_utf8_lossy(&self.kept);
            if !head.trim_start().starts_with(['{', '[']) {
                tap.note_odd_line(&head);
                return Vec::new();
            }
            let number = message::number_at_edge(&head, &String::from_utf8_lossy(tail));
            let answers = tap.too_large(number);
            return answers
                .iter()
                .filter_map(|answer| message::typed(answer))
                .collect();
        }
        // A broken character makes one text odd, not the whole line unreadable.
        let text = String::from_utf8_lossy(&self.kept);
        message::split(&text)
            .into_iter()
            .filter_map(|text| match tap.inbound(&text) {
                Verdict::Forward(text) => message::typed(&text),
                Verdict::Done | Verdict::NotAMessage => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use operations_core::log::Logger;

    use super::*;

    async fn received(text: &[u8], max_line: usize) -> usize {
        let tap = Arc::new(Tap::new("demo", Logger::silent()));
        let end = CancellationToken::new();
        let mut transport = StdioTransport::new(
            tokio::io::sink(),
            text.to_vec().leak() as &[u8],
            tap,
            max_line,
            end,
            None,
        );
        let mut count = 0;
        while transport.receive().await.is_some() {
            count += 1;
        }
        count
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[tokio::test]
    async fn lines_that_are_no_messages_are_skipped() {
        let text = format!("ready\n\n{PING}\r\n\u{0}\n{{\n[{PING},{PING}]\n");
        assert_eq!(received(text.as_bytes(), 1000).await, 3);
        assert_eq!(received(b"\xff\xfe\n{\"jsonrpc\"", 1000).await, 0);
    }

    #[tokio::test]
    async fn a_line_of_any_length_costs_no_more_than_the_limit() {
        let text = format!("{}\n{PING}\n", "x".repeat(100_000));
        assert_eq!(received(text.as_bytes(), 100).await, 1);
        let mut line = LongLine::new(100);
        for _ in 0..1000 {
            line.push(&[b'x'; 99]);
        }
        assert!(line.kept.capacity() + line.tail.as_ref().map_or(0, Vec::capacity) < 8 * EDGE);
    }
}

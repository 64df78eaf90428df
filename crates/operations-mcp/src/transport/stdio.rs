//! A connection over a child's standard streams: a message is a line.
//!
//! A line is written by the thread that has it, if the pipe takes it at once: handing it to another thread would
//! cost more than writing it. What the pipe does not take waits in a queue for a task. Another task reads. A thread that
//! has several lines says so before it sends them; then they are one write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use futures::FutureExt;
use futures::future::{BoxFuture, poll_fn};
use memchr::memchr;
use operations_core::lock::locked;
use operations_core::utf8::text_of;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::message;
use super::{Kind, Outgoing, Transport};
use crate::client::conversation::Conversation;
use crate::error::Failure;

/// Answers of ours that may wait for a child to read them. One that asks without reading gets no more.
const WAITING_ANSWERS: usize = 1024;
/// What is kept of the two ends of a line that is too long.
const EDGE: usize = 1024;
/// How much is read at once.
const READ: usize = 64 * 1024;
/// How many lines are written at once.
const LINES: usize = 64;

type Stdin = Pin<Box<dyn AsyncWrite + Send>>;

/// A line on its way to the child.
struct Line {
    text: Vec<u8>,
    /// How much of it was written.
    written: usize,
    request: Option<u64>,
}

impl Line {
    /// What is yet to be written. No line is empty: each has its end.
    fn rest(&self) -> &[u8] {
        self.text.get(self.written..).unwrap_or_default()
    }
}

struct Output {
    /// Nothing, once the input has ended.
    stdin: Option<Stdin>,
    lines: VecDeque<Line>,
    /// The pipe is full, and the task that writes waits for it.
    is_blocked: bool,
    /// The thread that has more to send. What others send does not wait for it: it may be busy by now.
    holder: Option<ThreadId>,
}

impl Output {
    /// Writes what the pipe takes.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stdin) = &mut self.stdin else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        self.is_blocked = false;
        while !self.lines.is_empty() {
            let rest = |line| IoSlice::new(Line::rest(line));
            let written = if let [line] = self.lines.make_contiguous() {
                stdin.as_mut().poll_write(context, line.rest())
            } else {
                let lines: Vec<IoSlice<'_>> = self.lines.iter().take(LINES).map(rest).collect();
                stdin.as_mut().poll_write_vectored(context, &lines)
            };
            let mut count = match written {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => count,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.is_blocked = true;
                    return Poll::Pending;
                }
            };
            while let Some(line) = self.lines.front_mut() {
                let length = line.rest().len();
                if count < length {
                    line.written += count;
                    break;
                }
                count -= length;
                self.lines.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the input. Returns which requests were not sent: a server does not act on a line without an end.
    fn end(&mut self) -> Vec<u64> {
        self.stdin = None;
        self.lines
            .drain(..)
            .filter_map(|line| line.request)
            .collect()
    }
}

/// Both directions.
pub(crate) struct StdioTransport {
    conversation: Arc<Conversation>,
    output: Mutex<Output>,
    /// There are lines that the pipe did not take.
    queued: Notify,
    /// For writing outside of a task: on some systems a pipe is written to by threads of the runtime.
    runtime: Handle,
}

impl StdioTransport {
    /// Takes over the two streams. Must be called on the Tokio runtime.
    pub(crate) fn new(
        stdin: impl AsyncWrite + Send + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        conversation: Arc<Conversation>,
    ) -> Arc<Self> {
        let transport = Arc::new(Self {
            conversation,
            output: Mutex::new(Output {
                stdin: Some(Box::pin(stdin)),
                lines: VecDeque::new(),
                is_blocked: false,
                holder: None,
            }),
            queued: Notify::new(),
            runtime: Handle::current(),
        });
        let tasks = &transport.conversation.tasks;
        tasks.spawn(write(Arc::clone(&transport)));
        let stdout = BufReader::with_capacity(READ, stdout);
        tasks.spawn(read(Arc::clone(&transport), stdout));
        transport
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        locked(&self.output)
    }

    /// Writes what the pipe takes now, and leaves the rest to the task.
    fn write_now(self: Arc<Self>, mut output: MutexGuard<'_, Output>) {
        if output.is_blocked || output.stdin.is_none() {
            return;
        }
        let runtime = self.runtime.enter();
        let written = output.poll_write(&mut Context::from_waker(Waker::noop()));
        drop((output, runtime));
        match written {
            Poll::Ready(Ok(())) => {}
            Poll::Pending => self.queued.notify_one(),
            // The waiting callback must not be called from here: it may be the caller.
            Poll::Ready(Err(_)) => {
                let transport = Arc::clone(&self);
                let losing = async move { transport.lose() };
                self.conversation.tasks.spawn_on(losing, &self.runtime);
            }
        }
    }

    /// The other side is gone, or we are.
    fn lose(&self) {
        let unsent = self.output().end();
        self.conversation.lose(&unsent);
    }
}

impl Transport for StdioTransport {
    fn send(self: Arc<Self>, Outgoing { kind, text }: Outgoing) {
        let mut text = text.into_bytes();
        text.push(b'\n');
        let request = match kind {
            Kind::Request { id, .. } => Some(id),
            Kind::Notification { .. } | Kind::Answer => None,
        };
        let transport = Arc::clone(&self);
        let mut output = self.output();
        let is_unheard = matches!(kind, Kind::Answer) && output.lines.len() >= WAITING_ANSWERS;
        if is_unheard || output.stdin.is_none() {
            return;
        }
        if let Some(id) = request {
            self.conversation.requests.mark_sent(id);
        }
        output.lines.push_back(Line {
            text,
            written: 0,
            request,
        });
        let is_held = output
            .holder
            .is_some_and(|holder| holder == thread::current().id());
        if !is_held {
            transport.write_now(output);
        }
    }

    fn hold(&self) {
        self.output().holder = Some(thread::current().id());
    }

    fn release(self: Arc<Self>) {
        let transport = Arc::clone(&self);
        let mut output = self.output();
        output.holder = None;
        transport.write_now(output);
    }

    fn withdraw(&self, _: u64) -> bool {
        true
    }

    fn agreed(
        self: Arc<Self>,
        _: &str,
        last: Option<Outgoing>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        if let Some(last) = last {
            self.send(last);
        }
        std::future::ready(Ok(())).boxed()
    }

    /// Ends the child's input. The process is ended by its owner.
    fn close(&self) -> BoxFuture<'_, ()> {
        self.lose();
        std::future::ready(()).boxed()
    }
}

/// Writes what the pipe did not take at once.
async fn write(transport: Arc<StdioTransport>) {
    loop {
        tokio::select! {
            () = transport.queued.notified() => {}
            () = transport.conversation.lost.cancelled() => return,
        }
        let written = tokio::select! {
            written = poll_fn(|context| transport.output().poll_write(context)) => written,
            () = transport.conversation.lost.cancelled() => return,
        };
        if written.is_err() {
            transport.lose();
            return;
        }
    }
}

/// Whatever ends the reading ends the connection.
struct LoseAtEnd(Arc<StdioTransport>);

impl Drop for LoseAtEnd {
    fn drop(&mut self) {
        self.0.lose();
    }
}

async fn read(transport: Arc<StdioTransport>, mut stdout: impl AsyncBufRead + Unpin) {
    let _end = LoseAtEnd(Arc::clone(&transport));
    let conversation = Arc::clone(&transport.conversation);
    let mut line = LongLine::new(conversation.config.max_message_bytes);
    let transport: Arc<dyn Transport> = transport;
    loop {
        let piece = tokio::select! {
            piece = stdout.fill_buf() => piece,
            () = conversation.lost.cancelled() => break,
        };
        let Ok(piece @ [_, ..]) = piece else { break };
        let end = memchr(b'\n', piece);
        let length = end.map_or(piece.len(), |at| at + 1);
        let bytes = piece.get(..length).unwrap_or_default();
        if end.is_none() {
            line.push(bytes);
        } else if line.is_empty() && length <= line.limit {
            // Almost every line: it is read where it is.
            conversation.hear(&text_of(bytes), &transport);
        } else {
            line.push(bytes);
            line.hear(&conversation, &transport);
            line.clear();
        }
        stdout.consume(length);
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

    fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.tail.is_none()
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.tail.is_none() && self.kept.len() + bytes.len() <= self.limit {
            self.kept.extend_from_slice(bytes);
            return;
        }
        let tail = self.tail.get_or_insert_with(|| {
            // The first piece of a line may go beyond the limit by itself.
            self.kept.extend(bytes.iter().take(EDGE));
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

    fn hear(&self, conversation: &Arc<Conversation>, transport: &Arc<dyn Transport>) {
        let Some(tail) = &self.tail else {
            conversation.hear(&text_of(&self.kept), transport);
            return;
        };
        let head = String::from_utf8_lossy(&self.kept);
        if head.trim_start().starts_with(['{', '[']) {
            let number = message::number_at_edge(&head, &String::from_utf8_lossy(tail));
            conversation.requests.too_large(number, self.limit);
        } else {
            conversation.note_odd_line(&head);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::client::requests::Patience;
    use crate::client::test_conversation as conversation;

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    /// How many questions are answered in what a child writes.
    async fn answered(text: impl Into<Vec<u8>>, max_line: usize) -> usize {
        let (ours, mut theirs) = tokio::io::duplex(1_000_000);
        let conversation = conversation(max_line);
        let stdout = io::Cursor::new(text.into()).chain(never());
        let transport = StdioTransport::new(ours, stdout, conversation);
        let mut answers = 0;
        let mut bytes = [0];
        while let Ok(Ok(1)) =
            tokio::time::timeout(Duration::from_millis(200), theirs.read(&mut bytes)).await
        {
            answers += usize::from(bytes == *b"\n");
        }
        transport.lose();
        answers
    }

    fn never() -> impl AsyncRead {
        tokio_util::io::StreamReader::new(futures::stream::pending::<io::Result<&[u8]>>())
    }

    #[tokio::test]
    async fn lines_that_are_no_messages_are_skipped() {
        let ping = |id: u8| PING.replace('1', &id.to_string());
        let text = format!(
            "ready\n\n{}\r\n\u{0}\n{{\n[{},{}]\n",
            ping(1),
            ping(3),
            ping(4)
        );
        assert_eq!(answered(text, 1000).await, 3);
        assert_eq!(answered(*b"\xff\xfe\n{\"jsonrpc\"", 1000).await, 0);
    }

    #[tokio::test]
    async fn a_line_of_any_length_costs_no_more_than_the_limit() {
        let text = format!("{}\n{PING}\n", "x".repeat(100_000));
        assert_eq!(answered(text, 100).await, 1);
        let mut line = LongLine::new(100);
        for _ in 0..1000 {
            line.push(&[b'x'; 99]);
        }
        assert!(line.kept.capacity() + line.tail.as_ref().map_or(0, Vec::capacity) < 8 * EDGE);
    }

    /// A child that reads so many bytes and then ends: what becomes of two requests of 1,000 bytes each.
    async fn outcomes(reads: usize) -> [String; 2] {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let conversation = conversation(1000);
        let (stdout, output) = tokio::io::duplex(64);
        let transport = StdioTransport::new(ours, stdout, Arc::clone(&conversation));
        let receivers = [(); 2].map(|()| {
            let (sender, receiver) = mpsc::channel();
            let done = Box::new(move |outcome| sender.send(format!("{outcome:?}")).unwrap());
            let patience = Patience::of(Duration::from_secs(60));
            let id = conversation.requests.begin(patience, None, done).ok();
            let kind = Kind::Request {
                id: id.unwrap(),
                method: "tools/call",
                name: None,
            };
            let text = "x".repeat(999);
            Arc::clone(&transport).send(Outgoing { kind, text });
            receiver
        });
        let mut read = vec![0; reads];
        theirs.read_exact(&mut read).await.unwrap();
        drop(theirs);
        drop(output);
        conversation.lost.cancelled().await;
        receivers.map(|receiver| receiver.recv_timeout(Duration::from_secs(10)).unwrap())
    }

    #[tokio::test]
    async fn a_request_counts_as_sent_when_its_last_byte_was_written() {
        let (sent, unsent) = ("Err(Lost { sent: true })", "Err(Lost { sent: false })");
        // The pipe holds 64 unread bytes.
        assert_eq!(outcomes(500).await, [unsent, unsent]);
        assert_eq!(outcomes(1_000).await, [sent, unsent]);
        assert_eq!(outcomes(1_999).await, [sent, sent]);
    }

    #[tokio::test]
    async fn what_a_thread_holds_back_is_sent_when_it_lets_go_or_when_another_thread_sends() {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let transport = StdioTransport::new(ours, never(), conversation(1000));
        let say = |text: &str| Outgoing {
            kind: Kind::Answer,
            text: text.to_owned(),
        };
        let mut read = [0; 4];
        transport.hold();
        Arc::clone(&transport).send(say("a"));
        Arc::clone(&transport).send(say("b"));
        assert!(theirs.read(&mut read).now_or_never().is_none());
        Arc::clone(&transport).release();
        assert_eq!(theirs.read_exact(&mut read).await.unwrap(), 4);
        assert_eq!(&read, b"a\nb\n");
        transport.hold();
        Arc::clone(&transport).send(say("c"));
        let (other, d) = (Arc::clone(&transport), say("d"));
        thread::spawn(move || other.send(d)).join().unwrap();
        assert_eq!(theirs.read_exact(&mut read).await.unwrap(), 4);
        assert_eq!(&read, b"c\nd\n");
        transport.lose();
    }
}

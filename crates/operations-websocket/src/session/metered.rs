//! A socket that counts the bytes that go through it.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use operations_core::byte_budget::{Held, Share};
use operations_core::lock::locked;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

use super::parts::Parts;
use super::{End, READ_BYTES, Settings, Socket};

/// The header of a short frame, with a mask.
const HEADER_BYTES: usize = 6;

/// Shows whether the other end reads, while a large frame is written, and how much there is of a message that it has not
/// sent to its end.
#[derive(Debug)]
pub struct Metered<S> {
    socket: S,
    /// What was read and not handed on, where frames are handed on in parts.
    input: BytesMut,
    parts: Option<Parts>,
    written: Arc<AtomicUsize>,
    unfinished: Arc<Unfinished>,
}

/// The message that is being read.
#[derive(Debug)]
pub(super) struct Unfinished {
    share: Option<Arc<Share>>,
    state: Mutex<Arrived>,
    refused: CancellationToken,
}

#[derive(Debug, Default)]
struct Arrived {
    bytes: usize,
    /// When the first of them was read.
    since: Option<Instant>,
    /// Small messages are not counted: without them, nothing that is held could be given up.
    held: Option<Held>,
}

impl Unfinished {
    /// So many bytes were read. They are dropped from the moment when there are too many.
    fn read(&self, bytes: usize) {
        let mut arrived = locked(&self.state);
        arrived.bytes += bytes;
        arrived.since.get_or_insert_with(Instant::now);
        if let Some(share) = &self.share
            && arrived.bytes > READ_BYTES
        {
            let held = arrived
                .held
                .get_or_insert_with(|| share.of_unfinished().hold());
            if !held.try_add(bytes) {
                self.refused.cancel();
            }
        }
    }

    /// A message is complete, or none has begun.
    pub(super) fn clear(&self) {
        *locked(&self.state) = Arrived::default();
    }

    /// A control frame is complete. It may have come in between the parts of a message.
    pub(super) fn control_frame(&self, payload: usize) {
        let mut arrived = locked(&self.state);
        arrived.bytes = arrived.bytes.saturating_sub(payload + HEADER_BYTES);
        if arrived.bytes == 0 {
            *arrived = Arrived::default();
        }
    }

    /// Returns when a message is refused: there are too many bytes of such messages, or it has taken longer than `limit`.
    /// What is read after that is dropped.
    pub(super) async fn refused(&self, limit: Duration) -> End {
        let waiting = self.refused.run_until_cancelled(self.is_late(limit));
        if waiting.await.is_some() {
            self.refused.cancel();
            return End::ours(CloseCode::Policy, "a message was not complete in time");
        }
        let why = "too many bytes of messages are held that are not complete";
        End::ours(CloseCode::Again, why)
    }

    async fn is_late(&self, limit: Duration) {
        loop {
            let since = locked(&self.state).since;
            let left = since.map_or(limit, |since| limit.saturating_sub(since.elapsed()));
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }
}

impl<S> Metered<S> {
    /// For the server of many connections, after the handshake: what is read is counted by `share` until it is a whole message.
    pub fn of_server(socket: S, share: Arc<Share>, settings: &Settings) -> Self {
        Self {
            parts: Some(Parts::new(settings.max_frame_bytes)),
            ..Self::with_share(socket, Some(share))
        }
    }

    /// For a client.
    pub fn new(socket: S) -> Self {
        Self::with_share(socket, None)
    }

    fn with_share(socket: S, share: Option<Arc<Share>>) -> Self {
        Self {
            socket,
            input: BytesMut::new(),
            parts: None,
            written: Arc::default(),
            unfinished: Arc::new(Unfinished {
                share,
                state: Mutex::default(),
                refused: CancellationToken::new(),
            }),
        }
    }

    /// How many bytes were written, up to date.
    pub(super) fn written(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.written)
    }

    /// What was read of a message that is not complete, up to date.
    pub(super) fn unfinished(&self) -> Arc<Unfinished> {
        Arc::clone(&self.unfinished)
    }
}

impl<S: Socket> Metered<S> {
    fn poll_socket(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
            let bytes = buffer.filled().len() - before;
            if bytes == 0 {
                return Poll::Ready(Ok(()));
            }
            self.unfinished.read(bytes);
            if !self.unfinished.refused.is_cancelled() {
                return Poll::Ready(Ok(()));
            }
            buffer.set_filled(before);
        }
    }
}

impl<S: Socket> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let Some(parts) = &mut this.parts else {
                return this.poll_socket(cx, buffer);
            };
            if let Some(bytes) = parts.next(&mut this.input, buffer.remaining()) {
                buffer.put_slice(&bytes);
                return Poll::Ready(Ok(()));
            }
            if this.input.is_empty() {
                // Nothing is kept for a connection on which nothing arrives.
                this.input = BytesMut::new();
            }
            let mut read = [MaybeUninit::uninit(); READ_BYTES];
            let mut read = ReadBuf::uninit(&mut read);
            ready!(this.poll_socket(cx, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.input.extend_from_slice(read.filled());
        }
    }
}

impl<S: Socket> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        self.written.fetch_add(count, Ordering::Relaxed);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

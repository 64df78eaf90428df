//! A socket that counts the bytes that were written to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Socket;

/// Shows whether the other end reads, while a large frame is written.
#[derive(Debug)]
pub struct Metered<S> {
    socket: S,
    written: Arc<AtomicUsize>,
}

impl<S> Metered<S> {
    /// Nothing is written yet.
    pub fn new(socket: S) -> Self {
        Self {
            socket,
            written: Arc::default(),
        }
    }

    /// How many bytes were written, up to date.
    pub(super) fn written(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.written)
    }
}

impl<S: Socket> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
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

//! A connection whose incoming bytes are within bounds: see [`crate::resp_filter`]. It also stops reading while
//! those who take messages are behind, so that a slow consumer slows the socket.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use operations_core::mailbox::Mailbox;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::resp_filter::RespFilter;

const READ_BYTES: usize = 32 * 1024;

/// Any connection to a server.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

pub(crate) struct Guarded {
    socket: Box<dyn Socket>,
    filter: RespFilter,
    /// Without one, reading never stops.
    mailbox: Option<Arc<Mailbox>>,
    buffer: Box<[u8]>,
    ready: Vec<u8>,
    /// How much of `ready` has been handed out.
    taken: usize,
}

impl Guarded {
    pub(crate) fn new(
        socket: Box<dyn Socket>,
        limit: usize,
        mailbox: Option<Arc<Mailbox>>,
    ) -> Self {
        Self {
            socket,
            filter: RespFilter::new(limit),
            mailbox,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            ready: Vec::new(),
            taken: 0,
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.taken == this.ready.len() {
            this.ready.clear();
            this.taken = 0;
            if let Some(mailbox) = &this.mailbox {
                ready!(mailbox.poll_room(cx));
            }
            let mut read = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.socket).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.filter.feed(read.filled(), &mut this.ready)?;
        }
        let waiting = this.ready.get(this.taken..).unwrap_or_default();
        let size = waiting.len().min(out.remaining());
        out.put_slice(waiting.get(..size).unwrap_or_default());
        this.taken += size;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

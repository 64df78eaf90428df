//! Bodies: any number of bytes that come or go as they can, and small ones in one piece.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, LengthLimitError, Limited, StreamBody};
use operations_core::byte_budget::{ByteBudget, Held, Share};
use operations_core::clock;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::progress::{Progress, Responses};

/// What goes wrong while a body is on its way.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The most of a response that is handed out in one piece, so that a client which reads slowly differs from one that does
/// not read.
const PIECE: usize = 64 * 1024;

/// How much of a request body that no one reads is discarded, and for how long.
const DISCARDED: usize = 16 * 1024 * 1024;
const LINGER: Duration = Duration::from_secs(2);

/// The body of a request or an answer.
#[derive(Debug, Default)]
pub struct Body {
    /// What is there, before what comes.
    parts: VecDeque<Part>,
    stream: Option<UnsyncBoxBody<Bytes, BodyError>>,
    counted: Counted,
}

#[derive(Debug)]
struct Part {
    bytes: Bytes,
    held: Option<Arc<Held>>,
}

/// How the bytes of a body are counted.
#[derive(Debug, Default)]
enum Counted {
    #[default]
    No,
    /// As they arrive, for as long as the request is worked on.
    Incoming(Arc<Held>),
    /// For this caller, as soon as it is on its way.
    For(Arc<Share>),
    /// Until they are sent: `Share` is for what comes.
    Outgoing(Option<Arc<Share>>, Option<Arc<Progress>>),
}

/// A body is refused because too many bytes are held already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many bytes are held already")
    }
}

impl Error for Exhausted {}

/// A piece of a response, until it is sent.
struct Piece {
    bytes: Bytes,
    _held: Option<Arc<Held>>,
    progress: Option<Arc<Progress>>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            progress.sent();
        }
    }
}

impl Body {
    /// A body that something else makes.
    pub fn new(stream: impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self {
            stream: Some(stream.boxed_unsync()),
            ..Self::default()
        }
    }

    /// Counts the body of a request as it arrives. It breaks off where the budget is exhausted.
    pub(crate) fn incoming(mut self, held: Arc<Held>) -> Self {
        self.counted = Counted::Incoming(held);
        self
    }

    /// Ends what is still to come at this moment, in Unix milliseconds.
    pub(crate) fn end_at(&mut self, moment: f64) {
        if let Some(stream) = self.stream.take() {
            let frames = BodyStream::new(stream).take_until(Box::pin(sleep(clock::until(moment))));
            self.stream = Some(StreamBody::new(frames).boxed_unsync());
        }
    }

    /// Whose response it is.
    pub(crate) fn belongs_to(&mut self, share: Arc<Share>) {
        self.counted = Counted::For(share);
    }

    /// Says that all of it is counted already.
    pub(crate) fn counted_by(mut self, held: &Arc<Held>) -> Self {
        for part in &mut self.parts {
            part.held = Some(Arc::clone(held));
        }
        self
    }

    /// Counts a response until it is sent. What others have too, such as a list for many clients, is not counted again.
    ///
    /// # Errors
    ///
    /// When the budget is exhausted. A stream is counted but never refused: its next piece is made when the last one is sent.
    /// Nor is a small response, which most errors are.
    pub(crate) fn outgoing(
        mut self,
        budget: &Arc<ByteBudget>,
        responses: Option<&Responses>,
    ) -> Result<Self, Exhausted> {
        let share = match std::mem::take(&mut self.counted) {
            Counted::For(share) => share,
            _ => budget.share(""),
        };
        let uncounted = |part: &&mut Part| part.held.is_none() && part.bytes.is_unique();
        let uncounted: Vec<&mut Part> = self.parts.iter_mut().filter(uncounted).collect();
        let bytes = uncounted.iter().map(|part| part.bytes.len()).sum();
        let held = Arc::new(share.try_hold(bytes).ok_or(Exhausted)?);
        for part in uncounted {
            part.held = Some(Arc::clone(&held));
        }
        let progress = (!self.is_end_stream()).then_some(responses).flatten();
        let of_stream = self.stream.as_ref().map(|_| share.of_streams());
        self.counted = Counted::Outgoing(of_stream, progress.map(Responses::add));
        Ok(self)
    }

    /// The next of what is there, no more than so much of it.
    fn next_part(&mut self, most: usize) -> Option<Part> {
        let part = self.parts.front_mut()?;
        if part.bytes.len() <= most {
            return self.parts.pop_front();
        }
        Some(Part {
            bytes: part.bytes.split_to(most),
            held: part.held.clone(),
        })
    }

    fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.stream {
            Some(stream) => Pin::new(stream).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let (share, progress) = match &this.counted {
            Counted::Outgoing(share, progress) => (share.clone(), progress.clone()),
            counted => {
                let held = match counted {
                    Counted::Incoming(held) => Some(Arc::clone(held)),
                    Counted::No | Counted::For(_) | Counted::Outgoing(..) => None,
                };
                let frame = match this.next_part(usize::MAX) {
                    Some(part) => Some(Ok(Frame::data(part.bytes))),
                    None => ready!(this.poll_stream(cx)),
                };
                let is_refused = |data: &Bytes| held.is_some_and(|held| !held.try_add(data.len()));
                let data = frame
                    .as_ref()
                    .and_then(|frame| frame.as_ref().ok()?.data_ref());
                if data.is_some_and(is_refused) {
                    this.stream = None;
                    return Poll::Ready(Some(Err(Exhausted.into())));
                }
                return Poll::Ready(frame);
            }
        };
        if this.parts.is_empty() {
            let Poll::Ready(frame) = this.poll_stream(cx) else {
                if let Some(progress) = progress {
                    progress.waiting();
                }
                return Poll::Pending;
            };
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(bytes))) => {
                    let held = share.map(|share| {
                        let held = share.hold_responses();
                        held.add(bytes.len());
                        Arc::new(held)
                    });
                    this.parts.push_back(Part { bytes, held });
                }
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let most = if progress.is_some() {
            PIECE
        } else {
            usize::MAX
        };
        let piece = this.next_part(most).map(|Part { bytes, held }| {
            if let Some(progress) = &progress {
                progress.taken();
            }
            Ok(Frame::data(Bytes::from_owner(Piece {
                bytes,
                _held: held,
                progress,
            })))
        });
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        let is_over = |stream: &UnsyncBoxBody<_, _>| stream.is_end_stream();
        self.parts.is_empty() && self.stream.as_ref().is_none_or(is_over)
    }

    fn size_hint(&self) -> SizeHint {
        let there: usize = self.parts.iter().map(|part| part.bytes.len()).sum();
        let there = u64::try_from(there).unwrap_or(u64::MAX);
        let Some(stream) = &self.stream else {
            return SizeHint::with_exact(there);
        };
        let rest = stream.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(there));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(there));
        }
        hint
    }
}

/// The body of a request on a connection. What is left of it when it is dropped is read and discarded, within limits: a client
/// that is still sending reads its response after that, and would find the connection closed otherwise.
pub(crate) struct Incoming<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BodyError>,
{
    /// Nothing once it has ended.
    body: Option<B>,
}

impl<B> Incoming<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BodyError>,
{
    pub(crate) fn new(body: B) -> Self {
        Self { body: Some(body) }
    }
}

impl<B> HttpBody for Incoming<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BodyError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B> Drop for Incoming<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BodyError>,
{
    fn drop(&mut self) {
        let Some(rest) = self.body.take().filter(|body| !body.is_end_stream()) else {
            return;
        };
        // Without a runtime there is no connection either.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut rest = Limited::new(rest, DISCARDED);
        runtime.spawn(timeout(LINGER, async move {
            while let Some(Ok(_)) = rest.frame().await {}
        }));
    }
}

/// A body that is there.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    parts([bytes.into()])
}

/// The same in several parts.
pub fn parts(parts: impl IntoIterator<Item = Bytes>) -> Body {
    let parts = parts.into_iter().filter(|bytes| !bytes.is_empty());
    Body {
        parts: parts.map(|bytes| Part { bytes, held: None }).collect(),
        ..Body::default()
    }
}

/// No body.
#[must_use]
pub fn empty() -> Body {
    Body::default()
}

/// A body that comes bit by bit. Dropping it ends whatever makes it.
#[must_use]
pub fn streamed(pieces: BoxStream<'static, Bytes>) -> Body {
    fallible(pieces.map(Ok).boxed())
}

/// The same from a source that may break off, which closes the connection: a client must not take it for the end.
#[must_use]
pub fn fallible(pieces: BoxStream<'static, Result<Bytes, BodyError>>) -> Body {
    Body::new(StreamBody::new(pieces.map_ok(Frame::data)))
}

/// Whether the headers of a request say that its body is not what was meant, but some encoding of it.
#[must_use]
pub fn is_encoded(headers: &HeaderMap) -> bool {
    let is_plain = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    headers.get_all(CONTENT_ENCODING).iter().any(|value| {
        let codings = value.to_str().ok();
        !codings.is_some_and(|codings| codings.split(',').map(str::trim).all(is_plain))
    })
}

/// Why a body is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is larger than it may be.
    TooLarge,
    /// It took too long.
    TooSlow,
    /// Its sender is gone, or does not know how bodies are sent.
    Broken,
    /// Too many bytes of other requests and responses are held.
    Exhausted,
}

/// The whole body, if it is no larger than `most` and there in time.
///
/// # Errors
///
/// When it is not.
pub async fn read(body: Body, most: usize, within: Duration) -> Result<Bytes, Unread> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    // What is announced to be too large is not waited for.
    if body.size_hint().lower() > limit {
        return Err(Unread::TooLarge);
    }
    // Boxed, because the compiler loses its way in the lifetimes of the error otherwise.
    let reading = Limited::new(body, most).collect().boxed();
    match timeout(within, reading).await {
        Err(_) => Err(Unread::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Unread::TooLarge),
        Ok(Err(error)) if error.is::<Exhausted>() => Err(Unread::Exhausted),
        Ok(Err(_)) => Err(Unread::Broken),
        Ok(Ok(all)) => Ok(all.to_bytes()),
    }
}

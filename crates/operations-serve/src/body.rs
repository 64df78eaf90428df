//! Bodies: any number of bytes that come or go as they can, and small ones in one piece.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http_body::{Body as _, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use tokio::time::timeout;

/// What goes wrong while a body is on its way.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The body of a request or an answer.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body that is there.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// No body.
#[must_use]
pub fn empty() -> Body {
    full(Bytes::new())
}

/// A body that comes bit by bit. Dropping it ends whatever makes it.
#[must_use]
pub fn streamed(pieces: BoxStream<'static, Bytes>) -> Body {
    let frames = pieces.map(Ok::<_, BodyError>).map_ok(Frame::data);
    StreamBody::new(frames).boxed_unsync()
}

/// The same from a source that may break off, which closes the connection: a client must not take it for the end.
#[must_use]
pub fn fallible(pieces: BoxStream<'static, Result<Bytes, BodyError>>) -> Body {
    StreamBody::new(pieces.map_ok(Frame::data)).boxed_unsync()
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
        Ok(Err(_)) => Err(Unread::Broken),
        Ok(Ok(all)) => Ok(all.to_bytes()),
    }
}

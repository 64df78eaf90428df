//! Binary data that is handed on as it comes: no more of it is in memory than what is on its way.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use operations_core::error::CallError;
use operations_core::registry::BodyStream;
use reqwest::Response;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::message::{Reply, ResponseHead};

/// Bodies of more bytes are handed on as they come. Others are read as a whole.
pub(super) const PASSED_ON: usize = 64 * 1024;

/// The result of a call whose binary data is forwarded.
#[derive(Debug)]
pub(super) enum Called {
    /// An answer that is there.
    Reply(Reply),
    /// One whose body is on its way.
    Passing(Passing),
}

/// A response whose body is on its way.
#[derive(Debug)]
pub(super) struct Passing {
    pub(super) head: ResponseHead,
    /// What was read of the body.
    pub(super) start: Vec<u8>,
    pub(super) response: Response,
    /// How long the server may take for each piece.
    pub(super) patience: Option<Duration>,
    /// The most that the body may have.
    pub(super) most: usize,
    /// Cancelled when the service is closed.
    pub(super) closed: CancellationToken,
}

impl Passing {
    /// The body. It is read from the server as it is read here, so that a slow reader slows the server down; to drop it is to
    /// close the connection.
    pub(super) fn pieces(self) -> BodyStream {
        let Self {
            start,
            response,
            patience,
            most,
            closed,
            ..
        } = self;
        let (read, left) = (start.len(), response.content_length());
        let rest = stream::unfold(Some((response, read)), move |open| {
            let closed = closed.clone();
            async move {
                let (mut response, read) = open?;
                let too_slow = async {
                    match patience {
                        Some(patience) => sleep(patience).await,
                        None => pending().await,
                    }
                };
                let piece = tokio::select! {
                    biased;
                    () = closed.cancelled() => return Some(failed("the service was closed")),
                    piece = response.chunk() => piece,
                    () = too_slow => return Some(failed("its server takes too long")),
                };
                match piece {
                    Ok(None) => None,
                    Ok(Some(piece)) if piece.len() > most - read => Some(failed("it is too large")),
                    Ok(Some(piece)) => {
                        let read = read + piece.len();
                        Some((Ok(piece), Some((response, read))))
                    }
                    Err(_) => Some(failed("its server broke off")),
                }
            }
        });
        BodyStream {
            length: left.map(|left| left + read as u64),
            body: stream::once(async { Ok(Bytes::from(start)) })
                .chain(rest)
                .boxed(),
        }
    }
}

/// The last item. The reader of the body sees it end early; there is no way to report more than that.
fn failed<T>(why: &str) -> (Result<Bytes, CallError>, Option<T>) {
    let error = CallError::failed(format!(
        "A response could not be forwarded completely: {why}"
    ));
    (Err(error), None)
}

//! Requests that JavaScript brings: it has a server of its own, and a function that takes a request and gives an answer. Bodies
//! cross piece by piece, in both directions, and neither side gets further ahead than the other can follow.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::header::{HOST, HeaderName};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, StreamBody};
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Mutex as TurnMutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::body::{self, Body, BodyError};
use crate::door::http::problem;
use crate::identity::Caller;
use crate::service::Service;
use crate::standard_streams;

/// Pieces of a request that wait to be read.
const WAITING_PIECES: usize = 4;

/// A service that JavaScript brings requests to.
#[derive(Debug, Clone)]
pub struct Embedded {
    service: Service,
    tasks: TaskTracker,
    kill: CancellationToken,
}

impl Embedded {
    /// For this service.
    #[must_use]
    pub fn new(service: Service) -> Self {
        Self {
            service,
            tasks: TaskTracker::new(),
            kill: CancellationToken::new(),
        }
    }

    /// A request that is about to be brought.
    #[must_use]
    pub fn exchange(&self) -> Exchange {
        // Pieces may come before the request has been looked at.
        let (feed, pieces) = mpsc::channel(WAITING_PIECES);
        Exchange {
            service: self.service.clone(),
            gone: self.kill.child_token(),
            feed: Mutex::new(Some(feed)),
            pieces: Mutex::new(Some(pieces)),
            answer: TurnMutex::default(),
            whole: Mutex::default(),
            under_way: Mutex::new(Some(self.tasks.token())),
            is_late: self.service.shared().closing.is_cancelled(),
        }
    }

    /// Talks with the program's parent process, over standard input and output, until that is gone or this is closed.
    ///
    /// # Errors
    ///
    /// When the MCP door is closed, or there is no thread left.
    pub async fn converse(&self, caller: Arc<Caller>) -> Result<(), CallError> {
        let _under_way = self.tasks.token();
        let shared = Arc::clone(self.service.shared());
        standard_streams::converse(shared, caller, &self.kill).await
    }

    /// Ends streams, waits for what is running, but no longer than this, and ends the rest.
    pub async fn close(&self, drain: Duration) {
        self.service.shared().closing.cancel();
        self.tasks.close();
        if timeout(drain, self.tasks.wait()).await.is_err() {
            self.kill.cancel();
        }
        self.service.shared().mcp.close().await;
    }
}

type Piece = Result<Bytes, BodyError>;

/// A request and its answer.
#[derive(Debug)]
pub struct Exchange {
    service: Service,
    /// It is not waited for any more.
    gone: CancellationToken,
    feed: Mutex<Option<mpsc::Sender<Piece>>>,
    pieces: Mutex<Option<mpsc::Receiver<Piece>>>,
    /// What is left of the answer.
    answer: TurnMutex<Option<Body>>,
    whole: Mutex<Option<Bytes>>,
    under_way: Mutex<Option<TaskTrackerToken>>,
    /// It came when the service was closing already.
    is_late: bool,
}

/// Everything of a request but its body, as JSON.
#[derive(Debug, Deserialize)]
struct Head {
    method: String,
    /// Path and query.
    target: String,
    /// Whom it addresses, if no header says so.
    host: String,
    headers: Vec<(String, String)>,
}

/// The body of a request.
#[derive(Debug)]
pub enum Incoming {
    /// There, or empty.
    Whole(Bytes),
    /// On its way ([`Exchange::push`]).
    Pieces,
}

/// The error for a request that comes too late.
fn closing() -> Response<Body> {
    let error = CallError::failed("This server is closing and takes no new requests")
        .with_details(json!({ "reason": "closing", "delivery": "none" }));
    problem::of(&error, StatusCode::SERVICE_UNAVAILABLE, "")
}

impl Exchange {
    /// Brings the request, and gives the head of the answer as JSON: `{ status, headers, hasMore }`. Without more, its body is
    /// [`Exchange::whole`].
    ///
    /// # Errors
    ///
    /// When it is no request, or when there is no answer.
    pub async fn send(&self, head: &str, body: Incoming) -> Result<String, CallError> {
        let request = self.request(head, body)?;
        let answer = if self.is_late {
            closing()
        } else {
            tokio::select! {
                biased;
                () = self.gone.cancelled() => return Err(aborted()),
                answer = self.service.handle(request) => answer.map_err(|_| aborted())?,
            }
        };
        let (head, body) = answer.into_parts();
        let headers: Vec<(&str, String)> = head
            .headers
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str(), value)
            })
            .collect();
        let has_more = body.size_hint().exact().is_none();
        if has_more {
            *self.answer.lock().await = Some(body);
        } else {
            let whole = body.collect().await.map_err(|_| aborted())?;
            *locked(&self.whole) = Some(whole.to_bytes());
            self.leave();
        }
        let head =
            json!({ "status": head.status.as_u16(), "headers": headers, "hasMore": has_more });
        Ok(head.to_string())
    }

    fn request(&self, head: &str, body: Incoming) -> Result<Request<Body>, CallError> {
        let head: Head = serde_json::from_str(head).map_err(|error| unusable(&error))?;
        let body = match body {
            Incoming::Whole(bytes) => body::full(bytes),
            Incoming::Pieces => {
                let pieces = locked(&self.pieces).take();
                let pieces = stream::unfold(pieces, |pieces| async move {
                    let mut pieces = pieces?;
                    Some((pieces.recv().await?, Some(pieces)))
                });
                Body::new(StreamBody::new(pieces.map(|piece| piece.map(Frame::data))))
            }
        };
        let mut request = Request::new(body);
        *request.method_mut() =
            Method::from_bytes(head.method.as_bytes()).map_err(|error| unusable(&error))?;
        *request.uri_mut() = Uri::try_from(head.target).map_err(|error| unusable(&error))?;
        let headers = request.headers_mut();
        for (name, value) in head.headers {
            let name = HeaderName::try_from(name).map_err(|error| unusable(&error))?;
            let value =
                HeaderValue::from_bytes(value.as_bytes()).map_err(|error| unusable(&error))?;
            headers.append(name, value);
        }
        if !headers.contains_key(HOST) {
            let host = HeaderValue::try_from(head.host).map_err(|error| unusable(&error))?;
            headers.insert(HOST, host);
        }
        Ok(request)
    }

    /// A piece of the request. Resolves when another may come; says whether one is wanted.
    pub async fn push(&self, piece: Bytes) -> bool {
        let feed = locked(&self.feed).clone();
        let Some(feed) = feed else {
            return false;
        };
        tokio::select! {
            biased;
            () = self.gone.cancelled() => false,
            sent = feed.send(Ok(piece)) => sent.is_ok(),
        }
    }

    /// The request as a whole, in one piece, if none has come before.
    pub fn finish(&self, body: Bytes) {
        if let Some(feed) = locked(&self.feed).take() {
            let _ = feed.try_send(Ok(body));
        }
    }

    /// The request is there as a whole, or nothing more of it comes.
    pub fn end(&self, is_whole: bool) {
        let feed = locked(&self.feed).take();
        if let (Some(feed), false) = (feed, is_whole) {
            let _ = feed.try_send(Err("the request was broken off".into()));
        }
    }

    /// The body of an answer that has no more.
    pub fn whole(&self) -> Option<Bytes> {
        locked(&self.whole).take()
    }

    /// The next piece of the answer; nothing at its end.
    ///
    /// # Errors
    ///
    /// When it was broken off.
    pub async fn next(&self) -> Result<Option<Bytes>, CallError> {
        let mut answer = self.answer.lock().await;
        let Some(body) = answer.as_mut() else {
            return Ok(None);
        };
        loop {
            let frame = tokio::select! {
                biased;
                () = self.gone.cancelled() => None,
                frame = body.frame() => Some(frame),
            };
            match frame {
                Some(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Some(None) => {
                    *answer = None;
                    self.leave();
                    return Ok(None);
                }
                Some(Some(Err(_))) | None => {
                    *answer = None;
                    self.leave();
                    return Err(aborted());
                }
            }
        }
    }

    /// The response, or the rest of it, is not wanted any more.
    pub fn cancel(&self) {
        self.gone.cancel();
        self.end(false);
        // Its reader releases it.
        if let Ok(mut answer) = self.answer.try_lock() {
            *answer = None;
        }
        self.leave();
    }

    fn leave(&self) {
        drop(locked(&self.under_way).take());
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

fn unusable(error: &impl ToString) -> CallError {
    CallError::invalid(format!("The request cannot be used: {}", error.to_string()))
}

fn aborted() -> CallError {
    CallError::new(Code::Aborted, "The call was aborted")
        .with_details(json!({ "delivery": "unknown", "reason": "aborted" }))
}

//! One connection, from its first frame to its last: it reads, writes, does what the other end wants done, and finds out
//! when nobody is there any more.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, SinkExt, StreamExt};
use operations_core::call::{CallEvent, RequestedEvent};
use operations_core::error::CallError;
use operations_core::json::{Malformed, check_below};
use operations_core::lock::locked;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, WebSocketConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::frame::{self, Frame};
use crate::limits::{
    LAST_WORDS, LIST_BYTES, MOST_LISTS, MOST_MALFORMED, PAGE_BYTES, PROTOCOL, STREAM_WINDOW,
};
use crate::loss;
use crate::peer::Peer;
use crate::serving::{Answered, Incoming, Serving};
use operations_core::call::Refusal;

/// Bytes that are written in one go.
const WRITE_BYTES: usize = 128 * 1024;

/// What a connection that nothing arrives on keeps for reading.
const READ_BYTES: usize = 16 * 1024;

/// What a connection is made of.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

/// How a connection is used.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest frame that is taken.
    pub max_frame_bytes: usize,
    /// How often the other end has to show that it is there; after two of these it is not.
    pub heartbeat: Duration,
    /// Calls of the other end that are worked on, or wait, at a time.
    pub max_calls: usize,
}

impl Settings {
    /// How frames are read. Compression is not spoken, so nothing is larger than what arrives.
    #[must_use]
    pub fn websocket(&self) -> WebSocketConfig {
        WebSocketConfig::default()
            .max_message_size(Some(self.max_frame_bytes))
            .max_frame_size(Some(self.max_frame_bytes))
            .read_buffer_size(READ_BYTES)
    }
}

/// A connection.
pub struct Session {
    peer: Arc<Peer>,
    serving: Arc<dyn Serving>,
    settings: Settings,
    /// Calls of the other end.
    running: Mutex<HashMap<String, Arc<Running>>>,
    tasks: TaskTracker,
    /// Lists of operations of which more is to come.
    lists: Mutex<HashMap<String, String>>,
    /// Questions and offers of the other end that may be worked on at a time: each can hold all operations.
    places: Arc<Semaphore>,
    /// Nothing new is begun.
    closing: CancellationToken,
    /// It is over.
    over: CancellationToken,
}

/// A call of the other end.
#[derive(Debug, Default)]
struct Running {
    cancel: CancellationToken,
    up_to: AtomicU64,
    more: Notify,
}

/// How a connection ends, in the words of the protocol beneath.
#[derive(Debug, Clone)]
pub struct End {
    code: CloseCode,
    /// For messages.
    pub why: Cow<'static, str>,
    /// Whether there is somebody who would read a last frame.
    is_heard: bool,
}

impl End {
    fn ours(code: CloseCode, why: &'static str) -> Self {
        Self {
            code,
            why: why.into(),
            is_heard: true,
        }
    }

    fn theirs(why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code: CloseCode::Normal,
            why: why.into(),
            is_heard: false,
        }
    }
}

impl Session {
    /// A connection to a peer, for which this does what it wants done. `closing` says when it is to end in good order.
    #[must_use]
    pub fn new(
        peer: Arc<Peer>,
        serving: Arc<dyn Serving>,
        settings: Settings,
        closing: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            peer,
            serving,
            settings,
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            lists: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_LISTS)),
            closing,
            over: CancellationToken::new(),
        })
    }

    /// How many calls of the other end are under way.
    #[must_use]
    pub fn running(&self) -> usize {
        locked(&self.running).len()
    }

    /// Reads and writes until either end has had enough, or `kill` says so.
    pub async fn run<S: Socket>(
        self: &Arc<Self>,
        socket: WebSocketStream<S>,
        kill: &CancellationToken,
    ) -> End {
        let (mut sink, mut stream) = socket.split();
        let _over = self.over.clone().drop_guard();
        self.peer.connected();
        let hello = json!({ "protocol": PROTOCOL, "maxFrameBytes": self.settings.max_frame_bytes });
        self.peer
            .write(frame::write("hub.hello", "", &hello.to_string()));
        let writing = async {
            let mut next_ping = Instant::now() + self.settings.heartbeat;
            loop {
                let written = tokio::select! {
                    frames = self.peer.next_frames(WRITE_BYTES) => {
                        let mut written = Ok(());
                        for text in frames {
                            written = sink.feed(Message::text(text)).await;
                            if written.is_err() {
                                break;
                            }
                        }
                        match written {
                            Ok(()) => sink.flush().await,
                            failed => failed,
                        }
                    }
                    () = sleep_until(next_ping) => {
                        next_ping = Instant::now() + self.settings.heartbeat;
                        sink.send(Message::Ping(Bytes::new())).await
                    }
                };
                if let Err(error) = written {
                    return End::theirs(error.to_string());
                }
            }
        };
        let reading = async {
            loop {
                let patience = self.settings.heartbeat * 2;
                let Ok(next) = timeout(patience, stream.next()).await else {
                    return End::theirs("it says nothing any more");
                };
                let message = match next {
                    None => return End::theirs("it was closed"),
                    Some(Err(error)) => return ended_by(&error),
                    Some(Ok(message)) => message,
                };
                let end = match message {
                    Message::Text(text) => self.take(text.as_str()),
                    Message::Binary(_) => self.refuse(&Refusal::NoType),
                    Message::Close(frame) => Some(End::theirs(closed_by(frame))),
                    Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
                };
                if let Some(end) = end {
                    return end;
                }
            }
        };
        let end = tokio::select! {
            biased;
            () = kill.cancelled() => End::ours(CloseCode::Away, "this side is closing"),
            () = self.drained() => End::ours(CloseCode::Away, "this side is closing"),
            end = reading => end,
            end = writing => end,
            () = self.telling_changes() => End::ours(CloseCode::Away, "this side is closing"),
            () = self.over.cancelled() => End::ours(CloseCode::Policy, "the other side reads too slowly"),
        };
        let farewell = async {
            if end.is_heard {
                let frame = CloseFrame {
                    code: end.code,
                    reason: end.why.as_ref().into(),
                };
                let _ = sink.send(Message::Close(Some(frame))).await;
                // A connection that is dropped while something is unread takes the last frame with it.
                while let Some(Ok(_)) = stream.next().await {}
            }
            let _ = sink.close().await;
        };
        let _ = timeout(LAST_WORDS, farewell).await;
        self.over.cancel();
        for running in locked(&self.running).values() {
            running.cancel.cancel();
        }
        self.tasks.close();
        end
    }

    /// Returns when this side is to end and has done what it had begun.
    async fn drained(&self) {
        self.closing.cancelled().await;
        self.tasks.close();
        self.tasks.wait().await;
        while !self.peer.is_written() {
            sleep(Duration::from_millis(5)).await;
        }
        // What was taken out is on its way: let it be written.
        sleep(Duration::from_millis(5)).await;
    }

    /// Those who know what it means are told when what is served changes.
    async fn telling_changes(&self) {
        let mut changes = self.serving.changes();
        while let Some(()) = changes.next().await {
            if self.peer.is_paced() {
                self.peer.write(frame::write("hub.changed", "", "{}"));
            }
            // Many changes at once are one.
            sleep(Duration::from_millis(50)).await;
        }
        std::future::pending::<()>().await;
    }

    fn refuse(&self, refusal: &Refusal) -> Option<End> {
        let total = self.peer.refuse(refusal);
        (total > MOST_MALFORMED).then(|| {
            End::ours(
                CloseCode::Policy,
                "too many frames that follow no protocol of ours",
            )
        })
    }

    fn take(self: &Arc<Self>, text: &str) -> Option<End> {
        let frame = match Frame::read(text) {
            Ok(frame) => frame,
            Err(refusal) => return self.refuse(&refusal),
        };
        match frame {
            Frame::Event(CallEvent::Requested(event)) => return self.begin(&event),
            Frame::Event(CallEvent::Aborted { request_id }) => {
                let running = locked(&self.running).get(&request_id).map(Arc::clone);
                match running {
                    Some(running) => {
                        running.cancel.cancel();
                        self.peer.parent_aborted(&request_id);
                    }
                    None => drop(self.peer.event(CallEvent::Aborted { request_id })),
                }
            }
            Frame::Event(event) => {
                if !self.peer.event(event) {
                    self.over.cancel();
                }
            }
            Frame::Hello { max_frame_bytes } => self.peer.hello(max_frame_bytes),
            Frame::Credit { request_id, up_to } => {
                let running = locked(&self.running).get(&request_id).map(Arc::clone);
                if let Some(running) = running {
                    running.up_to.fetch_max(up_to, Ordering::AcqRel);
                    running.more.notify_one();
                }
            }
            Frame::Ping { id } => self.write(frame::write("hub.pong", &id, "{}")),
            Frame::Discover { id } => {
                let session = Arc::clone(self);
                self.spawn_in_place(id, |id| async move {
                    match session.serving.operations().await {
                        Ok(operations) => {
                            for page in frame::list("hub.operations", &id, &operations, PAGE_BYTES)
                            {
                                session.peer.room().await;
                                session.write(page);
                            }
                        }
                        Err(error) => session.write(frame::failed(&id, &error)),
                    }
                });
            }
            Frame::List {
                id,
                is_offer: false,
                operations,
                has_more,
            } => self.peer.listed(&id, operations, has_more, LIST_BYTES),
            Frame::List {
                id,
                operations,
                has_more,
                ..
            } => return self.offered(id, operations, has_more),
            Frame::Accepted { id, payload } => self.peer.answered(&id, Ok(payload.to_owned())),
            Frame::Failed { id, error } => self.peer.answered(&id, Err(error)),
            Frame::Changed => self.serving.changed(),
            Frame::Ignored => {}
        }
        None
    }

    /// Writes a frame, or ends the connection to somebody who does not read.
    fn write(&self, text: String) {
        if !self.peer.write(text) {
            self.over.cancel();
        }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Works on a question or an offer. The other end is told where it has too many of them.
    fn spawn_in_place<W: Future<Output = ()> + Send + 'static>(
        &self,
        id: String,
        work: impl FnOnce(String) -> W,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return self.write(frame::failed(&id, &loss::too_many_questions(MOST_LISTS)));
        };
        let work = work(id);
        self.spawn(async move {
            work.await;
            drop(place);
        });
    }

    fn offered(self: &Arc<Self>, id: String, part: &str, has_more: bool) -> Option<End> {
        let mut lists = locked(&self.lists);
        let mut whole = lists.remove(&id).unwrap_or_default();
        let inner = frame::items(part);
        if !whole.is_empty() && !inner.is_empty() {
            whole.push(',');
        }
        whole.push_str(inner);
        let is_too_much = whole.len() > LIST_BYTES || lists.len() >= MOST_LISTS;
        if is_too_much {
            return Some(End::ours(
                CloseCode::Size,
                "too many operations are offered",
            ));
        }
        if has_more {
            lists.insert(id, whole);
            return None;
        }
        drop(lists);
        let session = Arc::clone(self);
        self.spawn_in_place(id, |id| async move {
            let answer = session.serving.offered(format!("[{whole}]")).await;
            session.write(match answer {
                Ok(payload) => frame::write("hub.accepted", &id, &payload),
                Err(error) => frame::failed(&id, &error),
            });
        });
        None
    }

    /// Begins with a call of the other end.
    fn begin(self: &Arc<Self>, event: &RequestedEvent<'_>) -> Option<End> {
        let refusal = {
            let mut running = locked(&self.running);
            if running.contains_key(&event.request_id) {
                drop(running);
                return self.refuse(&Refusal::Field("requestId"));
            }
            if self.closing.is_cancelled() {
                Some(loss::closing(&event.operation_id))
            } else if running.len() >= self.settings.max_calls {
                let limit = self.settings.max_calls;
                Some(loss::too_many_calls(&event.operation_id, limit))
            } else {
                let new = Arc::new(Running {
                    up_to: AtomicU64::new(STREAM_WINDOW),
                    ..Running::default()
                });
                running.insert(event.request_id.clone(), Arc::clone(&new));
                let session = Arc::clone(self);
                let incoming = Incoming::from(event);
                self.tasks.spawn(session.answer(incoming, new));
                None
            }
        };
        if let Some(error) = refusal {
            self.write(frame::error(&event.request_id, &error));
        }
        None
    }

    async fn answer(self: Arc<Self>, incoming: Incoming, running: Arc<Running>) {
        let id = incoming.request_id.clone();
        let operation = incoming.operation_id.clone();
        let work = async {
            match self.serving.call(incoming).await? {
                Answered::One(output) => self.respond(&id, &operation, &output).map(|()| None),
                Answered::Many(events) => {
                    self.stream(&id, &operation, events, &running).await?;
                    Ok(Some(frame::completed(&id)))
                }
            }
        };
        let work = AssertUnwindSafe(work).catch_unwind();
        let outcome = tokio::select! {
            biased;
            () = running.cancel.cancelled() => None,
            () = self.over.cancelled() => None,
            outcome = work => Some(outcome),
        };
        // It is out of the way before its caller hears of it, and may use the id again.
        locked(&self.running).remove(&id);
        let outcome: Result<Option<String>, CallError> = match outcome {
            None => return,
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => Err(CallError::from_panic(&*panic)),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(text)) => self.write(text),
            Err(error) => {
                let mut text = frame::error(&id, &error);
                if text.len() > self.peer.max_frame_bytes() {
                    let short: String = error.message.chars().take(1_024).collect();
                    text = frame::error(&id, &CallError::new(error.code, short));
                }
                self.write(text);
            }
        }
    }

    fn respond(&self, id: &str, operation: &str, output: &str) -> Result<(), CallError> {
        // It is two levels down in its frame.
        check_below(2, output).map_err(|why: Malformed| {
            CallError::failed(format!("The output of {operation} cannot be sent: {why}"))
                .with_details(json!({ "operationId": operation, "delivery": "done" }))
        })?;
        let text = frame::responded(id, output);
        let limit = self.peer.max_frame_bytes();
        if text.len() > limit {
            return Err(loss::too_large("output", operation, text.len(), limit));
        }
        self.write(text);
        Ok(())
    }

    async fn stream(
        &self,
        id: &str,
        operation: &str,
        mut events: BoxStream<'static, Result<String, CallError>>,
        running: &Running,
    ) -> Result<(), CallError> {
        let mut sent = 0;
        let flowing = async {
            while let Some(next) = events.next().await {
                self.respond(id, operation, &next?)?;
                sent += 1;
                while self.peer.is_paced() && sent >= running.up_to.load(Ordering::Acquire) {
                    running.more.notified().await;
                }
                self.peer.room().await;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            // A stream may have no end: nothing is gained by waiting for it.
            () = self.closing.cancelled() => Err(loss::stream_closed(operation)),
            outcome = flowing => outcome,
        }
    }
}

/// What was wrong with what was read.
fn ended_by(error: &Error) -> End {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => {
            End::ours(CloseCode::Size, "a frame is larger than this side takes")
        }
        Error::Utf8(_) => End::ours(CloseCode::Invalid, "a frame is no text"),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            End::theirs("it was cut off")
        }
        Error::Protocol(_) => End::ours(
            CloseCode::Protocol,
            "a frame does not follow the WebSocket protocol",
        ),
        Error::Capacity(_) => End::ours(CloseCode::Size, "there is too much in a frame"),
        other => End::theirs(other.to_string()),
    }
}

fn closed_by(frame: Option<CloseFrame>) -> Cow<'static, str> {
    match frame {
        Some(CloseFrame { code, reason }) if !reason.is_empty() => {
            let reason: String = reason.chars().filter(|it| !it.is_control()).collect();
            format!("the other side has closed it: {reason} ({code})").into()
        }
        Some(CloseFrame { code, .. }) => format!("the other side has closed it ({code})").into(),
        None => "the other side has closed it".into(),
    }
}

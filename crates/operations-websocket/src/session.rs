//! One connection, from its first frame to its last: it reads, writes, and finds out when the other end is gone.
//!
//! - `answering`: calls of the other end;
//! - `listing`: its control requests: discovery and offers;
//! - `offers`: the offers of which more is to come, and how much they may take;
//! - `metered`: how many bytes of a socket were written, and read of a message that is not complete;
//! - `parts`: large frames, handed on as several;
//! - `end`: how a connection ends.

mod answering;
mod end;
mod listing;
mod metered;
mod offers;
mod parts;

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use operations_core::call::{CallEvent, Refusal};
use operations_core::json::Malformed;
use operations_core::lock::locked;
use operations_core::table::Table;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WebSocketFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use end::End;
pub use metered::Metered;

use crate::errors;
use crate::frame::{self, About, Frame};
use crate::limits::{
    ALL_OFFER_BYTES, CALL_BYTES, LAST_WORDS, LIST_BYTES, MOST_LISTS, MOST_MALFORMED, PROTOCOL,
    WAITING_BYTES,
};
use crate::peer::{Peer, Unsent};
use crate::serving::Serving;
use answering::Running;
use offers::Offers;

/// Bytes that are written in one go.
const WRITE_BYTES: usize = 128 * 1024;

/// A longer message is written in parts of this size: what is written at a time is buffered, and the buffer stays as large as
/// it was once.
const PART_BYTES: usize = 64 * 1024;

/// How long the other end may read nothing of what is written. In heartbeats.
const WRITE_HEARTBEATS: u32 = 4;

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
    /// How long a message may take from its first byte to its last.
    pub message_time: Duration,
    /// Calls of the other end that are worked on, or wait, at a time.
    pub max_calls: usize,
    /// Operations that the other end may offer.
    pub max_operations: usize,
    /// How long an offer may take from its first part to its last.
    pub offer_time: Duration,
    /// Bytes that offers of all connections may take together: see [`offer_bytes`].
    pub offer_bytes: Arc<Semaphore>,
}

/// Room for the offers of all connections of a server.
#[must_use]
pub fn offer_bytes() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ALL_OFFER_BYTES))
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
    running: Mutex<Table<String, Arc<Running>>>,
    /// A permit for each byte of these calls.
    call_bytes: Arc<Semaphore>,
    tasks: TaskTracker,
    offers: Offers,
    /// Questions and offers of the other end that may be worked on at a time: each can hold all operations.
    permits: Arc<Semaphore>,
    /// Nothing new is begun.
    closing: CancellationToken,
    /// It is over.
    over: CancellationToken,
    /// Why it was closed here.
    closed: OnceLock<&'static str>,
}

/// How many bytes the calls of the other end may have in all.
fn call_bytes(settings: &Settings) -> usize {
    CALL_BYTES.max(settings.max_frame_bytes)
}

/// The frames of a text.
fn parts_of(text: String) -> impl Iterator<Item = Message> {
    let (mut rest, mut kind) = (Some(Bytes::from(text)), Data::Text);
    std::iter::from_fn(move || {
        let mut part = rest.take()?;
        if part.len() > PART_BYTES {
            rest = Some(part.split_off(PART_BYTES));
        }
        let opcode = OpCode::Data(std::mem::replace(&mut kind, Data::Continue));
        Some(Message::Frame(WebSocketFrame::message(
            part,
            opcode,
            rest.is_none(),
        )))
    })
}

/// Ends a session whose connection is not driven any more.
struct Over<'a>(&'a Session);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.end();
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
            offers: Offers::new(settings.offer_time),
            call_bytes: Arc::new(Semaphore::new(call_bytes(&settings))),
            settings,
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(MOST_LISTS)),
            closing,
            over: CancellationToken::new(),
            closed: OnceLock::new(),
        })
    }

    /// Ends the connection and the calls of the other end, and says why.
    pub fn close(&self, why: &'static str) {
        let _ = self.closed.set(why);
        self.end();
    }

    /// How many calls of the other end are running.
    #[must_use]
    pub fn running(&self) -> usize {
        locked(&self.running).len()
    }

    /// Reads and writes until either end has had enough, or `kill` says so.
    pub async fn run<S: Socket>(
        self: &Arc<Self>,
        socket: WebSocketStream<Metered<S>>,
        kill: &CancellationToken,
    ) -> End {
        let written = socket.get_ref().written();
        let unfinished = socket.get_ref().unfinished();
        // A handshake may have gone before.
        unfinished.clear();
        let (mut sink, mut stream) = socket.split();
        let _over = Over(self);
        self.peer.connected();
        let hello = json!({ "protocol": PROTOCOL, "maxFrameBytes": self.settings.max_frame_bytes, "maxStreamBytes": WAITING_BYTES });
        self.peer
            .write_first(frame::write("hub.hello", "", &hello.to_string()));
        let writing = async {
            let mut next_ping = Instant::now() + self.settings.heartbeat;
            loop {
                let frames = tokio::select! {
                    frames = self.peer.next_frames(WRITE_BYTES) => frames,
                    () = sleep_until(next_ping) => Vec::new(),
                };
                let write = async {
                    if frames.is_empty() {
                        next_ping = Instant::now() + self.settings.heartbeat;
                        return sink.send(Message::Ping(Bytes::new())).await;
                    }
                    // Until all of it is written.
                    let mut counted = Vec::new();
                    for Unsent { text, held } in frames {
                        counted.extend(held);
                        for part in parts_of(text) {
                            sink.feed(part).await?;
                        }
                    }
                    sink.flush().await
                };
                let mut write = pin!(write);
                loop {
                    let before = written.load(Ordering::Relaxed);
                    let patience = self.settings.heartbeat * WRITE_HEARTBEATS;
                    match timeout(patience, &mut write).await {
                        Ok(Ok(())) => break,
                        Ok(Err(error)) => return End::theirs(error.to_string()),
                        Err(_) if written.load(Ordering::Relaxed) != before => {}
                        Err(_) => return End::theirs("it reads nothing any more"),
                    }
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
                    Some(Err(error)) => return End::of(&error),
                    Some(Ok(message)) => message,
                };
                match &message {
                    Message::Text(_) | Message::Binary(_) => unfinished.clear(),
                    Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {
                        unfinished.control_frame(message.len());
                    }
                }
                let end = match message {
                    Message::Text(text) => self.take(text.as_str()),
                    Message::Binary(_) => self.refuse(&Refusal::NoType),
                    Message::Close(frame) => Some(End::closed_by(frame)),
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
            end = unfinished.refused(self.settings.message_time) => end,
            end = self.ending_late_offers() => end,
            () = self.notifying_changes() => End::ours(CloseCode::Away, "this side is closing"),
            () = self.over.cancelled() => {
                let why = self.closed.get().copied();
                End::ours(CloseCode::Policy, why.unwrap_or("the other side reads too slowly"))
            }
        };
        let closing_frames = async {
            if end.is_heard {
                let _ = sink.send(Message::Close(Some(end.frame()))).await;
                // A connection that is dropped while something is unread takes the last frame with it.
                while let Some(Ok(_)) = stream.next().await {}
            }
            let _ = sink.close().await;
        };
        let _ = timeout(LAST_WORDS, closing_frames).await;
        self.end();
        end
    }

    /// The connection is over: so are the calls of the other end, at once. Closing may take a while.
    fn end(&self) {
        self.over.cancel();
        for running in locked(&self.running).values() {
            running.cancel.cancel();
        }
        self.tasks.close();
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

    /// Peers that support it are notified when what is served changes.
    async fn notifying_changes(&self) {
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
            Err(refusal) => {
                let end = self.refuse(&refusal);
                let is_too_deep = refusal == Refusal::Malformed(Malformed::Depth);
                return end.or_else(|| is_too_deep.then(|| self.too_deep(text)).flatten());
            }
        };
        match frame {
            Frame::Event(CallEvent::Requested(event)) => return self.begin(&event),
            Frame::Event(CallEvent::Aborted { request_id }) => {
                if self.abort(&request_id) {
                    self.peer.parent_aborted(&request_id);
                } else {
                    self.peer.event(CallEvent::Aborted { request_id });
                }
            }
            Frame::Event(event) => {
                if !self.peer.event(event) {
                    self.end();
                }
            }
            Frame::Hello {
                max_frame_bytes,
                max_stream_bytes,
            } => self.peer.hello(max_frame_bytes, max_stream_bytes),
            Frame::Credit { request_id, up_to } => self.credit(&request_id, up_to),
            Frame::Ping { id } => self.write(frame::write("hub.pong", &id, "{}")),
            Frame::Discover { id } => self.discover(id),
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

    /// A frame is nested too deeply to be read. The request that it belongs to fails.
    fn too_deep(&self, text: &str) -> Option<End> {
        match frame::about(text) {
            Some(About::Request(id)) => self.write(frame::error(&id, &errors::too_deep())),
            Some(About::ControlRequest(id)) => self.write(frame::failed(&id, &errors::too_deep())),
            Some(About::Answer(request_id)) => {
                let output = None;
                self.peer.event(CallEvent::Responded { request_id, output });
            }
            None => {
                let why = "a frame is nested too deeply, and does not say what it is about";
                return Some(End::ours(CloseCode::Policy, why));
            }
        }
        None
    }

    /// Writes a frame, or ends the connection to a peer that does not read.
    fn write(&self, frame: impl Into<Unsent>) {
        if !self.peer.write(frame) {
            self.end();
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
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use operations_core::error::CallError;

    use super::*;
    use crate::limits::{MESSAGE_TIME, MOST_BYTES_WAITING, OFFER_TIME};
    use crate::serving::{Answered, Incoming};

    struct NeverDone;

    impl Serving for NeverDone {
        fn call(&self, _: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
            Box::pin(std::future::pending())
        }

        fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
            Box::pin(std::future::pending())
        }

        fn offered(&self, _: String) -> BoxFuture<'static, Result<String, CallError>> {
            Box::pin(std::future::pending())
        }
    }

    /// Closing takes a while. What their calls answered meanwhile would be kept.
    #[tokio::test]
    async fn the_calls_of_a_peer_that_does_not_read_end_at_once() {
        let peer = Peer::new("mallory");
        peer.connected();
        let settings = Settings {
            max_frame_bytes: MOST_BYTES_WAITING,
            heartbeat: Duration::from_secs(60),
            message_time: MESSAGE_TIME,
            max_calls: 10,
            max_operations: 10,
            offer_time: OFFER_TIME,
            offer_bytes: offer_bytes(),
        };
        let closing = CancellationToken::new();
        let session = Session::new(peer, Arc::new(NeverDone), settings, closing);
        let request =
            r#"{"type":"call.requested","id":"","payload":{"requestId":"a","operationId":"o"}}"#;
        assert!(session.take(request).is_none());
        let call = locked(&session.running).get("a").map(Arc::clone);
        let call = call.expect("it is running");
        session.write("x".repeat(MOST_BYTES_WAITING));
        assert!(!call.cancel.is_cancelled());
        session.write("x".to_owned());
        assert!(call.cancel.is_cancelled());
    }
}

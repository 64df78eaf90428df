//! A pipe with a session on one end, and a peer that is written by hand on the other.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, SinkExt, StreamExt};
use operations_core::error::CallError;
use operations_websocket::limits::{MESSAGE_TIME, OFFER_TIME};
use operations_websocket::peer::Outbound;
use operations_websocket::session::{End, Settings, offer_bytes};
use operations_websocket::{
    Answered, Incoming, Metered, Peer, Role, Serving, Session, WebSocketStream,
};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

/// Room in the pipe, in bytes.
const PIPE: usize = 64 * 1024;

/// Settings with which nothing is lost or refused by accident.
pub(crate) fn settings() -> Settings {
    Settings {
        max_frame_bytes: 1024 * 1024,
        heartbeat: Duration::from_secs(60),
        message_time: MESSAGE_TIME,
        max_calls: 1_000,
        max_operations: 1_000,
        offer_time: OFFER_TIME,
        offer_bytes: offer_bytes(),
    }
}

pub(crate) fn envelope(data: impl Into<Value>) -> String {
    let meta = json!({ "source": "local", "operationId": "o", "timestamp": 1 });
    json!({ "data": data.into(), "meta": meta }).to_string()
}

/// Serves operations by their names: `echo`, `fail`, `panic`, `deep`, `wait` (without end), `numbers` (without end), `count` (as many events as its
/// input says) and `large` (as many bytes as its input says).
#[derive(Default)]
pub(crate) struct Played {
    /// Calls of `wait` and `numbers` that are running.
    pub(crate) under_way: Arc<AtomicUsize>,
    /// Events of `numbers` that were taken.
    pub(crate) taken: Arc<AtomicUsize>,
    pub(crate) offers: Arc<Mutex<Vec<String>>>,
    /// What `hub.discover` is answered with; `None` for an answer that never comes.
    pub(crate) operations: Option<Vec<String>>,
}

/// Counts while it lives.
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Serving for Played {
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
        let input: Value = incoming
            .input
            .as_deref()
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
        let number = input.as_u64().unwrap_or_default();
        let (under_way, taken) = (Arc::clone(&self.under_way), Arc::clone(&self.taken));
        async move {
            match incoming.operation_id.as_str() {
                "echo" => Ok(Answered::One(envelope(input))),
                "fail" => Err(CallError::new("NO_LUCK", "it failed")),
                "panic" => panic!("it panicked"),
                "deep" => Ok(Answered::One("[".repeat(1_000) + &"]".repeat(1_000))),
                "wait" => {
                    let _alive = Alive::new(&under_way);
                    pending().await
                }
                "large" => {
                    let size = usize::try_from(number).unwrap();
                    Ok(Answered::One(envelope("x".repeat(size))))
                }
                "count" => {
                    let events = stream::iter((1..=number).map(|at| Ok(envelope(at))));
                    Ok(Answered::Many(events.boxed()))
                }
                "numbers" => {
                    let alive = Alive::new(&under_way);
                    let events = stream::iter(1u64..).map(move |at| {
                        let _ = &alive;
                        taken.fetch_add(1, Ordering::SeqCst);
                        Ok(envelope(at))
                    });
                    Ok(Answered::Many(events.boxed()))
                }
                other => Err(CallError::new("OPERATION_NOT_FOUND", other.to_owned())),
            }
        }
        .boxed()
    }

    fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        match self.operations.clone() {
            Some(operations) => async { Ok(operations) }.boxed(),
            None => pending().boxed(),
        }
    }

    fn offered(&self, operations: String) -> BoxFuture<'static, Result<String, CallError>> {
        self.offers.lock().unwrap().push(operations);
        async { Ok(r#"{"operations":[]}"#.to_owned()) }.boxed()
    }

    fn changes(&self) -> BoxStream<'static, ()> {
        stream::pending().boxed()
    }
}

/// A session that runs, and how it is stopped.
pub(crate) struct Running {
    pub(crate) peer: Arc<Peer>,
    pub(crate) session: Arc<Session>,
    pub(crate) closing: CancellationToken,
    pub(crate) kill: CancellationToken,
    pub(crate) end: JoinHandle<End>,
}

/// Runs a session for a peer on one end of a pipe. The hub's end is the server's.
pub(crate) async fn run(
    peer: &Arc<Peer>,
    serving: Arc<dyn Serving>,
    settings: Settings,
    pipe: DuplexStream,
    role: Role,
) -> Running {
    let closing = CancellationToken::new();
    let kill = CancellationToken::new();
    let (pipe, config) = (Metered::new(pipe), Some(settings.websocket()));
    let socket = WebSocketStream::from_raw_socket(pipe, role, config).await;
    let session = Session::new(Arc::clone(peer), serving, settings, closing.clone());
    let end = tokio::spawn({
        let (session, kill) = (Arc::clone(&session), kill.clone());
        async move { session.run(socket, &kill).await }
    });
    Running {
        peer: Arc::clone(peer),
        session,
        closing,
        kill,
        end,
    }
}

/// A peer that is written by hand.
pub(crate) struct Hand {
    pub(crate) socket: WebSocketStream<DuplexStream>,
}

/// A session, and a peer that is written by hand.
pub(crate) async fn by_hand(serving: Played, settings: Settings) -> (Running, Hand) {
    to_peer(&Peer::new("the other end"), serving, settings).await
}

/// The same for a peer that there may have been a connection to before.
pub(crate) async fn to_peer(
    peer: &Arc<Peer>,
    serving: Played,
    settings: Settings,
) -> (Running, Hand) {
    let (here, there) = tokio::io::duplex(PIPE);
    let running = run(peer, Arc::new(serving), settings, here, Role::Server).await;
    let socket = WebSocketStream::from_raw_socket(there, Role::Client, None).await;
    let mut hand = Hand { socket };
    let hello = hand.next().await;
    assert_eq!(hello["type"], "hub.hello");
    (running, hand)
}

impl Hand {
    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        let text: String = text.into();
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn send(&mut self, kind: &str, payload: &Value) {
        self.send_about(kind, "", payload).await;
    }

    pub(crate) async fn send_about(&mut self, kind: &str, id: &str, payload: &Value) {
        let frame = json!({ "type": kind, "id": id, "payload": payload });
        self.send_text(frame.to_string()).await;
    }

    pub(crate) async fn request(&mut self, id: &str, operation: &str, input: impl Into<Value>) {
        let input = input.into();
        let payload = json!({ "requestId": id, "operationId": operation, "input": input });
        self.send("call.requested", &payload).await;
    }

    pub(crate) async fn respond(&mut self, id: &str, data: impl Into<Value>) {
        let output: Value = serde_json::from_str(&envelope(data)).unwrap();
        let payload = json!({ "requestId": id, "output": output });
        self.send("call.responded", &payload).await;
    }

    /// The next frame of the call protocol, or of type `hub.*`.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match self.message().await {
                Message::Text(text) => return serde_json::from_str(text.as_str()).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?} instead of a frame"),
            }
        }
    }

    pub(crate) async fn message(&mut self) -> Message {
        self.socket.next().await.expect("it is open").unwrap()
    }

    /// Has everything that was sent before looked at, and gives all that came back meanwhile.
    pub(crate) async fn settled(&mut self) -> Vec<Value> {
        self.send_about("hub.ping", "settled", &json!({})).await;
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await;
            if frame["type"] == "hub.pong" && frame["id"] == "settled" {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// How the session closes the connection: the code, and why.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.message().await {
                let frame = frame.expect("a code");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }
}

pub(crate) fn outbound(operation: &str) -> Outbound {
    Outbound {
        operation_id: operation.to_owned(),
        ..Outbound::default()
    }
}

/// Looks again and again until it holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// What an error says about its reason and delivery.
pub(crate) fn said(error: &CallError, field: &str) -> String {
    let details = error.details.as_ref();
    let found = details.and_then(|details| details.get(field));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

//! The call protocol over WebSocket: a peer that connects may call operations, and may offer some of its own.
//!
//! `upgrade` makes a connection of a request, `spoke` does what the other end wants done, `listed` keeps what it may see.

mod listed;
mod spoke;
pub(crate) mod upgrade;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use indexmap::IndexMap;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::lock::{reading, writing};
use operations_websocket::limits::OFFER_TIME;
use operations_websocket::session::{Settings, offer_bytes};
use operations_websocket::{Metered, Peer, Role, Session, WebSocketStream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::http::problem;
use crate::body::Body;
use crate::description_cache::Cached;
use crate::identity::identity_deadline;
use crate::options::HubDoor;
use crate::service::{Exchange, Shared};
use spoke::Serves;
pub use spoke::Spoke;

/// An identity is not checked more often than this, whatever its `maxAge`.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Those who are connected, and what is kept for them.
#[derive(Debug)]
pub struct State {
    spokes: RwLock<IndexMap<Arc<str>, Arc<Spoke>>>,
    tasks: TaskTracker,
    /// Nothing is waited for.
    kill: CancellationToken,
    listed: Cached<listed::List>,
    /// Room for what they offer.
    offer_bytes: Arc<Semaphore>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            spokes: RwLock::default(),
            tasks: TaskTracker::new(),
            kill: CancellationToken::new(),
            listed: Cached::default(),
            offer_bytes: offer_bytes(),
        }
    }
}

impl State {
    /// One who is connected.
    #[must_use]
    pub fn spoke(&self, id: &str) -> Option<Arc<Spoke>> {
        reading(&self.spokes).get(id).map(Arc::clone)
    }

    /// How many are connected.
    #[must_use]
    pub fn count(&self) -> usize {
        reading(&self.spokes).len()
    }

    /// Ends all connections.
    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }

    /// Returns when no connection is left.
    pub(crate) async fn wait(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Makes a connection of a request.
pub(crate) fn serve(
    shared: &Arc<Shared>,
    door: &HubDoor,
    mut exchange: Exchange,
) -> Response<Body> {
    let request_id = &exchange.request_id;
    let switching = match upgrade::answer(&exchange.head) {
        Ok(switching) => switching,
        Err(why) => return upgrade::required(why, request_id),
    };
    let refusal = |message: &str, reason: &str| {
        let details = json!({ "reason": reason, "delivery": "none" });
        CallError::failed(message).with_details(details)
    };
    let Some(upgraded) = exchange.head.extensions.remove::<OnUpgrade>() else {
        let message = "This server cannot switch to WebSocket: only serve() has a door for it, and only over HTTP/1.1";
        let error = refusal(message, "no-upgrade");
        return problem::of(&error, StatusCode::NOT_IMPLEMENTED, request_id);
    };
    if shared.hub.count() >= door.max_connections || shared.closing.is_cancelled() {
        let message = "The hub takes no more connections now. Try again later";
        let error = refusal(message, "overloaded");
        return problem::of(&error, StatusCode::SERVICE_UNAVAILABLE, request_id);
    }
    let settings = Settings {
        max_frame_bytes: door.max_frame_bytes,
        heartbeat: door.heartbeat,
        message_time: shared.options.request_timeout,
        max_calls: door.max_calls,
        max_operations: door.max_operations,
        offer_time: OFFER_TIME,
        offer_bytes: Arc::clone(&shared.hub.offer_bytes),
    };
    let name = upgrade::name_of(exchange.head.uri.query());
    let instance = upgrade::instance_of(&exchange.head.headers);
    let bytes = Arc::clone(exchange.held.share());
    let (head, caller) = (exchange.head, exchange.caller);
    let (has_accept, exposes_errors) = (door.has_accept, door.expose_errors);
    let shared = Arc::clone(shared);
    let tasks = shared.hub.tasks.clone();
    tasks.spawn(async move {
        let patience = shared.options.request_timeout;
        // Who does not wait for the answer was never here.
        let Ok(Ok(upgraded)) = timeout(patience, upgraded).await else {
            return;
        };
        let _counted = shared.stats.connection();
        let config = Some(settings.websocket());
        let socket = Metered::of_server(TokioIo::new(upgraded), Arc::clone(&bytes), &settings);
        let socket = WebSocketStream::from_raw_socket(socket, Role::Server, config).await;
        let id: Arc<str> = Uuid::new_v4().to_string().into();
        let shown = if name.is_empty() { &*id } else { &*name };
        let spoke = Arc::new(Spoke {
            peer: Peer::new(&format!("spoke {shown}")),
            id: Arc::clone(&id),
            name,
            caller,
            instance,
            since: clock::now(),
            closed: CancellationToken::new(),
            registered: RwLock::default(),
        });
        let serving = Arc::new(Serves {
            shared: Arc::clone(&shared),
            spoke: Arc::clone(&spoke),
            has_accept,
            exposes_errors,
            bytes,
        });
        let peer = Arc::clone(&spoke.peer);
        let closing = shared.closing.clone();
        let session = Session::new(Arc::clone(&peer), serving, settings, closing);
        writing(&shared.hub.spokes).insert(Arc::clone(&id), Arc::clone(&spoke));
        shared
            .js
            .notify(&json!({ "joined": spoke.to_json() }).to_string());
        let closed = async {
            tokio::select! {
                () = spoke.closed.cancelled() => "the hub has closed it",
                () = identity_lost(&shared, &head, &spoke) => "the identity of the connection is not valid any more",
            }
        };
        let running = session.run(socket, &shared.hub.kill);
        tokio::pin!(running);
        let end = tokio::select! {
            end = &mut running => end,
            why = closed => {
                session.close(why);
                running.await
            }
        };
        writing(&shared.hub.spokes).shift_remove(&id);
        peer.lost(&end.why);
        let left = json!({ "left": { "id": &*id, "reason": end.why } });
        shared.js.notify(&left.to_string());
    });
    switching
}

/// Returns when JavaScript, asked again at `maxAge`, does not give the identity that the connection was made with.
async fn identity_lost(shared: &Arc<Shared>, head: &Parts, spoke: &Spoke) {
    let mut until = spoke.caller.until;
    while let Some(at) = until {
        sleep(clock::until(at).max(CHECK_EVERY)).await;
        let found = shared.identities.of(head, &shared.js, identity_deadline());
        match found.await {
            Ok(found) if found.identity == spoke.caller.identity => until = found.until,
            // A check that fails is no reason to go on believing.
            _ => return,
        }
    }
    std::future::pending::<()>().await;
}

impl Spoke {
    fn to_json(&self) -> Value {
        let identity: Option<Value> = self
            .caller
            .text
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        json!({
            "id": &*self.id,
            "name": self.name,
            "since": self.since,
            "identity": identity,
            "instance": self.instance,
        })
    }
}

//! Hub and spokes: programs that call each other over WebSocket.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use indexmap::IndexMap;
use operations_core::access::Identity;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::locked;
use operations_core::log::Logger;
use operations_core::mailbox::Kind;
use operations_core::registry::{self, Handler};
use operations_serve::JsBridge;
use operations_serve::options::Limits;
use operations_serve::service::Shared;
use operations_serve::spoke_server::SpokeServer;
use operations_websocket::{Connection, Options, Peer, PeerHandler};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::imported::{CONCURRENCY, DRAIN, Exchange, Import, Remote};
use crate::inbox::Inbox;
use crate::registry::{Collisions, Origin, Registry};
use crate::serve::answer;

/// How often imports are repeated although the hub has said nothing.
const REPEAT: Duration = Duration::from_secs(60);

pub(crate) type Accept = Box<dyn Fn(&Spoke) -> Option<Import> + Send + Sync>;

/// A program that is connected to the hub.
///
/// ```
/// use operations::{Import, Registry, serve};
///
/// // The operations of each program get its name as their namespace.
/// let server = serve(&Registry::new()).hub(|spoke| Some(Import::new().namespace(&spoke.name)));
/// ```
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Spoke {
    /// The id of the connection.
    pub id: String,
    /// How the program calls itself.
    pub name: String,
    /// Whose token it has shown.
    pub identity: Option<Identity>,
    /// What it shows to be known again.
    instance: Option<String>,
}

impl Spoke {
    /// Whether it is one that was here before. Of two that have no identity, any of them may have chosen the name.
    fn is_back(&self, before: &Self) -> bool {
        let id = |spoke: &Self| spoke.identity.as_ref().map(|it| it.id.clone());
        let is_same = !self.name.is_empty() && self.name == before.name && id(self) == id(before);
        is_same
            && (self.identity.is_some()
                || (self.instance.is_some() && self.instance == before.instance))
    }
}

/// The spokes of a server, and what of theirs is registered.
pub(crate) struct Hub {
    registry: Registry,
    service: Arc<Shared>,
    bridge: Arc<JsBridge>,
    accept: Accept,
    spokes: Mutex<IndexMap<String, (Spoke, Origin)>>,
    /// Offers are taken one after the other: what is offered last counts.
    offers: mpsc::UnboundedSender<(String, Value)>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(
        registry: Registry,
        service: Arc<Shared>,
        bridge: Arc<JsBridge>,
        accept: Accept,
    ) -> Arc<Self> {
        let (offers, mut waiting) = mpsc::unbounded_channel();
        let hub = Arc::new(Self {
            registry,
            service,
            bridge,
            accept,
            spokes: Mutex::default(),
            offers,
        });
        let weak = Arc::downgrade(&hub);
        tokio::spawn(async move {
            while let Some((request, offer)) = waiting.recv().await {
                let Some(hub) = weak.upgrade() else { return };
                // Schemas are compiled, which is no work for a thread that others wait for.
                let taken = tokio::task::spawn_blocking(move || {
                    let taken = hub.offered(&offer);
                    (hub, taken)
                });
                match taken.await {
                    Ok((hub, Ok(ids))) => {
                        let answer = json!({ "operations": ids }).to_string();
                        hub.bridge.respond(&request, &answer);
                    }
                    Ok((hub, Err(error))) => hub.bridge.fail(&request, error),
                    Err(_) => return,
                }
            }
        });
        hub
    }

    pub(crate) fn spokes(&self) -> Vec<Spoke> {
        let spokes = locked(&self.spokes);
        spokes.values().map(|(spoke, _)| spoke.clone()).collect()
    }

    /// Takes a message about a spoke. Returns whether it is one.
    pub(crate) fn takes(&self, id: &str, request: &Value) -> bool {
        if let Some(joined) = request.get("joined") {
            if let Ok(spoke) = serde_json::from_value::<Spoke>(joined.clone()) {
                let source = Origin::new(None);
                locked(&self.spokes).insert(spoke.id.clone(), (spoke, source));
            }
        } else if let Some(left) = request.pointer("/left/id").and_then(Value::as_str) {
            let left = locked(&self.spokes).shift_remove(left);
            if let Some((_, source)) = left {
                self.forget(source);
            }
        } else if let Some(offer) = request.get("offer") {
            let _ = self.offers.send((id.to_owned(), offer.clone()));
        } else {
            return false;
        }
        true
    }

    fn offered(&self, offer: &Value) -> Result<Vec<String>, CallError> {
        let gone = || {
            let details = json!({ "reason": "peer-lost", "delivery": "none" });
            CallError::failed("The spoke has left").with_details(details)
        };
        let id = offer
            .get("spoke")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let (spoke, source) = locked(&self.spokes).get(id).cloned().ok_or_else(gone)?;
        let peer = Arc::clone(&self.service.hub.spoke(id).ok_or_else(gone)?.peer);
        let accepted = std::panic::catch_unwind(AssertUnwindSafe(|| (self.accept)(&spoke)));
        let Ok(Some(import)) = accepted else {
            let name = json!(spoke.name);
            let message = format!("The hub does not take the operations of spoke {name}");
            let details = json!({ "reason": "not-accepted", "delivery": "none" });
            return Err(CallError::new(Code::AccessDenied, message).with_details(details));
        };
        let texts = offer.get("operations").and_then(Value::as_array);
        let texts = texts.into_iter().flatten().filter_map(Value::as_str);
        let found: Vec<Value> = texts
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect();
        let operations = import.operations(&found, &|id| peer_handler(&peer, id));
        // One that has lost its connection may be back before the hub has noticed.
        let others: Vec<Origin> = {
            let spokes = locked(&self.spokes);
            let others = spokes.values().filter(|(other, _)| other.id != id);
            let back = others.filter(|(other, _)| spoke.is_back(other));
            back.map(|(_, source)| *source).collect()
        };
        for other in others {
            self.forget(other);
        }
        let taken = self.registry.follow(source, operations, Collisions::Refuse);
        // It may have left in the meantime.
        if !locked(&self.spokes).contains_key(id) {
            self.forget(source);
            return Err(gone());
        }
        taken
    }

    fn forget(&self, source: Origin) {
        // An empty list has nothing to collide with.
        let _ = self
            .registry
            .follow(source, Vec::new(), Collisions::LeaveOut);
    }

    pub(crate) fn end(&self) {
        let spokes = std::mem::take(&mut *locked(&self.spokes));
        for (_, source) in spokes.into_values() {
            self.forget(source);
        }
    }
}

fn peer_handler(peer: &Arc<Peer>, operation_id: &str) -> Arc<dyn Handler> {
    Arc::new(PeerHandler {
        peer: Arc::clone(peer),
        operation_id: operation_id.to_owned(),
    })
}

/// A connection to a hub that is about to be made: `.await` makes it.
///
/// ```no_run
/// # async fn example() -> Result<(), operations::CallError> {
/// let hub = operations::connect_hub("wss://hub.example.com/hub", "laptop").token("s3cret").await?;
/// hub.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is connected before this is awaited"]
pub struct ConnectHub {
    options: Map<String, Value>,
    logger: Logger,
}

impl fmt::Debug for ConnectHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token stays in it.
        f.debug_struct("ConnectHub").finish_non_exhaustive()
    }
}

/// Connects to the hub of a server, which may be one of the npm package. `name` is how this program calls itself there.
///
/// ```
/// use operations::{Context, Import, Operation, Registry, connect_hub, serve};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), operations::CallError> {
/// let registry = Registry::new();
/// let server = serve(&registry).hub(|spoke| Some(Import::new().namespace(&spoke.name)));
/// let server = server.listen("127.0.0.1:0").await?;
///
/// let own = Registry::new();
/// own.register(Operation::query("files", "list", async |(): (), _: Context| Ok(["a", "b"])))?;
/// let hub = connect_hub(format!("{}/hub", server.url()), "laptop").await?;
/// assert_eq!(hub.serve(&own).await?, ["laptop.list"]);
/// let envelope = registry.call("laptop.list", ()).await?;
/// assert_eq!(envelope.data::<Vec<String>>()?, ["a", "b"]);
/// # hub.close().await;
/// # server.close().await;
/// # Ok(())
/// # }
/// ```
pub fn connect_hub(url: impl Into<String>, name: impl Into<String>) -> ConnectHub {
    // The defaults of `facade/websocket/connection.ts`.
    let options = json!({
        "url": url.into(), "name": name.into(), "reconnect": { "minDelay": 200, "maxDelay": 10_000 },
    });
    let options = options.as_object().cloned().unwrap_or_default();
    ConnectHub {
        options,
        logger: Logger::silent(),
    }
}

impl ConnectHub {
    /// Shows a token.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.options.insert("token".to_owned(), token.into().into());
        self
    }

    /// Does not fail when the hub cannot be reached now: it is tried again, and calls wait.
    pub fn wait(mut self) -> Self {
        self.options
            .insert("waitOnFirstConnect".to_owned(), true.into());
        self
    }

    /// A function for log lines: lost connections, and offers that the hub did not take.
    pub fn log(mut self, line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.logger = Logger::new(move |record| line(&record.message));
        self
    }

    async fn connect(self) -> Result<HubConnection, CallError> {
        let options = Options::read(&Value::Object(self.options).to_string())?;
        let inbox = Inbox::new();
        let mailbox = Arc::clone(&inbox.mailbox);
        let bridge = Arc::new(JsBridge::new(Arc::clone(&mailbox)));
        let calls = Arc::new(SpokeServer::new(Arc::clone(&bridge)));
        let serving = Arc::clone(&calls) as _;
        let connection = Connection::open(options, serving, self.logger.clone(), mailbox).await?;
        let connection = Arc::new(connection);
        let remote = HubRemote {
            connection: Arc::clone(&connection),
            calls,
            served: Mutex::default(),
        };
        let exchange = Exchange::new(remote, self.logger);
        let changed = Arc::clone(&exchange);
        let nothing = Registry::new();
        let reading = inbox.read(move |kind, id, request| match kind {
            // It is connected again, or the hub says that it has other operations.
            Kind::Changed => changed.changed(),
            Kind::Asked if id.is_empty() => changed.changed(),
            Kind::Asked => {
                let request = serde_json::from_str(request).unwrap_or_default();
                answer(&nothing, &bridge, id, &request);
            }
            _ => {}
        });
        Ok(HubConnection {
            connection,
            _tasks: [reading, exchange.follow(REPEAT)],
            exchange,
        })
    }
}

impl IntoFuture for ConnectHub {
    type Output = Result<HubConnection, CallError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.connect().boxed()
    }
}

/// A connection to a hub, which is made again whenever it is lost. [`connect_hub`] makes one.
///
/// ```no_run
/// # use operations::{HubConnection, Import, Registry};
/// # async fn example(hub: HubConnection, registry: Registry) -> Result<(), operations::CallError> {
/// hub.import(&registry, Import::new().namespace("hub").include(["tasks.*"])).await?;
/// let envelope = registry.call("hub.find", ()).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it ends when this is dropped"]
pub struct HubConnection {
    connection: Arc<Connection>,
    exchange: Arc<Exchange>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl fmt::Debug for HubConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubConnection").finish_non_exhaustive()
    }
}

impl HubConnection {
    /// Offers the operations of a registry to the hub, now and whenever they change. Returns the ids that they have there.
    ///
    /// # Errors
    ///
    /// When the hub does not take them.
    pub async fn serve(&self, registry: &Registry) -> Result<Vec<String>, CallError> {
        self.exchange.serve(registry).await
    }

    /// Registers operations of the hub in a registry, and follows the hub until the connection is closed. Returns their ids.
    ///
    /// # Errors
    ///
    /// When the hub does not answer, and when an operation of the registry has one of the names.
    pub async fn import(
        &self,
        registry: &Registry,
        import: Import,
    ) -> Result<Vec<String>, CallError> {
        self.exchange.import(registry, import).await
    }

    /// Whether there is a connection now, and since when, as JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        self.connection.status()
    }

    /// Ends the connection after the calls that are running, and removes what was imported.
    pub async fn close(self) {
        self.exchange.withdraw();
        self.connection.close(DRAIN).await;
    }
}

impl Drop for HubConnection {
    fn drop(&mut self) {
        self.exchange.end();
    }
}

/// The hub, as what is imported and served sees it.
struct HubRemote {
    connection: Arc<Connection>,
    calls: Arc<SpokeServer>,
    /// What is served: its limits begin anew with another registry only.
    served: Mutex<Option<Arc<registry::Registry>>>,
}

impl Remote for HubRemote {
    fn name(&self) -> &'static str {
        "the hub"
    }

    fn offer(
        &self,
        registry: &Registry,
        connection: u64,
    ) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        let limits = Limits {
            concurrency: Some(CONCURRENCY),
            ..Limits::default()
        };
        let before = locked(&self.served).replace(Arc::clone(&registry.core));
        if !before.is_some_and(|before| Arc::ptr_eq(&before, &registry.core)) {
            self.calls.serve(Arc::clone(&registry.core), &limits);
        }
        let (listed, _) = registry.listed(Some(connection));
        let specs = listed.iter().filter_map(|each| each.get("spec"));
        let specs: Vec<String> = specs.map(ToString::to_string).collect();
        self.calls.list(specs.clone());
        let connection = Arc::clone(&self.connection);
        async move {
            let answer = connection.offer(specs).await?;
            let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
            let ids = answer.get("operations").cloned().unwrap_or_default();
            Ok(serde_json::from_value(ids).unwrap_or_default())
        }
        .boxed()
    }

    fn discover(&self, _: Import) -> BoxFuture<'static, Result<Vec<Value>, CallError>> {
        let peer = Arc::clone(self.connection.peer());
        async move {
            let found = peer.discover().await?;
            Ok(serde_json::from_str(&found).unwrap_or_default())
        }
        .boxed()
    }

    fn handler(&self, operation_id: &str) -> Arc<dyn Handler> {
        peer_handler(self.connection.peer(), operation_id)
    }
}

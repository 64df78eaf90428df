//! Workers and callers over NATS.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use operations_core::call::submission::NewRequest;
use operations_core::call::{Kind as Consumed, RequestedEvent, was_aborted, without_response};
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::listed::Listed;
use operations_core::lock::locked;
use operations_core::log::Logger;
use operations_core::mailbox::Kind;
use operations_core::registry::{Context, Handler, Outcome, Produced};
use operations_nats::connection::{Listing, Requester};
use operations_nats::{Connection, Options, discovery};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::call::not_here;
use crate::imported::{CONCURRENCY, DRAIN, Exchange, Import, Remote};
use crate::inbox::Inbox;
use crate::registry::Registry;

/// How often imports are repeated: no message says that a worker has disappeared.
const REPEAT: Duration = Duration::from_secs(10);
/// How long workers may take to say what they serve; and where one that was there says nothing.
const DISCOVER: Duration = Duration::from_millis(300);
const DISCOVER_AGAIN: Duration = Duration::from_millis(1_500);

/// A connection to NATS that is about to be made: `.await` makes it.
///
/// ```no_run
/// # async fn example() -> Result<(), operations::CallError> {
/// let nats = operations::connect_nats("nats://localhost:4222", "worker-1")
///     .credentials_file("/run/secrets/hub.creds")
///     .await?;
/// nats.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is connected before this is awaited"]
pub struct ConnectNats {
    options: Map<String, Value>,
    servers: Vec<String>,
    auth: Map<String, Value>,
    logger: Logger,
}

impl fmt::Debug for ConnectNats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Credentials stay in it, those in addresses too.
        f.debug_struct("ConnectNats").finish_non_exhaustive()
    }
}

/// Connects to a NATS server: `nats://host:port`, `tls://host:port` or `host:port`. Programs on the same servers and prefix find
/// each other, those with the npm package too. `name` is how this one calls itself.
///
/// ```no_run
/// use operations::{Context, Import, Operation, Registry, connect_nats};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), operations::CallError> {
/// // A worker.
/// let own = Registry::new();
/// own.register(Operation::query("demo", "twice", async |n: u32, _: Context| Ok(n * 2)))?;
/// let worker = connect_nats("nats://localhost:4222", "worker-1").await?;
/// worker.serve(&own).await?;
///
/// // A caller, in another program.
/// let registry = Registry::new();
/// let nats = connect_nats("nats://localhost:4222", "caller").await?;
/// nats.import(&registry, Import::new()).await?;
/// assert_eq!(registry.call("demo.twice", 21).await?.data::<u32>()?, 42);
/// # Ok(())
/// # }
/// ```
pub fn connect_nats(server: impl Into<String>, name: impl Into<String>) -> ConnectNats {
    ConnectNats {
        options: Map::from_iter([("name".to_owned(), name.into().into())]),
        servers: vec![server.into()],
        auth: Map::new(),
        logger: Logger::silent(),
    }
}

impl ConnectNats {
    /// Another server of the cluster.
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.servers.push(server.into());
        self
    }

    /// The beginning of all subjects (default: `operations`).
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        self.option("prefix", prefix.into().into())
    }

    /// The queue group in which workers share calls (default: `workers`).
    pub fn queue_group(self, group: impl Into<String>) -> Self {
        self.option("queueGroup", group.into().into())
    }

    /// A user and a password.
    pub fn user(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.auth.insert("user".to_owned(), user.into().into());
        self.auth("password", password.into())
    }

    /// A token.
    pub fn token(self, token: impl Into<String>) -> Self {
        self.auth("token", token.into())
    }

    /// A credentials file, which is read at each connection.
    pub fn credentials_file(self, file: impl Into<String>) -> Self {
        self.auth("credentialsFile", file.into())
    }

    /// Certificates of authorities (PEM), in place of the system's.
    pub fn ca_file(self, file: impl Into<String>) -> Self {
        self.option("tls", json!({ "caFile": file.into() }))
    }

    /// Does not fail when no server can be reached now: it is tried again, and calls wait.
    pub fn wait(self) -> Self {
        self.option("waitOnFirstConnect", true.into())
    }

    /// A function for log lines: lost connections, and what the server refuses.
    pub fn log(mut self, line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.logger = Logger::new(move |record| line(&record.message));
        self
    }

    fn option(mut self, name: &str, value: Value) -> Self {
        self.options.insert(name.to_owned(), value);
        self
    }

    fn auth(mut self, name: &str, value: String) -> Self {
        self.auth.insert(name.to_owned(), value.into());
        self
    }

    async fn connect(mut self) -> Result<NatsConnection, CallError> {
        self.options
            .insert("servers".to_owned(), self.servers.into());
        if !self.auth.is_empty() {
            self.options.insert("auth".to_owned(), self.auth.into());
        }
        let options = Options::read(&Value::Object(self.options).to_string())?;
        let inbox = Inbox::new();
        let mailbox = Arc::clone(&inbox.mailbox);
        let connection = Connection::open(options, self.logger.clone(), mailbox).await?;
        let caller = Arc::new(Caller {
            connection: Arc::new(connection),
            pending: Mutex::default(),
        });
        let remote = NatsRemote {
            caller: Arc::clone(&caller),
            known: Arc::default(),
        };
        let exchange = Exchange::new(remote, self.logger);
        let (reader, changed) = (Arc::clone(&caller), Arc::clone(&exchange));
        let reading = inbox.read(move |kind, id, json| match kind {
            Kind::Changed => changed.changed(),
            Kind::Asked => reader.refuse(id, json),
            _ => reader.answered(kind, id, json),
        });
        Ok(NatsConnection {
            connection: Arc::clone(&caller.connection),
            _tasks: [reading, exchange.follow(REPEAT)],
            exchange,
        })
    }
}

impl IntoFuture for ConnectNats {
    type Output = Result<NatsConnection, CallError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.connect().boxed()
    }
}

/// A connection to NATS, which is made again whenever it is lost. [`connect_nats`] makes one.
///
/// ```no_run
/// # use operations::{NatsConnection, Registry};
/// # async fn example(nats: NatsConnection, registry: Registry) -> Result<(), operations::CallError> {
/// nats.serve(&registry).await?;
/// tokio::signal::ctrl_c().await.ok();
/// // Calls that are running end first.
/// nats.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "it ends when this is dropped"]
pub struct NatsConnection {
    connection: Arc<Connection>,
    exchange: Arc<Exchange>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl fmt::Debug for NatsConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsConnection").finish_non_exhaustive()
    }
}

impl NatsConnection {
    /// Serves the operations of a registry, also those that are registered later. Calls are shared with other workers.
    ///
    /// # Errors
    ///
    /// When an id cannot be a subject, and when the server does not let this connection serve.
    pub async fn serve(&self, registry: &Registry) -> Result<(), CallError> {
        self.exchange.serve(registry).await.map(drop)
    }

    /// Registers operations of workers in a registry, and follows the workers until the connection is closed. Returns their ids.
    ///
    /// # Errors
    ///
    /// When the connection is closed, and when an operation of the registry has one of the names.
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
        self.connection.act(|_, state, _| state.status.to_json())
    }

    /// Ends the connection after the calls that are running, and removes what was imported.
    pub async fn close(self) {
        self.exchange.withdraw();
        self.connection.close(DRAIN).await;
    }
}

impl Drop for NatsConnection {
    fn drop(&mut self) {
        self.exchange.end();
    }
}

/// Answers that wait for the one who called. Events are sent as they are consumed, so that not many wait.
type Answers = mpsc::UnboundedSender<Result<String, CallError>>;

/// Calls over a connection.
struct Caller {
    connection: Arc<Connection>,
    pending: Mutex<HashMap<String, Answers>>,
}

impl Caller {
    /// Something has arrived for a call of ours.
    fn answered(&self, kind: Kind, id: &str, json: &str) {
        let mut pending = locked(&self.pending);
        let answer = match kind {
            Kind::Done | Kind::Event => Ok(json.to_owned()),
            Kind::Failed => Err(serde_json::from_str(json).unwrap_or_else(|error| {
                CallError::unknown(format!("The error cannot be read: {error}"))
            })),
            _ => {
                pending.remove(id);
                return;
            }
        };
        if let Some(answers) = pending.get(id) {
            let _ = answers.send(answer);
        }
        if kind != Kind::Event {
            pending.remove(id);
        }
    }

    /// A call that the registry cannot do.
    fn refuse(&self, id: &str, payload: &str) {
        let payload: Value = serde_json::from_str(payload).unwrap_or_default();
        let operation_id = payload.get("operationId").and_then(Value::as_str);
        let error = not_here(operation_id.unwrap_or_default());
        self.connection.act(|now, state, todo| {
            if state.worker.begin(now, id, todo) {
                state.worker.fail(id, &error, todo);
                state.worker.finished(now, id, todo);
            }
        });
    }

    fn call(
        self: &Arc<Self>,
        operation_id: &str,
        input: Option<&Document>,
        context: &Context,
        consumed: Consumed,
    ) -> Result<Calling, CallError> {
        let id = Uuid::new_v4().to_string();
        // The declared fields only: whatever else is known of the caller is not for workers.
        let identity = context.identity.as_ref().map(|it| json!(it).to_string());
        let event = RequestedEvent {
            request_id: id.clone(),
            operation_id: operation_id.to_owned(),
            input: input.map(Document::text),
            parent_request_id: context.request_id.clone(),
            deadline: None,
            idle_timeout: None,
            identity: identity.as_deref(),
            metadata: context.passed_on.as_deref(),
            trace: context.trace.as_deref().map(Into::into),
        };
        let request = NewRequest {
            id: id.clone(),
            operation_id: operation_id.to_owned(),
            payload: event.to_json(),
            kind: consumed,
        };
        let (sender, answers) = mpsc::unbounded_channel();
        locked(&self.pending).insert(id.clone(), sender);
        let calling = Calling {
            caller: Arc::clone(self),
            id,
            operation_id: operation_id.to_owned(),
            answers,
            cancel: context.cancel.clone(),
        };
        self.connection.request(request)?;
        Ok(calling)
    }
}

/// A call of ours. Dropping it ends it.
struct Calling {
    caller: Arc<Caller>,
    id: String,
    operation_id: String,
    answers: mpsc::UnboundedReceiver<Result<String, CallError>>,
    cancel: CancellationToken,
}

impl Calling {
    /// The next answer, if there is one.
    async fn next(&mut self) -> Option<Outcome> {
        let answer = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(was_aborted(&self.operation_id)),
            answer = self.answers.recv() => answer?,
        };
        self.caller
            .connection
            .act(|now, state, todo| state.caller.consumed(now, &self.id, 1, todo));
        // The registry recognises an envelope.
        let document = answer.and_then(|text| {
            Document::parse(text)
                .map_err(|why| CallError::failed(format!("The answer cannot be read: {why}")))
        });
        Some(
            document
                .map(|it| Produced::Value(Some(it)))
                .map_err(Into::into),
        )
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if locked(&self.caller.pending).remove(&self.id).is_some() {
            self.caller
                .connection
                .act(|now, state, todo| state.caller.leave(now, &self.id, todo));
        }
    }
}

/// An operation of workers.
struct WorkerHandler {
    caller: Arc<Caller>,
    operation_id: String,
}

impl Handler for WorkerHandler {
    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        let consumed = Consumed::Call {
            deadline: context.deadline,
        };
        let calling = self
            .caller
            .call(&self.operation_id, input.as_ref(), &context, consumed);
        async move {
            let mut calling = calling?;
            let answer = calling.next().await;
            answer.unwrap_or_else(|| Err(without_response(&calling.operation_id).into()))
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        let (caller, id) = (Arc::clone(&self.caller), self.operation_id.clone());
        let consumed = Consumed::Subscription {
            idle_timeout: None,
            paced: true,
        };
        // Nothing is sent before the stream is polled.
        let opened = async move {
            match caller.call(&id, input.as_ref(), &context, consumed) {
                Ok(calling) => stream::unfold(calling, async |mut calling| {
                    Some((calling.next().await?, calling))
                })
                .boxed(),
                Err(error) => stream::once(async { Err(error.into()) }).boxed(),
            }
        };
        opened.flatten_stream().boxed()
    }
}

/// The workers, as what is imported sees them.
struct NatsRemote {
    caller: Arc<Caller>,
    /// What they served when they were last asked.
    known: Arc<Mutex<HashSet<String>>>,
}

impl Remote for NatsRemote {
    fn name(&self) -> &'static str {
        "the workers"
    }

    fn offer(
        &self,
        registry: &Registry,
        connection: u64,
    ) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        let (listed, except) = registry.listed(Some(connection));
        let (native, core) = (
            Arc::clone(&self.caller.connection),
            Arc::clone(&registry.core),
        );
        async move {
            let listed = Listed::read(&Value::from(listed).to_string())?;
            let listing = Listing { listed, except };
            let runtime = Handle::current();
            let serving = native.serve(core, CONCURRENCY, false, listing, runtime);
            serving.await.map(|()| Vec::new())
        }
        .boxed()
    }

    fn discover(&self, import: Import) -> BoxFuture<'static, Result<Vec<Value>, CallError>> {
        let (caller, known) = (Arc::clone(&self.caller), Arc::clone(&self.known));
        async move {
            let connection = &caller.connection;
            let mut found = HashMap::new();
            // An answer can be late or lost, which must not remove operations.
            for patience in [DISCOVER, DISCOVER_AGAIN] {
                let requester = Requester {
                    identity: import.identity.as_ref().map(|it| json!(it)),
                    metadata: None,
                };
                let answers = connection.discover(patience, requester).await?;
                found.extend(operations_of(&discovery::summary(answers), connection.id()));
                if locked(&known).iter().all(|id| found.contains_key(id)) {
                    break;
                }
            }
            *locked(&known) = found.keys().cloned().collect();
            Ok(found.into_values().collect())
        }
        .boxed()
    }

    fn handler(&self, operation_id: &str) -> Arc<dyn Handler> {
        Arc::new(WorkerHandler {
            caller: Arc::clone(&self.caller),
            operation_id: operation_id.to_owned(),
        })
    }
}

/// What others serve, by id. What we serve ourselves is nothing to import.
fn operations_of(summary: &str, me: &str) -> Vec<(String, Value)> {
    let summary: Value = serde_json::from_str(summary).unwrap_or_default();
    let operations = summary.get("operations").and_then(Value::as_array);
    let operations = operations.into_iter().flatten().filter_map(|each| {
        let workers = each.get("workers")?.as_array()?;
        let id = each.get("operationId")?.as_str()?;
        let is_ours = workers.iter().any(|worker| worker == me);
        (!is_ours).then(|| (id.to_owned(), each.clone()))
    });
    operations.collect()
}

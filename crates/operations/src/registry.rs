//! The operations of a program.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use indexmap::IndexMap;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use operations_core::log::Logger;
use operations_core::nearest::nearest_id;
use operations_core::registry::{self, OutputMode, Schema, Work};
use operations_core::spec::OperationSpec;
use operations_core::spec::OperationType;
use operations_schema::{CompileOptions, Program, Source, compile};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::{Call, Subscription};
use crate::operation::{About, Operation};

/// Operations by id. Cheap to clone: clones share their operations.
///
/// ```
/// use operations::{Context, Operation, Registry};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::CallError> {
/// let registry = Registry::new();
/// registry.register(Operation::query("demo", "twice", async |n: u32, _: Context| Ok(n * 2)))?;
/// let envelope = registry.call("demo.twice", 21).await?;
/// assert_eq!(envelope.data::<u32>()?, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry {
    pub(crate) core: Arc<registry::Registry>,
    described: Arc<RwLock<IndexMap<String, Arc<Described>>>>,
}

/// What clients of a server read about an operation.
#[derive(PartialEq)]
pub(crate) struct Described {
    spec: OperationSpec,
    about: About,
    input: Option<Value>,
    output: Option<Value>,
    source: Option<Origin>,
}

/// Where operations come from that follow another program: a connection, and an import over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) connection: u64,
    import: u64,
}

impl Origin {
    /// Another import, over a connection or, without one, over a new one.
    pub(crate) fn new(connection: Option<u64>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let import = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            connection: connection.unwrap_or(import),
            import,
        }
    }
}

/// Who reads descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Http,
    Mcp,
}

/// What to do with an operation whose id is that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collisions {
    Refuse,
    LeaveOut,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("operations", &self.ids())
            .finish()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::with_output(OutputMode::default())
    }
}

impl Registry {
    /// An empty registry, which brings outputs into their declared shape.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty registry that treats outputs in this way.
    #[must_use]
    pub fn with_output(output: OutputMode) -> Self {
        Self {
            core: Arc::new(registry::Registry::new(output, Logger::silent())),
            described: Arc::default(),
        }
    }

    /// Takes an operation in, in place of the one with the same id.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when a name is empty or has a dot in it, or a schema is none.
    pub fn register(&self, operation: Operation) -> Result<(), CallError> {
        let prepared = Prepared::new(operation, None)?;
        self.change(|operations| operations.set(prepared));
        Ok(())
    }

    /// Takes over what a source has now, and returns the ids. Those that it had before and has no more are removed.
    pub(crate) fn follow(
        &self,
        source: Origin,
        operations: Vec<Operation>,
        collisions: Collisions,
    ) -> Result<Vec<String>, CallError> {
        let mut prepared = operations
            .into_iter()
            .map(|operation| Prepared::new(operation, Some(source)))
            .collect::<Result<Vec<_>, _>>()?;
        self.change(|operations| {
            let mut ids = HashSet::new();
            let mut taken = Vec::new();
            prepared.retain(|each| {
                let id = each.id();
                let known = operations.described.get(&id);
                let is_free = known.is_none_or(|known| known.source == Some(source));
                let is_new = is_free && ids.insert(id.clone());
                if !is_new {
                    taken.push(id);
                }
                is_new
            });
            if !taken.is_empty() && collisions == Collisions::Refuse {
                let message = format!(
                    "{} cannot be registered: there are operations of these names already. Use another namespace",
                    taken.join(", ")
                );
                let details = json!({ "reason": "collision", "operations": taken });
                return Err(CallError::invalid(message).with_details(details));
            }
            let own = operations.described.iter();
            let own = own.filter(|(id, each)| each.source == Some(source) && !ids.contains(*id));
            let gone: Vec<String> = own.map(|(id, _)| id.clone()).collect();
            for id in gone {
                operations.remove(&id);
            }
            let ids = prepared.iter().map(Prepared::id).collect();
            for each in prepared {
                operations.set(each);
            }
            Ok(ids)
        })
    }

    /// The ids of what a source has.
    pub(crate) fn ids_of(&self, source: Origin) -> Vec<String> {
        let all = reading(&self.described);
        let own = all.iter().filter(|(_, each)| each.source == Some(source));
        own.map(|(id, _)| id.clone()).collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Operations<'_>) -> T) -> T {
        // Dropped when the lock is free: a handler may call back.
        let mut replaced = Vec::new();
        let mut described = writing(&self.described);
        change(&mut Operations {
            core: &self.core,
            described: &mut described,
            replaced: &mut replaced,
        })
    }

    /// Removes an operation. Running calls go on.
    pub fn unregister(&self, id: &str) {
        self.change(|operations| operations.remove(id));
    }

    /// The ids of all operations, in the order of registration.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        reading(&self.described).keys().cloned().collect()
    }

    /// Calls a query or a mutation. Await what this returns, or add to it first: an identity, a time limit.
    ///
    /// ```
    /// # use operations::{AccessControl, Context, Identity, Operation, Registry};
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), operations::CallError> {
    /// # let registry = Registry::new();
    /// let secret = Operation::query("demo", "secret", async |(): (), _: Context| Ok("42"));
    /// registry.register(secret.access(AccessControl::scopes(["demo:read"])))?;
    /// let envelope = registry
    ///     .call("demo.secret", ())
    ///     .identity(Identity::new("ada", ["demo:read"]))
    ///     .timeout(Duration::from_secs(5))
    ///     .await?;
    /// assert_eq!(envelope.data::<String>()?, "42");
    /// # Ok(())
    /// # }
    /// ```
    pub fn call(&self, id: impl Into<String>, input: impl Serialize) -> Call {
        Call::new(self.clone(), id.into(), serde_json::to_string(&input))
    }

    /// Calls a subscription. What this returns is a [`Stream`](futures::Stream) of envelopes.
    ///
    /// ```
    /// # use operations::{Context, Operation, Registry};
    /// use futures::{StreamExt, stream};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), operations::CallError> {
    /// # let registry = Registry::new();
    /// registry.register(Operation::subscription("demo", "count", |to: u32, _: Context| {
    ///     stream::iter((1..=to).map(Ok))
    /// }))?;
    /// let mut events = registry.subscribe("demo.count", 3);
    /// let first = events.next().await.expect("an event")?;
    /// assert_eq!(first.data::<u32>()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(&self, id: impl Into<String>, input: impl Serialize) -> Subscription {
        Subscription::new(Call::new(
            self.clone(),
            id.into(),
            serde_json::to_string(&input),
        ))
    }

    pub(crate) fn not_found(&self, id: &str) -> CallError {
        let ids = self.ids();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let hint = nearest_id(id, &ids).map(|near| format!(". Did you mean {near}?"));
        let message = format!("Operation not found: {id}{}", hint.unwrap_or_default());
        CallError::new(Code::OperationNotFound, message).with_details(json!({ "operationId": id }))
    }

    /// All operations, as the doors of a server describe them (`facade/serve/describe-http.ts`, `describe-mcp.ts`).
    pub(crate) fn described(&self, reader: Reader) -> Value {
        let all = reading(&self.described);
        let is_stream = |each: &Described| each.spec.operation_type == OperationType::Subscription;
        all.values()
            .filter(|each| reader == Reader::Http || !is_stream(each))
            .map(|each| each.for_clients(reader))
            .collect()
    }

    /// All operations, as other programs see them, with the rules who may (`operations_core::listed`); except those that were
    /// imported over this connection, whose ids are the second list.
    pub(crate) fn listed(&self, except: Option<u64>) -> (Vec<Value>, Vec<String>) {
        let (mut listed, mut left_out) = (Vec::new(), Vec::new());
        for (id, each) in reading(&self.described).iter() {
            let connection = each.source.map(|source| source.connection);
            if connection.is_some() && connection == except {
                left_out.push(id.clone());
            } else {
                let access = &each.spec.access_control;
                listed.push(json!({ "id": id, "access": access, "spec": each.for_peers() }));
            }
        }
        (listed, left_out)
    }
}

/// The operations of a registry while they are changed.
struct Operations<'a> {
    core: &'a registry::Registry,
    described: &'a mut IndexMap<String, Arc<Described>>,
    replaced: &'a mut Vec<Option<Arc<registry::Operation>>>,
}

impl Operations<'_> {
    fn set(&mut self, Prepared { described, core }: Prepared) {
        let id = described.spec.id();
        let is_same = described.source.is_some()
            && self
                .described
                .get(&id)
                .is_some_and(|known| **known == described);
        // Nothing changes, so nothing is reported to those who watch the registry.
        if is_same {
            return;
        }
        self.replaced.push(self.core.get(&id));
        self.described.insert(id, Arc::new(described));
        self.core.set(core);
    }

    fn remove(&mut self, id: &str) {
        self.replaced.push(self.core.get(id));
        self.described.shift_remove(id);
        self.core.remove(id);
    }
}

/// An operation whose schemas are compiled.
struct Prepared {
    described: Described,
    core: registry::Operation,
}

impl Prepared {
    fn new(operation: Operation, source: Option<Origin>) -> Result<Self, CallError> {
        let Operation {
            spec,
            about,
            input,
            output,
            handler,
        } = operation;
        let id = spec.id();
        if spec.namespace.is_empty() || spec.name.is_empty() || spec.namespace.contains('.') {
            let message = format!(
                "Operation {id:?} cannot be registered: it needs a namespace without dots, and a name"
            );
            return Err(CallError::invalid(message).with_details(json!({ "operationId": id })));
        }
        let program = |schema: &Option<Value>, which| {
            let compiled = schema.as_ref().map(compiled).transpose();
            compiled.map_err(|why| {
                let message = format!("The {which} schema of operation {id} cannot be used: {why}");
                CallError::invalid(message).with_details(json!({ "operationId": id }))
            })
        };
        let core = registry::Operation {
            spec: spec.clone(),
            input: Schema::ready(program(&input, "input")?.flatten()),
            output: Schema::ready(program(&output, "output")?.flatten()),
            work: Work::Native(handler),
        };
        let described = Described {
            spec,
            about,
            input,
            output,
            source,
        };
        Ok(Self { described, core })
    }

    fn id(&self) -> String {
        self.described.spec.id()
    }
}

impl Described {
    /// What every reader sees.
    fn to_json(&self, more: Value) -> Value {
        let Self { spec, about, .. } = self;
        let mut members = json!({
            "namespace": spec.namespace, "name": spec.name, "version": self.version(),
            "type": spec.operation_type, "title": about.title, "description": spec.description,
            "tags": about.tags,
        });
        if let (Value::Object(members), Value::Object(more)) = (&mut members, more) {
            members.extend(more);
            members.retain(|_, value| !value.is_null());
        }
        members
    }

    fn version(&self) -> &str {
        self.about.version.as_deref().unwrap_or("1.0.0")
    }

    fn errors(&self) -> Vec<Value> {
        let errors = self.spec.errors.iter();
        errors
            .map(|error| json!({ "code": error.code, "httpStatus": error.http_status }))
            .collect()
    }

    fn for_peers(&self) -> Value {
        let schema = |schema: &Option<Value>| schema.clone().unwrap_or_else(|| json!({}));
        self.to_json(json!({
            "errorSchemas": self.errors(),
            "inputSchema": schema(&self.input), "outputSchema": schema(&self.output),
        }))
    }

    fn for_clients(&self, reader: Reader) -> Value {
        let Self { spec, about, .. } = self;
        // Clients of MCP always send an object.
        let input = || json!({ "type": "object" });
        let output = || json!({});
        let (input, output) = (
            self.input.clone().unwrap_or_else(input),
            self.output.clone().unwrap_or_else(output),
        );
        self.to_json(match reader {
            Reader::Http => json!({
                "access": spec.access_control, "input": input, "output": output,
                "deprecated": about.deprecated, "errors": self.errors(), "request": about.request,
            }),
            Reader::Mcp => json!({
                "access": spec.access_control, "input": input, "output": output,
                "id": spec.id(), "annotations": about.annotations,
                "operation": {
                    "namespace": spec.namespace, "name": spec.name, "version": self.version(),
                    "access": spec.access_control, "errors": self.errors(),
                },
            }),
        })
    }
}

/// Compiles a schema; nothing where it lets everything pass.
pub(crate) fn compiled(schema: &Value) -> Result<Option<Arc<Program>>, String> {
    if schema.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(None);
    }
    let source = Source::try_from(schema).map_err(|error| error.to_string())?;
    let program = compile(&source, &CompileOptions::default());
    program
        .map(|program| Some(Arc::new(program)))
        .map_err(|error| error.to_string())
}

//! The operations of a program.

use std::fmt;
use std::sync::{Arc, RwLock};

use indexmap::IndexMap;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use operations_core::log::Logger;
use operations_core::nearest::nearest_id;
use operations_core::registry::{self, OutputMode, Schema, Work};
use operations_core::spec::OperationSpec;
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
pub(crate) struct Described {
    spec: OperationSpec,
    about: About,
    input: Option<Value>,
    output: Option<Value>,
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
        let operation = registry::Operation {
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
        };
        // First what is read about it: a server reads both when the second has changed.
        writing(&self.described).insert(id, Arc::new(described));
        self.core.set(operation);
        Ok(())
    }

    /// Removes an operation. Running calls go on.
    pub fn unregister(&self, id: &str) {
        writing(&self.described).shift_remove(id);
        self.core.remove(id);
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
    #[cfg(feature = "serve")]
    pub(crate) fn described(&self, for_mcp: bool) -> Value {
        let all = reading(&self.described);
        let is_stream = |each: &Described| {
            each.spec.operation_type == operations_core::spec::OperationType::Subscription
        };
        all.values()
            .filter(|each| !for_mcp || !is_stream(each))
            .map(|each| each.to_json(for_mcp))
            .collect()
    }
}

#[cfg(feature = "serve")]
impl Described {
    fn to_json(&self, for_mcp: bool) -> Value {
        let Self {
            spec,
            about,
            input,
            output,
        } = self;
        let version = about.version.as_deref().unwrap_or("1.0.0");
        let errors: Vec<Value> = spec
            .errors
            .iter()
            .map(|error| json!({ "code": error.code, "httpStatus": error.http_status }))
            .collect();
        // Clients of MCP always send an object.
        let anything = || json!({ "type": "object" });
        let mut members = json!({
            "namespace": spec.namespace, "name": spec.name, "version": version, "type": spec.operation_type,
            "title": about.title, "description": spec.description, "tags": about.tags,
            "access": spec.access_control, "input": input.clone().unwrap_or_else(anything),
            "output": output.clone().unwrap_or_else(|| json!({})),
        });
        let more = if for_mcp {
            let own = json!({
                "namespace": spec.namespace, "name": spec.name, "version": version,
                "access": spec.access_control, "errors": errors,
            });
            json!({ "id": spec.id(), "operation": own, "annotations": about.annotations })
        } else {
            json!({ "deprecated": about.deprecated, "errors": errors, "request": about.request })
        };
        if let (Value::Object(members), Value::Object(more)) = (&mut members, more) {
            members.extend(more);
        }
        members
    }
}

/// Compiles a schema; nothing where it lets everything pass.
fn compiled(schema: &Value) -> Result<Option<Arc<Program>>, String> {
    if schema.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(None);
    }
    let source = Source::try_from(schema).map_err(|error| error.to_string())?;
    let program = compile(&source, &CompileOptions::default());
    program
        .map(|program| Some(Arc::new(program)))
        .map_err(|error| error.to_string())
}

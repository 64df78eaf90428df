//! Operations, made of async closures with types that `serde` and `schemars` know.

use std::fmt;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use operations_core::access::{AccessControl, Identity};
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::registry::{self, Handler, Outcome, OutputMode, Produced};
use operations_core::spec::{DeclaredError, OperationSpec, OperationType};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What a handler learns about its call, beside the input.
///
/// ```
/// # use operations::{Operation, Context};
/// let whoami = Operation::query("users", "me", async |(): (), context: Context| {
///     Ok(context.identity().map(|identity| identity.id.clone()))
/// });
/// ```
#[derive(Debug, Clone)]
pub struct Context(registry::Context);

impl Context {
    /// Who calls, where that is known.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.0.identity.as_ref()
    }

    /// The id of the call.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// When the call must be done, in Unix milliseconds.
    #[must_use]
    pub fn deadline(&self) -> Option<f64> {
        self.0.deadline
    }

    /// Resolves when the caller has gone, or the deadline has passed.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }
}

/// A schema that describes a value; `None` where every value passes.
pub(crate) type GivenSchema = Option<Value>;

/// Something that can be called: a name, schemas, access rules and a handler.
///
/// ```
/// use operations::{AccessControl, Context, Operation};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let greet = Operation::query("demo", "greet", async |input: Greet, _: Context| {
///     Ok(format!("Hello, {}!", input.name))
/// })
/// .description("Greets a person by name")
/// .access(AccessControl::scopes(["demo:read"]));
/// assert_eq!(greet.id(), "demo.greet");
/// ```
pub struct Operation {
    pub(crate) spec: OperationSpec,
    pub(crate) about: About,
    pub(crate) input: GivenSchema,
    pub(crate) output: GivenSchema,
    pub(crate) handler: Arc<dyn Handler>,
}

/// What clients read about an operation, beside its spec.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct About {
    pub(crate) title: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) deprecated: bool,
    /// The request of an imported operation.
    pub(crate) request: Option<Value>,
    /// What an MCP server says about its tool.
    pub(crate) annotations: Option<Map<String, Value>>,
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("id", &self.id())
            .field("type", &self.spec.operation_type)
            .finish_non_exhaustive()
    }
}

impl Operation {
    /// An operation that reads.
    ///
    /// ```
    /// # use operations::{Context, Operation};
    /// let now = Operation::query("clock", "now", async |(): (), _: Context| Ok(42));
    /// ```
    pub fn query<I, O, F, W>(
        namespace: impl Into<String>,
        name: impl Into<String>,
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Fn(I, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<O, CallError>> + Send + 'static,
    {
        let handler = Arc::new(Closure(handler, PhantomData::<fn(I) -> O>));
        Self::typed::<I, O>(OperationType::Query, namespace, name, handler)
    }

    /// An operation that changes something.
    ///
    /// ```
    /// # use operations::{Context, Operation};
    /// let stop = Operation::mutation("engine", "stop", async |(): (), _: Context| Ok(true));
    /// ```
    pub fn mutation<I, O, F, W>(
        namespace: impl Into<String>,
        name: impl Into<String>,
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Fn(I, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<O, CallError>> + Send + 'static,
    {
        let mut operation = Self::query(namespace, name, handler);
        operation.spec.operation_type = OperationType::Mutation;
        operation
    }

    /// An operation that yields results until its stream ends. An error is the last item.
    ///
    /// ```
    /// # use operations::{Context, Operation};
    /// use futures::stream;
    ///
    /// let count = Operation::subscription("clock", "count", |to: u32, _: Context| {
    ///     stream::iter((1..=to).map(Ok))
    /// });
    /// ```
    pub fn subscription<I, O, F, S>(
        namespace: impl Into<String>,
        name: impl Into<String>,
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Fn(I, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<O, CallError>> + Send + 'static,
    {
        let handler = Arc::new(Events(handler, PhantomData::<fn(I) -> O>));
        Self::typed::<I, O>(OperationType::Subscription, namespace, name, handler)
    }

    fn typed<I: JsonSchema, O: JsonSchema>(
        operation_type: OperationType,
        namespace: impl Into<String>,
        name: impl Into<String>,
        handler: Arc<dyn Handler>,
    ) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
        let input = schema_of::<I>(settings.clone().into_generator());
        let output = schema_of::<O>(settings.for_serialize().into_generator());
        Self::new(operation_type, namespace, name, input, output, handler)
    }

    pub(crate) fn new(
        operation_type: OperationType,
        namespace: impl Into<String>,
        name: impl Into<String>,
        input: GivenSchema,
        output: GivenSchema,
        handler: Arc<dyn Handler>,
    ) -> Self {
        Self {
            spec: OperationSpec {
                name: name.into(),
                namespace: namespace.into(),
                operation_type,
                description: String::new(),
                access_control: AccessControl::default(),
                output: None,
                errors: Vec::new(),
                spills: false,
            },
            about: About::default(),
            input,
            output,
            handler,
        }
    }

    /// The key of the operation: `namespace.name`.
    #[must_use]
    pub fn id(&self) -> String {
        self.spec.id()
    }

    /// What it does, for people and for models.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = description.into();
        self
    }

    /// A few words to show instead of the name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.about.title = Some(title.into());
        self
    }

    /// Its version (default `1.0.0`).
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.about.version = Some(version.into());
        self
    }

    /// Who may call it. Without rules, every caller may.
    #[must_use]
    pub fn access(mut self, rules: AccessControl) -> Self {
        self.spec.access_control = rules;
        self
    }

    /// Declares an error that callers may see, and the HTTP status that stands for it.
    ///
    /// ```
    /// # use operations::{CallError, Context, Operation};
    /// let find = Operation::query("pages", "find", async |(): (), _: Context| {
    ///     Err::<String, _>(CallError::new("NOT_THERE", "There is no such page"))
    /// })
    /// .error("NOT_THERE", Some(404));
    /// ```
    #[must_use]
    pub fn error(mut self, code: impl Into<String>, http_status: Option<u16>) -> Self {
        self.spec.errors.push(DeclaredError {
            code: code.into(),
            http_status,
        });
        self
    }

    /// A JSON Schema for the input, in place of that of its type.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = Some(schema);
        self
    }

    /// A JSON Schema for the output, in place of that of its type.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// What happens to its outputs, where that is not what the registry does.
    #[must_use]
    pub fn output_mode(mut self, mode: OutputMode) -> Self {
        self.spec.output = Some(mode);
        self
    }
}

/// The schema of a type. `()` and values of any kind need no check.
fn schema_of<T: JsonSchema>(generator: SchemaGenerator) -> GivenSchema {
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove("title");
    }
    let passes_all = [json!(true), json!({}), json!({ "type": "null" })];
    (!passes_all.contains(&schema)).then_some(schema)
}

/// Reads the input. The schema has passed it, so what does not fit is something that only the type knows.
fn read<I: DeserializeOwned>(input: Option<&Document>) -> Result<I, CallError> {
    let given = input.map(|input| input.root().to_value());
    let given = given.unwrap_or_default();
    // A handler that takes `()` is called with `{}` by clients that always send an object.
    let is_empty = given.as_object().is_some_and(Map::is_empty);
    serde_json::from_value(given).or_else(|error| {
        let nothing = is_empty.then(|| serde_json::from_value(Value::Null).ok());
        let refused = || CallError::invalid(format!("The input cannot be used: {error}"));
        nothing.flatten().ok_or_else(refused)
    })
}

fn written<O: Serialize>(output: &O) -> Outcome {
    let value = serde_json::to_value(output)
        .map_err(|error| CallError::unexpected(format!("The output is no JSON: {error}")))?;
    Ok(Produced::Value(Some(Document::from(&value))))
}

fn panicked() -> CallError {
    CallError::unexpected("The handler panicked")
}

struct Closure<F, T>(F, PhantomData<T>);

impl<I, O, F, W> Handler for Closure<F, fn(I) -> O>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + 'static,
    F: Fn(I, Context) -> W + Send + Sync + 'static,
    W: Future<Output = Result<O, CallError>> + Send + 'static,
{
    fn call(
        &self,
        input: Option<Document>,
        context: registry::Context,
    ) -> BoxFuture<'static, Outcome> {
        let work = match read(input.as_ref()) {
            Ok(input) => {
                std::panic::catch_unwind(AssertUnwindSafe(|| (self.0)(input, Context(context))))
                    .map_err(|_| panicked())
            }
            Err(error) => Err(error),
        };
        async move {
            let done = AssertUnwindSafe(work?).catch_unwind().await;
            written(&done.map_err(|_| panicked())??)
        }
        .boxed()
    }

    fn subscribe(
        &self,
        input: Option<Document>,
        context: registry::Context,
    ) -> BoxStream<'static, Outcome> {
        stream::once(self.call(input, context)).boxed()
    }
}

struct Events<F, T>(F, PhantomData<T>);

impl<I, O, F, S> Handler for Events<F, fn(I) -> O>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + 'static,
    F: Fn(I, Context) -> S + Send + Sync + 'static,
    S: Stream<Item = Result<O, CallError>> + Send + 'static,
{
    fn call(
        &self,
        input: Option<Document>,
        context: registry::Context,
    ) -> BoxFuture<'static, Outcome> {
        let mut events = self.subscribe(input, context);
        async move { events.next().await.unwrap_or(Ok(Produced::Value(None))) }.boxed()
    }

    fn subscribe(
        &self,
        input: Option<Document>,
        context: registry::Context,
    ) -> BoxStream<'static, Outcome> {
        let opened = read(input.as_ref()).and_then(|input| {
            let open = AssertUnwindSafe(|| (self.0)(input, Context(context)));
            std::panic::catch_unwind(open).map_err(|_| panicked())
        });
        match opened {
            Err(error) => stream::once(async { Err(error.into()) }).boxed(),
            Ok(events) => AssertUnwindSafe(events)
                .catch_unwind()
                .map(|event| written(&event.map_err(|_| panicked())??))
                .boxed(),
        }
    }
}

//! Calls, and what they give.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use operations_core::access::Identity;
use operations_core::clock;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::registry::{self, Answer, Route};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::registry::Registry;

/// A result, and where it came from.
///
/// ```
/// # use operations::{Context, Operation, Registry};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::CallError> {
/// # let registry = Registry::new();
/// registry.register(Operation::query("demo", "one", async |(): (), _: Context| Ok(1)))?;
/// let envelope = registry.call("demo.one", ()).await?;
/// assert_eq!(envelope.data::<u8>()?, 1);
/// assert_eq!(envelope.meta()["source"], "local");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Envelope(ResponseEnvelope);

impl Envelope {
    /// The result.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when it does not have this type.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        serde_json::from_str(self.0.data().unwrap_or("null"))
            .map_err(|error| CallError::invalid(format!("The result has another type: {error}")))
    }

    /// Where it came from: `source` is `local`, `http` or `mcp`.
    #[must_use]
    pub fn meta(&self) -> Value {
        let meta = self.0.meta().unwrap_or("null");
        serde_json::from_str(meta).unwrap_or_default()
    }

    /// All of it, as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.text()
    }
}

/// A call that is about to be made: `.await` makes it.
///
/// ```
/// # use operations::{Context, Identity, Operation, Registry};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::CallError> {
/// # let registry = Registry::new();
/// # registry.register(Operation::query("demo", "one", async |(): (), _: Context| Ok(1)))?;
/// let call = registry.call("demo.one", ()).timeout(Duration::from_secs(5));
/// let envelope = call.identity(Identity::new("ada", ["demo"])).await?;
/// assert_eq!(envelope.data::<u8>()?, 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is called before this is awaited"]
pub struct Call {
    registry: Registry,
    request: registry::Call,
    unreadable: Option<CallError>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.request.operation_id;
        f.debug_struct("Call")
            .field("id", id)
            .finish_non_exhaustive()
    }
}

impl Call {
    pub(crate) fn new(
        registry: Registry,
        operation_id: String,
        input: serde_json::Result<String>,
    ) -> Self {
        let (input, unreadable) = match input {
            Ok(text) => (Some(text), None),
            Err(error) => {
                let message = format!("The input of operation {operation_id} is no JSON: {error}");
                (None, Some(CallError::invalid(message)))
            }
        };
        Self {
            registry,
            request: registry::Call {
                operation_id,
                input,
                context: registry::Context::default(),
            },
            unreadable,
        }
    }

    /// On whose behalf the call is made.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.request.context.identity = Some(identity);
        self
    }

    /// How long it may take. After that it fails with `TIMEOUT`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.request.context.deadline = Some(clock::now() + timeout.as_secs_f64() * 1_000.0);
        self
    }

    /// A name for the call, which its handler sees.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request.context.request_id = Some(id.into());
        self
    }

    fn answer(self) -> Result<(Answer, String), CallError> {
        if let Some(error) = self.unreadable {
            return Err(error);
        }
        let id = self.request.operation_id.clone();
        if self.registry.core.get(&id).is_none() {
            return Err(self.registry.not_found(&id));
        }
        match self.registry.core.route(self.request) {
            Route::Here(served) => Ok((served.answer(), id)),
            Route::Host => Err(not_here(&id)),
        }
    }
}

/// The operation is there, but this process cannot do the call.
pub(crate) fn not_here(id: &str) -> CallError {
    let message = format!(
        "Operation {id} cannot be called from Rust: it takes or gives binary data, or has a schema that only JavaScript can check"
    );
    CallError::failed(message).with_details(json!({ "operationId": id, "delivery": "none" }))
}

impl IntoFuture for Call {
    type Output = Result<Envelope, CallError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let guard = self.request.context.cancel.clone().drop_guard();
        async move {
            let _guard = guard;
            match self.answer()? {
                (Answer::One(answer), _) => answer.await.map(Envelope),
                (Answer::Many(_), id) => {
                    let message = format!("Operation {id} is a subscription: use subscribe");
                    let details = json!({ "operationId": id });
                    Err(CallError::failed(message).with_details(details))
                }
            }
        }
        .boxed()
    }
}

/// The events of a subscription: a [`Stream`] of envelopes, with an error as the last item. Dropping it ends the work.
///
/// ```
/// # use operations::{Context, Operation, Registry};
/// use futures::{StreamExt, stream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::CallError> {
/// # let registry = Registry::new();
/// # registry.register(Operation::subscription("demo", "count", |to: u32, _: Context| stream::iter((1..=to).map(Ok))))?;
/// let mut events = registry.subscribe("demo.count", 2);
/// while let Some(event) = events.next().await {
///     println!("{}", event?.data::<u32>()?);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is called before this is polled"]
pub struct Subscription(
    Option<Call>,
    BoxStream<'static, Result<Envelope, CallError>>,
);

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Subscription {
    pub(crate) fn new(call: Call) -> Self {
        Self(Some(call), stream::empty().boxed())
    }

    /// On whose behalf the call is made. It does nothing once the stream was polled.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.0 = self.0.map(|call| call.identity(identity));
        self
    }

    /// How long the whole stream may take. It does nothing once the stream was polled.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0 = self.0.map(|call| call.timeout(timeout));
        self
    }
}

impl Stream for Subscription {
    type Item = Result<Envelope, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(call) = self.0.take() {
            let guard = call.request.context.cancel.clone().drop_guard();
            let events = match call.answer() {
                Err(error) => stream::once(async { Err(error) }).boxed(),
                Ok((Answer::One(answer), _)) => stream::once(answer).boxed(),
                Ok((Answer::Many(events), _)) => events,
            };
            self.1 = events
                .map(move |event| {
                    let _ = &guard;
                    event.map(Envelope)
                })
                .boxed();
        }
        self.1.poll_next_unpin(cx)
    }
}

//! The registry with scripted handlers, for the test that holds its pipeline against the facade's own.
//! In test builds only.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use operations_core::call::{CallEvent, EventType};
use operations_core::error::CallError;
use operations_core::json::{Document, Json, Kind, Object, push_string};
use operations_core::registry::{
    Answer, Call, Context, Envelope, Handler, Outcome, Produced, Registry, Route, Work,
};
use tokio_util::sync::CancellationToken;

use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;
use crate::registry::{NativeRegistry, compiled};
use crate::schema;

/// Scripted operations of a native registry, and calls of them.
#[napi]
pub struct RegistryHooks {
    bridge: Arc<Bridge>,
}

#[napi]
impl RegistryHooks {
    /// Uses the errors of the given runtime.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(runtime: &Runtime) -> Self {
        Self {
            bridge: Arc::clone(&runtime.bridge),
        }
    }

    /// Registers an operation whose handler does what `metadata.script` of each call says.
    #[napi(catch_unwind)]
    pub fn set_scripted(
        &self,
        env: Env,
        registry: &NativeRegistry,
        spec: String,
        input: Option<&schema::Schema>,
        output: Option<&schema::Schema>,
    ) -> napi::Result<()> {
        let work = Work::Native(Arc::new(Scripted));
        registry.set(&env, &spec, compiled(input), compiled(output), work)
    }

    /// Does calls in turn. `events` are payloads of `call.requested`; the answer is JSON too: a list with
    /// `{ envelopes, error? }` for each call, or null for one that is left to JavaScript.
    #[napi(catch_unwind)]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        registry: &NativeRegistry,
        events: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let registry = Arc::clone(&registry.registry);
        let work = async move {
            let mut json = String::from("[");
            for (index, event) in events.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                run_one(&registry, event, &mut json).await?;
            }
            json.push(']');
            Ok(json)
        };
        self.bridge.spawn(env, work, |_, json| Ok(json))
    }
}

async fn run_one(
    registry: &Arc<Registry>,
    event: &str,
    json: &mut String,
) -> Result<(), CallError> {
    let odd = || CallError::unknown(format!("This is not a request: {event}"));
    let payload = Object::read(event).map_err(|_| odd())?;
    let Ok(CallEvent::Requested(event)) = CallEvent::read_payload(EventType::Requested, &payload)
    else {
        return Err(odd());
    };
    let served = match registry.route(Call::of_event(&event, CancellationToken::new())) {
        Route::Here(served) => served,
        Route::Host => {
            json.push_str("null");
            return Ok(());
        }
    };
    let mut outcomes = match served.answer() {
        Answer::One(answer) => answer.into_stream().boxed(),
        Answer::Many(answers) => answers,
    };
    json.push_str("{\"envelopes\":[");
    let mut error = None;
    let mut is_first = true;
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Err(failure) => error = Some(failure),
            Ok(envelope) => {
                if !is_first {
                    json.push(',');
                }
                is_first = false;
                json.push_str(envelope.text());
            }
        }
    }
    json.push(']');
    if let Some(CallError {
        code,
        message,
        details,
        ..
    }) = error
    {
        json.push_str(",\"error\":{\"code\":");
        push_string(json, &code);
        json.push_str(",\"message\":");
        push_string(json, &message);
        if let Some(details) = details {
            json.push_str(",\"details\":");
            json.push_str(&details.to_string());
        }
        json.push('}');
    }
    json.push('}');
    Ok(())
}

/// Does what the script says: `metadata.script` is a step, or a list of steps for a stream.
struct Scripted;

impl Handler for Scripted {
    /// What no native handler can do is left to JavaScript.
    fn takes(&self, context: &Context) -> bool {
        !context.mentions(&["isForHost"])
    }

    fn call(&self, _: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        async move { script(&context).map_or(Ok(Produced::Value(None)), |script| step(script.root())) }
            .boxed()
    }

    fn subscribe(&self, _: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        let script = script(&context);
        let steps: Vec<Outcome> = script
            .iter()
            .flat_map(|script| script.root().elements())
            .map(step)
            .collect();
        stream::iter(steps).boxed()
    }
}

fn script(context: &Context) -> Option<Document> {
    let metadata = Object::read(context.metadata.as_deref()?).ok()?;
    Document::parse(metadata.get("script")?).ok()
}

/// `{ value? }`, `{ meta, data?, isDeclared }` or `{ code, message, details? }`.
fn step(step: Json<'_>) -> Outcome {
    let text = |name| step.get(name).and_then(Json::as_str).map(str::to_owned);
    let document = |name| {
        step.get(name)
            .and_then(|value| Document::parse(value.text()).ok())
    };
    if let Some(code) = text("code") {
        let mut error = CallError::new(code, text("message").unwrap_or_default());
        error.details = step
            .get("details")
            .and_then(|details| serde_json::from_str(details.text()).ok());
        return Err(error.into());
    }
    Ok(match step.get("meta") {
        None => Produced::Value(document("value")),
        Some(meta) => Produced::Envelope(Envelope {
            data: document("data"),
            meta: meta.text().to_owned(),
            is_declared: step.get("isDeclared").map(Json::kind) == Some(Kind::Bool(true)),
        }),
    })
}

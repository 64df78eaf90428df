//! A tool as a handler of the registry: a call that needs nothing of the host. What the server asks in its course
//! goes to the host all the same.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use operations_core::clock;
use operations_core::json::Document;
use operations_core::registry::{Context, Handler, Outcome, Produced};
use operations_spill::SpillStore;

use super::{CallOptions, Client, SpillSlot, result};

/// One tool of a server.
#[derive(Clone)]
pub struct ToolHandler {
    /// The server.
    pub client: Arc<Client>,
    /// What it calls the tool.
    pub tool: String,
    /// Where large results go, for callers who can be handed a file.
    pub spills: Option<Arc<SpillStore>>,
}

impl Handler for ToolHandler {
    fn takes(&self, context: &Context) -> bool {
        // What the metadata of a call may say is the host's business.
        !context.mentions(&["timeout", "resetTimeoutOnProgress"]) && !context.names_approval()
    }

    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        let Self {
            client,
            tool,
            spills,
        } = self.clone();
        let slot = spills.filter(|_| context.takes_files).map(SpillSlot::new);
        async move {
            let arguments = input.map(|input| input.root().stringify());
            let options = CallOptions {
                deadline: context.deadline.map(clock::until),
                slot: slot.clone(),
                trace: context.trace.clone(),
                ..CallOptions::default()
            };
            let called = client.call_tool(&tool, arguments.as_deref(), options, &context.cancel);
            let mut envelope = result::envelope(client.config(), &tool, called.await?)?;
            if let Some(file) = slot.and_then(|slot| slot.take()) {
                let data = serde_json::Value::from(file.preview).to_string();
                envelope.data = Document::parse(data).ok();
                file.spilled.push_to(&mut envelope.meta, file.content_type);
                // The beginning of a result is not the declared shape.
                envelope.is_declared = false;
            }
            Ok(Produced::Envelope(envelope))
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        // No tool is a subscription. One that is registered as such has one result.
        stream::once(self.call(input, context)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures::TryFutureExt;
    use operations_core::envelope::ResponseEnvelope;
    use operations_core::error::{CallError, InfrastructureErrorCode as Code};
    use operations_core::log::Logger;
    use operations_core::registry::{
        Answer, Call, Operation, OutputMode, Registry, Route, Schema, Work,
    };
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::client::scripted::{Scripted, scripted, until};

    const NEVER: f64 = f64::INFINITY;

    fn registry(client: &Arc<Client>) -> Arc<Registry> {
        let registry = Registry::new(OutputMode::Normalise, Logger::silent());
        let spec = json!({
            "namespace": "demo", "name": "tool", "type": "mutation", "description": "",
            "accessControl": { "requiredScopes": [] },
        });
        registry.set(Operation {
            spec: serde_json::from_value(spec).unwrap(),
            input: Schema::ready(None),
            output: Schema::ready(None),
            work: Work::Native(Arc::new(ToolHandler {
                client: Arc::clone(client),
                tool: "tool".to_owned(),
                spills: None,
            })),
        });
        Arc::new(registry)
    }

    fn call(input: Option<&str>, deadline: f64, cancel: &CancellationToken) -> Call {
        Call {
            operation_id: "demo.tool".to_owned(),
            input: input.map(ToOwned::to_owned),
            context: Context {
                deadline: Some(deadline).filter(|deadline| deadline.is_finite()),
                cancel: cancel.clone(),
                ..Context::default()
            },
        }
    }

    fn answer(client: &Arc<Client>, call: Call) -> BoxFuture<'static, Result<String, CallError>> {
        match registry(client).route(call) {
            Route::Here(served) => match served.answer() {
                Answer::One(answer) => answer.map_ok(ResponseEnvelope::into_text).boxed(),
                Answer::Many(_) => panic!("a stream"),
            },
            Route::Host => panic!("the host"),
        }
    }

    async fn envelope(script: Arc<Scripted>, settings: Value) -> Result<Value, CallError> {
        let client = scripted(settings, script);
        let call = call(Some(r#"{"a":1}"#), NEVER, &CancellationToken::new());
        let text = answer(&client, call).await?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[tokio::test]
    async fn a_result_becomes_an_envelope() {
        let script = Scripted::answering(
            r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"b":[1]},"_meta":{"c":2}}"#,
        );
        let answered = envelope(Arc::clone(&script), json!({})).await.unwrap();
        let meta = json!({
            "isError": false,
            "content": [{ "type": "text", "text": "x" }],
            "structuredContent": { "b": [1] },
            "_meta": { "c": 2 },
            "source": "mcp",
        });
        assert_eq!(answered, json!({ "data": { "b": [1] }, "meta": meta }));
        let sent = script.sent();
        let request: Value = serde_json::from_str(&sent[0]).unwrap();
        assert_eq!(request["method"], "tools/call");
        assert_eq!(
            request["params"],
            json!({ "name": "tool", "arguments": { "a": 1 } })
        );
        assert_eq!(sent.len(), 1);
    }

    #[tokio::test]
    async fn a_tool_that_fails_says_so_in_an_envelope_or_an_error() {
        let failed = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
        let envelope_json = envelope(Scripted::answering(failed), json!({}))
            .await
            .unwrap();
        assert_eq!(envelope_json["meta"]["isError"], true);
        assert_eq!(
            envelope_json["data"],
            json!([{ "type": "text", "text": "no" }])
        );
        let settings = json!({ "throwsToolErrors": true });
        let error = envelope(Scripted::answering(failed), settings)
            .await
            .unwrap_err();
        assert_eq!(error.code, Code::ExecutionError.as_str());
        assert_eq!(error.message, "MCP server 'demo', tool 'tool' failed: no");
        assert_eq!(
            error.details.unwrap()["envelope"]["meta"]["isError"],
            json!(true)
        );
    }

    #[tokio::test]
    async fn what_is_no_object_is_refused_before_it_is_sent() {
        let script = Scripted::answering("{}");
        let client = scripted(json!({}), Arc::clone(&script));
        let cancel = CancellationToken::new();
        let error = answer(&client, call(Some("null"), NEVER, &cancel)).await;
        assert_eq!(error.unwrap_err().code, Code::ValidationError.as_str());
        assert!(script.sent().is_empty());
    }

    #[tokio::test]
    async fn an_error_of_the_protocol_is_an_error() {
        let script = Scripted::refusing(r#"{"code":-32602,"message":"Unknown tool","data":[1]}"#);
        let error = envelope(script, json!({})).await.unwrap_err();
        let details = error.details.unwrap();
        assert_eq!(details["rpcCode"], json!(-32602));
        assert_eq!(details["rpcData"], json!([1]));
        assert_eq!(details["tool"], "tool");
    }

    #[tokio::test]
    async fn cancelling_tells_the_server() {
        let script = Scripted::silent();
        let client = scripted(json!({}), Arc::clone(&script));
        let cancel = CancellationToken::new();
        let waiting = tokio::spawn(answer(&client, call(None, NEVER, &cancel)));
        until(|| script.sent().len() == 1).await;
        cancel.cancel();
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!(error.code, Code::Aborted.as_str());
        assert!(script.sent()[1].contains("notifications/cancelled"));
    }

    #[tokio::test]
    async fn a_deadline_ends_the_call_and_tells_the_server() {
        let script = Scripted::silent();
        let client = scripted(json!({}), Arc::clone(&script));
        let soon = call(None, clock::now() + 50.0, &CancellationToken::new());
        let error = answer(&client, soon).await.unwrap_err();
        assert_eq!(error.code, Code::Timeout.as_str());
        until(|| script.sent().len() == 2).await;
        assert!(script.sent()[1].contains("notifications/cancelled"));
    }

    #[tokio::test]
    async fn a_far_deadline_does_not_lengthen_the_time_limit() {
        let client = scripted(json!({ "timeout": 20 }), Scripted::silent());
        let far = call(None, clock::now() + 3_600_000.0, &CancellationToken::new());
        let error = answer(&client, far).await.unwrap_err();
        assert_eq!(error.code, Code::Timeout.as_str());
        assert_eq!(error.details.unwrap()["timeout"], json!(20));
    }

    #[tokio::test]
    async fn metadata_that_could_steer_the_call_is_left_to_the_host() {
        let registry = registry(&scripted(json!({}), Scripted::silent()));
        let routed = |metadata: &str| {
            let mut call = call(None, NEVER, &CancellationToken::new());
            call.context.metadata = Some(metadata.to_owned());
            matches!(registry.route(call), Route::Here(_))
        };
        assert!(routed(r#"{"other":1}"#));
        assert!(!routed(r#"{"timeout":1}"#));
        assert!(!routed(r#"{"resetTimeoutOnProgress":true}"#));
    }
}

//! A registry, a host, and requests.

use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::log::Logger;
use operations_core::mailbox::Mailbox;
use operations_core::registry::{
    Context, Handler, Operation, Outcome, OutputMode, Produced, Registry, Schema, Work,
};
use operations_serve::body::Body;
use operations_serve::{JsBridge, Options, Service};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt;

/// A native handler that does what its input says.
pub(crate) struct Scripted;

fn produced(input: Option<&Document>) -> Outcome {
    let input = input
        .map(|input| input.root().to_value())
        .unwrap_or_default();
    if let Some(fail) = input.get("fail") {
        let mut error = CallError::new(fail.as_str().unwrap_or_default().to_owned(), "it failed");
        error.details = input.get("details").cloned();
        return Err(error.into());
    }
    assert!(input.get("panic").is_none(), "as it was received");
    let data = input.get("gives").cloned();
    Ok(Produced::Value(data.as_ref().map(Document::from)))
}

impl Handler for Scripted {
    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        async move {
            let waits = input
                .as_ref()
                .is_some_and(|input| input.root().get("waits").is_some());
            if waits {
                context.cancel.cancelled().await;
            }
            produced(input.as_ref())
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
        let input = input
            .map(|input| input.root().to_value())
            .unwrap_or_default();
        let steps = input.as_array().cloned().unwrap_or_default();
        stream::iter(steps)
            .map(|step| produced(Some(&Document::from(&step))))
            .boxed()
    }
}

/// What the host says about its operations, to clients of HTTP.
fn description() -> Value {
    let flat = json!({
        "type": "object",
        "properties": { "gives": { "type": "string" }, "n": { "type": "integer" } },
    });
    let item = json!({
        "type": "object",
        "properties": { "gives": { "type": "string" }, "body": { "type": "object" } },
        "required": ["gives"],
    });
    let request = json!({
        "method": "PUT", "path": "/items/{gives}",
        "parameters": [{
            "name": "gives", "input": "gives", "location": "path", "style": "simple", "required": true,
        }],
        "body": { "input": "body", "mediaType": "application/json" },
    });
    let each = |name: &str, kind: &str, scopes: &[&str], input: &Value, request: &Value| {
        json!({
            "namespace": "t", "name": name, "type": kind, "description": "", "input": input,
            "access": { "requiredScopes": scopes }, "request": request,
        })
    };
    let (any, none) = (json!({}), json!(null));
    json!([
        each("native", "mutation", &[], &any, &none),
        each("secret", "mutation", &["admin"], &any, &none),
        each("flat", "query", &[], &flat, &none),
        each("imported", "mutation", &["admin"], &item, &request),
        each("stream", "subscription", &[], &any, &none),
    ])
}

/// What the host is asked, as `(kind, id, value)`.
pub(crate) type Asked = (u64, String, Value);

pub(crate) struct Served {
    pub(crate) service: Service,
    pub(crate) registry: Arc<Registry>,
    pub(crate) js: Arc<JsBridge>,
    pub(crate) asked: mpsc::UnboundedReceiver<Asked>,
    /// What the host does in the middle of being asked, as one on another thread may.
    pub(crate) at_once: AtOnce,
    /// What is logged.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

/// Gets the host and the id of a question.
pub(crate) type AtOnce = Arc<OnceLock<fn(&JsBridge, &str)>>;

/// Serves a registry with the operations `t.native`, `t.stream` (done here), `t.host` and `t.events` (the host's).
pub(crate) fn served(more: &Value) -> Served {
    let registry = Arc::new(Registry::new(OutputMode::Normalise, Logger::silent()));
    let add = |name: &str, kind: &str, scopes: &[&str], work: Work| {
        let spec = json!({
            "namespace": "t", "name": name, "type": kind, "description": "",
            "accessControl": { "requiredScopes": scopes },
            "errors": [{ "code": "GONE", "httpStatus": 410 }],
        });
        registry.set(Operation {
            spec: serde_json::from_value(spec).unwrap(),
            input: Schema::ready(None),
            output: Schema::ready(None),
            work,
        });
    };
    let native = || Work::Native(Arc::new(Scripted));
    add("native", "mutation", &[], native());
    add("secret", "mutation", &["admin"], native());
    add("stream", "subscription", &[], native());
    add("flat", "query", &[], native());
    add("imported", "mutation", &["admin"], native());
    add("host", "mutation", &[], Work::Host);
    add("events", "subscription", &[], Work::Host);
    let (sender, asked) = mpsc::unbounded_channel();
    // The mailbox wakes us; what is in it is taken at once, as an idle host would.
    let mailbox: Arc<Mutex<Option<Arc<Mailbox>>>> = Arc::default();
    let reader = Arc::clone(&mailbox);
    let hosted: Arc<OnceLock<Arc<JsBridge>>> = Arc::default();
    let answers = Arc::clone(&hosted);
    let at_once: AtOnce = Arc::default();
    let answer_at_once = Arc::clone(&at_once);
    let made = Arc::new(Mailbox::new(move || {
        let mailbox = reader.lock().unwrap().clone();
        let sender = sender.clone();
        let answers = Arc::clone(&answers);
        let answer_at_once = answer_at_once.get().copied();
        let look = move || {
            while let Some(batch) = mailbox.as_ref().and_then(|mailbox| mailbox.take()) {
                let items: Value = serde_json::from_str(&batch.text).expect("a batch is JSON");
                for item in items.as_array().unwrap().iter().skip(1) {
                    let id = item[1].as_str().unwrap().to_owned();
                    let js = answers.get().expect("a bridge");
                    if item[2] == json!({ "describe": "http" }) {
                        js.respond(&id, &description().to_string());
                        continue;
                    }
                    if let Some(answer) = answer_at_once {
                        answer(js, &id);
                        continue;
                    }
                    let _ = sender.send((item[0].as_u64().unwrap(), id, item[2].clone()));
                }
            }
        };
        if answer_at_once.is_some() {
            look();
        } else {
            tokio::spawn(async move { look() });
        }
    }));
    *mailbox.lock().unwrap() = Some(Arc::clone(&made));
    let mut options = json!({
        "doors": { "http": { "path": "/api" } },
        "maxBodyBytes": 1000, "timeout": 0, "requestTimeout": 5000,
        "requestHeaders": ["accept-language"], "responseHeaders": ["etag"],
    });
    for (name, value) in more.as_object().unwrap() {
        options[name] = value.clone();
    }
    let options = Options::read(&options.to_string()).unwrap();
    let js = Arc::new(JsBridge::new(made));
    let _ = hosted.set(Arc::clone(&js));
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = Arc::clone(&log);
    let logger = Logger::new(move |record| lines.lock().unwrap().push(record.message));
    let service = Service::new(
        options,
        Arc::clone(&registry),
        Arc::clone(&js),
        logger,
        Arc::default(),
    );
    Served {
        service: service.unwrap(),
        registry,
        js,
        asked,
        at_once,
        log,
    }
}

pub(crate) fn post(path: &str, input: &Value) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::from(input.to_string()))
        .unwrap()
}

/// Sends a request through the service as tower has it.
pub(crate) async fn send(service: &Service, request: Request<Full<Bytes>>) -> Response<Body> {
    service.clone().oneshot(request).await.expect("an answer")
}

pub(crate) async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_str(&text(response).await).expect("JSON")
}

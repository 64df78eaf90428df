//! The pipeline, without Node: what arrives as JSON leaves as an envelope in JSON, or as an error.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt, stream};
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::{CallError, Failure};
use operations_core::json::Document;
use operations_core::log::{Logger, Record};
use operations_core::registry::{
    Answer, Call, Context, Envelope, Handler, HostOnly, Operation, Outcome, OutputMode, Produced,
    Registry, Route, Schema, Served, Work,
};
use operations_schema::{CompileOptions, Program, Source, compile};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Gives what it was set up with, and counts.
struct Scripted {
    gives: Vec<Result<Value, CallError>>,
    calls: AtomicUsize,
}

fn value(value: &Value) -> Produced {
    Produced::Value(Some(Document::from(value)))
}

impl Handler for Scripted {
    fn takes(&self, context: &Context) -> bool {
        !context.mentions(&["headers"])
    }

    fn call(&self, _: Option<Document>, _: Context) -> BoxFuture<'static, Outcome> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let gives = self.gives.first().cloned();
        async move {
            match gives {
                Some(gives) => gives
                    .as_ref()
                    .map(value)
                    .map_err(|error| error.clone().into()),
                None => Ok(Produced::Value(None)),
            }
        }
        .boxed()
    }

    fn subscribe(&self, _: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
        let items = self.gives.clone().into_iter();
        stream::iter(items.map(|item| Ok(value(&item?)))).boxed()
    }
}

/// Does nothing until it is cancelled, and records that.
struct Patient(Arc<Mutex<Vec<&'static str>>>);

impl Handler for Patient {
    fn call(&self, _: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        let seen = Arc::clone(&self.0);
        async move {
            context.cancel.cancelled().await;
            seen.lock().unwrap().push("cancelled");
            Err(CallError::new("ABORTED", "the handler's own words").into())
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        let first = stream::once(async { Ok(value(&json!(1))) });
        first.chain(stream::once(self.call(input, context))).boxed()
    }
}

fn program(schema: &Value) -> Arc<Program> {
    let source = Source::try_from(schema).unwrap();
    Arc::new(compile(&source, &CompileOptions::default()).unwrap())
}

fn schema(schema: &Value) -> Schema {
    Schema::ready((!schema.is_null()).then(|| program(schema)))
}

struct Fixture {
    registry: Arc<Registry>,
    warnings: Arc<Mutex<Vec<Record>>>,
}

impl Fixture {
    fn new(output: OutputMode) -> Self {
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&warnings);
        let logger = Logger::new(move |record| lines.lock().unwrap().push(record));
        let registry = Arc::new(Registry::new(output, logger));
        Self { registry, warnings }
    }

    /// Registers `ns.<name>`; the rest of the spec is as given, or open.
    fn add(&self, name: &str, spec: Value, input: &Value, output: &Value, work: Work) {
        let mut whole = json!({
            "name": name, "namespace": "ns", "type": "query", "description": "",
            "accessControl": { "requiredScopes": [] },
        });
        if let (Value::Object(whole), Value::Object(spec)) = (&mut whole, spec) {
            whole.extend(spec);
        }
        self.registry.set(Operation {
            spec: serde_json::from_value(whole).unwrap(),
            input: schema(input),
            output: schema(output),
            work,
        });
    }

    fn gives(&self, name: &str, output: &Value, gives: Value) {
        self.add(name, json!({}), &Value::Null, output, scripted([Ok(gives)]));
    }

    fn served(&self, name: &str, input: Option<&str>, context: Context) -> Served {
        match self.registry.route(call(name, input, context)) {
            Route::Here(served) => *served,
            other @ Route::Host => panic!("{name}: {other:?}"),
        }
    }

    async fn execute(&self, name: &str, input: Option<&str>) -> Result<Value, CallError> {
        let text = one(self.served(name, input, Context::default())).await?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap();
        warnings.drain(..).map(|record| record.message).collect()
    }
}

fn one(served: Served) -> BoxFuture<'static, Result<String, CallError>> {
    match served.answer() {
        Answer::One(answer) => answer.map_ok(ResponseEnvelope::into_text).boxed(),
        Answer::Many(_) => panic!("a stream"),
    }
}

async fn all(served: Served) -> Vec<Result<String, CallError>> {
    match served.answer() {
        Answer::One(_) => panic!("no stream"),
        Answer::Many(items) => items.map_ok(ResponseEnvelope::into_text).collect().await,
    }
}

fn call(name: &str, input: Option<&str>, context: Context) -> Call {
    Call {
        operation_id: format!("ns.{name}"),
        input: input.map(ToOwned::to_owned),
        context,
    }
}

fn scripted<const N: usize>(gives: [Result<Value, CallError>; N]) -> Work {
    Work::Native(Arc::new(Scripted {
        gives: gives.into(),
        calls: AtomicUsize::new(0),
    }))
}

#[tokio::test]
async fn a_value_is_wrapped_and_an_envelope_is_recognised() {
    let fixture = Fixture::new(OutputMode::Normalise);
    fixture.gives("value", &Value::Null, json!({ "data": 1 }));
    let envelope = fixture.execute("value", None).await.unwrap();
    assert_eq!(envelope["data"], json!({ "data": 1 }));
    assert_eq!(envelope["meta"]["source"], "local");
    assert_eq!(envelope["meta"]["operationId"], "ns.value");
    assert!(envelope["meta"]["timestamp"].is_u64());

    let own = json!({
        "more": 1,
        "data": { "a": "1", "b": 2 },
        "meta": { "source": "http", "statusCode": 201, "headers": {}, "contentType": "x" },
    });
    let declared = json!({ "type": "object", "properties": { "a": { "type": "number" } } });
    fixture.gives("own", &declared, own.clone());
    let envelope = fixture.execute("own", None).await.unwrap();
    assert_eq!(envelope["data"], json!({ "a": 1 }));
    assert_eq!(
        (&envelope["meta"], &envelope["more"]),
        (&own["meta"], &own["more"])
    );
}

#[tokio::test]
async fn what_is_not_the_declared_shape_is_not_touched() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let declared =
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "number" } } });
    let failed = json!({ "data": [], "meta": { "source": "mcp", "isError": true, "content": [] } });
    fixture.gives("failed", &declared, failed.clone());
    assert_eq!(fixture.execute("failed", None).await.unwrap(), failed);
    assert_eq!(fixture.warnings(), [""; 0]);
}

#[tokio::test]
async fn outputs_are_shaped_as_the_operation_or_the_registry_says_and_warned_about() {
    let declared = json!({
        "type": "object", "required": ["n"],
        "properties": { "n": { "type": "number" } }, "additionalProperties": false,
    });
    let gives = json!({ "n": "7", "x": 1 });
    for (registry, operation, expected, warned) in [
        (OutputMode::Normalise, None, json!({ "n": 7 }), false),
        (OutputMode::Keep, None, json!({ "n": 7, "x": 1 }), true),
        (OutputMode::Off, None, gives.clone(), true),
        (OutputMode::Off, Some("normalise"), json!({ "n": 7 }), false),
        (OutputMode::Normalise, Some("off"), gives.clone(), true),
    ] {
        let fixture = Fixture::new(registry);
        let spec = operation.map_or(json!({}), |mode| json!({ "output": mode }));
        fixture.add(
            "op",
            spec,
            &Value::Null,
            &declared,
            scripted([Ok(gives.clone())]),
        );
        let envelope = fixture.execute("op", None).await.unwrap();
        assert_eq!(envelope["data"], expected, "{registry:?} {operation:?}");
        let warnings = fixture.warnings();
        assert_eq!(!warnings.is_empty(), warned, "{warnings:?}");
        for warning in &warnings {
            assert!(
                warning
                    .starts_with("The output of operation ns.op does not match its outputSchema")
            );
        }
        // The same is not said again within the minute.
        fixture.execute("op", None).await.unwrap();
        assert_eq!(fixture.warnings(), [""; 0]);
    }
}

#[tokio::test]
async fn an_input_that_does_not_fit_never_reaches_the_handler() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let takes =
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } });
    let handler = Arc::new(Scripted {
        gives: Vec::new(),
        calls: AtomicUsize::new(0),
    });
    let work = Work::Native(Arc::clone(&handler) as Arc<dyn Handler>);
    fixture.add("op", json!({}), &takes, &Value::Null, work);
    for input in [None, Some("7"), Some(r#"{"a":1}"#)] {
        let error = fixture.execute("op", input).await.unwrap_err();
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(
            error
                .message
                .starts_with("Validation failed for input of operation ns.op:\n  - "),
            "{}",
            error.message
        );
        assert!(
            !error.details.unwrap()["errors"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
    assert_eq!(handler.calls.load(Ordering::Relaxed), 0);
    let envelope = fixture
        .execute("op", Some(r#"{"a":"\ud800"}"#))
        .await
        .unwrap();
    assert!(
        envelope.get("data").is_none(),
        "undefined has no word in JSON"
    );
    assert_eq!(handler.calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn access_comes_before_the_input() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let spec = json!({ "accessControl": { "requiredScopes": ["a"] } });
    fixture.add(
        "op",
        spec,
        &json!({ "type": "number" }),
        &Value::Null,
        scripted([Ok(json!(1))]),
    );
    let error = fixture.execute("op", Some("true")).await.unwrap_err();
    assert_eq!(error.code, "ACCESS_DENIED");
    assert!(error.message.contains("identity required"));
    let context = Context {
        identity: Some(serde_json::from_value(json!({ "id": "u", "scopes": ["a"] })).unwrap()),
        ..Context::default()
    };
    let served = fixture.served("op", Some("1"), context);
    assert!(one(served).await.is_ok());
}

#[tokio::test]
async fn what_a_handler_fails_with_arrives_as_it_is() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let error = CallError::new("MINE", "mine").with_details(json!({ "a": [1] }));
    fixture.add(
        "op",
        json!({}),
        &Value::Null,
        &Value::Null,
        scripted([Err(error.clone())]),
    );
    assert_eq!(fixture.execute("op", None).await.unwrap_err(), error);
}

#[test]
fn who_does_a_call_is_found_out() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let is_here = |context: Context| {
        let route = fixture.registry.route(call("op", None, context));
        matches!(route, Route::Here(_))
    };
    assert!(
        !is_here(Context::default()),
        "the host explains what is not there"
    );
    let open = |work| fixture.add("op", json!({}), &Value::Null, &Value::Null, work);
    open(Work::Host);
    assert!(!is_here(Context::default()));
    assert!(!fixture.registry.is_native("ns.op"));
    open(scripted([]));
    assert!(is_here(Context::default()));
    assert!(fixture.registry.is_native("ns.op"));
    let with = |metadata: &str| Context {
        metadata: Some(metadata.to_owned()),
        ..Context::default()
    };
    assert!(!is_here(with(r#"{"headers":{}}"#)));
    assert!(is_here(with(r#"{"headers":null,"other":1}"#)));
    fixture.registry.set(Operation {
        spec: fixture.registry.get("ns.op").unwrap().spec.clone(),
        input: Schema::ready(None),
        output: Schema::lazy(|| Err(HostOnly)),
        work: scripted([]),
    });
    assert!(!is_here(Context::default()));
    let dated = json!({ "type": "string", "format": "date" });
    fixture.add("op", json!({}), &dated, &Value::Null, scripted([]));
    assert!(is_here(Context::default()));
    fixture
        .registry
        .set_host_formats(HashSet::from(["date".to_owned()]));
    assert!(!is_here(Context::default()));
    fixture.registry.remove("ns.op");
    assert!(fixture.registry.list().is_empty());
}

#[tokio::test]
async fn a_stream_gives_envelopes_until_its_end_or_its_error() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let items = [
        Ok(json!("1")),
        Ok(json!(2)),
        Err(CallError::new("X", "x")),
        Ok(json!(3)),
    ];
    let spec = json!({ "type": "subscription" });
    fixture.add(
        "op",
        spec,
        &Value::Null,
        &json!({ "type": "number" }),
        scripted(items),
    );
    let items = all(fixture.served("op", None, Context::default())).await;
    let data: Vec<Value> = items
        .iter()
        .map(|item| match item {
            Ok(text) => serde_json::from_str::<Value>(text).unwrap()["data"].clone(),
            Err(error) => json!(error.code),
        })
        .collect();
    assert_eq!(data, [json!(1), json!(2), json!("X")]);
    let takes = json!({ "type": "number" });
    fixture.add(
        "strict",
        json!({ "type": "subscription" }),
        &takes,
        &Value::Null,
        scripted([]),
    );
    let items = all(fixture.served("strict", Some("true"), Context::default())).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].as_ref().unwrap_err().code, "VALIDATION_ERROR");
}

#[tokio::test]
async fn a_deadline_that_passes_ends_the_work() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let patient = || Work::Native(Arc::new(Patient(Arc::clone(&seen))));
    fixture.add("op", json!({}), &Value::Null, &Value::Null, patient());
    let until = |deadline: f64| Context {
        deadline: Some(deadline),
        ..Context::default()
    };
    let deadline = operations_core::clock::now() + 20.0;
    let error = one(fixture.served("op", None, until(deadline)))
        .await
        .unwrap_err();
    assert_eq!(error.code, "TIMEOUT");
    assert_eq!(error.details, Some(json!({ "deadline": deadline })));
    assert_eq!(*seen.lock().unwrap(), ["cancelled"]);

    let spec = json!({ "type": "subscription" });
    fixture.add("stream", spec, &Value::Null, &Value::Null, patient());
    let late = all(fixture.served("stream", None, until(deadline))).await;
    assert_eq!(late.len(), 1, "it does not even start");
    assert_eq!(late[0].as_ref().unwrap_err().code, "TIMEOUT");
    let deadline = operations_core::clock::now() + 500.0;
    let items: Vec<_> = all(fixture.served("stream", None, until(deadline))).await;
    assert!(items[0].is_ok());
    assert_eq!(items[1].as_ref().unwrap_err().code, "TIMEOUT");
    assert_eq!(items.len(), 2);
}

#[tokio::test]
async fn an_abort_before_the_start_is_an_error_and_a_later_one_reaches_the_handler() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let work = Work::Native(Arc::new(Patient(Arc::clone(&seen))));
    fixture.add("op", json!({}), &Value::Null, &Value::Null, work);
    let cancel = CancellationToken::new();
    let context = || Context {
        cancel: cancel.clone(),
        ..Context::default()
    };
    let running = tokio::spawn(one(fixture.served("op", None, context())));
    tokio::task::yield_now().await;
    cancel.cancel();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.message, "the handler's own words");
    let error = one(fixture.served("op", None, context()))
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "Operation ns.op was aborted before it started"
    );
    assert_eq!(seen.lock().unwrap().len(), 1);
}

/// Gives binary data, or fails with it.
struct Binary;

impl Handler for Binary {
    fn call(&self, input: Option<Document>, _: Context) -> BoxFuture<'static, Outcome> {
        let bytes = vec![0, 255, 1];
        let outcome = match input {
            None => Ok(Produced::Bytes(bytes, r#"{"source":"http"}"#.to_owned())),
            Some(_) => Err(Failure {
                error: Box::new(
                    CallError::new("MINE", "mine")
                        .with_details(json!({ "like": { "$bytes": "x" }, "zero": -0.0 })),
                ),
                body: Some(bytes),
            }),
        };
        async { outcome }.boxed()
    }

    fn subscribe(&self, _: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
        stream::empty().boxed()
    }
}

#[tokio::test]
async fn what_json_cannot_hold_travels_as_the_protocol_says() {
    let fixture = Fixture::new(OutputMode::Normalise);
    let object = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let work = || Work::Native(Arc::new(Binary));
    fixture.add("binary", json!({}), &Value::Null, &object, work());
    let text = one(fixture.served("binary", None, Context::default()));
    assert_eq!(
        text.await.unwrap(),
        r#"{"data":{"$bytes":"AP8B"},"meta":{"source":"http"}}"#
    );
    let error = fixture.execute("binary", Some("1")).await.unwrap_err();
    let details = error.details.unwrap();
    assert_eq!(
        details.to_string(),
        r#"{"like":{"$bytes":["x"]},"zero":0,"body":{"$bytes":"AP8B"}}"#
    );
    let alike = json!({ "$bytes": "AP8B" });
    fixture.add(
        "alike",
        json!({}),
        &Value::Null,
        &Value::Null,
        scripted([Ok(alike)]),
    );
    let sent = fixture.execute("alike", None).await.unwrap();
    assert_eq!(sent["data"], json!({ "$bytes": ["AP8B"] }));
}

#[tokio::test]
async fn an_envelope_of_a_known_source_keeps_its_texts() {
    struct Known;
    impl Handler for Known {
        fn call(&self, _: Option<Document>, _: Context) -> BoxFuture<'static, Outcome> {
            let data = Document::parse(r#"{"big":9007199254740993,"n":1.50,"z":-0}"#).unwrap();
            let meta = r#"{"source":"http","x":1.0}"#.to_owned();
            let envelope = Envelope {
                data: Some(data),
                meta,
                is_declared: true,
            };
            async { Ok(Produced::Envelope(envelope)) }.boxed()
        }

        fn subscribe(&self, _: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
            stream::empty().boxed()
        }
    }
    let fixture = Fixture::new(OutputMode::Normalise);
    fixture.add(
        "op",
        json!({}),
        &Value::Null,
        &Value::Null,
        Work::Native(Arc::new(Known)),
    );
    let text = one(fixture.served("op", None, Context::default()))
        .await
        .unwrap();
    // As `JSON.stringify` would have it: JavaScript has no such integer, and writes no negative zero.
    assert_eq!(
        text,
        r#"{"data":{"big":9007199254740992,"n":1.5,"z":0},"meta":{"source":"http","x":1.0}}"#
    );
}

/// Uses its registry when it is dropped, as callbacks of a host may.
struct CallsBack(std::sync::Weak<Registry>);

impl Drop for CallsBack {
    fn drop(&mut self) {
        if let Some(registry) = self.0.upgrade() {
            let _ = registry.list();
        }
    }
}

impl Handler for CallsBack {
    fn call(&self, _: Option<Document>, _: Context) -> BoxFuture<'static, Outcome> {
        async { Ok(Produced::Value(None)) }.boxed()
    }

    fn subscribe(&self, _: Option<Document>, _: Context) -> BoxStream<'static, Outcome> {
        stream::empty().boxed()
    }
}

#[test]
fn a_handler_may_use_its_registry_when_it_is_replaced_or_removed() {
    let (done, ended) = std::sync::mpsc::channel();
    // On a thread of its own: what waits for a lock that it holds never ends.
    std::thread::spawn(move || {
        let fixture = Fixture::new(OutputMode::Normalise);
        for _ in 0..2 {
            let handler = Arc::new(CallsBack(Arc::downgrade(&fixture.registry)));
            let work = Work::Native(handler);
            fixture.add("op", json!({}), &Value::Null, &Value::Null, work);
        }
        fixture.registry.remove("ns.op");
        done.send(fixture.registry.list().len()).unwrap();
    });
    assert_eq!(
        ended.recv_timeout(std::time::Duration::from_secs(30)),
        Ok(0)
    );
}

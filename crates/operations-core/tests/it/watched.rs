//! Reports to the host about calls that ran without it.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use operations_core::access::Identity;
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::log::Logger;
use operations_core::registry::{
    Answer, Call, Context, Envelope, Handler, Operation, Outcome, OutputMode, Produced, Registry,
    Reports, Route, Schema, Wants, Work,
};
use operations_core::trace::Parent;
use serde_json::{Value, json};

/// Answers as an HTTP service does, unless its input says otherwise, and notes the trace that it was given.
struct Service(Arc<Mutex<Vec<Option<String>>>>);

fn reply() -> Produced {
    Produced::Envelope(Envelope {
        data: Some(Document::from(&json!(1))),
        meta: r#"{"source":"http","statusCode":201,"headers":{},"contentType":""}"#.to_owned(),
        is_declared: true,
    })
}

impl Handler for Service {
    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        self.0.lock().unwrap().push(context.trace);
        let fails = input.is_some_and(|input| input.text() == "\"fail\"");
        async move {
            if fails {
                return Err(CallError::failed("no").into());
            }
            Ok(reply())
        }
        .boxed()
    }

    fn subscribe(&self, _: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        self.0.lock().unwrap().push(context.trace);
        stream::iter([reply(), reply(), reply()].map(Ok)).boxed()
    }
}

struct Fixture {
    registry: Arc<Registry>,
    reports: Arc<Reports>,
    traces: Arc<Mutex<Vec<Option<String>>>>,
}

impl Fixture {
    fn new(wants: &[Wants]) -> Self {
        let registry = Registry::new(OutputMode::Normalise, Logger::silent());
        let traces = Arc::default();
        for (name, kind, scopes) in [
            ("open", "query", json!([])),
            ("closed", "query", json!(["read"])),
            ("stream", "subscription", json!([])),
        ] {
            let spec = json!({
                "namespace": "ns", "name": name, "type": kind, "description": "",
                "accessControl": { "requiredScopes": scopes },
            });
            registry.set(Operation {
                spec: serde_json::from_value(spec).unwrap(),
                input: Schema::ready(None),
                output: Schema::ready(None),
                work: Work::Native(Arc::new(Service(Arc::clone(&traces)))),
            });
        }
        let reports = Reports::new(|| {});
        let bits = wants.iter().fold(0, |bits, each| bits | each.bits());
        registry.report(Wants::from_bits(bits), &reports);
        Self {
            registry: Arc::new(registry),
            reports,
            traces,
        }
    }

    fn route(&self, name: &str, input: &str, context: Context) -> Route {
        self.registry.route(Call {
            operation_id: format!("ns.{name}"),
            input: Some(input.to_owned()),
            context,
        })
    }

    /// Does a call, and takes so many events of a stream.
    async fn call(&self, name: &str, input: &str, context: Context, events: usize) {
        let Route::Here(served) = self.route(name, input, context) else {
            panic!("{name} is left to the host");
        };
        match served.answer() {
            Answer::One(answer) => drop(answer.await),
            Answer::Many(stream) => drop(stream.take(events).collect::<Vec<_>>().await),
        }
    }

    fn reports(&self) -> Vec<Value> {
        let Some(text) = self.reports.take() else {
            return Vec::new();
        };
        let mut batch: Vec<Value> = serde_json::from_str(&text).unwrap();
        batch.split_off(2)
    }
}

fn by(id: &str, scopes: &[&str]) -> Context {
    Context {
        identity: Some(Identity {
            id: id.to_owned(),
            scopes: scopes.iter().map(ToString::to_string).collect(),
            ..Identity::default()
        }),
        request_id: Some("r".to_owned()),
        ..Context::default()
    }
}

#[tokio::test]
async fn decisions_and_ends_are_told_to_those_who_want_them() {
    let fixture = Fixture::new(&[Wants::CALLS, Wants::GRANTS]);
    fixture.call("closed", "1", by("ada", &["read"]), 0).await;
    fixture.call("closed", "1", by("eve", &[]), 0).await;
    fixture
        .call("open", "\"fail\"", Context::default(), 0)
        .await;
    let reports = fixture.reports();
    let kinds: Vec<&Value> = reports.iter().map(|item| &item[0]).collect();
    assert_eq!(json!(kinds), json!([0, 1, 0, 1, 0, 1]));
    assert_eq!(reports[0][1]["rule"], "requiredScopes");
    assert_eq!(reports[0][1]["identityId"], "ada");
    assert_eq!(reports[1][1]["source"], "http");
    assert_eq!(reports[1][1]["requestId"], "r");
    assert!(reports[1].get(2).is_none(), "spans are not observed");
    assert_eq!(
        reports[2][1]["error"]["details"]["missingScopes"],
        json!(["read"])
    );
    assert_eq!(reports[3][1]["error"]["code"], "ACCESS_DENIED");
    assert_eq!(reports[4][1]["rule"], "open");
    assert_eq!(reports[5][1]["error"]["code"], "EXECUTION_ERROR");
}

#[tokio::test]
async fn those_who_want_denials_get_no_grants() {
    let fixture = Fixture::new(&[Wants::DENIALS]);
    fixture.call("open", "1", Context::default(), 0).await;
    fixture.call("closed", "1", Context::default(), 0).await;
    let reports = fixture.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0][1]["error"]["details"]["identityRequired"], true);
}

#[tokio::test]
async fn a_stream_is_reported_once_however_it_ends() {
    let fixture = Fixture::new(&[Wants::CALLS]);
    for (taken, events) in [(10, 3), (2, 2)] {
        fixture.call("stream", "1", Context::default(), taken).await;
        let reports = fixture.reports();
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0][1]["kind"], "subscription");
        assert_eq!(reports[0][1]["events"], events);
        assert!(reports[0][1].get("error").is_none());
    }
}

#[tokio::test]
async fn an_abandoned_call_is_reported_as_aborted() {
    let fixture = Fixture::new(&[Wants::CALLS]);
    let Route::Here(served) = fixture.route("open", "1", Context::default()) else {
        panic!("it is left to the host");
    };
    let Answer::One(answer) = served.answer() else {
        panic!("it has many answers");
    };
    drop(answer);
    assert_eq!(fixture.reports(), [] as [Value; 0], "it has not begun");
}

#[tokio::test]
async fn the_trace_goes_on_with_the_reported_span() {
    let trace = r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1"}"#;
    let context = || Context {
        trace: Some(trace.to_owned()),
        via: Some(r#"{"door":"nats"}"#.to_owned()),
        ..Context::default()
    };
    let fixture = Fixture::new(&[Wants::SPANS, Wants::TRACES]);
    fixture.call("open", "1", context(), 0).await;
    let reports = fixture.reports();
    let spans = &reports[0][2];
    assert_eq!(spans["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(
        spans["trace"],
        serde_json::from_str::<Value>(trace).unwrap()
    );
    assert_eq!(
        (&spans["via"]["door"], &spans["statusCode"]),
        (&json!("nats"), &json!(201))
    );
    assert!(spans["worked"][1].as_f64() >= spans["worked"][0].as_f64());
    let given = fixture
        .traces
        .lock()
        .unwrap()
        .pop()
        .flatten()
        .expect("a trace");
    let given: Value = serde_json::from_str(&given).unwrap();
    let parent = Parent::read(given["traceparent"].as_str().unwrap()).unwrap();
    assert_eq!(parent.trace_id, "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(json!(parent.span_id), spans["outgoing"]);
    assert_eq!(given["tracestate"], "a=1");
    // Without a wish for it, nothing goes on.
    for wants in [Wants::SPANS, Wants::CALLS] {
        let fixture = Fixture::new(&[wants]);
        fixture.call("open", "1", context(), 0).await;
        assert_eq!(*fixture.traces.lock().unwrap(), [None]);
    }
}

#[tokio::test]
async fn calls_go_to_the_host_while_it_is_behind_with_decisions() {
    let fixture = Fixture::new(&[Wants::GRANTS]);
    let mut done = 0;
    while matches!(
        fixture.route("open", "1", Context::default()),
        Route::Here(_)
    ) {
        fixture.call("open", "1", Context::default(), 0).await;
        done += 1;
    }
    let mut count = 0;
    loop {
        let batch = fixture.reports();
        if batch.is_empty() {
            break;
        }
        count += batch.len();
        assert!(matches!(
            fixture.route("open", "1", Context::default()),
            Route::Here(_)
        ));
    }
    assert_eq!(count, done, "none was lost");
}

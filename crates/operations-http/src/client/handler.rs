//! An imported operation as a handler of the registry: a call that needs nothing of the host.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::json::{Document, Json, Kind, push_string};
use operations_core::registry::{Context, Envelope, Handler, Outcome, Produced};
use operations_spill::SpillStore;
use serde_json::{Map, Value, json};

use super::drive::StreamReader;
use super::passing::Called;
use super::service::Service;
use crate::machine::{StreamItem, StreamKind};
use crate::message::{
    Decoded, EncodedInput, Failure, HttpOperation, JsonForm, Keep, Reply, ResponseHead,
    ResponseKind,
};

/// One operation of a service.
#[derive(Debug, Clone)]
pub struct HttpHandler {
    /// Where the request goes.
    pub service: Arc<Service>,
    /// What it is.
    pub operation: Arc<HttpOperation>,
    /// Set while the host wants to send requests itself, with a `fetch` that was put in the place of the
    /// runtime's own.
    pub is_host_sending: Arc<AtomicBool>,
    /// Where large bodies go, for callers who can be handed a file.
    pub spills: Option<Arc<SpillStore>>,
}

impl Handler for HttpHandler {
    fn takes(&self, context: &Context) -> bool {
        // Headers in the metadata of a call are the host's business. So are bytes, for which it has a notation on wires, unless
        // they are handed on as they come.
        !self.is_host_sending.load(Ordering::Relaxed)
            && (self.operation.response != ResponseKind::Binary || context.pieces.is_some())
            && !self.makes_bigints()
            && !context.mentions(&["headers"])
            && (!self.operation.is_served || !context.names_approval())
    }

    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        let Self {
            service,
            operation,
            spills,
            ..
        } = self.clone();
        let spills = spills.filter(|_| context.takes_files);
        let slot = context.pieces.clone().filter(|_| spills.is_none());
        async move {
            let input = traced(encoded(input.as_ref(), &operation), &context);
            let mut input = input.decode(&operation)?;
            input.outgoing.target.clone_from(&context.target);
            input
                .outgoing
                .caller_token
                .clone_from(&context.caller_token);
            // Cancelled when the service is closed, or when the caller has gone.
            let cancel = service.token();
            let mut work = pin!(async {
                if slot.is_some() {
                    return service.call_or_pass(&operation, input, &cancel).await;
                }
                let form = JsonForm::Document;
                let reply = service.call(&operation, input, &cancel, spills.as_ref(), form);
                reply.await.map(Called::Reply)
            });
            let called = tokio::select! {
                biased;
                () = context.cancel.cancelled() => {
                    cancel.cancel();
                    work.await
                }
                called = &mut work => called,
            };
            match (called.map_err(without_cookies_in)?, &slot) {
                (Called::Passing(mut passing), Some(slot)) => {
                    without_cookies(&mut passing.head.headers);
                    let meta = passing.head.meta_text();
                    slot.leave(passing.pieces());
                    Ok(Produced::Envelope(Envelope {
                        data: None,
                        meta,
                        is_declared: false,
                    }))
                }
                (Called::Reply(reply), _) => envelope_of(reply),
                (Called::Passing(_), None) => {
                    Err(CallError::failed("The body of the response has no receiver").into())
                }
            }
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        let Self {
            service, operation, ..
        } = self.clone();
        let opened = traced(encoded(input.as_ref(), &operation), &context)
            .decode(&operation)
            .map_err(Failure::from)
            .and_then(|mut input| {
                input.outgoing.target.clone_from(&context.target);
                input
                    .outgoing
                    .caller_token
                    .clone_from(&context.caller_token);
                service.reader(&operation, input)
            });
        let reader = match opened {
            Ok(reader) => reader,
            Err(failure) => {
                return stream::once(async { Err(without_cookies_in(failure)) }).boxed();
            }
        };
        let closed = service.token();
        stream::unfold(Some(Members::new(reader)), move |members| {
            let (closed, cancel) = (closed.clone(), context.cancel.clone());
            async move {
                let mut members = members?;
                let next = tokio::select! {
                    biased;
                    () = cancel.cancelled() => Err(was_aborted().into()),
                    () = closed.cancelled() => Err(without_cookies_in(members.reader.abort())),
                    next = members.next() => next,
                };
                match next {
                    Ok(Some(envelope)) => Some((Ok(Produced::Envelope(envelope)), Some(members))),
                    Ok(None) => None,
                    Err(error) => Some((Err(error), None)),
                }
            }
        })
        .boxed()
    }
}

impl HttpHandler {
    /// Only JavaScript has those, and says what becomes of them on a wire.
    fn makes_bigints(&self) -> bool {
        let int64 = self.operation.int64.as_ref();
        int64.is_some_and(|int64| int64.keep == Keep::BigInt)
    }
}

/// The trace travels in headers of the request.
fn traced(input: EncodedInput, context: &Context) -> EncodedInput {
    EncodedInput {
        headers: context.trace.clone(),
        ..input
    }
}

/// The input as `facade/openapi/encode-input.ts` would hand it over.
fn encoded(input: Option<&Document>, operation: &HttpOperation) -> EncodedInput {
    let body = operation.request.body.as_ref();
    if body.is_some_and(|body| body.is_input) {
        return EncodedInput {
            input: "{}".to_owned(),
            body: input.map(|input| input.root().stringify()),
            ..EncodedInput::default()
        };
    }
    let Some(root) = input
        .map(Document::root)
        .filter(|root| root.kind() != Kind::Null)
    else {
        return EncodedInput {
            input: "{}".to_owned(),
            ..EncodedInput::default()
        };
    };
    let json_body = operation
        .request
        .body
        .as_ref()
        .filter(|body| body.notation() == "json")
        .and_then(|body| Some((body.input.as_str(), root.get(&body.input)?)));
    let Some((property, body)) = json_body else {
        return EncodedInput {
            input: root.stringify(),
            ..EncodedInput::default()
        };
    };
    EncodedInput {
        input: without(root, property),
        body: Some(body.stringify()),
        ..EncodedInput::default()
    }
}

/// An object without one of its members.
fn without(object: Json<'_>, property: &str) -> String {
    let mut json = String::from("{");
    for (name, value) in object
        .members()
        .filter(|(name, _)| name.as_str() != Some(property))
    {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&name.stringify());
        json.push(':');
        json.push_str(&value.stringify());
    }
    json.push('}');
    json
}

/// What the upstream server wanted its own client to keep is nothing that a caller from elsewhere may see.
const COOKIES: [&str; 2] = ["set-cookie", "set-cookie2"];

fn without_cookies(headers: &mut Map<String, Value>) {
    for name in COOKIES {
        headers.shift_remove(name);
    }
}

fn envelope_of(mut reply: Reply) -> Outcome {
    without_cookies(&mut reply.head.headers);
    let mut meta = reply.head.meta_text();
    if let Some(spill) = &reply.spill {
        spill.push_to(&mut meta, &reply.head.content_type);
    }
    // The beginning of a body is not the declared shape.
    let is_declared = !reply.head.is_undeclared && reply.spill.is_none();
    let data = match reply.body {
        Decoded::Empty => {
            return Ok(Produced::Envelope(Envelope {
                data: None,
                meta,
                is_declared: false,
            }));
        }
        Decoded::Document(document) => document,
        Decoded::Json(text) => document(text)?,
        Decoded::Text(text) => {
            let mut json = String::with_capacity(text.len() + 2);
            push_string(&mut json, &text);
            document(json)?
        }
        Decoded::Bytes(bytes) => return Ok(Produced::Bytes(bytes, meta)),
    };
    Ok(Produced::Envelope(Envelope {
        data: Some(data),
        meta,
        is_declared,
    }))
}

fn document(json: String) -> Result<Document, CallError> {
    // It was checked when it arrived.
    Document::parse(json)
        .map_err(|why| CallError::failed(format!("The response cannot be read: {why}")))
}

fn without_cookies_in(mut failure: Failure) -> Failure {
    if let Some(Value::Object(headers)) = failure
        .error
        .details
        .as_mut()
        .and_then(|details| details.get_mut("headers"))
    {
        without_cookies(headers);
    }
    failure
}

fn was_aborted() -> CallError {
    CallError::new(
        InfrastructureErrorCode::Aborted,
        "The stream was aborted by its signal",
    )
    .with_details(json!({ "delivery": "unknown", "reason": "aborted" }))
}

/// The members of a stream, one at a time.
struct Members {
    reader: StreamReader,
    /// JSON texts that were read together.
    batch: VecDeque<String>,
    /// How many members were taken of them, and what is to be said about some, by their numbers.
    taken: usize,
    remarks: Option<Document>,
    kind: StreamKind,
    /// What an envelope says about the response, all of it or up to `sse`.
    meta: String,
    /// The type and the id of the last event, as JSON.
    event: String,
    id: String,
}

impl Members {
    fn new(reader: StreamReader) -> Self {
        Self {
            reader,
            batch: VecDeque::new(),
            taken: 0,
            remarks: None,
            kind: StreamKind::Lines,
            meta: String::new(),
            event: String::new(),
            id: String::new(),
        }
    }

    async fn next(&mut self) -> Result<Option<Envelope>, Failure> {
        loop {
            if let Some(data) = self.batch.pop_front() {
                return Ok(Some(self.member(data)?));
            }
            match self.reader.next().await.map_err(without_cookies_in)? {
                None => return Ok(None),
                Some(StreamItem::Head(mut head, kind)) => {
                    without_cookies(&mut head.headers);
                    self.begin(&head, kind);
                }
                Some(StreamItem::Batch(text)) => {
                    let batch = document(text)?;
                    let list = batch.root().get("members").unwrap_or(batch.root());
                    let members = list.elements();
                    self.batch = members.map(|member| member.text().to_owned()).collect();
                    self.taken = 0;
                    let remarks = batch.root().get("remarks");
                    let remarks = remarks.map(|remarks| document(remarks.text().to_owned()));
                    self.remarks = remarks.transpose()?;
                }
            }
        }
    }

    /// Another response.
    fn begin(&mut self, head: &ResponseHead, kind: StreamKind) {
        self.kind = kind;
        self.meta = match kind {
            StreamKind::Lines => head.meta_text(),
            StreamKind::Events => format!(
                r#"{{"statusCode":{},"headers":{},"contentType":"text/event-stream","source":"http","sse":"#,
                head.status,
                json!(head.headers),
            ),
        };
        r#""message""#.clone_into(&mut self.event);
        r#""""#.clone_into(&mut self.id);
    }

    fn member(&mut self, data: String) -> Result<Envelope, CallError> {
        let mut meta = match self.kind {
            StreamKind::Lines => self.meta.clone(),
            StreamKind::Events => {
                let about = self.batch.pop_front().unwrap_or_default();
                let retry = self.read_about(&about)?;
                let Self {
                    meta, event, id, ..
                } = self;
                format!(r#"{meta}{{"event":{event},"id":{id}{retry}}}}}"#)
            }
        };
        let remarks = self.remarks.as_ref();
        let remarks = remarks.and_then(|all| all.root().get(&self.taken.to_string()));
        if let Some(notes) = remarks.and_then(|remarks| remarks.get("notes")) {
            meta.truncate(meta.len().saturating_sub(1));
            meta.push_str(r#","notes":"#);
            meta.push_str(notes.text());
            meta.push('}');
        }
        let says = |name: &str| remarks.is_some_and(|remarks| remarks.get(name).is_some());
        let (is_undefined, is_as_sent) = (says("isUndefined"), says("isAsSent"));
        self.taken += 1;
        Ok(Envelope {
            data: (!is_undefined).then(|| document(data)).transpose()?,
            meta,
            is_declared: !is_undefined && !is_as_sent,
        })
    }

    /// What a batch says about an event ([`crate::machine::feed`]). Gives its own `retry`, ready to be appended.
    fn read_about(&mut self, about: &str) -> Result<String, CallError> {
        if about == "0" {
            return Ok(String::new());
        }
        if about.starts_with('"') {
            about.clone_into(&mut self.id);
            return Ok(String::new());
        }
        let about = document(about.to_owned())?;
        let part = |index| about.root().element(index).map(Json::text);
        if let Some(event) = part(0) {
            event.clone_into(&mut self.event);
        }
        if let Some(id) = part(1).filter(|id| *id != "null") {
            id.clone_into(&mut self.id);
        }
        Ok(part(2).map_or_else(String::new, |retry| format!(r#","retry":{retry}"#)))
    }
}

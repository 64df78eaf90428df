//! Requests and streams of imported operations, for the facade.

#![allow(
    clippy::too_many_arguments,
    reason = "a call crosses once; an object of arguments would cost a crossing for each field"
)]

mod machine;
mod outcome;
mod stream;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use napi::bindgen_prelude::{Env, Uint8Array, spawn};
use napi_derive::napi;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_http::message::input::call_headers;
use operations_http::{EncodedInput, Failure, HttpOperation, Service, ServiceSettings};
use tokio_util::sync::CancellationToken;

use self::machine::HttpMachine;
use self::outcome::{failed_outcome, fetched_outcome, reply_outcome};
use self::stream::HttpStream;
use crate::border::bridge::Bridge;
use crate::border::runtime::Runtime;
use crate::completions::{Completions, Outcome, Queue};
use crate::openapi::OpenApiImport;

/// The requests of one import: its settings, its connections, its calls in flight.
#[napi]
pub struct HttpService {
    bridge: Arc<Bridge>,
    queue: Arc<Queue>,
    pub(crate) service: Arc<Service>,
    operations: Vec<Arc<HttpOperation>>,
    cancellable: Arc<Mutex<HashMap<u32, CancellationToken>>>,
}

#[napi]
impl HttpService {
    /// `settings` is JSON. Nothing is opened before the first call.
    #[napi(constructor)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        completions: &Completions,
        settings: String,
        import: Option<&OpenApiImport>,
        document_url: Option<String>,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let service = bridge.run(&env, || {
            let from_import = || import.and_then(OpenApiImport::document_url);
            let document_url = document_url.or_else(from_import);
            Service::new(ServiceSettings::from_json(&settings)?, document_url)
        })?;
        let operations = import.map(|import| (0..).map_while(|index| import.http(index)));
        Ok(Self {
            bridge,
            queue: Arc::clone(&completions.queue),
            service: Arc::new(service),
            operations: operations.into_iter().flatten().collect(),
            cancellable: Arc::default(),
        })
    }

    /// How the body of an operation is to be encoded: `json`, `parts`, `other`, or nothing; then a
    /// space and the property of the input that holds it.
    #[napi]
    pub fn body_of(&self, env: Env, index: u32) -> napi::Result<Option<String>> {
        self.bridge.run(&env, || {
            let operation = self.operation(index)?;
            let body = operation.request.body.as_ref();
            Ok(body.map(|body| format!("{} {}", body.notation(), body.input)))
        })
    }

    /// Makes a call, whose result arrives under this id.
    #[napi]
    pub fn call(
        &self,
        env: Env,
        id: u32,
        index: u32,
        input: String,
        body: Option<String>,
        blobs: Option<Vec<Uint8Array>>,
        headers: Option<String>,
        cancellable: bool,
    ) -> napi::Result<()> {
        let operation = self.bridge.run(&env, || self.operation(index))?;
        let input = encoded(input, body, blobs, headers);
        let service = Arc::clone(&self.service);
        self.start(id, cancellable, async move |cancel| {
            let input = input.decode(&operation)?;
            let reply = service.call(&operation, input, &cancel).await?;
            Ok(reply_outcome(reply))
        });
        Ok(())
    }

    /// Fetches a text that is no operation: a document. About it is JSON: `url`, after redirects.
    #[napi]
    pub fn fetch_text(
        &self,
        env: Env,
        id: u32,
        url: String,
        headers: String,
        with_auth: bool,
    ) -> napi::Result<()> {
        let headers = self.bridge.run(&env, || call_headers(Some(&headers)))?;
        let service = Arc::clone(&self.service);
        self.start(id, false, async move |cancel| {
            let fetched = service.fetch(&url, &headers, with_auth, &cancel).await?;
            Ok(fetched_outcome(fetched))
        });
        Ok(())
    }

    /// Opens a stream. Its handle tells what comes; where it has nothing yet, a result without a
    /// value arrives under this id as soon as it has.
    #[napi]
    pub fn open(
        &self,
        env: Env,
        id: u32,
        index: u32,
        input: String,
        body: Option<String>,
        blobs: Option<Vec<Uint8Array>>,
        headers: Option<String>,
    ) -> napi::Result<HttpStream> {
        let operation = self.bridge.run(&env, || self.operation(index))?;
        let input = encoded(input, body, blobs, headers);
        let service = Arc::clone(&self.service);
        let queue = Arc::clone(&self.queue);
        let closed = self.service.token();
        Ok(HttpStream::start(
            id, queue, service, operation, input, closed,
        ))
    }

    /// A call, or a stream, for whoever drives it in our place.
    #[napi]
    pub fn drive(
        &self,
        env: Env,
        index: u32,
        input: String,
        body: Option<String>,
        blobs: Option<Vec<Uint8Array>>,
        headers: Option<String>,
        is_stream: bool,
    ) -> napi::Result<HttpMachine> {
        let input = encoded(input, body, blobs, headers);
        self.bridge.run(&env, || {
            let operation = self.operation(index)?;
            let input = input.decode(&operation)?;
            let now = Instant::now();
            let machine = if is_stream {
                self.service.stream_machine(&operation, input, now)
            } else {
                self.service.call_machine(&operation, input, now)
            };
            Ok(HttpMachine::new(&self.bridge, machine?))
        })
    }

    /// The same for a text that is no operation.
    #[napi]
    pub fn drive_text(
        &self,
        env: Env,
        url: String,
        headers: String,
        with_auth: bool,
    ) -> napi::Result<HttpMachine> {
        self.bridge.run(&env, || {
            let headers = call_headers(Some(&headers))?;
            let now = Instant::now();
            let machine = self.service.fetch_machine(&url, &headers, with_auth, now)?;
            Ok(HttpMachine::new(&self.bridge, machine))
        })
    }

    /// Ends a call that was started as cancellable.
    #[napi]
    pub fn cancel(&self, id: u32) {
        let tokens = self
            .cancellable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = tokens.get(&id) {
            token.cancel();
        }
    }

    /// Ends what is in flight and lets connections go. A later call makes new ones.
    #[napi]
    pub fn close(&self) {
        self.service.close();
    }
}

impl HttpService {
    fn operation(&self, index: u32) -> Result<Arc<HttpOperation>, CallError> {
        let found = self.operations.get(index as usize).map(Arc::clone);
        found.ok_or_else(|| {
            CallError::new(
                InfrastructureErrorCode::UnknownError,
                format!("There is no operation {index}"),
            )
        })
    }

    /// Runs work off the JavaScript thread; its result, or what a panic becomes, arrives under `id`.
    fn start<W, F>(&self, id: u32, cancellable: bool, work: W)
    where
        W: FnOnce(CancellationToken) -> F,
        F: Future<Output = Result<Outcome, Failure>> + Send + 'static,
    {
        let token = self.service.token();
        let tokens = cancellable.then(|| Arc::clone(&self.cancellable));
        if let Some(tokens) = &tokens {
            let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.insert(id, token.clone());
        }
        let queue = Arc::clone(&self.queue);
        let work = AssertUnwindSafe(work(token)).catch_unwind();
        spawn(async move {
            let outcome = match work.await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(failure)) => failed_outcome(failure),
                Err(payload) => failed_outcome(CallError::from_panic(&*payload).into()),
            };
            if let Some(tokens) = tokens {
                let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
                tokens.remove(&id);
            }
            queue.push(id, outcome);
        });
    }
}

impl Drop for HttpService {
    /// The environment is going away, or nobody can reach the service any more.
    fn drop(&mut self) {
        self.service.close();
    }
}

/// JavaScript may change a buffer while the request is under way, so bytes are copied here.
fn encoded(
    input: String,
    body: Option<String>,
    blobs: Option<Vec<Uint8Array>>,
    headers: Option<String>,
) -> EncodedInput {
    let blobs = blobs.unwrap_or_default();
    EncodedInput {
        input,
        body,
        blobs: blobs.iter().map(|blob| blob.to_vec()).collect(),
        headers,
    }
}

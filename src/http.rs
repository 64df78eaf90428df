//! Requests and streams of imported operations, for the facade.

#![allow(
    clippy::too_many_arguments,
    reason = "a call crosses once; an object of arguments would cost a crossing for each field"
)]

mod machine;
mod outcome;
mod stream;

use std::sync::Arc;
use std::time::Instant;

use napi::bindgen_prelude::{Env, Uint8Array};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::mailbox::{self, Item};
use operations_http::message::input::call_headers;
use operations_http::{
    EncodedInput, HttpOperation, JsonForm, OAuthCallbacks, OAuthSurroundings, Service,
    ServiceSettings,
};

use self::machine::HttpMachine;
use self::outcome::{fetched_item, reply_item};
use self::stream::HttpStream;
use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;
use crate::interop::tasks::Tasks;
use crate::js_callbacks::MailboxCallbacks;
use crate::openapi::OpenApiImport;
use crate::spill::SpillStore;

/// The requests of one import: its settings, its connections, its calls in flight.
#[napi]
pub struct HttpService {
    bridge: Arc<Bridge>,
    mailbox: Arc<mailbox::Mailbox>,
    /// Where JavaScript is asked, for a service that gets its tokens itself.
    callbacks: Option<Arc<MailboxCallbacks>>,
    tasks: Tasks,
    pub(crate) service: Arc<Service>,
    operations: Vec<Arc<HttpOperation>>,
}

#[napi]
impl HttpService {
    /// `settings` is JSON. Nothing is opened before the first call. Questions about tokens go to the mailbox `questions`.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        mailbox: &Mailbox,
        settings: String,
        imported: Option<&OpenApiImport>,
        document_url: Option<String>,
        questions: Option<&Mailbox>,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let callbacks = questions
            .map(|questions| Arc::new(MailboxCallbacks::new(Arc::clone(&questions.inner))));
        let surroundings = OAuthSurroundings {
            document: imported
                .map(OpenApiImport::document_oauth)
                .unwrap_or_default(),
            callbacks: callbacks
                .clone()
                .map(|callbacks| callbacks as Arc<dyn OAuthCallbacks>),
        };
        let service = bridge.run(&env, || {
            let from_import = || imported.and_then(OpenApiImport::document_url);
            let document_url = document_url.or_else(from_import);
            Service::new(
                ServiceSettings::from_json(&settings)?,
                document_url,
                surroundings,
            )
        })?;
        let operations = imported.map(|import| (0..).map_while(|index| import.http(index)));
        Ok(Self {
            bridge,
            callbacks,
            tasks: Tasks::new(Arc::clone(&mailbox.inner)),
            mailbox: Arc::clone(&mailbox.inner),
            service: Arc::new(service),
            operations: operations.into_iter().flatten().collect(),
        })
    }

    /// How the body of an operation is to be encoded: `json`, `parts`, `other`, or nothing; then a
    /// space and the property of the input that holds it.
    #[napi(catch_unwind)]
    pub fn body_of(&self, env: Env, index: u32) -> napi::Result<Option<String>> {
        self.bridge.run(&env, || {
            let operation = self.operation(index)?;
            let body = operation.request.body.as_ref();
            Ok(body.map(|body| format!("{} {}", body.notation(), body.input)))
        })
    }

    /// Makes a call, whose result arrives under this id. With `spills`, a large body goes to a file.
    #[napi(catch_unwind)]
    pub fn call(
        &self,
        env: Env,
        id: u32,
        index: u32,
        input: String,
        body: Option<String>,
        blobs: Option<Vec<Uint8Array>>,
        headers: Option<String>,
        spills: Option<&SpillStore>,
    ) -> napi::Result<()> {
        let operation = self.bridge.run(&env, || self.operation(index))?;
        let input = encoded(input, body, blobs, headers);
        let service = Arc::clone(&self.service);
        let spills = spills.map(|spills| Arc::clone(&spills.store));
        self.tasks.run(id, async move |cancel| {
            let reply = match input.decode(&operation) {
                Ok(input) => {
                    let call =
                        service.call(&operation, input, &cancel, spills.as_ref(), JsonForm::Text);
                    call.await
                }
                Err(error) => Err(error.into()),
            };
            reply_item(id, reply)
        });
        Ok(())
    }

    /// Fetches a text that is no operation: a document. The result has `data` and `url`, after redirects.
    #[napi(catch_unwind)]
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
        self.tasks.run(id, async move |cancel| {
            let fetched = service.fetch(&url, &headers, with_auth, &cancel).await;
            fetched_item(id, fetched)
        });
        Ok(())
    }

    /// Opens a stream. Its handle returns what comes; where it has nothing yet, the mailbox says under this id when to
    /// ask again.
    #[napi(catch_unwind)]
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
        let mailbox = Arc::clone(&self.mailbox);
        Ok(HttpStream::start(
            id,
            mailbox,
            &self.tasks,
            service,
            operation,
            input,
        ))
    }

    /// A call, or a stream, for a driver in JavaScript.
    #[napi(catch_unwind)]
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

    /// The URL that a call goes to, for telemetry.
    #[napi(catch_unwind)]
    pub fn target(
        &self,
        env: Env,
        index: u32,
        input: String,
        body: Option<String>,
        blobs: Option<Vec<Uint8Array>>,
        headers: Option<String>,
    ) -> napi::Result<Option<String>> {
        let input = encoded(input, body, blobs, headers);
        self.bridge.run(&env, || {
            let operation = self.operation(index)?;
            let input = input.decode(&operation)?;
            self.service.target(&operation, input)
        })
    }

    /// The same for a text that is no operation.
    #[napi(catch_unwind)]
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

    /// Asks a person for a token, and stores it; with `is_device`, by a code for another device.
    #[napi(catch_unwind)]
    pub fn login(&self, id: u32, is_device: bool) {
        let service = Arc::clone(&self.service);
        self.tasks.run(id, async move |cancel| {
            match service.login(is_device, &cancel).await {
                Ok(()) => Item::done(id, "null"),
                Err(error) => Item::failed(id, &error),
            }
        });
    }

    /// The answer to a question, in JSON, or why there is none.
    #[napi(catch_unwind)]
    pub fn answer(&self, question: u32, answer: Option<String>, reason: Option<String>) {
        if let Some(callbacks) = &self.callbacks {
            let answer = answer.ok_or_else(|| reason.unwrap_or_default());
            callbacks.answer(question, answer);
        }
    }

    /// Ends a call.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: u32) {
        self.tasks.cancel(id);
    }

    /// Ends what is in flight and lets connections go. A later call makes new ones.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.tasks.cancel_all();
        self.service.close();
    }
}

impl HttpService {
    fn operation(&self, index: u32) -> Result<Arc<HttpOperation>, CallError> {
        let found = self.operations.get(index as usize).map(Arc::clone);
        found.ok_or_else(|| CallError::unknown(format!("There is no operation {index}")))
    }
}

impl Drop for HttpService {
    /// The environment is going away, or the service was garbage-collected.
    fn drop(&mut self) {
        self.service.close();
    }
}

/// JavaScript may change a buffer while the request is in flight, so bytes are copied here.
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

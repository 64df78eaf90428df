//! An MCP server, for JavaScript. Requests have numbers, which the facade gives.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Env, within_runtime_if_available};
use napi_derive::napi;
use operations_core::clock::milliseconds;
use operations_core::error::CallError;
use operations_core::mailbox::{self, Item};
use operations_mcp::{CallOptions, Client, OnProgress, Query, ServerConfig, SpillSlot};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;
use crate::interop::tasks::Tasks;
use crate::js_callbacks::MailboxCallbacks;
use crate::spill::SpillStore;

/// One MCP server.
#[napi]
pub struct McpClient {
    pub(crate) client: Arc<Client>,
    host: Arc<MailboxCallbacks>,
    mailbox: Arc<mailbox::Mailbox>,
    tasks: Tasks,
}

/// What this thread sends waits until this is dropped, by a panic too.
struct Held<'a>(&'a Client);

impl<'a> Held<'a> {
    fn new(client: &'a Client) -> Self {
        client.hold();
        Self(client)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A time limit, in milliseconds.
fn limit(given: Option<f64>) -> Option<Duration> {
    given.filter(|given| *given > 0.0).map(milliseconds)
}

fn outcome(request: u32, result: Result<String, CallError>) -> Item {
    match result {
        Ok(json) => Item::done(request, &json),
        Err(error) => Item::failed(request, &error),
    }
}

/// A result, and the file that it is in, if it is in one.
fn with_file(result: &str, slot: &SpillSlot) -> String {
    match slot.take() {
        Some(file) => {
            let spill = file.spilled.to_json(file.content_type);
            format!(r#"{{"result":{result},"spill":{spill}}}"#)
        }
        None => format!(r#"{{"result":{result}}}"#),
    }
}

#[napi]
impl McpClient {
    /// A server that is described in JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        mailbox: &Mailbox,
        name: String,
        config: String,
    ) -> napi::Result<Self> {
        let bridge = &runtime.bridge;
        let config = bridge.run(&env, || ServerConfig::from_json(&name, &config))?;
        let mailbox = Arc::clone(&mailbox.inner);
        let host = Arc::new(MailboxCallbacks::new(Arc::clone(&mailbox)));
        let as_host = Arc::clone(&host);
        let runtime = within_runtime_if_available(Handle::current);
        Ok(Self {
            client: Arc::new(Client::new(
                config,
                as_host,
                bridge.logger().clone(),
                runtime,
            )),
            host,
            tasks: Tasks::new(Arc::clone(&mailbox)),
            mailbox,
        })
    }

    /// Runs a request; its outcome goes to the mailbox.
    fn run<F>(&self, request: u32, work: impl FnOnce(Arc<Client>, CancellationToken) -> F)
    where
        F: Future<Output = Result<String, CallError>> + Send + 'static,
    {
        let client = Arc::clone(&self.client);
        self.tasks.run(request, |cancel| {
            let work = work(client, cancel);
            async move { outcome(request, work.await) }
        });
    }

    /// Connects. The answer is JSON: what is known about the server, and its tools.
    #[napi(catch_unwind)]
    pub fn connect(&self, request: u32) {
        self.run(request, |client, _| async move { client.connect().await });
    }

    /// The tools of a server that is not connected, each as JSON.
    #[napi(catch_unwind)]
    pub fn set_known_tools(&self, tools: Vec<String>) {
        self.client.set_known_tools(tools);
    }

    /// Ends the connection. The next call makes a new one.
    #[napi(catch_unwind)]
    pub fn stop(&self, request: u32) {
        self.run(request, |client, _| async move {
            client.stop().await;
            Ok("null".to_owned())
        });
    }

    /// Notifies the server that the roots have changed.
    #[napi(catch_unwind)]
    pub fn roots_changed(&self) {
        self.client.roots_changed();
    }

    /// Calls a tool. The answer is the result as the server wrote it. `left` is the time to the caller's deadline. With `spills` the
    /// answer is `{ result, spill }`: a large result is in a file.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "they are numbers and texts")]
    pub fn call(
        &self,
        request: u32,
        tool: String,
        arguments: Option<String>,
        timeout: Option<f64>,
        left: Option<f64>,
        reset_timeout_on_progress: Option<bool>,
        wants_progress: bool,
        trace: Option<String>,
        spills: Option<&SpillStore>,
    ) {
        let on_progress = wants_progress.then(|| -> OnProgress {
            let mailbox = Arc::clone(&self.mailbox);
            Arc::new(move |json: &str| {
                mailbox.push_progress(Item::event(request, json));
            })
        });
        let options = CallOptions {
            timeout: limit(timeout),
            deadline: limit(left),
            reset_timeout_on_progress,
            on_progress,
            slot: spills.map(|spills| SpillSlot::new(Arc::clone(&spills.store))),
            trace,
        };
        self.start(request, &tool, arguments.as_deref(), options);
    }

    /// Calls tools without options, and sends them together. A call is three lines: the request, the name of the tool, and the
    /// arguments, or nothing if there are none. One crossing for all calls of a turn costs a fraction of one for each.
    #[napi(catch_unwind)]
    pub fn call_all(&self, calls: String) {
        let _held = Held::new(&self.client);
        let mut lines = calls.split('\n');
        while let (Some(request), Some(tool), Some(arguments)) =
            (lines.next(), lines.next(), lines.next())
        {
            if let Ok(request) = request.parse() {
                let arguments = Some(arguments).filter(|it| !it.is_empty());
                self.start(request, tool, arguments, CallOptions::default());
            }
        }
    }

    fn start(&self, request: u32, tool: &str, arguments: Option<&str>, options: CallOptions) {
        let slot = options.slot.clone();
        self.tasks.begin(request, |end| {
            let done = move |result: Result<String, CallError>| {
                let result = match &slot {
                    Some(slot) => result.map(|result| with_file(&result, slot)),
                    None => result,
                };
                end(outcome(request, result));
            };
            let started = self.client.start_tool(tool, arguments, options, done)?;
            Ok(move || started.cancel())
        });
    }

    /// Calls that follow may be sent together, once [`McpClient::release`] says so. It must follow in the same turn.
    #[napi(catch_unwind)]
    pub fn hold(&self) {
        self.client.hold();
    }

    /// Sends what waits to be sent.
    #[napi(catch_unwind)]
    pub fn release(&self) {
        self.client.release();
    }

    /// Sends another request than a tool call.
    #[napi(catch_unwind)]
    pub fn query(
        &self,
        request: u32,
        what: String,
        name: Option<String>,
        arguments: Option<String>,
        timeout: Option<f64>,
    ) {
        self.run(request, |client, cancel| async move {
            let name = name.as_deref().unwrap_or_default();
            let query = match what.as_str() {
                "listTools" => Query::Tools,
                "listResources" => Query::Resources,
                "listResourceTemplates" => Query::ResourceTemplates,
                "listPrompts" => Query::Prompts,
                "readResource" => Query::Resource(name),
                "getPrompt" => Query::Prompt(name, arguments.as_deref()),
                _ => return Err(CallError::unknown(format!("Unknown MCP query: {what}"))),
            };
            let options = CallOptions {
                timeout: limit(timeout),
                ..CallOptions::default()
            };
            client.query(query, options, &cancel).await
        });
    }

    /// Ends the connection and everything that belongs to it.
    #[napi(catch_unwind)]
    pub fn close(&self, request: u32) {
        self.run(request, |client, _| async move {
            client.close().await;
            Ok("null".to_owned())
        });
    }

    /// The caller does not wait for the answer any more.
    #[napi(catch_unwind)]
    pub fn cancel(&self, request: u32) {
        self.tasks.cancel(request);
    }

    /// Answers a request of the server, or refuses to.
    #[napi(catch_unwind)]
    pub fn answer(&self, question: u32, answer: Option<String>, refusal: Option<String>) {
        let refusal = refusal.unwrap_or_else(|| "refused".to_owned());
        self.host.answer(question, answer.ok_or(refusal));
    }

    /// What is known about the server, as JSON.
    #[napi(catch_unwind)]
    pub fn status(&self) -> String {
        self.client.status().to_string()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.client.abandon();
    }
}

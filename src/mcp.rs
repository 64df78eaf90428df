//! An MCP server, for JavaScript. Requests have numbers, which the facade gives; their answers wait in the
//! inbox.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use napi::bindgen_prelude::{Env, spawn, within_runtime_if_available};
use napi_derive::napi;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_mcp::{CallOptions, Client, OnProgress, ServerConfig, Started};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::mcp_inbox::{Inbox, InboxHost};
use crate::runtime::Runtime;
use crate::wake::Look;

/// The longest time limit: a year.
const LONGEST: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

/// How each request that is under way can be ended.
type Cancels = Arc<Mutex<HashMap<u32, Cancel>>>;

enum Cancel {
    Task(CancellationToken),
    Call(Started),
}

/// One MCP server.
#[napi]
pub struct McpClient {
    client: Client,
    inbox: Arc<Inbox>,
    cancels: Cancels,
}

fn lock(cancels: &Cancels) -> MutexGuard<'_, HashMap<u32, Cancel>> {
    cancels.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(timeout: Option<f64>) -> CallOptions {
    CallOptions {
        timeout: timeout
            .filter(|limit| *limit > 0.0)
            .map(|limit| Duration::from_secs_f64(limit.min(LONGEST) / 1000.0)),
        ..CallOptions::default()
    }
}

#[napi]
impl McpClient {
    /// A server that is described in JSON. `wake` is called when the inbox is not empty.
    #[napi(constructor)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        name: String,
        config: String,
        wake: Look<'_>,
    ) -> napi::Result<Self> {
        let bridge = &runtime.bridge;
        let config = bridge.run(&env, || ServerConfig::from_json(&name, &config))?;
        let inbox = Inbox::new(&wake)?;
        let host = Arc::new(InboxHost(Arc::clone(&inbox)));
        let runtime = within_runtime_if_available(Handle::current);
        Ok(Self {
            client: Client::new(config, host, bridge.logger().clone(), runtime),
            inbox,
            cancels: Cancels::default(),
        })
    }

    /// Runs a request; its outcome goes to the inbox.
    fn run<F>(&self, request: u32, work: impl FnOnce(Client, CancellationToken) -> F)
    where
        F: Future<Output = Result<String, CallError>> + Send + 'static,
    {
        let cancel = CancellationToken::new();
        lock(&self.cancels).insert(request, Cancel::Task(cancel.clone()));
        // Boxed at once: the future of a call is large, and is moved several times on its way.
        let work = Box::pin(work(self.client.clone(), cancel));
        let work = AssertUnwindSafe(work).catch_unwind();
        let (inbox, cancels) = (Arc::clone(&self.inbox), Arc::clone(&self.cancels));
        spawn(async move {
            let outcome = work
                .await
                .unwrap_or_else(|payload| Err(CallError::from_panic(&*payload)));
            lock(&cancels).remove(&request);
            inbox.settle(request, outcome);
        });
    }

    /// Connects. The answer is JSON: what is known about the server, and its tools.
    #[napi]
    pub fn connect(&self, request: u32) {
        self.run(request, |client, _| async move { client.connect().await });
    }

    /// Calls a tool. The answer is the result as the server wrote it.
    #[napi]
    pub fn call(
        &self,
        request: u32,
        tool: String,
        arguments: Option<String>,
        timeout: Option<f64>,
        reset_timeout_on_progress: Option<bool>,
        wants_progress: bool,
    ) {
        let inbox = Arc::clone(&self.inbox);
        let on_progress: Option<OnProgress> = wants_progress
            .then(|| Arc::new(move |json: &str| inbox.progress(request, json)) as OnProgress);
        let options = CallOptions {
            reset_timeout_on_progress,
            on_progress,
            ..options(timeout)
        };
        let (inbox, cancels) = (Arc::clone(&self.inbox), Arc::clone(&self.cancels));
        // Held until the request is noted: its end waits for that.
        let mut noted = lock(&self.cancels);
        let started =
            self.client
                .start_tool(&tool, arguments.as_deref(), options, move |outcome| {
                    lock(&cancels).remove(&request);
                    inbox.settle(request, outcome);
                });
        match started {
            Ok(started) => drop(noted.insert(request, Cancel::Call(started))),
            Err(error) => self.inbox.settle(request, Err(error)),
        }
    }

    /// Asks for something else than a tool.
    #[napi]
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
            match what.as_str() {
                "listTools" => client.list_tools(&cancel).await,
                "listResources" => client.list_resources(&cancel).await,
                "listResourceTemplates" => client.list_resource_templates(&cancel).await,
                "listPrompts" => client.list_prompts(&cancel).await,
                "readResource" => client.read_resource(name, options(timeout), &cancel).await,
                "getPrompt" => {
                    let options = options(timeout);
                    client
                        .get_prompt(name, arguments.as_deref(), options, &cancel)
                        .await
                }
                _ => Err(CallError::new(
                    InfrastructureErrorCode::UnknownError,
                    format!("Unknown MCP query: {what}"),
                )),
            }
        });
    }

    /// Ends the connection and everything that belongs to it.
    #[napi]
    pub fn close(&self, request: u32) {
        self.run(request, |client, _| async move {
            client.close().await;
            Ok(String::new())
        });
    }

    /// Nobody waits for the answer any more.
    #[napi]
    pub fn cancel(&self, request: u32) {
        let cancel = lock(&self.cancels).remove(&request);
        match cancel {
            Some(Cancel::Task(cancel)) => cancel.cancel(),
            Some(Cancel::Call(started)) => started.cancel(),
            None => {}
        }
    }

    /// Answers a question, or refuses to.
    #[napi]
    pub fn answer(&self, question: u32, answer: Option<String>, refusal: Option<String>) {
        let refusal = refusal.unwrap_or_else(|| "refused".to_owned());
        self.inbox.answer(question, answer.ok_or(refusal));
    }

    /// Everything that waits: heads and texts in turn.
    #[napi]
    pub fn drain(&self) -> Vec<String> {
        self.inbox.drain()
    }

    /// What is known about the server, as JSON.
    #[napi]
    pub fn status(&self) -> String {
        self.client.status().to_string()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.client.abandon();
    }
}

//! The registry that runs in Rust, as the facade fills it (`facade/registry/native-mirror.ts`).

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::registry::{
    HostOnly, Made, Operation, OutputMode, Registry, Reports, Schema, Wants, Work,
};
use operations_core::spec::OperationSpec;
use operations_http::HttpHandler;
use operations_mcp::ToolHandler;
use operations_schema::{CompileOptions, Source, compile};
use operations_websocket::PeerHandler;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::http::HttpService;
use crate::hub::HubPeer;
use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;
use crate::interop::wake::{Look, waker};
use crate::limits::CallGate;
use crate::mcp::McpClient;
use crate::openapi::OpenApiImport;
use crate::schema;
use crate::spill::SpillStore;

/// The native mirror of a registry.
#[napi]
pub struct NativeRegistry {
    bridge: Arc<Bridge>,
    is_host_sending: Arc<AtomicBool>,
    pub(crate) registry: Arc<Registry>,
    /// The reports about calls, once they are observed.
    reports: OnceLock<Arc<Reports>>,
}

#[napi]
impl NativeRegistry {
    /// `output` is what happens to outputs: `normalise`, `keep` or `off`.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, runtime: &Runtime, output: String) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let output: OutputMode = bridge.run(&env, || read(&format!("\"{output}\"")))?;
        let registry = Registry::new(output, bridge.logger().clone());
        Ok(Self {
            bridge,
            is_host_sending: Arc::clone(&runtime.is_host_sending),
            registry: Arc::new(registry),
            reports: OnceLock::new(),
        })
    }

    /// An operation whose calls go to JavaScript. `spec` is JSON (`OperationSpec`).
    #[napi(catch_unwind)]
    pub fn set_host(&self, env: Env, spec: String) -> napi::Result<()> {
        let anything = || Schema::ready(None);
        self.set(&env, &spec, anything(), anything(), Work::Host)
    }

    /// An imported HTTP operation. A schema that is absent lets everything pass; the bits of `own` say that it is the
    /// operation's own, which are not compiled yet: 1 the input's, 2 the output's. `spills` is where large bodies go.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "it crosses once")]
    pub fn set_http(
        &self,
        env: Env,
        spec: String,
        input: Option<&schema::Schema>,
        output: Option<&schema::Schema>,
        own: u32,
        service: &HttpService,
        operations: &OpenApiImport,
        index: u32,
        spills: Option<&SpillStore>,
    ) -> napi::Result<()> {
        let imported = self.bridge.run(&env, || operations.known(index))?;
        let work = Work::Native(Arc::new(HttpHandler {
            service: Arc::clone(&service.service),
            operation: Arc::clone(&imported.http),
            is_host_sending: Arc::clone(&self.is_host_sending),
            spills: spills.map(|spills| Arc::clone(&spills.store)),
        }));
        let for_input = Arc::clone(&imported);
        let input = if own & 1 != 0 {
            Schema::lazy(move || imported_schema(for_input.input_schema()))
        } else {
            compiled(input)
        };
        let output = if own & 2 != 0 {
            Schema::lazy(move || imported_schema(imported.output_schema()))
        } else {
            compiled(output)
        };
        self.set(&env, &spec, input, output, work)
    }

    /// Handlers get the tokens of callers from now on.
    #[napi(catch_unwind)]
    pub fn want_caller_tokens(&self) {
        self.registry.want_caller_tokens();
    }

    /// A tool of an MCP server. A schema that is absent lets everything pass.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "it crosses once")]
    pub fn set_mcp(
        &self,
        env: Env,
        spec: String,
        input: Option<&schema::Schema>,
        output: Option<&schema::Schema>,
        client: &McpClient,
        tool: String,
        spills: Option<&SpillStore>,
    ) -> napi::Result<()> {
        let work = Work::Native(Arc::new(ToolHandler {
            client: Arc::clone(&client.client),
            tool,
            spills: spills.map(|spills| Arc::clone(&spills.store)),
        }));
        self.set(&env, &spec, compiled(input), compiled(output), work)
    }

    /// An operation of a peer, and what it is called there. A schema that is absent lets everything pass.
    #[napi(catch_unwind)]
    pub fn set_peer(
        &self,
        env: Env,
        spec: String,
        input: Option<&schema::Schema>,
        output: Option<&schema::Schema>,
        peer: &HubPeer,
        operation_id: String,
    ) -> napi::Result<()> {
        let work = Work::Native(Arc::new(PeerHandler {
            peer: Arc::clone(&peer.peer),
            operation_id,
        }));
        self.set(&env, &spec, compiled(input), compiled(output), work)
    }

    /// Forgets an operation.
    #[napi(catch_unwind)]
    pub fn remove(&self, id: String) {
        self.registry.remove(&id);
    }

    /// Sets the limits of an operation, before it is announced; nothing if it has none.
    #[napi(catch_unwind)]
    pub fn limit(&self, id: String, gate: Option<&CallGate>) {
        self.registry
            .limit(&id, gate.map(|gate| gate.limited.clone()));
    }

    /// Reports calls that run natively. `wants` says what of them (`operations_core::registry::Wants`); the first `look` that is
    /// given is called when there is something to take.
    #[napi(catch_unwind)]
    pub fn report(
        &self,
        wants: u8,
        #[napi(ts_arg_type = "() => void")] look: Look<'_>,
    ) -> napi::Result<()> {
        if self.reports.get().is_none() {
            let reports = Reports::new(waker(&look)?);
            // Only the thread of JavaScript comes here.
            let _ = self.reports.set(reports);
        }
        if let Some(reports) = self.reports.get() {
            self.registry.report(Wants::from_bits(wants), reports);
        }
        Ok(())
    }

    /// The reports that wait, as `facade/registry/native-reports.ts` reads it; nothing without any.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn take_reports(&self) -> Option<String> {
        self.reports.get().and_then(|reports| reports.take())
    }

    /// The formats that users have registered with TypeBox: only JavaScript can check them.
    #[napi(catch_unwind)]
    pub fn set_host_formats(&self, names: Vec<String>) {
        let names: HashSet<String> = names.into_iter().collect();
        self.registry.set_host_formats(names);
    }
}

impl NativeRegistry {
    pub(crate) fn set(
        &self,
        env: &Env,
        spec: &str,
        input: Schema,
        output: Schema,
        work: Work,
    ) -> napi::Result<()> {
        self.bridge.run(env, || {
            let spec: OperationSpec = read(spec)?;
            self.registry.set(Operation {
                spec,
                input,
                output,
                work,
            });
            Ok(())
        })
    }
}

/// A schema that JavaScript has compiled.
pub(crate) fn compiled(schema: Option<&schema::Schema>) -> Schema {
    Schema::ready(schema.map(schema::Schema::program))
}

/// A schema of an imported operation, which `FromSchema` would read in the same way.
pub(crate) fn imported_schema(schema: Result<Value, CallError>) -> Made {
    let schema = schema.map_err(|_| HostOnly)?;
    // Nothing is known: values pass as they are.
    if schema.as_object().is_some_and(Map::is_empty) {
        return Ok(None);
    }
    let source = Source::try_from(&schema).map_err(|_| HostOnly)?;
    let program = compile(&source, &CompileOptions::default()).map_err(|_| HostOnly)?;
    Schema::ready(Some(Arc::new(program))).program()
}

pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, CallError> {
    serde_json::from_str(json).map_err(|error| {
        CallError::unknown(format!(
            "The native registry cannot read what it was given: {error}"
        ))
    })
}

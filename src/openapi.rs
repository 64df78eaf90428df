//! OpenAPI documents and what was made of them, for the facade.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, ObjectFinalize, PromiseRaw, Uint8Array};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::panic;
use operations_http::DocumentOAuth;
use operations_http::message::HttpOperation;
use operations_openapi::{
    Document, ImportChoices, ImportedOperation, ReportEntry, import, read_settings, survey,
};
use serde::Serialize;

use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;

/// A document that has been read.
#[napi(custom_finalize)]
pub struct OpenApiDocument {
    bridge: Arc<Bridge>,
    document: Document,
    memory: ExternalMemory,
}

/// The memory that was reported to the garbage collector, which cannot see it: without it, objects that look
/// small to it would hold hundreds of megabytes until something else makes it run.
struct ExternalMemory(i64);

impl ExternalMemory {
    fn of(env: &Env, document: &Document) -> Self {
        let bytes = i64::try_from(document.memory()).unwrap_or(i64::MAX);
        // A hint that is not taken is no reason to fail.
        let _ = env.adjust_external_memory(bytes);
        Self(bytes)
    }

    fn take_back(&self, env: &Env) {
        let _ = env.adjust_external_memory(-self.0);
    }
}

impl ObjectFinalize for OpenApiDocument {
    fn finalize(self, env: Env) -> napi::Result<()> {
        self.memory.take_back(&env);
        Ok(())
    }
}

impl OpenApiDocument {
    fn of(env: &Env, bridge: Arc<Bridge>, document: Document) -> Self {
        Self {
            memory: ExternalMemory::of(env, &document),
            bridge,
            document,
        }
    }
}

#[napi]
impl OpenApiDocument {
    /// Reads a text, JSON or YAML. `uri` is where it came from.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        text: String,
        uri: Option<String>,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let document = bridge.run(&env, || {
            Document::parse_at(text, uri.as_deref().unwrap_or_default())
        })?;
        Ok(Self::of(&env, bridge, document))
    }

    /// The files that it refers to and that are not there yet.
    #[napi(catch_unwind)]
    pub fn missing_files(&self, env: Env) -> napi::Result<Vec<String>> {
        self.bridge.run(&env, || Ok(self.document.missing_files()))
    }

    /// Takes in a file, under the address that `missingFiles` gave it.
    #[napi(catch_unwind)]
    pub fn add_file(&mut self, env: Env, uri: String, bytes: Uint8Array) -> napi::Result<()> {
        let document = self.bridge.run(&env, || {
            self.document.with_file(&uri, text_of(bytes.to_vec())?)
        })?;
        self.memory.take_back(&env);
        self.memory = ExternalMemory::of(&env, &document);
        self.document = document;
        Ok(())
    }

    /// The operations that have one of the methods, as a JSON list, for the user's own functions to
    /// be asked about.
    #[napi(catch_unwind)]
    pub fn offers(&self, env: Env, methods: Vec<String>) -> napi::Result<String> {
        self.bridge
            .run(&env, || to_json(&survey(&self.document, &methods)))
    }

    /// Makes operations of it; the choices are JSON.
    #[napi(catch_unwind)]
    pub fn import_with(&self, env: Env, choices: String) -> napi::Result<OpenApiImport> {
        self.bridge.run(&env, || {
            let choices: ImportChoices = serde_json::from_str(&choices).map_err(|error| {
                CallError::invalid(format!("The choices of an import: {error}"))
            })?;
            let imported = import(&self.document, &choices);
            Ok(OpenApiImport {
                bridge: Arc::clone(&self.bridge),
                operations: imported.operations.into_iter().map(Arc::new).collect(),
                report: imported.report,
                document: self.document.clone(),
                memory: ExternalMemory::of(&env, &self.document),
            })
        })
    }
}

/// A text in JSON or YAML that is no OpenAPI document, as JSON.
#[napi(js_name = "readSettings", catch_unwind)]
pub(crate) fn settings(env: Env, runtime: &Runtime, text: String) -> napi::Result<String> {
    runtime.bridge.run(&env, || to_json(&read_settings(&text)?))
}

/// Reads a document off the JavaScript thread.
#[napi(js_name = "readOpenApiDocument", catch_unwind)]
pub(crate) fn read_document<'env>(
    env: &'env Env,
    runtime: &Runtime,
    bytes: Uint8Array,
    uri: String,
) -> napi::Result<PromiseRaw<'env, OpenApiDocument>> {
    let bridge = Arc::clone(&runtime.bridge);
    let bytes = bytes.to_vec();
    runtime.bridge.spawn(
        env,
        async move {
            let read = move || panic::guard(|| Document::parse_at(text_of(bytes)?, &uri));
            tokio::task::spawn_blocking(read)
                .await
                .map_err(|_| CallError::failed("The process is ending"))?
        },
        move |env, document| Ok(OpenApiDocument::of(env, bridge, document)),
    )
}

/// What was made of a document.
#[napi(custom_finalize)]
pub struct OpenApiImport {
    bridge: Arc<Bridge>,
    operations: Vec<Arc<ImportedOperation>>,
    report: Vec<ReportEntry>,
    document: Document,
    memory: ExternalMemory,
}

impl ObjectFinalize for OpenApiImport {
    fn finalize(self, env: Env) -> napi::Result<()> {
        self.memory.take_back(&env);
        Ok(())
    }
}

#[napi]
impl OpenApiImport {
    /// The operations without their schemas, as a JSON list.
    #[napi(catch_unwind)]
    pub fn heads(&self, env: Env) -> napi::Result<String> {
        self.bridge.run(&env, || {
            let heads = self.operations.iter().map(|operation| operation.head());
            to_json(&heads.collect::<Vec<_>>())
        })
    }

    /// The input schema of the operation at this place in the list, as JSON.
    #[napi(catch_unwind)]
    pub fn input_schema(&self, env: Env, index: u32) -> napi::Result<String> {
        self.bridge
            .run(&env, || to_json(&self.known(index)?.input_schema()?))
    }

    /// The names of its properties, and what is said about them: a part of the input schema, as JSON.
    #[napi(catch_unwind)]
    pub fn input_outline(&self, env: Env, index: u32) -> napi::Result<String> {
        self.bridge
            .run(&env, || Ok(self.known(index)?.input_outline()))
    }

    /// The output schema of the operation at this place in the list, as JSON.
    #[napi(catch_unwind)]
    pub fn output_schema(&self, env: Env, index: u32) -> napi::Result<String> {
        self.bridge
            .run(&env, || to_json(&self.known(index)?.output_schema()?))
    }

    /// Whether its operations have namespaces of their own.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn has_namespaces(&self) -> bool {
        self.document.has_namespaces()
    }

    /// How the operation at this place in the list is called, as JSON.
    #[napi(catch_unwind)]
    pub fn request(&self, env: Env, index: u32) -> napi::Result<String> {
        self.bridge
            .run(&env, || to_json(&self.known(index)?.http.request))
    }

    /// What became of each operation of the document, as a JSON list.
    #[napi(catch_unwind)]
    pub fn report(&self, env: Env) -> napi::Result<String> {
        self.bridge.run(&env, || to_json(&self.report))
    }
}

impl OpenApiImport {
    /// What calling the operation at this place in the list takes.
    pub(crate) fn http(&self, index: u32) -> Option<Arc<HttpOperation>> {
        let operation = self.operations.get(index as usize)?;
        Some(Arc::clone(&operation.http))
    }

    /// What the document says about the server that issues its tokens.
    pub(crate) fn document_oauth(&self) -> DocumentOAuth {
        self.document.oauth()
    }

    /// The document's own URL, if it came from one.
    pub(crate) fn document_url(&self) -> Option<String> {
        self.document.url().map(str::to_owned)
    }

    pub(crate) fn known(&self, index: u32) -> Result<Arc<ImportedOperation>, CallError> {
        let found = self.operations.get(index as usize).map(Arc::clone);
        found.ok_or_else(|| CallError::invalid(format!("There is no operation {index}")))
    }
}

/// The text of a file.
fn text_of(bytes: Vec<u8>) -> Result<String, CallError> {
    String::from_utf8(bytes).map_err(|error| {
        CallError::invalid(format!(
            "Not an OpenAPI document: the file is not UTF-8 text (byte {})",
            error.utf8_error().valid_up_to()
        ))
    })
}

fn to_json(value: &impl Serialize) -> Result<String, CallError> {
    serde_json::to_string(value).map_err(|error| {
        CallError::unknown(format!("The result cannot be written as JSON: {error}"))
    })
}

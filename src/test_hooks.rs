//! Native functions that misbehave on request. They exist in test builds only.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Env, Function, PromiseRaw, Unknown};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::log::Level;
use serde_json::{Value, json};

use crate::interop::bridge::Bridge;
use crate::interop::raw::{Pending, Raw};
use crate::interop::runtime::Runtime;
use crate::openapi::OpenApiImport;
use crate::registry::imported_schema;
use crate::schema::Schema;

/// Misbehaviour on request.
#[napi]
pub struct TestHooks {
    bridge: Arc<Bridge>,
}

fn failure(code: String, message: String, details: Option<&str>) -> CallError {
    let mut error = CallError::new(code, message);
    error.details = details.and_then(|text| serde_json::from_str::<Value>(text).ok());
    error
}

#[napi]
impl TestHooks {
    /// Uses the error and log functions of the given runtime.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(runtime: &Runtime) -> Self {
        Self {
            bridge: Arc::clone(&runtime.bridge),
        }
    }

    /// Panics on the JavaScript thread.
    #[napi(catch_unwind)]
    pub fn panic_now(&self, env: Env, message: String) -> napi::Result<()> {
        self.bridge.run(&env, || explode(&message))
    }

    /// Panics on another thread.
    #[napi(catch_unwind)]
    pub fn panic_later<'env>(
        &self,
        env: &'env Env,
        message: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        self.bridge
            .spawn(env, async move { explode(&message) }, |_, ()| Ok(()))
    }

    /// Fails on the JavaScript thread.
    #[napi(catch_unwind)]
    pub fn fail_now(
        &self,
        env: Env,
        code: String,
        message: String,
        details: Option<String>,
    ) -> napi::Result<()> {
        self.bridge
            .run(&env, || Err(failure(code, message, details.as_deref())))
    }

    /// Fails on another thread.
    #[napi(catch_unwind)]
    pub fn fail_later<'env>(
        &self,
        env: &'env Env,
        code: String,
        message: String,
        details: Option<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        self.bridge.spawn(
            env,
            async move { Err::<(), _>(failure(code, message, details.as_deref())) },
            |_, ()| Ok(()),
        )
    }

    /// Calls a function of the user's; what it throws must arrive as it is.
    #[napi(catch_unwind)]
    pub fn call_through<'env>(
        &self,
        env: &'env Env,
        callback: Function<'env, (), Unknown<'env>>,
    ) -> napi::Result<Unknown<'env>> {
        let raw = Raw::new(env);
        let result = raw
            .undefined()
            .and_then(|receiver| raw.call(receiver, raw.handle(&callback), &[]))
            .map_err(Pending::into_error)?;
        raw.into_unknown(result)
    }

    /// Writes a log line from a thread of its own.
    #[napi(catch_unwind)]
    pub fn log_from_thread(&self, message: String) {
        let logger = self.bridge.logger().clone();
        std::thread::spawn(move || {
            logger.log(
                Level::Warning,
                "native",
                message,
                [("thread", json!("other"))],
            );
        });
    }

    /// The schema of an imported operation as the native mirror of a registry compiles it; nothing where anything passes.
    #[napi(catch_unwind)]
    pub fn imported_schema(
        &self,
        env: Env,
        imported: &OpenApiImport,
        index: u32,
        is_input: bool,
    ) -> napi::Result<Option<Schema>> {
        let made = self.bridge.run(&env, || {
            let operation = imported.known(index)?;
            let schema = if is_input {
                operation.input_schema()
            } else {
                operation.output_schema()
            };
            imported_schema(schema).map_err(|_| {
                failure(
                    "HOST".to_owned(),
                    "The host is to be asked".to_owned(),
                    None,
                )
            })
        })?;
        Ok(made.map(|program| Schema::compiled(&self.bridge, program)))
    }

    /// Is busy for a while, off the JavaScript thread.
    #[napi(catch_unwind)]
    pub fn work<'env>(
        &self,
        env: &'env Env,
        milliseconds: u32,
    ) -> napi::Result<PromiseRaw<'env, u32>> {
        self.bridge.spawn(
            env,
            async move {
                tokio::task::spawn_blocking(move || {
                    std::thread::sleep(Duration::from_millis(milliseconds.into()));
                    milliseconds
                })
                .await
                .map_err(|error| CallError::unknown(error.to_string()))
            },
            |_, done| Ok(done),
        )
    }
}

#[expect(clippy::panic, reason = "the point of the exercise")]
fn explode(message: &str) -> Result<(), CallError> {
    panic!("{message}")
}

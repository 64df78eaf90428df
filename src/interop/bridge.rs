//! The way back to JavaScript: errors as `CallError` objects, log lines to the application's logger,
//! panics as errors.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use napi::bindgen_prelude::{Env, FnArgs, Function, FunctionRef, PromiseRaw, ToNapiValue, Unknown};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use operations_core::error::CallError;
use operations_core::log::{Logger, Record};
use operations_core::panic;

/// `(code, message, details as JSON)` to a `CallError` object.
pub(crate) type MakeError<'env> =
    Function<'env, FnArgs<(String, String, Option<String>)>, Unknown<'env>>;

/// `(level, module, message, properties as JSON)`.
pub(crate) type WriteLog<'env> = Function<'env, FnArgs<(String, String, String, String)>, ()>;

/// Log lines that may wait for the JavaScript thread. Beyond it lines are dropped: a thread that is
/// too busy to read them must not cost the process its memory.
const WAITING_LOG_LINES: usize = 4096;

/// What native code needs from its JavaScript environment.
pub(crate) struct Bridge {
    make_error: FunctionRef<FnArgs<(String, String, Option<String>)>, Unknown<'static>>,
    logger: Logger,
}

impl Bridge {
    pub(crate) fn new(
        make_error: MakeError<'static>,
        write_log: &WriteLog<'_>,
    ) -> napi::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            make_error: make_error.create_ref()?,
            logger: logger_into(write_log)?,
        }))
    }

    pub(crate) fn logger(&self) -> &Logger {
        &self.logger
    }

    /// The error object that JavaScript throws.
    pub(crate) fn error(&self, env: &Env, error: CallError) -> napi::Error {
        let details = error.details.map(|details| details.to_string());
        let args = FnArgs::from((error.code.into_owned(), error.message, details));
        match self
            .make_error
            .borrow_back(env)
            .and_then(|make| make.call(args))
        {
            Ok(object) => napi::Error::from_unknown_without_coercion(object),
            Err(failure) => failure,
        }
    }

    /// Runs synchronous work for JavaScript.
    pub(crate) fn run<T>(
        &self,
        env: &Env,
        work: impl FnOnce() -> Result<T, CallError>,
    ) -> napi::Result<T> {
        panic::guard(work).map_err(|error| self.error(env, error))
    }

    /// Runs asynchronous work for JavaScript, off its thread. `convert` makes the result a
    /// JavaScript value, back on the thread. The work does not keep the process alive.
    pub(crate) fn spawn<'env, T, V>(
        self: &Arc<Self>,
        env: &'env Env,
        work: impl Future<Output = Result<T, CallError>> + Send + 'static,
        convert: impl FnOnce(&Env, T) -> napi::Result<V> + 'static,
    ) -> napi::Result<PromiseRaw<'env, V>>
    where
        T: Send + 'static,
        V: ToNapiValue,
    {
        let bridge = Arc::clone(self);
        let guarded = AssertUnwindSafe(work).catch_unwind().map(|outcome| {
            Ok(outcome.unwrap_or_else(|payload| Err(CallError::from_panic(&*payload))))
        });
        env.spawn_future_with_callback(guarded, move |env, outcome| match outcome {
            Ok(value) => convert(env, value),
            Err(error) => Err(bridge.error(env, error)),
        })
    }
}

/// A logger whose lines are written by a JavaScript function. The reference to it is weak: waiting
/// log lines do not keep the process alive.
fn logger_into(write_log: &WriteLog<'_>) -> napi::Result<Logger> {
    let queue = write_log
        .build_threadsafe_function::<Record>()
        .weak::<true>()
        .max_queue_size::<WAITING_LOG_LINES>()
        .build_callback(|context| {
            let Record {
                level,
                module,
                message,
                properties,
            } = context.value;
            Ok(FnArgs::from((
                level.as_str().to_owned(),
                module.to_owned(),
                message,
                serde_json::Value::Object(properties).to_string(),
            )))
        })?;
    Ok(Logger::new(move |record| {
        // A full queue or an environment that is going away: the line is lost, by design.
        let _ = queue.call(record, ThreadsafeFunctionCallMode::NonBlocking);
    }))
}

//! The native side of one JavaScript environment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use napi::bindgen_prelude::within_runtime_if_available;
use napi_derive::napi;
use operations_core::limits::Gate;
use operations_core::panic;
use operations_spill::Ledger;
use tokio::runtime::Handle;

use crate::interop::bridge::{Bridge, MakeError, WriteLog};

/// All native state of one JavaScript environment. The facade makes exactly one.
#[napi]
pub struct Runtime {
    pub(crate) bridge: Arc<Bridge>,
    /// See [`Runtime::set_host_sending`].
    pub(crate) is_host_sending: Arc<AtomicBool>,
    /// The files of large results.
    pub(crate) spilled: Arc<Ledger>,
    /// The limits on calls, made with the first of them.
    gate: OnceLock<Arc<Gate>>,
}

impl Runtime {
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        self.gate
            .get_or_init(|| Gate::new(within_runtime_if_available(Handle::current)))
    }
}

#[napi]
impl Runtime {
    /// `makeError` builds the `CallError` that native failures are thrown as; `writeLog` receives
    /// native log lines.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        #[napi(ts_arg_type = "(code: string, message: string, details?: string | null) => Error")]
        make_error: MakeError<'static>,
        #[napi(
            ts_arg_type = "(level: string, module: string, message: string, properties: string) => void"
        )]
        write_log: WriteLog<'_>,
    ) -> napi::Result<Self> {
        panic::install_quiet_hook();
        Ok(Self {
            bridge: Bridge::new(make_error, &write_log)?,
            is_host_sending: Arc::default(),
            spilled: Arc::default(),
            gate: OnceLock::new(),
        })
    }

    /// Whether JavaScript sends requests itself, because the user has put a `fetch` of their own in the place of the
    /// runtime's.
    #[napi(catch_unwind)]
    pub fn set_host_sending(&self, is_sending: bool) {
        self.is_host_sending.store(is_sending, Ordering::Relaxed);
    }

    /// The version of the package that this binary was built for.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

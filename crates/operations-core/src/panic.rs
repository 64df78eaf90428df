//! Panics are defects, and they must not cost the user their process: at every boundary they are
//! caught and become a [`crate::CallError`].

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::CallError;

thread_local! {
    static LAST_LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics quiet: instead of a message on standard error, which belongs to the application,
/// the place is remembered for the error that the panic becomes. Affects only code linked into
/// this library, not the host.
pub fn install_quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let location = info.location().map(ToString::to_string);
            // A thread that is being torn down may have no thread-local storage any more.
            let _ = LAST_LOCATION.try_with(|last| last.replace(location));
        }));
    });
}

/// Where the last panic of this thread happened, if the quiet hook saw it. Returned once.
#[must_use]
pub fn take_location() -> Option<String> {
    LAST_LOCATION.try_with(RefCell::take).ok().flatten()
}

/// What a panic said, as far as it said anything.
#[must_use]
pub fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// Runs `work`; a panic in it becomes an error.
///
/// # Errors
///
/// Whatever `work` returns, or the error that stands for its panic.
pub fn guard<T>(work: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
    // Unwind safety: what `work` was changing may be half done, so callers hand in either values
    // that are dropped with the failed call or state behind a lock that reports poisoning.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(CallError::from_panic(&*payload)))
}

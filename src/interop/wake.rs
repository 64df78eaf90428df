//! How native threads call JavaScript: a function without arguments that says "look".

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;

/// Takes everything that waits for it.
pub(crate) type Look<'env> = Function<'env, (), ()>;

/// Wake-ups that may wait for the JavaScript thread. One that waits is enough, since it looks at
/// everything; the second is for what comes while the first is being served.
const WAITING_WAKE_UPS: usize = 2;

/// A function for any thread that has `look` called soon, on its own thread. It does not keep the
/// process alive.
pub(crate) fn waker(look: &Look<'_>) -> napi::Result<impl Fn() + Send + Sync + use<>> {
    let queue = look
        .build_threadsafe_function::<()>()
        .weak::<true>()
        .max_queue_size::<WAITING_WAKE_UPS>()
        .build_callback(|_| Ok(()))?;
    Ok(move || {
        // A full queue has a wake-up in it; an environment that is going away needs none.
        let _ = queue.call((), ThreadsafeFunctionCallMode::NonBlocking);
    })
}

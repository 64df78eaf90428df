//! A thread for each connection. The client's task, those that read and the one that writes take turns on it, so that
//! nothing that one hands to the other wakes another thread, and what is ready together is written together.

use std::future::Future;
use std::io;

use operations_core::error::CallError;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::{Connection, closed};

/// Opens a connection on a thread of its own, which lives as long as the connection is open.
pub(super) async fn run<F>(
    open: impl FnOnce() -> F + Send + 'static,
) -> Result<Connection, CallError>
where
    F: Future<Output = Result<Connection, CallError>>,
{
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| no_thread(&error))?;
    let (sender, opened) = oneshot::channel();
    std::thread::Builder::new()
        .name("operations-nats".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let result = open().await;
                let is_closed = result
                    .as_ref()
                    .ok()
                    .map(|connection| connection.shared.closed.clone());
                // A connection that was abandoned is dropped here, which closes it.
                let _ = sender.send(result);
                if let Some(is_closed) = is_closed {
                    is_closed.cancelled().await;
                }
            });
            // A DNS lookup may still be running.
            runtime.shutdown_background();
        })
        .map_err(|error| no_thread(&error))?;
    opened.await.unwrap_or_else(|_| Err(closed()))
}

fn no_thread(error: &io::Error) -> CallError {
    CallError::failed(format!(
        "The NATS connection cannot be opened: there is no thread for it ({error})"
    ))
}

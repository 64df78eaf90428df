//! What is asked of a server, and what becomes of it when the server ends in the middle.

use std::sync::Arc;
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::client::CallOptions;
use crate::client::call::{self, Ask};
use crate::client::connection::Connection;
use crate::client::listing::List;
use crate::client::request::Patience;
use crate::client::session::Session;
use crate::error::{About, Failure};

/// How often a call is sent again that met the end of its server.
const REPEATS: usize = 2;

/// An error of a time before the call was sent.
fn not_carried_out(mut error: CallError) -> CallError {
    let details = error.details.get_or_insert_with(|| json!({}));
    if let Value::Object(details) = details {
        details.insert("mayHaveExecuted".to_owned(), json!(false));
    }
    error
}

impl Session {
    pub(crate) fn arguments(
        &self,
        name: &str,
        text: Option<&str>,
    ) -> Result<Option<JsonObject>, CallError> {
        let Some(text) = text else { return Ok(None) };
        serde_json::from_str(text).map_err(|error| {
            let mut about = About::server(self.config());
            about.tool = Some(name);
            let what = format!("the arguments must be an object, at most 128 levels deep: {error}");
            about.error(Code::ValidationError, &what, json!({}))
        })
    }

    pub(crate) async fn list(
        self: &Arc<Self>,
        list: List,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let limit = self.config().connect_timeout;
        let connection = self.connected(limit, cancel).await?;
        match connection.list(list, cancel).await {
            Ok(entries) => {
                if list == List::Tools {
                    self.note_tools(&entries, true);
                }
                Ok(entries)
            }
            Err(failure) => Err(self.told(&connection, None, failure).await),
        }
    }

    /// The connection that is there, or a new one.
    async fn connected(
        self: &Arc<Self>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, CallError> {
        match self.live() {
            Some(connection) => Ok(connection),
            // Boxed: what is rarely needed must not make every call larger.
            None => Box::pin(self.connection_for(limit, cancel)).await,
        }
    }

    /// The connection, as far as the caller's patience goes. One that is being made when it ends is made
    /// all the same, for the next call.
    async fn connection_for(
        self: &Arc<Self>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, CallError> {
        let session = Arc::clone(self);
        let connecting = tokio::spawn(async move { session.connection().await });
        let about = About::server(self.config());
        let details = json!({ "mayHaveExecuted": false });
        tokio::select! {
            biased;
            connected = connecting => match connected {
                Ok(connected) => connected.map_err(not_carried_out),
                Err(error) => {
                    let what = format!("it could not be connected: {error}");
                    Err(about.error(Code::ExecutionError, &what, details))
                }
            },
            () = cancel.cancelled() => {
                let what = "the call was aborted before it was sent";
                Err(about.error(Code::Aborted, what, details))
            }
            () = sleep(limit) => {
                let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let what = format!("it was not connected again within {limit} ms; the call was not sent");
                Err(about.error(Code::Timeout, &what, details))
            }
        }
    }

    pub(crate) async fn ask(
        self: &Arc<Self>,
        what: Ask,
        tool: Option<&str>,
        options: CallOptions,
        cancel: &CancellationToken,
    ) -> Result<String, CallError> {
        let config = self.config();
        let patience = Patience {
            limit: options.timeout.unwrap_or(config.timeout),
            reset_on_progress: options
                .reset_timeout_on_progress
                .unwrap_or(config.reset_timeout_on_progress),
        };
        let mut repeats = 0;
        loop {
            let connection = self.connected(patience.limit, cancel).await?;
            let progress = options.on_progress.as_ref();
            let asked = call::ask(&connection, &what, patience, progress, cancel).await;
            match asked {
                Ok(result) => {
                    self.is_well();
                    return Ok(result);
                }
                Err(failure) => {
                    if failure.ends_connection() {
                        connection.begin_close();
                    }
                    if repeats >= REPEATS || !self.may_repeat(&failure, tool, &what) {
                        return Err(Box::pin(self.told(&connection, tool, failure)).await);
                    }
                    repeats += 1;
                }
            }
        }
    }

    /// Whether a call that met its server's end may be sent to the next one: if it never left us, or if
    /// doing it twice does no harm.
    fn may_repeat(&self, failure: &Failure, tool: Option<&str>, what: &Ask) -> bool {
        if !self.config().reconnect || self.closed.is_cancelled() {
            return false;
        }
        let harmless = match (what, tool) {
            (Ask::Tool { .. }, Some(tool)) => self.seen().names.get(tool) == Some(&true),
            _ => true,
        };
        failure.never_left() || (harmless && matches!(failure, Failure::Lost { .. }))
    }

    async fn told(
        &self,
        connection: &Connection,
        tool: Option<&str>,
        failure: Failure,
    ) -> CallError {
        let died = matches!(failure, Failure::Lost { .. });
        let mut about = connection.about(tool, died).await;
        // A refusal or a time limit says it all; words from long ago would only confuse.
        if matches!(
            failure,
            Failure::Refused(_) | Failure::Aborted | Failure::TooLarge(_)
        ) {
            about.stderr.clear();
        }
        let error = about.failure(failure);
        self.seen().last_error = serde_json::to_value(&error).ok();
        error
    }
}

//! Telling clients that the list of tools is another.

use std::time::Duration;

use operations_core::json::Object;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use super::message::{self, INVALID_PARAMS, Refusal};

/// Registrations come in rows, and what is served is chosen a moment later: all of it is one change.
const SETTLES: Duration = Duration::from_millis(250);

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Waits for a change, and until no more is to be expected. Nothing if there never will be one.
pub(super) async fn next(revision: &mut watch::Receiver<u64>) -> Option<()> {
    revision.changed().await.ok()?;
    // Whoever waits may stop waiting in between, and ask again.
    revision.mark_changed();
    sleep(SETTLES).await;
    revision.borrow_and_update();
    Some(())
}

/// What older clients are told.
pub(super) fn announcement() -> String {
    message::notification("notifications/tools/list_changed", "{}")
}

/// What a client of the newer generation has subscribed to.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The id of the request, as JSON.
    id: String,
    pub(super) wants_tools: bool,
}

impl Subscription {
    /// Reads the parameters of `subscriptions/listen`.
    pub(super) fn read(id: &str, params: &Object<'_>) -> Result<Self, Refusal> {
        let wanted = params
            .object("notifications")
            .ok_or_else(|| Refusal::new(INVALID_PARAMS, "\"notifications\" must be an object"))?;
        Ok(Self {
            id: id.to_owned(),
            wants_tools: wanted.get("toolsListChanged") == Some("true"),
        })
    }

    /// The first that a client hears: what it will be told of.
    pub(super) fn acknowledgement(&self) -> String {
        let honoured = if self.wants_tools {
            json!({ "toolsListChanged": true })
        } else {
            json!({})
        };
        let params = format!(r#"{{"notifications":{honoured},"_meta":{}}}"#, self.meta());
        message::notification("notifications/subscriptions/acknowledged", &params)
    }

    /// The list is another.
    pub(super) fn announcement(&self) -> String {
        let params = format!(r#"{{"_meta":{}}}"#, self.meta());
        message::notification("notifications/tools/list_changed", &params)
    }

    /// The last that a client hears.
    pub(super) fn end(&self) -> String {
        let result = format!(r#"{{"resultType":"complete","_meta":{}}}"#, self.meta());
        message::result(&self.id, &result)
    }

    fn meta(&self) -> String {
        format!(r#"{{"{SUBSCRIPTION_KEY}":{}}}"#, self.id)
    }
}

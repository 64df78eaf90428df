//! Which calls are to be tasks.

use std::time::Duration;

use operations_core::clock;
use operations_core::json::Object;
use serde::Deserialize;
use serde_json::json;

use super::EXTENSION;
use crate::door::mcp::client;
use crate::door::mcp::message::{METHOD_NOT_FOUND, Refusal};
use crate::door::mcp::protocol_version::ProtocolVersion;
use crate::door::mcp::request::RequestContext;
use crate::service::Shared;

/// How a tool can be called as a task.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Support {
    /// Whether it takes too long for anything else.
    pub(in super::super) required: bool,
    /// After how many milliseconds a call of the stateless protocol becomes a task, where that is not at once.
    #[serde(default)]
    pub(in super::super) after: Option<f64>,
}

impl Support {
    pub(in super::super) fn name(self) -> &'static str {
        if self.required {
            "required"
        } else {
            "optional"
        }
    }
}

/// How a call is to be a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct TaskRequest {
    /// How long it is kept, in milliseconds.
    pub(in super::super) keep: f64,
    /// How long it is a plain call; `None` if it never is.
    pub(in super::super) after: Option<Duration>,
}

/// Whether a call of a tool is to be a task.
pub(in super::super) fn requested(
    shared: &Shared,
    context: &RequestContext,
    support: Option<Support>,
    params: &Object<'_>,
) -> Result<Option<TaskRequest>, Refusal> {
    let Some(tasks) = &shared.mcp.tasks else {
        return Ok(None);
    };
    let keep = tasks.options.keep;
    let is_required = support.is_some_and(|support| support.required);
    if context.protocol == ProtocolVersion::Stateless {
        return match support {
            Some(Support { after, .. }) if context.client.tasks => Ok(Some(TaskRequest {
                keep,
                after: after.map(clock::milliseconds),
            })),
            _ if is_required => Err(undeclared()),
            _ => Ok(None),
        };
    }
    match (params.object("task"), support) {
        (Some(task), Some(_)) => {
            let ttl = task.number("ttl").filter(|ttl| *ttl > 0.0);
            Ok(Some(TaskRequest {
                keep: ttl.map_or(keep, |ttl| ttl.min(keep).ceil()),
                // The client wants one, and gets one.
                after: None,
            }))
        }
        (None, _) if is_required => Err(Refusal::new(
            METHOD_NOT_FOUND,
            "This tool takes too long for a plain call. Call it as a task",
        )),
        (None, _) => Ok(None),
        (Some(_), None) => Err(Refusal::new(
            METHOD_NOT_FOUND,
            "This tool cannot be called as a task. Call it without \"task\"",
        )),
    }
}

/// A client of the stateless protocol must say that it knows tasks.
pub(in super::super) fn undeclared() -> Refusal {
    client::missing(
        "This needs a client with the extension for tasks",
        &json!({ "extensions": { EXTENSION: {} } }),
        ProtocolVersion::Stateless,
    )
}

//! An operation as JavaScript describes it (`facade/serve/describe-mcp.ts`).

use operations_core::access::AccessControl;
use operations_core::spec::OperationType;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::tasks::Support;

/// An operation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationDescriptor {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) operation_type: OperationType,
    pub(super) description: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    /// The rules that can be checked here.
    pub(super) access: AccessControl,
    /// `None` where the schema cannot be written as JSON.
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) output: Option<Value>,
    /// What clients that know us make an operation of, beside what all clients see.
    #[serde(default)]
    pub(super) operation: Map<String, Value>,
    #[serde(default)]
    pub(super) annotations: Option<Map<String, Value>>,
    /// Whether a large result may be in a file.
    #[serde(default)]
    pub(super) spills: bool,
    /// The MCP doors that it is offered at, one bit each.
    #[serde(default = "first")]
    pub(super) views: u32,
    /// How it appears.
    #[serde(default)]
    pub(super) mcp: McpDescriptor,
}

fn first() -> u32 {
    1
}

/// How an operation appears to clients.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct McpDescriptor {
    pub(super) tool: bool,
    /// What its tool is to be called, where that is not made of its id.
    pub(super) name: Option<String>,
    /// Whether it can be called as a task.
    pub(super) task: Option<Support>,
    pub(super) prompt: bool,
    pub(super) resource: Option<ResourceDescriptor>,
    /// What a client must be able to do: names of capabilities.
    pub(super) requires: Vec<String>,
    /// Where completions come from, by argument.
    pub(super) complete: Map<String, Value>,
}

impl Default for McpDescriptor {
    fn default() -> Self {
        Self {
            tool: true,
            name: None,
            task: None,
            prompt: false,
            resource: None,
            requires: Vec::new(),
            complete: Map::new(),
        }
    }
}

/// Where a resource is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceDescriptor {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) mime_type: Option<String>,
}

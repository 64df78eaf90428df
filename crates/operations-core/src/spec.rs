//! What an operation declares about itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::AccessControl;

/// What calling an operation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationType {
    /// Reads.
    Query,
    /// Changes something.
    Mutation,
    /// Yields many results.
    Subscription,
}

/// An error that an operation announces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDefinition {
    /// The code that callers branch on.
    pub code: String,
    /// When it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The shape of its details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The HTTP status that stands for it, where operations are served over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
}

/// An operation without its handler. Schemas are JSON Schema here; what JSON cannot say about a
/// TypeBox schema stays on the JavaScript side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationSpec {
    /// The name within the namespace.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The version of the operation.
    pub version: String,
    /// What calling it means.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What it takes.
    pub input_schema: Value,
    /// What it gives.
    pub output_schema: Value,
    /// Who may call it.
    pub access_control: AccessControl,
    /// How it may fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_schemas: Option<Vec<ErrorDefinition>>,
    /// What an adapter wants to remember.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl OperationSpec {
    /// The key of the operation: `namespace.name`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }
}

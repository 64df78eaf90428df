//! What an operation declares about itself.

use serde::{Deserialize, Serialize};

use crate::access::AccessControl;
use crate::registry::OutputMode;

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

/// What is known here of an operation beside its schemas and its handler.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationSpec {
    /// The name within the namespace.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// What calling it means.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// What it does.
    pub description: String,
    /// Who may call it.
    pub access_control: AccessControl,
    /// What happens to its outputs, where that is not what the registry says.
    pub output: Option<OutputMode>,
    /// The errors that it announces.
    #[serde(default)]
    pub errors: Vec<DeclaredError>,
    /// Whether a large result may be in a file.
    #[serde(default)]
    pub spills: bool,
}

/// An error that an operation announces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredError {
    /// Its code.
    pub code: String,
    /// The HTTP status that stands for it.
    #[serde(default)]
    pub http_status: Option<u16>,
}

impl OperationSpec {
    /// The key of the operation: `namespace.name`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }
}

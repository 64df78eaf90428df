//! An operation as JavaScript describes it to clients of HTTP (`facade/serve/describe-http.ts`).

use operations_core::access::{AccessControl, CallInput, Identity, enforce_access};
use operations_core::error::CallError;
use operations_core::spec::OperationType;
use operations_http::message::RequestPlan;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An operation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationDescriptor {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// What calling it means.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// A few words.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// Words to group it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether it is better not used.
    #[serde(default)]
    pub deprecated: bool,
    /// The rules that can be checked here.
    pub access: AccessControl,
    /// Whether a JavaScript function has a say, too.
    #[serde(default)]
    pub has_custom_auth: bool,
    /// The schema of its input; `None` where it cannot be written as JSON. Text, because most schemas are never read here.
    #[serde(default)]
    pub input: Option<Box<RawValue>>,
    /// The schema of its output.
    #[serde(default)]
    pub output: Option<Box<RawValue>>,
    /// The errors that it announces.
    #[serde(default)]
    pub errors: Vec<DescribedError>,
    /// The request that it was imported as.
    #[serde(default)]
    pub request: Option<RequestPlan>,
}

/// An error that an operation announces.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedError {
    /// Its code.
    pub code: String,
    /// What it means.
    #[serde(default)]
    pub description: Option<String>,
    /// The HTTP status that stands for it.
    #[serde(default)]
    pub http_status: Option<u16>,
    /// The schema of its details.
    #[serde(default)]
    pub schema: Option<Value>,
}

impl OperationDescriptor {
    /// Reads a JSON list.
    ///
    /// # Errors
    ///
    /// When it is not valid.
    pub fn read_all(json: &str) -> Result<Vec<Self>, CallError> {
        serde_json::from_str(json).map_err(|error| {
            CallError::unknown(format!("The list of operations cannot be read: {error}"))
        })
    }

    /// Reads a schema.
    pub(super) fn schema(text: Option<&RawValue>) -> Option<Value> {
        serde_json::from_str(text?.get()).ok()
    }

    /// The key of the operation: `namespace.name`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// Whether every caller may call it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.has_custom_auth && self.is_for(None)
    }

    /// Whether a caller may call it, as far as the rules can be checked here.
    #[must_use]
    pub fn is_for(&self, identity: Option<&Identity>) -> bool {
        enforce_access(&self.access, identity, &self.id(), CallInput::Any).is_ok()
    }
}

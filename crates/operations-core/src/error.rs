//! The one error that callers see.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use operations_schema::Interrupt;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::panic;

/// The codes that the package itself raises. Operations may declare any other string as theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InfrastructureErrorCode {
    /// No operation, or no handler, under this id.
    OperationNotFound,
    /// The caller lacks what the operation's access rules demand.
    AccessDenied,
    /// An input, a spec, a schema or a document does not have the required shape.
    ValidationError,
    /// A deadline or a time limit passed.
    Timeout,
    /// The caller, or the other side, ended the call.
    Aborted,
    /// The operation ran and failed.
    ExecutionError,
    /// Something was thrown that is not an error.
    UnknownError,
}

impl InfrastructureErrorCode {
    /// Every code, in the order of the public `InfrastructureErrorCode` object.
    pub const ALL: [Self; 7] = [
        Self::OperationNotFound,
        Self::AccessDenied,
        Self::ValidationError,
        Self::Timeout,
        Self::Aborted,
        Self::ExecutionError,
        Self::UnknownError,
    ];

    /// The word that travels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperationNotFound => "OPERATION_NOT_FOUND",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::ValidationError => "VALIDATION_ERROR",
            Self::Timeout => "TIMEOUT",
            Self::Aborted => "ABORTED",
            Self::ExecutionError => "EXECUTION_ERROR",
            Self::UnknownError => "UNKNOWN_ERROR",
        }
    }
}

impl fmt::Display for InfrastructureErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<InfrastructureErrorCode> for Cow<'static, str> {
    fn from(code: InfrastructureErrorCode) -> Self {
        Cow::Borrowed(code.as_str())
    }
}

/// What a caller gets when a call fails: a code to branch on, a sentence to read, details to look at.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Deserialize)]
#[error("{code}: {message}")]
pub struct CallError {
    /// One of [`InfrastructureErrorCode`], or a code that the operation declared.
    pub code: Cow<'static, str>,
    /// What failed, where, and what to do about it.
    pub message: String,
    /// Anything that helps a program react.
    #[serde(default)]
    pub details: Option<Value>,
    /// Whether the message was not written for the caller, as that of an exception that a handler did not expect. Doors
    /// mask it. On the wire it is `isInternal` ([`CallError::internal_flag`]).
    #[serde(default, rename = "isInternal")]
    pub is_internal: bool,
}

impl Serialize for CallError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("code", &self.code)?;
        fields.serialize_entry("message", &self.message)?;
        if let Some(details) = &self.details {
            fields.serialize_entry("details", details)?;
        }
        if let Some(is_internal) = self.internal_flag() {
            fields.serialize_entry("isInternal", &is_internal)?;
        }
        fields.end()
    }
}

/// What stands before a quote of standard error in a message. `facade/call/masked-details.ts` has the same text.
pub const STDERR_QUOTE: &str = ". Its last words on stderr:\n";

impl CallError {
    /// An error without details.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            details: None,
            is_internal: false,
        }
    }

    /// Something that the caller, the configuration or a document has to change.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(InfrastructureErrorCode::ValidationError, message)
    }

    /// Something that went wrong on the way to the other side, or there.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(InfrastructureErrorCode::ExecutionError, message)
    }

    /// A failure that a handler did not expect. Servers log the message and mask it for callers.
    pub fn unexpected(error: impl fmt::Display) -> Self {
        Self::failed(error.to_string()).with_internal(true)
    }

    /// Something that only a defect of ours brings about.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(InfrastructureErrorCode::UnknownError, message)
    }

    /// An error that was received from the other side, whose details are JSON. Details that cannot be read are left out.
    pub fn from_parts(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        details: Option<&str>,
    ) -> Self {
        Self {
            details: details.and_then(|text| serde_json::from_str(text).ok()),
            ..Self::new(code, message)
        }
    }

    /// The same error with details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same error without what an MCP server wrote to its standard error, which was written for its operator.
    #[must_use]
    pub fn without_stderr(mut self) -> Self {
        let details = self.details.as_mut().and_then(Value::as_object_mut);
        if details.is_some_and(|details| details.shift_remove("stderr").is_some())
            && let Some(at) = self.message.find(STDERR_QUOTE)
        {
            self.message.truncate(at);
        }
        self
    }

    /// The same error, marked as internal or not.
    #[must_use]
    pub fn with_internal(mut self, is_internal: bool) -> Self {
        self.is_internal = is_internal;
        self
    }

    /// What goes along with the error on the wire; nothing where it goes without saying. `facade/errors.ts` has the same rule.
    #[must_use]
    pub fn internal_flag(&self) -> Option<bool> {
        (self.is_internal || self.looks_internal()).then_some(self.is_internal)
    }

    /// How an error without the flag is read: peers that do not know the flag send an unexpected exception as this code, and
    /// never with details.
    #[must_use]
    pub fn looks_internal(&self) -> bool {
        self.details.is_none() && self.is(InfrastructureErrorCode::ExecutionError)
    }

    /// Whether the error carries this code of ours.
    #[must_use]
    pub fn is(&self, code: InfrastructureErrorCode) -> bool {
        self.code == code.as_str()
    }

    /// What a caught panic becomes. It is a defect of ours, so the text asks for a report.
    #[must_use]
    pub fn from_panic(payload: &(dyn Any + Send)) -> Self {
        let reason = panic::message(payload);
        Self::unknown(format!(
            "Internal error in the native part of @alkdev/operations: {reason}. \
             The process is unharmed; please report this with the steps that led here"
        ))
        .with_details(json!({ "panic": reason, "location": panic::take_location() }))
    }
}

impl From<Interrupt> for CallError {
    /// A value that could not be held against a schema.
    fn from(interrupt: Interrupt) -> Self {
        let error = Self::invalid(interrupt.to_string());
        match interrupt {
            Interrupt::Limit(limit) => {
                error.with_details(json!({ "limit": format!("{limit:?}").to_lowercase() }))
            }
            _ => error,
        }
    }
}
/// Why work failed, with what its error cannot hold.
#[derive(Debug)]
pub struct Failure {
    /// The error.
    pub error: Box<CallError>,
    /// A binary error body, which JSON cannot carry: it belongs into the details as `body`.
    pub body: Option<Vec<u8>>,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self {
            error: Box::new(error),
            body: None,
        }
    }
}

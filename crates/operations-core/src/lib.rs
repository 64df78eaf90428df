//! What an operation is, independent of Node: specs, access rules, envelopes and errors.
//!
//! The types here are the ones that travel: they are read from and written to JSON when a call, an
//! answer or an error crosses a process. Their JavaScript counterparts live in `facade/`, and the
//! two are held together by the shared tables in `tests/cases/`, which both sides run.

#![forbid(unsafe_code)]

pub mod access;
pub mod call;
pub mod envelope;
pub mod error;
pub mod json;
pub mod log;
pub mod mailbox;
pub mod panic;
pub mod spec;
pub mod store;

pub use access::{AccessControl, Identity, check_access, enforce_access};
pub use envelope::{ResponseEnvelope, ResponseMeta, is_response_envelope};
pub use error::{CallError, InfrastructureErrorCode};
pub use spec::{ErrorDefinition, OperationSpec, OperationType};
pub use store::SpecStore;

//! What an operation is, independent of Node: specs, access rules, envelopes and errors.
//!
//! The types here are the ones that travel: they are read from and written to JSON when a call, an
//! answer or an error crosses a process. Their JavaScript counterparts live in `facade/`, and the
//! two are held together by the shared tables in `tests/cases/`, which both sides run.

#![forbid(unsafe_code)]

pub mod access;
pub mod address;
pub mod byte_budget;
pub mod call;
pub mod clock;
pub mod envelope;
pub mod error;
pub mod limits;
pub mod listed;
pub mod lock;
pub mod log;
pub mod mailbox;
pub mod nearest;
pub mod number;
pub mod panic;
pub mod registry;
pub mod secrets;
pub mod spec;
pub mod table;
pub mod trace;
pub mod utf8;

pub use operations_schema::json;

pub use error::{CallError, InfrastructureErrorCode};
pub use spec::{DeclaredError, OperationSpec, OperationType};

//! OpenAPI documents: reading them and turning their operations into ours, without any I/O.
//!
//! [`Document::parse`] reads OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0 from JSON or YAML; [`import`] makes
//! operations of it and reports on each. Documents come from outside: nothing in one may crash or
//! exhaust the process (see [`bounds`]), and an operation that is broken never loses the others.
//!
//! Importing indexes; the schemas of an operation are copied out of the document when they are asked
//! for, because most operations of a large document are never called.

#![forbid(unsafe_code)]

pub mod bounds;

mod assemble;
mod body;
mod choices;
mod document;
mod events;
mod files;
mod graph;
mod import;
mod keywords;
mod names;
mod operation;
mod origin;
mod parameters;
mod path_item;
mod pointer;
mod read;
mod read_write_only;
mod recipe;
mod report;
mod responses;
mod runnable;
mod schema;
mod schema_rules;
mod scope;
mod security;
mod select;
mod servers;
mod survey;
mod tree;
mod version;
mod yaml;

pub use choices::{Answer, ImportChoices};
pub use document::Document;
pub use import::{Import, import};
pub use operation::{ImportedOperation, OperationHead};
pub use read::read_settings;
pub use report::{Problem, Reason, ReportEntry, Status};
pub use security::{Security, SecurityHint};
pub use survey::{Offered, survey};
pub use version::Version;

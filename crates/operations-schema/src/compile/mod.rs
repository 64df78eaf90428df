//! From a [`Source`] to a [`Program`].
//!
//! Each schema location is compiled once; references become ids. Locations wait in a queue, so the
//! depth of a schema costs no stack.

mod compiler;
mod documents;
mod draft;
mod json;
mod json_containers;
mod key_pattern;
mod metaschema;
mod place;
mod required;
mod typebox;
mod typebox_scope;
mod uri;

use std::collections::HashMap;

pub use draft::Draft;

use crate::ir::Program;
use crate::problem::Result;
use crate::source::Source;

/// Documents that `$ref` may name, by URI without fragment.
pub type Registry = HashMap<String, Source<'static>>;

/// How to read a schema.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The draft of documents without `$schema`.
    pub default_draft: Draft,
    /// Whether known formats are asserted in JSON Schemas. In TypeBox kinds they always are.
    pub assert_formats: bool,
    /// OpenAPI 3.0's dialect: what stands beside `$ref` is meaningless.
    pub openapi: bool,
    /// The schema comes from outside: a pattern of a TypeBox kind that is not a regular expression
    /// is an error here, not only a value that never passes.
    pub untrusted: bool,
    /// Documents that `$ref` may name. Nothing is ever loaded from the network or from files.
    pub documents: Registry,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            default_draft: Draft::default(),
            assert_formats: true,
            openapi: false,
            untrusted: false,
            documents: Registry::new(),
        }
    }
}

/// Compiles a schema.
///
/// # Errors
/// When a reference leads nowhere, a pattern cannot be used, a keyword has a value that makes no
/// sense, or a bound is reached.
pub fn compile(source: &Source<'_>, options: &CompileOptions) -> Result<Program> {
    compiler::Compiler::new(source, options).run(source)
}

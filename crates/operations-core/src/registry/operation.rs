//! One operation of the registry.

use std::fmt;
use std::sync::{Arc, LazyLock};

use operations_schema::Program;
use operations_schema::patterns::Pattern;
use serde::Deserialize;

use super::handler::Handler;
use crate::spec::OperationSpec;

/// What happens to outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    /// They are brought into the declared shape.
    #[default]
    Normalise,
    /// The same, but nothing is removed.
    Keep,
    /// They are checked, and that is all.
    Off,
    /// Nothing is made up: what undeclared properties, declared defaults and lossless conversions do not make
    /// right fails the call.
    Strict,
}

/// An operation.
#[derive(Debug)]
pub struct Operation {
    /// What it declares.
    pub spec: OperationSpec,
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub output: Schema,
    /// Who does it.
    pub work: Work,
}

/// Who does the work of an operation.
#[derive(Clone)]
pub enum Work {
    /// The host: calls are handed to it as they are, unchecked.
    Host,
    /// A handler that needs no host.
    Native(Arc<dyn Handler>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "Host",
            Self::Native(_) => "Native",
        })
    }
}

/// A schema that only the host can use: it speaks of live values, or cannot be compiled, which the host can explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostOnly;

/// What comes of making a schema: its program, or nothing where all values pass.
pub type Made = Result<Option<Arc<Program>>, HostOnly>;

/// A schema of an operation, made when it is first needed: a document may have a thousand operations of which ten
/// are called.
pub struct Schema(LazyLock<Made, Box<dyn FnOnce() -> Made + Send>>);

impl Schema {
    /// A schema that is made when it is first needed.
    pub fn lazy(make: impl FnOnce() -> Made + Send + 'static) -> Self {
        Self(LazyLock::new(Box::new(make)))
    }

    /// A schema that is there already; nothing where all values pass untouched.
    #[must_use]
    pub fn ready(program: Option<Arc<Program>>) -> Self {
        Self::lazy(move || match program {
            Some(program) if !can_decide(&program) => Err(HostOnly),
            program => Ok(program),
        })
    }

    /// The program.
    ///
    /// # Errors
    ///
    /// When only the host can use it.
    pub fn program(&self) -> Made {
        (*self.0).clone()
    }
}

/// Whether this side can do all that a schema asks for.
fn can_decide(program: &Program) -> bool {
    let cannot_run = |pattern: &Pattern| pattern.failure().is_some();
    !program.needs_javascript() && !program.patterns().iter().any(cannot_run)
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

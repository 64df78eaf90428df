//! Schemas that tell the variants of a union apart.

use std::sync::OnceLock;

use operations_schema::json::Document;
use operations_schema::{CompileOptions, Program, Source, compile};
use serde_json::{Map, Value, json};

/// A schema that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Checker {
    part: Value,
    program: OnceLock<Option<Program>>,
}

impl Checker {
    pub(crate) fn new(part: Value) -> Self {
        Self {
            part,
            program: OnceLock::new(),
        }
    }

    /// Whether a value passes. A schema that cannot be compiled decides nothing, and accepts.
    pub(crate) fn accepts(&self, value: &Value, definitions: &Map<String, Value>) -> bool {
        self.program
            .get_or_init(|| compiled(&self.part, definitions))
            .as_ref()
            .is_none_or(|program| program.check_json(&Document::from(value)).unwrap_or(false))
    }
}

/// A part of a schema, with the definitions that it may refer to.
pub(crate) fn compiled(part: &Value, definitions: &Map<String, Value>) -> Option<Program> {
    let document = json!({ "$defs": definitions, "allOf": [part] });
    let source = Source::try_from(&document).ok()?;
    compile(&source, &CompileOptions::default()).ok()
}

//! Checking and normalising JSON documents: the entry point for JSON in Rust.
//!
//! ```
//! use operations_schema::json::Document;
//! use operations_schema::{CompileOptions, Mode, Source, compile};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": { "id": { "type": "integer" } },
//!     "required": ["id"],
//!     "additionalProperties": false,
//! });
//! let program = compile(&Source::try_from(&schema)?, &CompileOptions::default())?;
//!
//! let good = Document::parse(r#"{"id":7}"#)?;
//! assert!(program.check_json(&good)?);
//! let bad = Document::parse(r#"{"id":"7","more":1}"#)?;
//! assert_eq!(program.errors_json(&bad, 10)?[0].path, "/more");
//!
//! let done = program.normalise_json(&bad, Mode::Normalise)?;
//! assert_eq!(done.replacement.as_deref(), Some(r#"{"id":7}"#));
//! // What has the declared shape stays: there is nothing to replace it with.
//! assert_eq!(program.normalise_json(&good, Mode::Normalise)?.replacement, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A schema that was built with TypeBox arrives in the facade's encoding ([`Source::from_encoded`]) and
//! is compiled in the same way. What such a schema leaves to live JavaScript cannot be decided here:
//! see [`Program::needs_javascript`].

use crate::check::{ValueError, check, collect_errors};
use crate::ir::{Const, Program, Shape};
use crate::normalise::{Mode, Note, shape_output};
use crate::value_access::{JsonAccess, JsonRef, Result};

/// A JSON document in the declared shape, as far as that can be had.
#[derive(Debug)]
pub struct NormalisedJson {
    /// What takes the document's place, as JSON; nothing when it already had the declared shape.
    pub replacement: Option<String>,
    /// Where `undefined` was put into a list, as a JSON Pointer. JSON cannot express it: in `replacement` it is `null`.
    pub hole: Option<String>,
    /// Whether the result passes the check.
    pub valid: bool,
    /// What was lost or invented, and what still is not as declared.
    pub notes: Vec<Note>,
    /// How many notes did not fit into `notes`.
    pub omitted_notes: usize,
}

impl Program {
    /// Whether a document passes. `None` stands for JavaScript's `undefined`.
    ///
    /// # Errors
    /// When a bound is reached: the interrupt says which, in words for a user.
    pub fn check_json<'a>(&self, document: impl Into<JsonRef<'a>>) -> Result<bool> {
        check(self, &mut JsonAccess::new(), document.into())
    }

    /// What is wrong with a document, at most `max` things (at least one); nothing when it passes.
    ///
    /// # Errors
    /// When a bound is reached.
    pub fn errors_json<'a>(
        &self,
        document: impl Into<JsonRef<'a>>,
        max: usize,
    ) -> Result<Vec<ValueError>> {
        collect_errors(self, &mut JsonAccess::new(), document.into(), max)
    }

    /// What an operation gave, in the declared shape.
    ///
    /// # Errors
    /// When a bound is reached; the document then stays as it is.
    pub fn normalise_json<'a>(
        &self,
        document: impl Into<JsonRef<'a>>,
        mode: Mode,
    ) -> Result<NormalisedJson> {
        let mut access = JsonAccess::new();
        let done = shape_output(self, &mut access, document.into(), mode)?;
        let mut json = String::new();
        let is_replaced = done.changed && access.push_to(done.value, &mut json);
        Ok(NormalisedJson {
            hole: access.hole_in(done.value),
            replacement: is_replaced.then_some(json),
            valid: done.valid,
            notes: done.notes,
            omitted_notes: done.omitted_notes,
        })
    }

    /// Whether this schema describes values that JSON does not have (a Date, a function, a kind that
    /// a user registered), so that only live JavaScript can decide or make them. Two things remain
    /// that a schema does not show: a user may have registered any of [`Program::formats`], which JavaScript
    /// alone knows, and a pattern that only V8 can run is [`crate::Limit::Pattern`] when it is reached.
    #[must_use]
    pub fn needs_javascript(&self) -> bool {
        self.nodes.iter().any(|node| is_beyond_json(&node.shape))
            || self.consts.iter().any(Const::is_beyond_json)
    }
}

fn is_beyond_json(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::AsyncIterator
            | Shape::BigInt(_)
            | Shape::Constructor(_)
            | Shape::Date(_)
            | Shape::Function
            | Shape::Iterator
            | Shape::Kind(_)
            | Shape::Promise
            | Shape::Symbol
            | Shape::Uint8Array(_)
            // JSON can be without a value, and so be checked. It cannot be given `undefined` in place of one.
            | Shape::Undefined
            | Shape::Void
    )
}

impl Const {
    fn is_beyond_json(&self) -> bool {
        match self {
            Self::Undefined | Self::BigInt(_) | Self::Date(_) | Self::Slot(_) => true,
            Self::Number(number) => !number.is_finite(),
            Self::Null | Self::Bool(_) | Self::String(_) => false,
            Self::Array(items) => items.iter().any(Self::is_beyond_json),
            Self::Object(entries) => entries.iter().any(|(_, item)| item.is_beyond_json()),
        }
    }
}

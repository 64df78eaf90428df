//! What can be wrong with a schema.

/// What compiling gives, unless the schema cannot be compiled.
pub type Result<T, E = SchemaError> = std::result::Result<T, E>;

/// Why a schema cannot be compiled. `at` is the JSON Pointer of the place in the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The text that should hold a schema could not be read.
    #[error("the schema text is not readable at byte {offset}: {reason}")]
    Encoding {
        /// Where in the text.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The document is nested too deeply.
    #[error(
        "the schema is nested more than {} levels deep; flatten it or use $ref",
        crate::bounds::MAX_SCHEMA_DEPTH
    )]
    TooDeep,
    /// The schema has too many locations.
    #[error("the schema has more than {} sub-schemas", crate::bounds::MAX_NODES)]
    TooLarge,
    /// A reference leads nowhere.
    #[error(
        "the reference {reference:?} at {at:?} cannot be resolved: nothing in the schema or in the documents passed with it has that name (nothing is loaded from the network or from files)"
    )]
    Unresolved {
        /// The reference as it is written.
        reference: String,
        /// Where it is.
        at: String,
    },
    /// A chain of references comes back to itself without descending into the value.
    #[error("the reference at {at:?} leads only back to itself; give it a target with a rule")]
    Circular {
        /// Where it is.
        at: String,
    },
    /// A pattern cannot be used.
    #[error("the pattern {pattern:?} at {at:?} cannot be used: {reason}")]
    Pattern {
        /// The pattern as it is written.
        pattern: String,
        /// Where it is.
        at: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A keyword has a value that its specification does not allow.
    #[error("{keyword:?} at {at:?} must be {expected}")]
    Keyword {
        /// The keyword.
        keyword: &'static str,
        /// Where it is.
        at: String,
        /// What it should have been.
        expected: &'static str,
    },
}

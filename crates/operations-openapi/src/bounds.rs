//! What a document may cost. A document comes from outside, so each way in which a short text could
//! ask for much work has a limit, and reaching it is a report entry or an error, never a crash.

use operations_schema::work::Budget;

use super::document::Document;

/// Open brackets at which a value of a JSON text is left out: everything that walks a document is recursive. Schemas copied
/// out of it are nested a little more deeply.
pub const MAX_JSON_NESTING: usize = 112;

/// Open brackets beyond which a YAML text is refused before it is parsed: the parser's work grows
/// with the square of the nesting.
pub const MAX_YAML_NESTING: usize = 10_000;

/// What each value of a YAML text costs, in the unit of [`yaml_allowance`]; a string costs its bytes
/// as well.
pub const YAML_NODE_COST: usize = 32;

/// What the values of a YAML text may cost together. A text without aliases never gets there, one
/// that multiplies itself by aliases soon does.
#[must_use]
pub const fn yaml_allowance(text_bytes: usize) -> usize {
    text_bytes
        .saturating_mul(YAML_NODE_COST)
        .saturating_add(32 << 20)
}

/// References that may follow each other before one of them leads to something else.
pub const MAX_REFERENCE_CHAIN: usize = 64;

/// Branches of `allOf` that are searched for the properties they declare.
pub const MAX_BRANCHES: usize = 256;

/// Values in one self-contained schema.
pub const MAX_SCHEMA_NODES: usize = 500_000;

/// What all imported operations may hold together, in bytes, roughly. Path items can be shared by
/// reference, so without a limit this could be the square of the document; real documents take less
/// than ten times their own size.
pub(super) fn import_budget(document: &Document) -> Budget {
    let bytes = document.text_bytes() as u64;
    Budget::new(bytes.saturating_mul(16).saturating_add(16 << 20))
}

/// What an operation costs at least.
pub const OPERATION_COST: usize = 1024;

/// What a parameter costs at least.
pub const PARAMETER_COST: usize = 512;

/// Files that a document may consist of.
pub const MAX_FILES: usize = 1_000;

/// Patterns of one document that are tried before they are needed.
pub const MAX_PATTERNS_TRIED: usize = 400;

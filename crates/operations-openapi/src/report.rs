//! What became of each operation of a document.

use serde::Serialize;

use super::read::shorten;

/// How an operation fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is there, as the document has it.
    Imported,
    /// It is there, and something about it could not be understood.
    Degraded,
    /// It is not there.
    Skipped,
}

/// What kind of thing went wrong: the word to count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The configuration leaves it out.
    Filtered,
    /// A reference leads nowhere, to itself or to a file that is not there.
    Reference,
    /// A part of the document does not have the form that the specification demands.
    Malformed,
    /// A schema has a keyword that cannot be used.
    Schema,
    /// A parameter is missing or cannot be placed.
    Parameter,
    /// The request body cannot be described.
    Body,
    /// A feature of the specification that is not supported.
    Unsupported,
    /// A limit was reached.
    Limit,
}

/// One thing that went wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its kind.
    pub code: Reason,
    /// What is wrong and what was done about it.
    pub reason: String,
    /// Where in the document, as a JSON Pointer.
    pub pointer: String,
}

impl Problem {
    pub(super) fn new(code: Reason, pointer: &str, reason: impl Into<String>) -> Self {
        Self {
            code,
            // A document can have names of any length; what is said about it cannot.
            reason: shorten(&reason.into(), 2000),
            pointer: shorten(pointer, 2000),
        }
    }
}

/// What became of one operation, or of a path that could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportEntry {
    /// How it fared.
    pub status: Status,
    /// The name it got, if it got one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The method in upper case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path as the document writes it.
    pub path: String,
    /// Where the operation is, as a JSON Pointer.
    pub pointer: String,
    /// Why it was degraded or skipped.
    pub problems: Vec<Problem>,
}

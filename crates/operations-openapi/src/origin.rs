//! Documents that were written by `operations-serve`: an extension, `x-operation`, says what OpenAPI has no words for, so that
//! the import gives the operation that was there.

use operations_core::spec::OperationType;
use operations_http::message::served::ENVELOPE;

use super::document::At;
use super::tree::{Members, Tree};

/// What a document says about where an operation came from.
#[derive(Debug, Clone)]
pub(super) struct Origin<'d> {
    /// Its namespace there.
    pub(super) namespace: &'d str,
    /// Its name there.
    pub(super) name: &'d str,
    operation_type: Option<OperationType>,
    pub(super) input: Input<'d>,
}

/// What the parts of a request are to the input.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'d> {
    /// A property each.
    Parts,
    /// The body is the input.
    Body,
    /// A property each; the schema has these keywords, too.
    Object(&'d Members),
}

/// Whether an operation object is a second way to call an operation that the document has.
pub(super) fn is_alias(operation: &At<'_>) -> bool {
    let origin = operation.get("x-operation");
    origin.is_some_and(|origin| origin.flag("alias"))
}

impl<'d> Origin<'d> {
    /// What an operation object says.
    pub(super) fn of(operation: &At<'d>) -> Option<Self> {
        let origin = operation.get("x-operation")?;
        let text = |key: &str| origin.string(key).filter(|text| !text.trim().is_empty());
        Some(Self {
            namespace: text("namespace")?,
            name: text("name")?,
            operation_type: match origin.string("type") {
                Some("query") => Some(OperationType::Query),
                Some("mutation") => Some(OperationType::Mutation),
                _ => None,
            },
            input: match origin.get("input").map(|input| input.value) {
                Some(Tree::String(word)) if **word == *"body" => Input::Body,
                Some(Tree::Object(keywords)) => Input::Object(keywords),
                _ => Input::Parts,
            },
        })
    }

    /// What calling it means. A stream is one, whatever is said.
    pub(super) fn operation_type(&self, found: OperationType) -> OperationType {
        match found {
            OperationType::Subscription => found,
            _ => self.operation_type.unwrap_or(found),
        }
    }

    /// The media types to ask for.
    pub(super) fn accept(types: &mut Vec<String>) {
        types.insert(0, ENVELOPE.to_owned());
    }
}

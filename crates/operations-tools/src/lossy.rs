//! What a projection lost.

use serde::Serialize;

/// The ways in which a schema is weakened (or, where it says so, narrowed) for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// A schema that contains itself was cut: below, JSON text is taken.
    Recursion,
    /// Too many levels: below, JSON text is taken.
    Depth,
    /// A free-form object is taken as JSON text.
    JsonText,
    /// A reference leads nowhere: anything is taken.
    Reference,
    /// `oneOf` became `anyOf`.
    OneOf,
    /// Parts of `allOf` that cannot be said together.
    AllOf,
    /// A union that only a part of was kept of.
    Union,
    /// `not`.
    Not,
    /// `if`, `dependentRequired`, `dependentSchemas`.
    Condition,
    /// `format`.
    Format,
    /// `pattern`.
    Pattern,
    /// `minLength`, `maxLength`.
    Length,
    /// `minimum`, `maximum` and the exclusive ones.
    Range,
    /// `multipleOf`.
    MultipleOf,
    /// `minItems`, `maxItems`, `contains`, `unevaluatedItems`.
    Items,
    /// `uniqueItems`.
    UniqueItems,
    /// `propertyNames`, and the patterns of `patternProperties`.
    PropertyNames,
    /// `minProperties`, `maxProperties`.
    PropertyCount,
    /// Narrowed: properties that are not listed cannot be given.
    AdditionalProperties,
    /// An enumeration is too large to be listed.
    Enum,
    /// Narrowed: null cannot be distinguished from absence, and means absence.
    Null,
    /// Narrowed: a property that no JSON value fits is left out.
    Property,
    /// `contentEncoding`, `contentSchema`.
    Content,
}

/// One thing that was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// In which way.
    pub kind: LossKind,
    /// A JSON Pointer into the original schema. References are followed, except into definitions that
    /// the projection has too: what is lost there is reported once, where the definition stands.
    pub path: String,
    /// What, in words.
    pub message: String,
}

impl Loss {
    pub(crate) fn new(kind: LossKind, path: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

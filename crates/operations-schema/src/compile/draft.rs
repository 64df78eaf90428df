//! The versions of JSON Schema and how they differ.

/// A version of the JSON Schema specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12.
    #[default]
    Draft202012,
}

impl Draft {
    /// The draft whose meta-schema has this URI.
    #[must_use]
    pub fn from_meta_schema(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let uri = uri
            .strip_prefix("https://")
            .or_else(|| uri.strip_prefix("http://"))?;
        Some(match uri {
            "json-schema.org/draft-04/schema" => Self::Draft4,
            "json-schema.org/draft-06/schema" => Self::Draft6,
            "json-schema.org/draft-07/schema" => Self::Draft7,
            "json-schema.org/draft/2019-09/schema" => Self::Draft201909,
            "json-schema.org/draft/2020-12/schema" => Self::Draft202012,
            _ => return None,
        })
    }

    /// The keyword that names a schema resource.
    pub(super) fn id_keyword(self) -> &'static str {
        if self == Self::Draft4 { "id" } else { "$id" }
    }

    /// `$ref` makes everything beside it meaningless.
    pub(super) fn reference_stands_alone(self) -> bool {
        self <= Self::Draft7
    }

    /// The draft has `$anchor`, `unevaluated...` and the other news of 2019-09.
    pub(super) fn is_modern(self) -> bool {
        self >= Self::Draft201909
    }
}

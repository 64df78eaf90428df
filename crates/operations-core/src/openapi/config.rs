//! What a caller may choose about an import.

use std::fmt;

use super::select::Selector;

/// An operation before it is imported, for those who choose and rename.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The name it would get.
    pub name: &'a str,
    /// The `operationId`, if there is one.
    pub operation_id: Option<&'a str>,
    /// The method in upper case.
    pub method: &'a str,
    /// The path as the document writes it.
    pub path: &'a str,
    /// The tags.
    pub tags: &'a [&'a str],
}

/// Gives an operation another name, or leaves it its own.
pub type Rename<'c> = dyn Fn(&Candidate<'_>) -> Option<String> + 'c;

/// Answers a question about an operation.
pub type Choice<'c> = dyn Fn(&Candidate<'_>) -> bool + 'c;

/// Whether an operation that offers both JSON and a stream is called for its JSON.
#[derive(Default)]
pub enum PreferJson<'c> {
    /// Never: it is a subscription.
    #[default]
    Never,
    /// Always.
    Always,
    /// When this says so.
    When(Box<Choice<'c>>),
}

impl PreferJson<'_> {
    pub(super) fn holds(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::When(choice) => choice(candidate),
        }
    }
}

/// The choices. The default imports every `get`, `post`, `put`, `patch` and `delete`.
pub struct ImportConfig<'c> {
    /// The methods to import, in lower case.
    pub methods: Vec<String>,
    /// When there are any, only operations that one of them matches are imported.
    pub include: Vec<Selector>,
    /// Operations that one of them matches are not imported.
    pub exclude: Vec<Selector>,
    /// The number of characters that a name may have.
    pub max_name_length: Option<usize>,
    /// Another name for an operation.
    pub rename: Option<Box<Rename<'c>>>,
    /// What to do with operations that offer both JSON and a stream.
    pub prefer_json: PreferJson<'c>,
}

impl ImportConfig<'_> {
    /// The methods that are imported unless others are asked for.
    pub const DEFAULT_METHODS: [&'static str; 5] = ["get", "post", "put", "patch", "delete"];

    /// The methods that can be asked for.
    pub const KNOWN_METHODS: [&'static str; 9] = [
        "get", "post", "put", "patch", "delete", "head", "options", "trace", "query",
    ];
}

impl Default for ImportConfig<'_> {
    fn default() -> Self {
        Self {
            methods: Self::DEFAULT_METHODS.map(str::to_owned).to_vec(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_name_length: None,
            rename: None,
            prefer_json: PreferJson::Never,
        }
    }
}

impl fmt::Debug for ImportConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportConfig")
            .field("methods", &self.methods)
            .field("include", &self.include)
            .field("exclude", &self.exclude)
            .field("max_name_length", &self.max_name_length)
            .finish_non_exhaustive()
    }
}

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
    /// The methods to import. Those of HTTP itself in any case of letters; others (OpenAPI 3.2's
    /// `additionalOperations`) as the document writes them.
    pub methods: Vec<String>,
    /// Whether operations are wanted that nothing below names. When not, only those that `include`
    /// or `include_when` names are imported.
    pub includes_all: bool,
    /// Operations that one of them matches are wanted.
    pub include: Vec<Selector>,
    /// Operations of which this is true are wanted too.
    pub include_when: Option<Box<Choice<'c>>>,
    /// Operations that one of them matches are not imported.
    pub exclude: Vec<Selector>,
    /// Nor are those of which this is true.
    pub exclude_when: Option<Box<Choice<'c>>>,
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

    /// The methods that have a key of their own in a path item.
    pub const KNOWN_METHODS: [&'static str; 9] = [
        "get", "post", "put", "patch", "delete", "head", "options", "trace", "query",
    ];

    /// Why the configuration leaves an operation out, if it does.
    pub(super) fn leaves_out(&self, candidate: &Candidate<'_>) -> Option<&'static str> {
        let names = |list: &[Selector], when: Option<&Choice<'_>>| {
            list.iter().any(|selector| selector.matches(candidate))
                || when.is_some_and(|choice| choice(candidate))
        };
        if !self.includes_all && !names(&self.include, self.include_when.as_deref()) {
            return Some("include does not name it");
        }
        names(&self.exclude, self.exclude_when.as_deref()).then_some("exclude names it")
    }
}

impl Default for ImportConfig<'_> {
    fn default() -> Self {
        Self {
            methods: Self::DEFAULT_METHODS.map(str::to_owned).to_vec(),
            includes_all: true,
            include: Vec::new(),
            include_when: None,
            exclude: Vec::new(),
            exclude_when: None,
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

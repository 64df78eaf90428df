//! What a caller may choose about an import, as data: it comes from the other side of a language
//! boundary, with the answers that the caller's own functions gave.

use std::collections::HashMap;

use operations_http::message::Keep;
use serde::Deserialize;

use super::origin::Origin;
use super::select::Selector;

/// The choices. The default imports every `get`, `post`, `put`, `patch` and `delete`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ImportChoices {
    /// The methods to import. Those of HTTP itself in any case of letters; others (OpenAPI 3.2's
    /// `additionalOperations`) as the document writes them.
    pub methods: Option<Vec<String>>,
    /// Words that name what is wanted: ids, tags, or paths with `*` and `**`. Without it, everything is.
    pub include: Option<Vec<String>>,
    /// Words that name what is not wanted.
    pub exclude: Vec<String>,
    /// The number of characters that a name may have.
    pub max_name_length: Option<usize>,
    /// Whether an operation that offers both JSON and a stream is called for its JSON.
    pub prefer_json: bool,
    /// What becomes of integers that a JavaScript number cannot hold, where a schema calls them int64.
    pub int64: Option<Keep>,
    /// Whether operations keep the namespaces that they have where the document was written ([`super::origin`]).
    pub own_namespaces: bool,
    /// What the caller's functions said about single operations, by method and path: `GET /pets`.
    pub answers: HashMap<String, Answer>,
}

/// What was said about one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Answer {
    /// Another name.
    pub name: Option<String>,
    /// It is wanted.
    pub include: bool,
    /// It is not wanted.
    pub exclude: bool,
    /// Its JSON is preferred to its stream.
    pub prefer_json: bool,
}

/// The methods that are imported unless others are asked for.
const DEFAULT_METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// An operation before it is imported.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// The name it would get.
    pub(super) name: &'a str,
    /// The `operationId`, if there is one.
    pub(super) operation_id: Option<&'a str>,
    /// The method in upper case.
    pub(super) method: &'a str,
    /// The path as the document writes it.
    pub(super) path: &'a str,
    /// The tags.
    pub(super) tags: &'a [&'a str],
}

/// The choices, ready to be asked about many operations.
pub(super) struct Chooser<'c> {
    pub(super) methods: Vec<String>,
    include: Option<Vec<Selector>>,
    exclude: Vec<Selector>,
    choices: &'c ImportChoices,
}

impl<'c> Chooser<'c> {
    pub(super) fn new(choices: &'c ImportChoices) -> Self {
        let defaults = || DEFAULT_METHODS.map(str::to_owned).to_vec();
        Self {
            methods: choices.methods.clone().unwrap_or_else(defaults),
            include: choices.include.as_deref().map(selectors),
            exclude: selectors(&choices.exclude),
            choices,
        }
    }

    /// What the caller said about this operation. No two operations of a document have both method
    /// and path in common.
    pub(super) fn answer(&self, method: &str, path: &str) -> Option<&'c Answer> {
        let answers = &self.choices.answers;
        let key = (!answers.is_empty()).then(|| format!("{method} {path}"));
        answers.get(&key?)
    }

    /// Why the operation is left out, if it is.
    pub(super) fn leaves_out(
        &self,
        candidate: &Candidate<'_>,
        answer: Option<&Answer>,
    ) -> Option<&'static str> {
        let names = |list: &[Selector]| list.iter().any(|selector| selector.matches(candidate));
        let is_included = answer.is_some_and(|answer| answer.include);
        if let Some(include) = &self.include
            && !names(include)
            && !is_included
        {
            return Some("include does not name it");
        }
        let is_excluded = answer.is_some_and(|answer| answer.exclude);
        (is_excluded || names(&self.exclude)).then_some("exclude names it")
    }

    /// The namespace that an operation keeps.
    pub(super) fn namespace_of(&self, origin: Option<&Origin<'_>>) -> Option<String> {
        let origin = origin.filter(|_| self.choices.own_namespaces)?;
        Some(origin.namespace.to_owned())
    }

    pub(super) fn max_name_length(&self) -> Option<usize> {
        self.choices.max_name_length
    }

    pub(super) fn int64(&self) -> Option<Keep> {
        self.choices.int64
    }

    pub(super) fn prefers_json(&self, answer: Option<&Answer>) -> bool {
        self.choices.prefer_json || answer.is_some_and(|answer| answer.prefer_json)
    }
}

fn selectors(words: &[String]) -> Vec<Selector> {
    words.iter().map(|word| Selector::from_word(word)).collect()
}

//! The choices of an import as data: what a caller on the other side of a language border sends,
//! with the answers that its own functions gave.

use std::collections::HashMap;

use serde::Deserialize;

use super::config::{Candidate, ImportConfig, PreferJson};
use super::select::Selector;

/// The choices. What is absent is as in [`ImportConfig::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ImportChoices {
    /// The methods to import.
    pub methods: Option<Vec<String>>,
    /// Words that name what is wanted; see [`Selector::from_word`].
    pub include: Option<Vec<String>>,
    /// Words that name what is not wanted.
    pub exclude: Vec<String>,
    /// The number of characters that a name may have.
    pub max_name_length: Option<usize>,
    /// Whether JSON is preferred everywhere.
    pub prefer_json: bool,
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

/// What an operation is known by in the answers: no two operations of a document have
/// both method and path in common.
fn key(method: &str, path: &str) -> String {
    format!("{method} {path}")
}

impl ImportChoices {
    /// The same, as an import takes it.
    #[must_use]
    pub fn as_config(&self) -> ImportConfig<'_> {
        let mut config = ImportConfig {
            include: selectors(self.include.as_deref().unwrap_or_default()),
            exclude: selectors(&self.exclude),
            includes_all: self.include.is_none(),
            max_name_length: self.max_name_length,
            ..ImportConfig::default()
        };
        if let Some(methods) = &self.methods {
            config.methods.clone_from(methods);
        }
        if self.prefer_json {
            config.prefer_json = PreferJson::Always;
        }
        if self.answers.is_empty() {
            return config;
        }
        if !self.prefer_json {
            config.prefer_json = PreferJson::When(self.choice(|answer| answer.prefer_json));
        }
        config.rename = Some(Box::new(|candidate| self.answer(candidate)?.name.clone()));
        config.include_when = Some(self.choice(|answer| answer.include));
        config.exclude_when = Some(self.choice(|answer| answer.exclude));
        config
    }

    fn answer(&self, candidate: &Candidate<'_>) -> Option<&Answer> {
        self.answers.get(&key(candidate.method, candidate.path))
    }

    fn choice<'c>(
        &'c self,
        says: impl Fn(&Answer) -> bool + 'c,
    ) -> Box<dyn Fn(&Candidate<'_>) -> bool + 'c> {
        Box::new(move |candidate| self.answer(candidate).is_some_and(&says))
    }
}

fn selectors(words: &[String]) -> Vec<Selector> {
    words
        .iter()
        .flat_map(|word| Selector::from_word(word))
        .collect()
}

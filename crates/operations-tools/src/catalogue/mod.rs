//! Operations that can be searched for in plain words.
//!
//! [`Catalogue`] holds what is said about operations: ids, titles, descriptions, tags and parameters.
//! They join and leave one by one, so that it can follow a registry. Who may see what is not known here.

mod index;
mod parameters;
mod rank;
mod synonyms;
mod words;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use index::{Field, Index};

/// What is said about an operation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry<'a> {
    /// The id: namespace, dot, name.
    pub id: String,
    /// The namespace.
    pub namespace: String,
    /// A few words.
    pub title: Option<String>,
    /// As many as it takes.
    pub description: String,
    /// Words that several operations share.
    pub tags: Vec<String>,
    /// Whether calling it only reads.
    pub is_query: bool,
    /// The input schema, as JSON.
    #[serde(borrow)]
    pub input: Option<&'a serde_json::value::RawValue>,
}

/// An operation that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit<'a> {
    /// Its id.
    pub id: &'a str,
    /// How well it matches the query. Only the order means something.
    pub score: f32,
}

/// What the catalogue keeps of an operation.
#[derive(Debug)]
struct IndexedOperation {
    id: String,
    parameters: Vec<String>,
    is_query: bool,
}

/// Operations that can be searched for.
#[derive(Debug, Default)]
pub struct Catalogue {
    index: Index,
    /// By number.
    operations: Vec<Option<IndexedOperation>>,
    numbers: HashMap<String, u32>,
}

/// Bytes of a text that are indexed: what an operation is about is said at the beginning.
const MAX_DESCRIPTION: usize = 1_000;
const MAX_PARAMETER_DESCRIPTION: usize = 120;
const MAX_SUMMARY: usize = 200;

impl Catalogue {
    /// Takes an operation in, or takes it in anew.
    pub fn put(&mut self, entry: &Entry<'_>) {
        self.remove(&entry.id);
        let name = entry
            .id
            .strip_prefix(&entry.namespace)
            .map_or(entry.id.as_str(), |name| name.trim_start_matches('.'));
        let description = start_of(&entry.description, MAX_DESCRIPTION);
        let (summary, rest) = description.split_at(summary_end(description));
        let tags = entry.tags.join(" ");
        let parameters = entry
            .input
            .as_ref()
            .map(|input| parameters::parameters_of(input.get()))
            .unwrap_or_default();
        let mut fields = vec![
            (Field::Name, name),
            (Field::Namespace, entry.namespace.as_str()),
            (Field::Title, entry.title.as_deref().unwrap_or_default()),
            (Field::Tags, tags.as_str()),
            (Field::Summary, summary),
            (Field::Description, rest),
        ];
        for parameter in &parameters {
            fields.push((Field::Parameters, &parameter.name));
            if let Some(text) = &parameter.description {
                let text = start_of(text, MAX_PARAMETER_DESCRIPTION);
                fields.push((Field::ParameterDescriptions, text));
            }
        }
        let number = self.index.add(&fields);
        self.numbers.insert(entry.id.clone(), number);
        let at = number as usize;
        if at >= self.operations.len() {
            self.operations.resize_with(at + 1, || None);
        }
        let indexed = Some(IndexedOperation {
            id: entry.id.clone(),
            parameters: parameters
                .iter()
                .filter(|parameter| !parameter.is_inner)
                .map(|parameter| {
                    let mark = if parameter.is_required { "" } else { "?" };
                    format!("{}{mark}", parameter.name)
                })
                .collect(),
            is_query: entry.is_query,
        });
        if let Some(slot) = self.operations.get_mut(at) {
            *slot = indexed;
        }
    }

    /// Forgets an operation.
    pub fn remove(&mut self, id: &str) {
        if let Some(number) = self.numbers.remove(id) {
            self.index.remove(number);
            if let Some(indexed) = self.operations.get_mut(number as usize) {
                *indexed = None;
            }
        }
    }

    /// How many operations there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Gets ready for searching, after operations have joined.
    pub fn settle(&mut self) {
        self.index.sort();
    }

    /// The operations that answer a question, the best first.
    #[must_use]
    pub fn search(&self, question: &str, limit: usize) -> Vec<Hit<'_>> {
        let is_query = |number: u32| self.at(number).is_some_and(|indexed| indexed.is_query);
        let id = |number: u32| self.at(number).map(|indexed| &indexed.id);
        // In the order of ids, so that a prompt does not depend on the order of registration.
        let order = |one: u32, other: u32| id(one).cmp(&id(other));
        let question = start_of(question, MAX_DESCRIPTION);
        rank::rank(&self.index, question, limit, is_query, order)
            .into_iter()
            .filter_map(|(number, score)| {
                let id = &self.at(number)?.id;
                Some(Hit { id, score })
            })
            .collect()
    }

    /// The names of an operation's parameters; optional ones end with a question mark.
    #[must_use]
    pub fn parameters(&self, id: &str) -> Option<&[String]> {
        let number = self.numbers.get(id)?;
        Some(&self.at(*number)?.parameters)
    }

    fn at(&self, number: u32) -> Option<&IndexedOperation> {
        self.operations.get(number as usize)?.as_ref()
    }
}

/// At most so many bytes of a text.
fn start_of(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

/// Where the first sentence ends.
fn summary_end(text: &str) -> usize {
    let sentence = text.find(". ").map(|at| at + 1);
    let line = text.find('\n');
    let end = sentence.into_iter().chain(line).min().unwrap_or(text.len());
    start_of(text, end.min(MAX_SUMMARY)).len()
}

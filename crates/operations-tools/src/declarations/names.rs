//! Types that have a name of their own, each declared once.

use std::collections::{HashMap, HashSet};

/// What distinguishes two types: where they come from, what they are called there, and what they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TypeKey {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Of the text of its schema.
    pub(super) hash: u64,
}

/// Names that mean something else already.
const TAKEN: [&str; 11] = [
    "Operations",
    "Promise",
    "AsyncIterable",
    "Record",
    "Date",
    "Uint8Array",
    "Array",
    "Object",
    "String",
    "Number",
    "Boolean",
];

/// The types that are declared.
#[derive(Debug, Default)]
pub(super) struct TypeNames {
    names: HashMap<TypeKey, String>,
    taken: HashSet<String>,
    texts: Vec<String>,
    /// Objects without a name that an operation has, and the names that they get if another has them as well.
    shared: HashMap<String, Shared>,
}

/// An object that operations may share.
#[derive(Debug)]
struct Shared {
    name: String,
    is_declared: bool,
}

impl TypeNames {
    /// An attempt, which sees what is declared and may declare more.
    pub(super) fn begin(&self) -> Trial<'_> {
        Trial {
            before: self,
            added: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// Keeps what an attempt declared. Gives the objects that now have a name, and their names.
    pub(super) fn commit(&mut self, finished: Finished, fallback: &str) -> Vec<(String, String)> {
        for Added { key, name, text } in finished.added {
            self.taken.insert(name.clone());
            self.names.insert(key, name);
            self.texts.push(text);
        }
        let mut declared = Vec::new();
        for (title, object) in finished.objects {
            if let Some(shared) = self.shared.get_mut(&object) {
                if !std::mem::replace(&mut shared.is_declared, true) {
                    let name = shared.name.clone();
                    self.texts.push(format!("type {name} = {object};\n"));
                    declared.push((object, name));
                }
                continue;
            }
            let plain = plain_name(title.as_deref().unwrap_or(fallback));
            let name = free_name(&plain, |name| {
                is_reserved(name) || self.taken.contains(name)
            });
            self.taken.insert(name.clone());
            self.shared.insert(
                object,
                Shared {
                    name,
                    is_declared: false,
                },
            );
        }
        declared
    }

    /// The declarations.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        self.texts.iter()
    }
}

/// A type that an attempt declared.
#[derive(Debug)]
pub(super) struct Added {
    key: TypeKey,
    name: String,
    text: String,
}

/// An attempt at declaring an operation.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    before: &'a TypeNames,
    added: Vec<Added>,
    /// The larger objects that were written, with their titles.
    objects: Vec<(Option<String>, String)>,
}

/// What came of an attempt.
#[derive(Debug)]
pub(super) struct Finished {
    added: Vec<Added>,
    objects: Vec<(Option<String>, String)>,
}

impl Trial<'_> {
    /// The name of a type that is declared, or about to be.
    pub(super) fn find(&self, key: &TypeKey) -> Option<&str> {
        let added = self.added.iter().find(|added| added.key == *key);
        added
            .map(|added| added.name.as_str())
            .or_else(|| self.before.names.get(key).map(String::as_str))
    }

    /// A free name for a type, which is declared by [`Trial::declare`].
    pub(super) fn reserve(&mut self, key: TypeKey) -> String {
        let name = free_name(&plain_name(&key.name), |name| self.is_taken(name));
        self.added.push(Added {
            key,
            name: name.clone(),
            text: String::new(),
        });
        name
    }

    fn is_taken(&self, name: &str) -> bool {
        is_reserved(name)
            || self.before.taken.contains(name)
            || self.added.iter().any(|added| added.name == name)
    }

    /// Declares a type whose name was reserved.
    pub(super) fn declare(&mut self, name: &str, text: String) {
        if let Some(added) = self.added.iter_mut().find(|added| added.name == name) {
            added.text = text;
        }
    }

    /// Gives a name back.
    pub(super) fn release(&mut self, name: &str) {
        self.added.retain(|added| added.name != name);
    }

    /// How long all that is.
    pub(super) fn characters(&self) -> usize {
        self.added.iter().map(|added| added.text.len()).sum()
    }

    /// What this attempt adds.
    pub(super) fn added(&self) -> impl Iterator<Item = &str> {
        self.added.iter().map(|added| added.text.as_str())
    }

    /// Whether a text names a type that is being written.
    pub(super) fn is_unfinished(&self, text: &str) -> bool {
        let unfinished = self.added.iter().filter(|added| added.text.is_empty());
        unfinished
            .into_iter()
            .any(|added| text.contains(&added.name))
    }

    /// Remembers an object, which another operation may have as well.
    pub(super) fn note(&mut self, title: Option<&str>, object: &str) {
        if !self.objects.iter().any(|(_, known)| known == object) {
            self.objects
                .push((title.map(str::to_owned), object.to_owned()));
        }
    }

    /// The text with names in the place of objects that other operations have, and what the names cost that are new.
    pub(super) fn shortened(&self, text: String) -> (String, String) {
        let mut text = text;
        let mut new = String::new();
        // The outer ones were finished last.
        for (_, object) in self.objects.iter().rev() {
            if let Some(shared) = self.before.shared.get(object)
                && text.contains(object.as_str())
            {
                text = text.replace(object.as_str(), &shared.name);
                if !shared.is_declared {
                    new.push_str("type ");
                    new.push_str(&shared.name);
                    new.push_str(" = ; ");
                    new.push_str(&shared.name);
                }
            }
        }
        (text, new)
    }

    /// `before` is the operation's declaration before it was shortened.
    pub(super) fn finish(mut self, before: &str) -> Finished {
        self.objects
            .retain(|(_, object)| before.contains(object.as_str()));
        self.objects.reverse();
        let mut left = before.to_owned();
        // What is within an object that is shared already is shared with it.
        self.objects.retain(|(_, object)| {
            let is_there = left.contains(object.as_str());
            if is_there && self.before.shared.contains_key(object) {
                left = left.replace(object.as_str(), "");
            }
            is_there
        });
        Finished {
            added: self.added,
            objects: self.objects,
        }
    }
}

fn is_reserved(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// The name, with a number if it is taken.
fn free_name(plain: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = plain.to_owned();
    let mut count = 1;
    while is_taken(&name) {
        count += 1;
        name = format!("{plain}{count}");
    }
    name
}

/// `simple-user` is `SimpleUser`; of `io.k8s.api.core.v1.Pod` the last part is enough.
fn plain_name(name: &str) -> String {
    let last = name
        .rsplit('.')
        .find(|part| part.chars().any(char::is_alphabetic))
        .unwrap_or(name);
    let mut plain = String::new();
    let mut is_start = true;
    for letter in last.chars().take(60) {
        if !letter.is_ascii_alphanumeric() {
            is_start = true;
            continue;
        }
        if is_start {
            plain.push(letter.to_ascii_uppercase());
        } else {
            plain.push(letter);
        }
        is_start = false;
    }
    if !plain.starts_with(|first: char| first.is_ascii_alphabetic()) {
        plain.insert_str(0, "Type");
    }
    plain
}

//! A document as a tree of values. Its strings are places in the text, and the members of an object lie in one list: a
//! document of 13 MB has half a million values, and memory of its own for each name and each text would take longer than
//! reading them.

mod build;

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeSeed;
use serde_json::{Map, Number, Value};

use build::Builder;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Array(Box<[Tree]>),
    Object(Members),
}

/// A string of a document.
#[derive(Clone)]
pub(super) struct Text {
    source: Arc<Source>,
    /// With [`WRITTEN`], a place in what was written beside the text.
    start: u32,
    length: u32,
}

/// The text of a document, and the strings that do not stand in it as they are: those with escapes.
#[derive(Debug)]
pub(super) struct Source {
    text: String,
    written: OnceLock<String>,
}

/// Marks a place in [`Source::written`]; so places are below 2 GiB.
const WRITTEN: u32 = 1 << 31;

impl Source {
    pub(super) fn new(text: String) -> Arc<Self> {
        Arc::new(Self {
            text,
            written: OnceLock::new(),
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        let (text, start) = if self.start & WRITTEN == 0 {
            (self.source.text.as_str(), self.start)
        } else {
            let written = self.source.written.get().map(String::as_str);
            (written.unwrap_or_default(), self.start & !WRITTEN)
        };
        let start = start as usize;
        text.get(start..start + self.length as usize)
            .unwrap_or_default()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Tree {
    /// Reads JSON that is a part of this text, or another one.
    pub(super) fn read(source: &Arc<Source>, text: &str) -> Result<Self, serde_json::Error> {
        let mut builder = Builder::new(source);
        let mut reader = serde_json::Deserializer::from_str(text);
        let tree = (&mut builder).deserialize(&mut reader)?;
        reader.end()?;
        builder.finish();
        Ok(tree)
    }

    /// The same values. Nothing when their strings are too long, all together.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let mut builder = Builder::new(&Source::new(String::new()));
        let tree = builder.tree(value)?;
        builder.finish();
        Some(tree)
    }

    /// The same values, to be changed or written.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => Value::Object(members.to_map()),
        }
    }

    pub(super) fn as_object(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    pub(super) const fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(super) const fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    pub(super) const fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    pub(super) const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    pub(super) const fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// The members of an object, in the order of the text. Each name is there once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members {
    list: Box<[(Text, Tree)]>,
    /// Of many, their places in the order of their names.
    #[expect(
        clippy::box_collection,
        reason = "most objects have none, and every value would be larger for it"
    )]
    sorted: Option<Box<Vec<u32>>>,
}

/// Up to this many members are searched one by one.
const SCANNED: usize = 12;

impl Members {
    /// Of two with one name, the value of the last is in the place of the first.
    fn new(list: impl ExactSizeIterator<Item = (Text, Tree)>) -> Self {
        if list.len() > SCANNED {
            return Self::of_many(list.collect());
        }
        let mut kept: Vec<(Text, Tree)> = Vec::with_capacity(list.len());
        for (name, value) in list {
            match kept.iter_mut().find(|(known, _)| *known == name) {
                Some((_, before)) => *before = value,
                None => kept.push((name, value)),
            }
        }
        Self {
            list: kept.into(),
            sorted: None,
        }
    }

    fn of_many(list: Vec<(Text, Tree)>) -> Self {
        let mut sorted: Vec<u32> = (0..u32::try_from(list.len()).unwrap_or(u32::MAX)).collect();
        let name = |at: &u32| list.get(*at as usize).map(|(name, _)| &**name);
        sorted.sort_by(|one, other| name(one).cmp(&name(other)));
        let is_twice = |pair: &[u32]| matches!(pair, [one, next] if name(one) == name(next));
        if sorted.windows(2).any(is_twice) {
            return Self::of_many(without_repeated(list));
        }
        Self {
            list: list.into(),
            sorted: Some(Box::new(sorted)),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tree> {
        let Some(sorted) = &self.sorted else {
            let found = self.list.iter().find(|(known, _)| **known == *name);
            return found.map(|(_, value)| value);
        };
        let member = |at: &u32| self.list.get(*at as usize);
        let found =
            sorted.binary_search_by(|at| member(at).map(|(known, _)| &**known).cmp(&Some(name)));
        let (_, value) = member(sorted.get(found.ok()?)?)?;
        Some(value)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Tree)> {
        self.list.iter().map(|(name, value)| (&**name, value))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Tree> {
        self.iter().map(|(_, value)| value)
    }

    /// The same members, to be changed or written.
    pub(super) fn to_map(&self) -> Map<String, Value> {
        self.iter()
            .map(|(name, value)| (name.to_owned(), value.to_value()))
            .collect()
    }
}

/// Many members, each name once.
fn without_repeated(list: Vec<(Text, Tree)>) -> Vec<(Text, Tree)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(Text, Tree)> = Vec::with_capacity(list.len());
    for (name, value) in list {
        let place = *places.entry(name.to_string()).or_insert(kept.len());
        match kept.get_mut(place) {
            Some((_, before)) => *before = value,
            None => kept.push((name, value)),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Tree {
        let source = Source::new(text.to_owned());
        Tree::read(&source, source.text()).unwrap()
    }

    #[test]
    fn a_tree_has_the_values_of_its_text() {
        let many: Vec<String> = (0..40)
            .map(|number| format!(r#""k\u0061{number}":{number}"#))
            .collect();
        let many = format!("{{{},\"ka7\":\"again\",\"last\":[]}}", many.join(","));
        for text in [
            r#"{"a":[1,-2,2.5,1e30,true,false,null,{}],"b":"x\ny","b\u00e9":"","a":"twice","c":{"d":"plain"}}"#,
            &many,
            "[]",
            r#""é""#,
            " 7 ",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            let tree = read(text);
            assert_eq!(tree.to_value().to_string(), expected.to_string());
            assert_eq!(Tree::of(&expected).unwrap(), tree, "{text}");
            for (name, value) in expected.as_object().into_iter().flatten() {
                assert_eq!(
                    tree.get(name).map(Tree::to_value).as_ref(),
                    Some(value),
                    "{name}"
                );
            }
            assert!(tree.get("nobody").is_none());
        }
    }

    #[test]
    fn what_is_no_json_is_refused_as_a_value_refuses_it() {
        for text in [
            "",
            "{",
            r#"{"a":1}}"#,
            r#"{"a" 1}"#,
            r#""\ud800""#,
            "1e999",
            &"[".repeat(200),
        ] {
            let source = Source::new(text.to_owned());
            let error = Tree::read(&source, source.text()).unwrap_err();
            let expected = serde_json::from_str::<Value>(text).unwrap_err();
            assert_eq!(error.to_string(), expected.to_string());
        }
    }

    #[test]
    fn members_are_in_the_order_of_the_text() {
        let tree = read(r#"{"z":1,"a":2}"#);
        let names: Vec<&str> = tree.as_object().unwrap().keys().collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(tree.to_value(), json!({"z": 1, "a": 2}));
    }
}

//! Makes a tree: from JSON, or from values that were read before (YAML, and schemas that were put together).

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::{Members, Source, Text, Tree, WRITTEN};

/// A tree that is being made. What belongs to a container that is not complete yet waits here, so that each has memory of the right size.
pub(super) struct Builder {
    source: Arc<Source>,
    written: String,
    items: Vec<Tree>,
    members: Vec<(Text, Tree)>,
}

impl Builder {
    pub(super) fn new(source: &Arc<Source>) -> Self {
        Self {
            source: Arc::clone(source),
            written: String::new(),
            items: Vec::new(),
            members: Vec::new(),
        }
    }

    pub(super) fn finish(self) {
        // It is the first and only one.
        let _ = self.source.written.set(self.written);
    }

    /// A string that stands in the text as it is.
    fn there(&self, text: &str) -> Option<Text> {
        let whole = self.source.text.as_str();
        let start = text.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
        (start + text.len() <= whole.len())
            .then(|| self.place(start, text.len(), 0))
            .flatten()
    }

    fn written(&mut self, text: &str) -> Option<Text> {
        let start = self.written.len();
        self.written.push_str(text);
        self.place(start, text.len(), WRITTEN)
    }

    /// A name that does not stand in the text as it is. Names are compared while the tree is made, before what is written
    /// beside the text is complete: so each has a text of its own. In JSON they are rare.
    fn name(text: &str) -> Option<Text> {
        Self::new(&Source::new(text.to_owned())).place(0, text.len(), 0)
    }

    fn place(&self, start: usize, length: usize, mark: u32) -> Option<Text> {
        let length = u32::try_from(length).ok()?;
        let start = u32::try_from(start)
            .ok()
            .filter(|start| start & WRITTEN == 0)?;
        Some(Text {
            source: Arc::clone(&self.source),
            start: start | mark,
            length,
        })
    }

    fn array(&mut self, mark: usize) -> Tree {
        Tree::Array(self.items.drain(mark..).collect())
    }

    fn object(&mut self, mark: usize) -> Tree {
        Tree::Object(Members::new(self.members.drain(mark..)))
    }

    pub(super) fn tree(&mut self, value: &Value) -> Option<Tree> {
        Some(match value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(*value),
            Value::Number(number) => Tree::Number(number.clone()),
            Value::String(text) => Tree::String(self.written(text)?),
            Value::Array(items) => {
                let mark = self.items.len();
                for item in items {
                    let item = self.tree(item)?;
                    self.items.push(item);
                }
                self.array(mark)
            }
            Value::Object(members) => {
                let mark = self.members.len();
                for (name, value) in members {
                    let member = (Self::name(name)?, self.tree(value)?);
                    self.members.push(member);
                }
                self.object(mark)
            }
        })
    }
}

fn too_long<E: Error>() -> E {
    E::custom("the text is longer than 2 GiB")
}

impl<'de> DeserializeSeed<'de> for &mut Builder {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Tree, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Builder {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Tree, E> {
        match self.there(text) {
            Some(found) => Ok(Tree::String(found)),
            None => self.visit_str(text),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        self.written(text).map(Tree::String).ok_or_else(too_long)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mark = self.items.len();
        while let Some(item) = items.next_element_seed(&mut *self)? {
            self.items.push(item);
        }
        Ok(self.array(mark))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mark = self.members.len();
        while let Some(name) = members.next_key_seed(Name(&mut *self))? {
            let value = members.next_value_seed(&mut *self)?;
            self.members.push((name, value));
        }
        Ok(self.object(mark))
    }
}

/// Reads the name of a member.
struct Name<'b>(&'b mut Builder);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Text;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Text, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text, E> {
        match self.0.there(text) {
            Some(found) => Ok(found),
            None => self.visit_str(text),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Builder::name(text).ok_or_else(too_long)
    }
}

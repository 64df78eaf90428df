//! How large a projected schema is, counted as the providers' bounds count.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::canonical::reference;
use crate::targets::Bounds;

/// What counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) depth: usize,
    pub(crate) properties: usize,
    pub(crate) enum_values: usize,
    pub(crate) characters: usize,
}

impl Size {
    pub(crate) fn of(root: &Map<String, Value>, definitions: &Map<String, Value>) -> Self {
        let mut size = Self::default();
        size.count(root);
        for (name, definition) in definitions {
            size.characters += name.chars().count();
            if let Value::Object(node) = definition {
                size.count(node);
            }
        }
        let mut levels = Levels {
            definitions,
            known: HashMap::new(),
        };
        size.depth = levels.below(root, 0);
        size
    }

    pub(crate) fn is_within(&self, bounds: &Bounds) -> bool {
        self.depth <= bounds.depth
            && self.properties <= bounds.properties
            && self.enum_values <= bounds.enum_values
            && self.characters <= bounds.characters
    }

    fn count(&mut self, node: &Map<String, Value>) {
        if let Some(Value::Object(properties)) = node.get("properties") {
            self.properties += properties.len();
            self.characters += properties
                .keys()
                .map(|name| name.chars().count())
                .sum::<usize>();
        }
        if let Some(Value::Array(values)) = node.get("enum") {
            self.enum_values += values.len();
            self.characters += values.iter().map(characters).sum::<usize>();
        }
        for child in children(node) {
            self.count(child);
        }
    }
}

pub(crate) fn characters(value: &Value) -> usize {
    value
        .as_str()
        .map_or_else(|| value.to_string().len(), |text| text.chars().count())
}

/// Levels of objects and arrays, through references, a circle counted once.
struct Levels<'v> {
    definitions: &'v Map<String, Value>,
    /// What is known of each definition; nothing while it is being looked at.
    known: HashMap<&'v str, usize>,
}

/// Deeper than any bound, and than the stack should be asked for.
const TOO_DEEP: usize = 200;

impl<'v> Levels<'v> {
    fn below(&mut self, node: &'v Map<String, Value>, steps: usize) -> usize {
        if steps > TOO_DEEP {
            return TOO_DEEP;
        }
        if let Some(name) = reference(node) {
            if let Some(known) = self.known.get(name) {
                return *known;
            }
            let Some(Value::Object(definition)) = self.definitions.get(name) else {
                return 0;
            };
            self.known.insert(name, 0);
            let found = self.below(definition, steps + 1);
            self.known.insert(name, found);
            return found;
        }
        let own = usize::from(node.contains_key("properties") || node.contains_key("items"));
        let below = children(node)
            .map(|child| self.below(child, steps + 1))
            .max();
        own + below.unwrap_or(0)
    }
}

/// The schemas right below one, in the keywords that the dialects have.
fn children(node: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let named = node
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values);
    let listed = node
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    named
        .chain(listed)
        .chain(node.get("items"))
        .filter_map(Value::as_object)
}

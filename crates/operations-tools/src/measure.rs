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
            above: Vec::new(),
            work: MAX_WORK,
        };
        size.depth = levels.below(root, 0).levels;
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

/// Levels of objects and arrays, through references. On one way down, a circle counts once.
struct Levels<'v> {
    definitions: &'v Map<String, Value>,
    /// How deep a definition is that is in no circle with those above it.
    known: HashMap<&'v str, usize>,
    /// The definitions on the way down.
    above: Vec<&'v str>,
    /// Schemas that may still be visited.
    work: usize,
}

/// Deeper than any bound, and than the stack should be asked for.
const TOO_DEEP: usize = 200;
/// Within cycles there may be very many ways down. What takes more than this counts as too deep.
const MAX_WORK: usize = 50_000;

/// How deep a schema is, and whether one above it was met again: then it is deeper for others.
#[derive(Clone, Copy, Default)]
struct Below {
    levels: usize,
    is_cut: bool,
}

impl<'v> Levels<'v> {
    fn below(&mut self, node: &'v Map<String, Value>, steps: usize) -> Below {
        let Some(work) = self.work.checked_sub(1).filter(|_| steps <= TOO_DEEP) else {
            return Below {
                levels: TOO_DEEP,
                is_cut: false,
            };
        };
        self.work = work;
        if let Some(name) = reference(node) {
            return self.behind(name, steps);
        }
        let own = usize::from(node.contains_key("properties") || node.contains_key("items"));
        let mut all = Below::default();
        for child in children(node) {
            let below = self.below(child, steps + 1);
            all.levels = all.levels.max(below.levels);
            all.is_cut |= below.is_cut;
        }
        all.levels += own;
        all
    }

    fn behind(&mut self, name: &'v str, steps: usize) -> Below {
        if let Some(levels) = self.known.get(name) {
            return Below {
                levels: *levels,
                is_cut: false,
            };
        }
        if self.above.contains(&name) {
            return Below {
                levels: 0,
                is_cut: true,
            };
        }
        let Some(Value::Object(definition)) = self.definitions.get(name) else {
            return Below::default();
        };
        self.above.push(name);
        let found = self.below(definition, steps + 1);
        self.above.pop();
        if !found.is_cut {
            self.known.insert(name, found.levels);
        }
        found
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn depth(definitions: &Value) -> usize {
        let root = json!({ "properties": { "a": { "$ref": "#/$defs/A" } } });
        let (Value::Object(root), Value::Object(definitions)) = (root, definitions.clone()) else {
            return 0;
        };
        Size::of(&root, &definitions).depth
    }

    #[test]
    fn a_circle_counts_from_wherever_it_is_entered() {
        // A has B and C; B has D, which has A again; C has D, below which there is more for C than for B.
        let refer = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
        let definitions = json!({
            "A": { "properties": { "b": refer("B"), "c": refer("C") } },
            "B": { "properties": { "d": refer("D") } },
            "C": { "properties": { "d": refer("D") } },
            "D": { "properties": { "b": refer("B"), "c": refer("C") } },
        });
        assert_eq!(depth(&definitions), 5);
    }

    #[test]
    fn too_many_ways_down_are_too_deep() {
        let names: Vec<String> = (0..40).map(|number| format!("D{number}")).collect();
        let everyone: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "$ref": format!("#/$defs/{name}") })))
            .collect();
        let mut definitions: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "properties": everyone })))
            .collect();
        definitions.insert("A".to_owned(), json!({ "properties": everyone }));
        assert!(depth(&Value::Object(definitions)) >= 40);
    }
}

//! The elements of an array.

use super::nodes::NodeList;
use super::normaliser::{Normaliser, Outcome, Remedy, Step};
use super::notes::What;
use super::view::{ArrayRule, View};
use crate::value_access::{Result, ValueBuilder};

/// The elements of an array while they are visited.
pub(super) struct ArrayParts<A: ValueBuilder> {
    length: usize,
    /// Up to which length tuples have schemas to fill in from.
    declared: Option<usize>,
    /// How many elements stay.
    kept: usize,
    /// The next element.
    index: usize,
    /// The elements from the first change on.
    elements: Vec<A::Value>,
    changed: bool,
    /// How many elements came before the first change; they are copied at the end.
    uncopied: usize,
    /// The path before the element that is being visited.
    waiting: Option<usize>,
}

impl<A: ValueBuilder> ArrayParts<A> {
    pub(super) fn accept(&mut self, outcome: Outcome<A::Value>) -> Option<usize> {
        self.put(outcome);
        self.waiting.take()
    }

    fn put(&mut self, outcome: Outcome<A::Value>) {
        if outcome.changed && !self.changed {
            self.changed = true;
            self.uncopied = self.index;
        }
        if self.changed {
            self.elements.push(outcome.value);
        }
        self.index += 1;
    }
}

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    /// Only a tuple declares a length; `minItems` and the like are rules that a value may break and
    /// keep.
    pub(super) fn open_array(&mut self, view: &View<'p>, value: A::Value) -> Result<ArrayParts<A>> {
        let length = self.walk.array_length(value)?;
        let lengths = tuple_lengths(view);
        let declared = lengths.map(|(filled, _)| filled);
        let kept = match lengths {
            Some((_, most)) if self.removes() => length.min(most),
            _ => length,
        };
        Ok(ArrayParts {
            length,
            declared,
            kept,
            index: 0,
            elements: Vec::new(),
            changed: kept != length,
            uncopied: 0,
            waiting: None,
        })
    }

    /// Goes on to the next element that has parts of its own, or finishes the array.
    pub(super) fn next_element(
        &mut self,
        view: &View<'p>,
        array: A::Value,
        parts: &mut ArrayParts<A>,
    ) -> Result<Step<'p, A>> {
        while parts.index < parts.kept {
            self.walk.spend(view.arrays.len() as u64)?;
            let element = self.walk.element(array, parts.index)?;
            let nodes = nodes_at(view, parts.index);
            if nodes.is_empty() {
                self.walk.spend(1)?;
                parts.put(Outcome::same(element));
                continue;
            }
            let before = self.notes.step_into_element(parts.index);
            match self.enter(nodes.as_slice(), element, Remedy::Replace)? {
                Step::Finished(outcome) => {
                    parts.put(outcome);
                    self.notes.step_out(before);
                }
                Step::Into(frame) => {
                    parts.waiting = Some(before);
                    return Ok(Step::Into(frame));
                }
            }
        }
        if let Some(declared) = parts.declared
            && parts.length < declared
        {
            for filled in self.missing_elements(view, parts.length, declared)? {
                parts.put(Outcome::new(filled));
            }
        }
        if !parts.changed {
            return Ok(Step::Finished(Outcome::same(array)));
        }
        let mut elements = Vec::with_capacity(parts.uncopied + parts.elements.len());
        for index in 0..parts.uncopied {
            elements.push(self.walk.element(array, index)?);
        }
        elements.append(&mut parts.elements);
        Ok(Step::Finished(Outcome::new(self.make_array(&elements)?)))
    }

    /// What a tuple lacks at its end. It stays short where no value can be made: what would follow
    /// could not be in its place.
    fn missing_elements(
        &mut self,
        view: &View<'p>,
        from: usize,
        to: usize,
    ) -> Result<Vec<A::Value>> {
        let mut filled = Vec::new();
        for index in from..to {
            let before = self.notes.step_into_element(index);
            let nodes = nodes_at(view, index);
            let made = self.fill(nodes.as_slice())?;
            if made.is_none() {
                self.notes.add(What::NotFilled);
            }
            self.notes.step_out(before);
            let Some(made) = made else { break };
            filled.push(made);
        }
        Ok(filled)
    }
}

/// The lengths that tuples declare: how many elements are filled in, and how many stay. Both are the
/// number of schemas, unless `maxItems`, which is what the check goes by, says otherwise.
fn tuple_lengths(view: &View<'_>) -> Option<(usize, usize)> {
    let tuples = view.arrays.iter().filter_map(|rule| match rule {
        ArrayRule::Tuple(tuple) => {
            let schemas = tuple.items.as_ref().map_or(0, Vec::len);
            let length = tuple.length.and_then(as_length).unwrap_or(schemas);
            Some((schemas.min(length), length))
        }
        _ => None,
    });
    tuples.reduce(|one, two| (one.0.max(two.0), one.1.max(two.1)))
}

/// A number that an array's length can be.
fn as_length(number: f64) -> Option<usize> {
    let is_length = number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of 32 bits"
    )]
    is_length.then_some(number as usize)
}

/// The schemas of the element at a position.
pub(super) fn nodes_at(view: &View<'_>, index: usize) -> NodeList {
    let mut nodes = NodeList::default();
    for rule in &view.arrays {
        let node = match rule {
            ArrayRule::Array(array) => Some(array.items),
            ArrayRule::Tuple(tuple) => tuple
                .items
                .as_ref()
                .and_then(|items| items.get(index).copied()),
            ArrayRule::Json(array) => array.at(index),
        };
        if let Some(node) = node {
            nodes.push(node);
        }
    }
    nodes
}

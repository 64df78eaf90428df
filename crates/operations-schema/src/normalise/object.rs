//! The properties of an object.

use super::normaliser::{Frame, Normaliser, Outcome, Remedy, Step};
use super::notes::What;
use super::property_disposition::PropertyDisposition;
use super::view::{ObjectRule, View};
use crate::ir::{Additional, KeyId, Shape};
use crate::value_access::{EntryName, Name, OwnKeys, Result, ValueBuilder};

/// A property of the result.
struct Entry<'p, A: ValueBuilder> {
    name: EntryName<'p, A::Key>,
    value: A::Value,
    /// An optional property that holds `undefined`: it does not make it into a copy.
    empty: bool,
}

/// The properties of an object while they are visited.
pub(super) struct ObjectParts<'p, A: ValueBuilder> {
    keys: A::Keys,
    /// Declared names that may not be own properties, and whether they are required; known once the
    /// own ones are done.
    others: Option<std::vec::IntoIter<(KeyId, bool)>>,
    entries: Vec<Entry<'p, A>>,
    /// Names of the program that are done.
    seen: Vec<KeyId>,
    changed: bool,
    /// The property whose value is being visited, and the path before it.
    waiting: Option<(EntryName<'p, A::Key>, usize)>,
}

impl<'p, A: ValueBuilder> ObjectParts<'p, A> {
    pub(super) fn accept(&mut self, outcome: Outcome<A::Value>) -> Option<usize> {
        let (name, before) = self.waiting.take()?;
        self.put(name, outcome);
        Some(before)
    }

    fn put(&mut self, name: EntryName<'p, A::Key>, outcome: Outcome<A::Value>) {
        self.changed |= outcome.changed;
        self.entries.push(Entry {
            name,
            value: outcome.value,
            empty: false,
        });
    }
}

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    pub(super) fn open_object(
        &mut self,
        view: &View<'p>,
        value: A::Value,
    ) -> Result<ObjectParts<'p, A>> {
        Ok(ObjectParts {
            keys: self.walk.keys(value, which_keys(view))?,
            others: None,
            entries: Vec::new(),
            seen: Vec::new(),
            changed: false,
            waiting: None,
        })
    }

    /// Goes on to the next property that has parts of its own, or finishes the object.
    pub(super) fn next_property(
        &mut self,
        view: &View<'p>,
        value: A::Value,
        parts: &mut ObjectParts<'p, A>,
    ) -> Result<Step<'p, A>> {
        if parts.others.is_none() {
            while let Some(key) = self.walk.next_key(&mut parts.keys)? {
                if let Some(frame) = self.own_property(view, value, key, parts)? {
                    return Ok(Step::Into(frame));
                }
            }
            parts.seen.sort_unstable();
            parts.others = Some(Self::other_names(view).into_iter());
        }
        while let Some((key, required)) = parts.others.as_mut().and_then(Iterator::next) {
            if let Some(frame) = self.other_property(view, value, key, required, parts)? {
                return Ok(Step::Into(frame));
            }
        }
        if !parts.changed {
            return Ok(Step::Finished(Outcome::same(value)));
        }
        let entries: Vec<_> = parts
            .entries
            .iter()
            .filter(|entry| !entry.empty)
            .map(|entry| (entry.name, entry.value))
            .collect();
        Ok(Step::Finished(Outcome::new(self.make_object(&entries)?)))
    }

    /// A property that the object has itself.
    fn own_property(
        &mut self,
        view: &View<'p>,
        object: A::Value,
        key: A::Key,
        parts: &mut ObjectParts<'p, A>,
    ) -> Result<Option<Box<Frame<'p, A>>>> {
        self.walk.spend(1)?;
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.walk.key_text(key, |own| text.push_str(own))?;
        let mut known = None;
        let disposition = self.disposition_of(view, &text, Some(key), &mut known)?;
        parts.seen.extend(known);
        if disposition.is_removed() && self.removes() && !view.removes_nothing {
            parts.changed = true;
            self.text = text;
            return Ok(None);
        }
        let child = self.walk.by_key(object, key)?;
        let before = self.notes.step_into_property(&text);
        self.text = text;
        self.present_property(&disposition, child, EntryName::Own(key), before, parts)
    }

    /// A property that is there, perhaps holding `undefined`. Its value may have to be visited
    /// first; then the object waits for it.
    fn present_property(
        &mut self,
        disposition: &PropertyDisposition,
        child: A::Value,
        name: EntryName<'p, A::Key>,
        before: usize,
        parts: &mut ObjectParts<'p, A>,
    ) -> Result<Option<Box<Frame<'p, A>>>> {
        if disposition.nodes.is_empty() {
            parts.put(name, Outcome::same(child));
        } else if self.walk.is_undefined(child)? {
            self.empty_property(disposition, child, name, parts)?;
        } else {
            match self.enter(disposition.nodes.as_slice(), child, Remedy::Replace)? {
                Step::Finished(outcome) => parts.put(name, outcome),
                Step::Into(frame) => {
                    parts.waiting = Some((name, before));
                    return Ok(Some(frame));
                }
            }
        }
        self.notes.step_out(before);
        Ok(None)
    }

    /// A declared property that is there and holds `undefined`: it counts as missing, unless the
    /// schema means `undefined`.
    fn empty_property(
        &mut self,
        disposition: &PropertyDisposition,
        child: A::Value,
        name: EntryName<'p, A::Key>,
        parts: &mut ObjectParts<'p, A>,
    ) -> Result<()> {
        if !disposition.required && disposition.listing.as_slice().is_empty() {
            parts.entries.push(Entry {
                name,
                value: child,
                empty: true,
            });
            return Ok(());
        }
        let accepted = self
            .walk
            .passes_all(disposition.requiring.as_slice(), child)?
            && self
                .walk
                .passes_all(disposition.listing.as_slice(), child)?;
        let outcome = if accepted {
            Outcome::same(child)
        } else if let Some(filled) = self.fill(disposition.nodes.as_slice())? {
            Outcome::new(filled)
        } else {
            self.notes.add(What::NotFilled);
            Outcome::same(child)
        };
        parts.put(name, outcome);
        Ok(())
    }

    /// The names that the schema declares or requires, in their order.
    fn other_names(view: &View<'p>) -> Vec<(KeyId, bool)> {
        let mut names = Vec::new();
        for rule in &view.objects {
            match rule {
                ObjectRule::Object(rules) => {
                    names.extend(rules.properties.iter().map(|one| (one.key, one.required)));
                }
                ObjectRule::Json(rules) => {
                    names.extend(rules.properties.iter().map(|one| (one.key, one.required)));
                    names.extend(rules.required.iter().map(|key| (*key, true)));
                }
                ObjectRule::Record(_) | ObjectRule::Rest(..) | ObjectRule::NoRest => {}
            }
        }
        names.extend(view.dependents.iter().map(|key| (*key, true)));
        names
    }

    /// A declared property that is not an own one: inherited, or missing.
    fn other_property(
        &mut self,
        view: &View<'p>,
        object: A::Value,
        key: KeyId,
        required: bool,
        parts: &mut ObjectParts<'p, A>,
    ) -> Result<Option<Box<Frame<'p, A>>>> {
        self.walk.spend(1)?;
        let Err(position) = parts.seen.binary_search(&key) else {
            return Ok(None);
        };
        let name = self.walk.name(key);
        let found = self.walk.get(object, key)?;
        let missing = self.walk.is_undefined(found)?;
        if missing && !required {
            // Another rule may still require it.
            return Ok(None);
        }
        parts.seen.insert(position, key);
        let disposition = self.disposition_of(view, &name.key.text, None, &mut None)?;
        let before = self.notes.step_into_property(&name.key.text);
        let name_of_entry = EntryName::Program(name);
        if !missing {
            return self.present_property(&disposition, found, name_of_entry, before, parts);
        }
        if !self.may_be_missing(&disposition, object, name, found)? {
            match self.fill(disposition.nodes.as_slice())? {
                Some(filled) => parts.put(name_of_entry, Outcome::new(filled)),
                None => self.notes.add(What::NotFilled),
            }
        }
        self.notes.step_out(before);
        Ok(None)
    }

    /// Whether a required property counts as present: its schema accepts `undefined`, and nothing
    /// asks for the property itself, or it is inherited.
    fn may_be_missing(
        &mut self,
        disposition: &PropertyDisposition,
        object: A::Value,
        name: Name<'p>,
        undefined: A::Value,
    ) -> Result<bool> {
        let requiring = disposition.requiring.as_slice();
        if disposition.nodes.is_empty() || !self.walk.passes_all(requiring, undefined)? {
            return Ok(false);
        }
        Ok(!disposition.needs_presence || self.walk.has(object, name.id)?)
    }
}

/// Hidden properties count only where TypeBox's check would look at them.
fn which_keys(view: &View<'_>) -> OwnKeys {
    let looks_at_all = view.objects.iter().any(|rule| match rule {
        ObjectRule::Object(rules) => {
            matches!(
                rules.additional,
                Additional::Forbidden | Additional::Schema(_)
            )
        }
        ObjectRule::Record(_) | ObjectRule::Json(_) | ObjectRule::Rest(..) | ObjectRule::NoRest => {
            false
        }
    });
    if looks_at_all {
        OwnKeys::Names
    } else {
        OwnKeys::Enumerable
    }
}

/// Whether a node is a JSON Schema, in which `undefined` is no value.
pub(super) fn is_json_schema(shape: &Shape) -> bool {
    matches!(shape, Shape::Json(_) | Shape::JsonBoolean(_))
}
